/** The list of guilds at the edge of the layout (the rail), with unread indicators. */

import { ChannelFlags, Permissions, RelationshipType, isPrivate, isMessageable, isThread } from "../network/enums.js";
import { h, icon, reconcile } from "../ui/dom.js";
import { LayoutPart } from "../ui/layout_part.js";
import { guildIcon } from "../content/avatars.js";
import { openAddGuild } from "./join_dialogs.js";
import { openGuildMenu } from "./menu.js";

class GuildList extends LayoutPart {
  static kinds = [
    "guilds",
    "channels",
    "readStates",
    "members",
    "messages",
    "relationships",
    "route",
    "notificationSettings",
  ];

  begin() {
    this.list = h("ul", { class: "rail-list" });
    this.replaceChildren(h("nav", { class: "rail", "aria-label": "Guilds" }, this.list));
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
            "Direct messages",
            guildId === null,
            badgeCount > 0,
            badgeCount,
            h("span", { class: "avatar square home" }, icon("people")),
          ),
      },
      ...[...state.guilds.values()].map(guild => this.#entry(guild, guildId)),
      { key: "add", version: "", build: () => this.#addButton() },
      { key: "mentions", version: "", build: () => this.#mentionsButton() },
    ];
    reconcile(this.list, entries);
  }

  #entry(guild, currentGuildId) {
    const { state } = this.context;
    let isUnread = false,
      mentionCount = 0;
    for (const channel of state.channels.values()) {
      if (channel.guild_id !== guild.id || !countsAsUnread(channel, state)) continue;
      isUnread ||= state.isShownUnread(channel.id);
      mentionCount += state.mentionCountIn(channel.id);
    }
    const isCurrent = guild.id === currentGuildId;
    const version = `${isCurrent} ${isUnread} ${mentionCount} ${guild.name} ${guild.icon} ${guild.unavailable}`;
    const name = guild.unavailable ? `${guild.name ?? "Unknown guild"}, unavailable` : guild.name;
    return {
      key: guild.id,
      version,
      build: () =>
        this.#item(`/app/channels/${guild.id}`, name, isCurrent, isUnread, mentionCount, guildIcon(guild), {
          oncontextmenu: event => this.#openMenu(event, guild.id),
        }),
    };
  }

  /** Open the menu of a guild, by a right click or the menu key. */
  #openMenu(event, guildId) {
    if (this.context.state.guilds.get(guildId)?.unavailable) return;
    event.preventDefault();
    openGuildMenu(event.currentTarget, this.context, guildId);
  }

  #item(path, name, isCurrent, isUnread, mentionCount, image, attributes = {}) {
    const suffix = mentionCount
      ? `, ${mentionCount} ${mentionCount === 1 ? "mention" : "mentions"}`
      : isUnread
        ? ", unread"
        : "";
    return h(
      "li",
      { class: isUnread ? "unread" : null },
      h(
        "a",
        {
          href: path,
          "aria-current": isCurrent ? "page" : null,
          "aria-label": name + suffix,
          title: name,
          dataset: { focus: path },
          ...attributes,
        },
        image,
      ),
      mentionCount
        ? h("span", { class: "count", "aria-hidden": "true" }, mentionCount > 99 ? "99+" : mentionCount)
        : null,
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
          "aria-label": "Mentions",
          title: "Mentions",
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
          "aria-label": "Join or create a guild",
          title: "Join or create a guild",
          onclick: onClick,
        },
        icon("plus"),
      ),
    );
  }
}

/** Return whether the unread messages of a channel count for its guild: only in visible channels and joined threads. */
export function countsAsUnread(channel, state) {
  if ((channel.flags ?? 0) & ChannelFlags.CHANNEL_OBFUSCATED || !isMessageable(channel)) return false;
  if (isThread(channel)) return Boolean(channel.member);
  return isPrivate(channel) || state.can(channel.id, Permissions.VIEW_CHANNEL);
}

customElements.define("hubbub-rail", GuildList);
