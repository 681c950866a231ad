/** The member list: guild members by role and presence, or the recipients of a conversation. */

import { ActivityType, Opcode } from "../network/enums.js";
import { h, reconcile } from "../ui/dom.js";
import { LayoutPart } from "../ui/layout_part.js";
import { userAvatar } from "../content/avatars.js";
import { openProfile } from "./profile.js";

const MEMBERS_MAX = 300;
const requestedGuilds = new Set();

class Members extends LayoutPart {
  static kinds = ["members", "presences", "guilds", "channels"];

  begin() {
    this.list = h("ul", { class: "member-list" });
    this.replaceChildren(h("aside", { class: "members", "aria-label": "Members", id: "members" }, this.list));
    const { guildId, gateway, state } = this.context;
    const guild = state.guilds.get(guildId);
    // Large guilds send only online members. Request the first offline ones once.
    if (guild && !requestedGuilds.has(guildId) && (guild.member_count ?? 0) > (state.members.get(guildId)?.size ?? 0)) {
      requestedGuilds.add(guildId);
      gateway.send(Opcode.REQUEST_GUILD_MEMBERS, { guild_id: guildId, query: "", limit: 100, presences: true });
    }
  }

  draw() {
    const { guildId, channelId, state } = this.context;
    const guild = state.guilds.get(guildId);
    const groups = guild
      ? groupByRole(guild, state)
      : [["Members", recipientsOf(state.channels.get(channelId), state)]];
    const entries = [];
    let remaining = MEMBERS_MAX;
    for (const [title, users] of groups) {
      if (!users.length || remaining <= 0) continue;
      entries.push({
        key: `title-${title}`,
        version: `${users.length}`,
        build: () => h("li", { class: "member-title" }, h("h3", null, `${title} · ${users.length}`)),
      });
      for (const user of users.slice(0, remaining)) entries.push(this.#entry(user));
      remaining -= users.length;
    }
    reconcile(this.list, entries);
  }

  #entry(user) {
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

/** Group members by hoisted role, highest first, then online and offline. */
function groupByRole(guild, state) {
  const hoisted = guild.roles
    .filter(role => role.hoist && role.id !== guild.id)
    .sort((a, b) => b.position - a.position);
  const groups = new Map([
    ...hoisted.map(role => [role.id, [role.name, []]]),
    ["online", ["Online", []]],
    ["offline", ["Offline", []]],
  ]);
  for (const member of state.members.get(guild.id)?.values() ?? []) {
    const isOnline = member.user.id === state.me.id || state.statusOf(member.user.id) !== "offline";
    const role = isOnline ? hoisted.find(role => member.roles.includes(role.id)) : undefined;
    groups.get(role?.id ?? (isOnline ? "online" : "offline"))[1].push(state.user(member.user.id) ?? member.user);
  }
  const sortKey = user => state.displayName(user, guild.id).toLocaleLowerCase();
  for (const [, users] of groups.values()) users.sort((a, b) => sortKey(a).localeCompare(sortKey(b)));
  return [...groups.values()];
}

customElements.define("hubbub-members", Members);
