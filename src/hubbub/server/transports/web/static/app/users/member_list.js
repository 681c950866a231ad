/** The member list: guild members by role and presence, or the recipients of a conversation. */

import { ActivityType, Opcode } from "../network/enums.js";
import { h } from "../ui/dom.js";
import { LayoutPart } from "../ui/layout_part.js";
import { VirtualList } from "../ui/virtual_list.js";
import { userAvatar } from "../content/avatars.js";
import { groupMembers } from "./member_groups.js";
import { openProfile } from "./profile.js";

/** Heights of entries in units of the text size; the style sheet has the same heights. */
const MEMBER_REM = 2.75;
const TITLE_REM = 2.4;
/** In guilds with more members the list is sorted again at most this often. */
const LARGE_GUILD = 1_000;
const LARGE_GUILD_DELAY_MS = 500;

/** Guilds whose offline members were requested in this session. */
const requestedGuilds = new Set();

class Members extends LayoutPart {
  static kinds = ["members", "presences", "guilds", "channels"];

  begin() {
    this.box = h("aside", { class: "members", "aria-label": "Members", id: "members" });
    this.list = new VirtualList(this.box, { class: "member-list" }, entries => this.#onShow(entries));
    this.box.append(this.list.node);
    this.replaceChildren(this.box);
    this.resizeObserver = new ResizeObserver(() => this.list.draw());
    this.resizeObserver.observe(this.box);
    this.onReady = () => requestedGuilds.clear();
    this.context.gateway.addEventListener("READY", this.onReady);
  }

  end() {
    clearTimeout(this.timer);
    this.resizeObserver.disconnect();
    this.context.gateway.removeEventListener("READY", this.onReady);
  }

  draw() {
    const { guildId, state } = this.context;
    const isLarge = (state.members.get(guildId)?.size ?? 0) > LARGE_GUILD;
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
      : [{ key: "members", title: "Members", users: recipients, count: recipients.length }];
    const rem = Number.parseFloat(getComputedStyle(document.documentElement).fontSize);
    const entries = [];
    for (const { key, title, users, count } of groups) {
      entries.push({
        key: `title-${key}`,
        version: `${title} ${count}`,
        height: TITLE_REM * rem,
        build: () => h("li", { class: "member-title" }, h("h3", null, `${title} · ${count}`)),
      });
      for (const user of users) entries.push(this.#entry(user, MEMBER_REM * rem));
      for (let index = users.length; index < count; index += 1) entries.push(placeholder(index, MEMBER_REM * rem));
    }
    this.list.entries = entries;
  }

  /** Request the offline members when the list shows the place of one that is not loaded. */
  #onShow(entries) {
    const { guildId, gateway } = this.context;
    if (!guildId || requestedGuilds.has(guildId) || !entries.some(entry => entry.isPlaceholder)) return;
    requestedGuilds.add(guildId);
    gateway.send(Opcode.REQUEST_GUILD_MEMBERS, { guild_id: guildId, query: "", limit: 0 });
  }

  #entry(user, height) {
    const { guildId, state, me } = this.context;
    const name = state.displayName(user, guildId),
      status = user.id === me.id ? "online" : state.statusOf(user.id);
    const activity = state.presences.get(user.id)?.activities?.[0];
    const activityText = activity
      ? ((activity.type === ActivityType.CUSTOM ? activity.state : activity.name) ?? "")
      : "";
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
            },
            userAvatar(user, name, status),
            h(
              "span",
              { class: "member-name" },
              h("span", { dir: "auto" }, name),
              activityText ? h("span", { class: "muted small", dir: "auto" }, activityText) : null,
            ),
            user.bot ? h("span", { class: "tag" }, "App") : null,
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
