/** The member list: guild members by role and presence, or the recipients of a conversation. */

import { Opcode } from "../network/enums.js";
import { h } from "../ui/dom.js";
import { LayoutPart } from "../ui/layout_part.js";
import { t } from "../ui/translation.js";
import { VirtualList } from "../ui/virtual_list.js";
import { userAvatar } from "../content/avatars.js";
import { activityLine } from "../games/activity/text.js";
import { groupMembers } from "./member_groups.js";
import { memberMenuHandler, openProfile } from "./profile.js";

/** Heights of entries in rem; the style sheet has the same heights. */
const MEMBER_HEIGHT_REM = 2.75;
const TITLE_HEIGHT_REM = 2.4;
/** A guild with more loaded members is large: changes redraw its list after a delay, because sorting takes time. */
const LARGE_GUILD_THRESHOLD = 1_000;
const LARGE_GUILD_DELAY_MS = 500;

/** IDs of guilds whose offline members were requested in this session. */
const requestedGuildIds = new Set();

class Members extends LayoutPart {
  static kinds = ["members", "presences", "guilds", "channels"];

  begin() {
    this.container = h("aside", { class: "members", "aria-label": t("Members"), id: "members" });
    this.list = new VirtualList(this.container, { class: "member-list" }, entries => this.#onShow(entries));
    this.container.append(this.list.node);
    this.replaceChildren(this.container);
    this.resizeObserver = new ResizeObserver(() => this.list.draw());
    this.resizeObserver.observe(this.container);
    this.onReady = () => requestedGuildIds.clear();
    this.context.gateway.addEventListener("READY", this.onReady);
  }

  end() {
    clearTimeout(this.timer);
    this.resizeObserver.disconnect();
    this.context.gateway.removeEventListener("READY", this.onReady);
  }

  draw() {
    const { guildId, state } = this.context;
    const isLarge = (state.members.get(guildId)?.size ?? 0) > LARGE_GUILD_THRESHOLD;
    if (!isLarge || !this.isDrawn) {
      this.#drawEntries();
      return;
    }
    this.timer ??= setTimeout(() => this.#drawEntries(), LARGE_GUILD_DELAY_MS);
  }

  #drawEntries() {
    clearTimeout(this.timer);
    this.timer = undefined;
    this.isDrawn = true;
    const { guildId, channelId, state } = this.context;
    const guild = state.guilds.get(guildId);
    const recipients = recipientsOf(state.channels.get(channelId), state);
    const groups = guild
      ? groupMembers(guild, state)
      : [{ key: "members", title: t("Members"), users: recipients, count: recipients.length }];
    const rem = Number.parseFloat(getComputedStyle(document.documentElement).fontSize);
    const entries = [];
    for (const { key, title, users, count } of groups) {
      entries.push({
        key: `title-${key}`,
        version: `${title} ${count}`,
        height: TITLE_HEIGHT_REM * rem,
        build: () => h("li", { class: "member-title" }, h("h3", null, `${title} · ${count}`)),
      });
      for (const user of users) entries.push(this.#entry(user, MEMBER_HEIGHT_REM * rem));
      for (let index = users.length; index < count; index += 1)
        entries.push(placeholder(index, MEMBER_HEIGHT_REM * rem));
    }
    this.list.entries = entries;
  }

  /** Request the offline members when a placeholder is in view. */
  #onShow(entries) {
    const { guildId, gateway } = this.context;
    if (!guildId || requestedGuildIds.has(guildId) || !entries.some(entry => entry.isPlaceholder)) return;
    requestedGuildIds.add(guildId);
    gateway.send(Opcode.REQUEST_GUILD_MEMBERS, { guild_id: guildId, query: "", limit: 0 });
  }

  #entry(user, height) {
    const { guildId, state, me } = this.context;
    const name = state.displayName(user, guildId),
      status = user.id === me.id ? "online" : state.statusOf(user.id);
    const activityText = activityLine(state.activitiesOf(user.id));
    return {
      key: user.id,
      version: `${name} ${status} ${user.avatar} ${activityText}`,
      height,
      isFocusable: true,
      build: () =>
        h(
          "li",
          null,
          h(
            "button",
            {
              type: "button",
              class: status === "offline" ? "member away" : "member",
              dataset: { focus: user.id },
              onclick: () => openProfile(this.context, user.id),
              oncontextmenu: memberMenuHandler(this.context, user.id),
            },
            userAvatar(user, name, status),
            h(
              "span",
              { class: "member-name" },
              h("span", { dir: "auto" }, name),
              activityText ? h("span", { class: "muted small", dir: "auto" }, activityText) : null,
            ),
            user.bot ? h("span", { class: "tag" }, t("App")) : null,
          ),
        ),
    };
  }
}

function recipientsOf(channel, state) {
  return channel === undefined ? [] : [state.me, ...(channel.recipients ?? [])];
}

/** Return the entry of a member that is not loaded. */
function placeholder(index, height) {
  const build = () => h("li", { class: "member-placeholder", "aria-hidden": "true" });
  return { key: `placeholder-${index}`, version: "", height, isPlaceholder: true, build };
}

customElements.define("hubbub-members", Members);
