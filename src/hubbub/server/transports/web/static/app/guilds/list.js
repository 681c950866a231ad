/** The list of guilds at the edge of the layout (the rail), with unread indicators. */

import { ChannelFlags, Permissions, RelationshipType, isPrivate, isMessageable, isThread } from "../network/enums.js";
import { folderKey, guildFolders, saveGuildFolders } from "../state/guild_order.js";
import { h, icon, reconcile } from "../ui/dom.js";
import { LayoutPart } from "../ui/layout_part.js";
import { loadModule } from "../ui/lazy_modules.js";
import { runAndReport } from "../ui/notices.js";
import { t, tn } from "../ui/translation.js";
import { guildIcon } from "../content/avatars.js";
import { openAddGuild } from "./join_dialogs.js";
import { openGuildMenu } from "./menu.js";

class GuildList extends LayoutPart {
  static kinds = [
    "guilds",
    "channels",
    "readStates",
    "members",
    "relationships",
    "route",
    "notificationSettings",
    "settings",
  ];

  begin() {
    this.list = h("ul", { class: "rail-list" });
    this.replaceChildren(h("nav", { class: "rail", "aria-label": t("Guilds") }, this.list));
    const prepareMoves = async () => {
      for (const name of ["pointerover", "focusin"]) this.list.removeEventListener(name, prepareMoves);
      (await loadFolders())?.makeGuildsMovable(this.list, this.context);
    };
    for (const name of ["pointerover", "focusin"]) this.list.addEventListener(name, prepareMoves);
  }

  draw() {
    const { state } = this.context;
    const { guildId } = this.context;
    const requestCount = [...state.relationships.values()].filter(
      relationship => relationship.type === RelationshipType.PENDING_INCOMING,
    ).length;
    const badgeCount = state
      .privateChannels()
      .reduce((sum, channel) => sum + state.mentionCountIn(channel.id), requestCount);
    const entries = [
      {
        key: "@me",
        version: `${guildId === null} ${badgeCount}`,
        build: () =>
          this.#item(
            "/app",
            t("Direct messages"),
            guildId === null,
            badgeCount > 0,
            badgeCount,
            h("span", { class: "avatar square home" }, icon("people")),
          ),
      },
      ...guildFolders(state).flatMap(folder => this.#folderEntries(folder, guildId)),
      { key: "add", version: "", build: () => this.#addButton() },
      { key: "mentions", version: "", build: () => this.#mentionsButton() },
    ];
    reconcile(this.list, entries);
  }

  #folderEntries(folder, currentGuildId) {
    const guilds = folder.guild_ids.map(id => this.context.state.guilds.get(id));
    if (folder.id === null) return [this.#entry(guilds[0], currentGuildId)];
    return [
      this.#folderEntry(folder, guilds, currentGuildId),
      ...(folder.collapsed ? [] : guilds.map(guild => this.#entry(guild, currentGuildId, "in-folder"))),
    ];
  }

  #folderEntry(folder, guilds, currentGuildId) {
    const unreadStates = guilds.map(guild => this.#unreadState(guild));
    const isUnread = folder.collapsed && unreadStates.some(unreadState => unreadState.isUnread),
      mentionCount = folder.collapsed
        ? unreadStates.reduce((sum, unreadState) => sum + unreadState.mentionCount, 0)
        : 0;
    const hasCurrent = folder.collapsed && folder.guild_ids.includes(currentGuildId);
    const name = folder.name || guilds.map(guild => guild.name ?? t("Unknown guild")).join(", ");
    return {
      key: folderKey(folder),
      version: JSON.stringify([
        folder,
        isUnread,
        mentionCount,
        hasCurrent,
        guilds.map(guild => [guild.name, guild.icon]),
      ]),
      build: () => this.#folderItem(folder, guilds, name, { isUnread, mentionCount, hasCurrent }),
    };
  }

  #folderItem(folder, guilds, name, { isUnread, mentionCount, hasCurrent }) {
    const color = folder.color === null ? null : `#${folder.color.toString(16).padStart(6, "0")}`;
    const toggleFolder = () => {
      const folders = guildFolders(this.context.state).map(other =>
        other.id === folder.id ? { ...other, collapsed: !other.collapsed } : other,
      );
      runAndReport(() => saveGuildFolders(this.context, folders));
    };
    const openMenu = async event => {
      const anchor = event.currentTarget;
      event.preventDefault();
      (await loadFolders())?.openFolderMenu(anchor, this.context, folder.id);
    };
    return h(
      "li",
      {
        class: `rail-folder${isUnread ? " unread" : ""}${hasCurrent ? " has-current" : ""}`,
        draggable: "true",
        dataset: { move: folderKey(folder) },
      },
      h(
        "button",
        {
          type: "button",
          class: "avatar square folder",
          "aria-expanded": String(!folder.collapsed),
          title: name,
          style: color ? { "--folder": color } : {},
          dataset: { focus: "folder" },
          onclick: toggleFolder,
          oncontextmenu: openMenu,
        },
        folder.collapsed ? guilds.slice(0, 4).map(guild => guildIcon(guild)) : icon("inbox"),
        hiddenText(unreadLabel(t("Folder {name}", { name }), isUnread, mentionCount)),
      ),
      countBadge(mentionCount),
    );
  }

  #unreadState(guild) {
    const { state } = this.context;
    let isUnread = false,
      mentionCount = 0;
    for (const channel of state.channels.values()) {
      if (channel.guild_id !== guild.id || !countsAsUnread(channel, state)) continue;
      isUnread ||= state.isShownUnread(channel.id);
      mentionCount += state.mentionCountIn(channel.id);
    }
    return { isUnread, mentionCount };
  }

  #entry(guild, currentGuildId, className = null) {
    const { isUnread, mentionCount } = this.#unreadState(guild);
    const isCurrent = guild.id === currentGuildId;
    const version = `${isCurrent} ${isUnread} ${mentionCount} ${guild.name} ${guild.icon} ${guild.unavailable} ${className}`;
    const name = guild.unavailable ? t("{name}, unavailable", { name: guild.name ?? t("Unknown guild") }) : guild.name;
    return {
      key: guild.id,
      version,
      build: () =>
        this.#item(`/app/channels/${guild.id}`, name, isCurrent, isUnread, mentionCount, guildIcon(guild), {
          oncontextmenu: event => this.#openMenu(event, guild.id),
          className,
          move: guild.id,
        }),
    };
  }

  /** Open the menu of a guild, by a right click or the menu key. */
  #openMenu(event, guildId) {
    if (this.context.state.guilds.get(guildId)?.unavailable) return;
    event.preventDefault();
    openGuildMenu(event.currentTarget, this.context, guildId);
  }

  #item(path, name, isCurrent, isUnread, mentionCount, image, options = {}) {
    const { className = null, move = null, ...attributes } = options;
    return h(
      "li",
      {
        class: [isUnread ? "unread" : null, className].filter(Boolean).join(" ") || null,
        draggable: move ? "true" : null,
        dataset: move ? { move } : {},
      },
      h(
        "a",
        {
          href: path,
          "aria-current": isCurrent ? "page" : null,
          title: name,
          dataset: { focus: path },
          ...attributes,
        },
        image,
        hiddenText(unreadLabel(name, isUnread, mentionCount)),
      ),
      countBadge(mentionCount),
    );
  }

  #mentionsButton() {
    const onClick = event => event.currentTarget.dispatchEvent(new CustomEvent("open-mentions", { bubbles: true }));
    return h(
      "li",
      null,
      h(
        "button",
        {
          type: "button",
          class: "avatar square tool",
          "aria-label": t("Mentions"),
          title: t("Mentions"),
          onclick: onClick,
        },
        icon("mention"),
      ),
    );
  }

  #addButton() {
    const onClick = () => openAddGuild(this.context);
    return h(
      "li",
      null,
      h(
        "button",
        {
          type: "button",
          class: "avatar square add",
          "aria-label": t("Join or create a guild"),
          title: t("Join or create a guild"),
          onclick: onClick,
        },
        icon("plus"),
      ),
    );
  }
}

const loadFolders = () => loadModule(() => import("./folders.js"));

/** Return a text for screen readers. It is not an `aria-label`, because those must contain the visible initials. */
const hiddenText = text => h("span", { class: "visually-hidden" }, text);

/** Return the accessible name of an entry: its name, with the number of mentions or the word “unread”. */
function unreadLabel(name, isUnread, mentionCount) {
  if (mentionCount) return tn("{name}, {count} mention", "{name}, {count} mentions", mentionCount, { name });
  return isUnread ? t("{name}, unread", { name }) : name;
}

const countBadge = mentionCount =>
  mentionCount ? h("span", { class: "count", "aria-hidden": "true" }, mentionCount > 99 ? "99+" : mentionCount) : null;

/** Return whether the unread messages of a channel count for its guild: only in visible channels and joined threads. */
export function countsAsUnread(channel, state) {
  if ((channel.flags ?? 0) & ChannelFlags.CHANNEL_OBFUSCATED || !isMessageable(channel)) return false;
  if (isThread(channel)) return Boolean(channel.member);
  return isPrivate(channel) || state.can(channel.id, Permissions.VIEW_CHANNEL);
}

customElements.define("hubbub-rail", GuildList);
