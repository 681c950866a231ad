/** Who is here: members by role and presence, or the people of a conversation. */

import { Opcode } from "./enums.js";
import { h, reconcile } from "./dom.js";
import { faceOf } from "./faces.js";
import { Part } from "./parts.js";
import { openPerson } from "./people.js";

const SHOWN = 300;
const asked = new Set();

class Members extends Part {
  static kinds = ["members", "presences", "guilds", "channels"];

  begin() {
    this.list = h("ul", { class: "member-list" });
    this.replaceChildren(h("aside", { class: "members", "aria-label": "Members", id: "members" }, this.list));
    const { guildId, gateway, state } = this.context;
    const guild = state.guilds.get(guildId);
    // Large guilds tell only of those who are there; the first names of the others are asked for once.
    if (guild && !asked.has(guildId) && (guild.member_count ?? 0) > (state.members.get(guildId)?.size ?? 0)) {
      asked.add(guildId);
      gateway.send(Opcode.REQUEST_GUILD_MEMBERS, { guild_id: guildId, query: "", limit: 100, presences: true });
    }
  }

  draw() {
    const { guildId, channelId, state } = this.context;
    const guild = state.guilds.get(guildId);
    const groups = guild ? byRole(guild, state) : [["People", peopleOf(state.channels.get(channelId), state)]];
    const entries = [];
    let left = SHOWN;
    for (const [title, people] of groups) {
      if (!people.length || left <= 0) continue;
      entries.push({ key: `title-${title}`, stamp: `${people.length}`, build: () => h("li", { class: "member-title" }, h("h3", null, `${title} · ${people.length}`)) });
      for (const user of people.slice(0, left)) entries.push(this.#entry(user));
      left -= people.length;
    }
    reconcile(this.list, entries);
  }

  #entry(user) {
    const { guildId, state, me } = this.context;
    const name = state.nameOf(user, guildId), status = user.id === me.id ? "online" : state.statusOf(user.id);
    const activity = state.presences.get(user.id)?.activities?.[0];
    const doing = activity ? (activity.type === 4 ? activity.state : activity.name) ?? "" : "";
    return {
      key: user.id,
      stamp: `${name} ${status} ${user.avatar} ${doing}`,
      build: () =>
        h("li", null,
          h("button", { type: "button", class: status === "offline" ? "member away" : "member", dataset: { focus: user.id }, onclick: () => openPerson(this.context, user.id) },
            faceOf(user, name, status),
            h("span", { class: "member-name" }, h("span", { dir: "auto" }, name), doing ? h("span", { class: "soft small", dir: "auto" }, doing) : null),
            user.bot ? h("span", { class: "tag" }, "App") : null)),
    };
  }
}

function peopleOf(channel, state) {
  return channel === undefined ? [] : [state.me, ...(channel.recipients ?? [])];
}

/** Hoisted roles first, from the highest, then the others who are there, then those who are not. */
function byRole(guild, state) {
  const hoisted = guild.roles.filter(role => role.hoist && role.id !== guild.id).sort((a, b) => b.position - a.position);
  const groups = new Map([...hoisted.map(role => [role.id, [role.name, []]]), ["online", ["Online", []]], ["offline", ["Offline", []]]]);
  for (const member of state.members.get(guild.id)?.values() ?? []) {
    const here = member.user.id === state.me.id || state.statusOf(member.user.id) !== "offline";
    const role = here ? hoisted.find(each => member.roles.includes(each.id)) : undefined;
    groups.get(role?.id ?? (here ? "online" : "offline"))[1].push(state.user(member.user.id) ?? member.user);
  }
  const named = user => state.nameOf(user, guild.id).toLocaleLowerCase();
  for (const [, people] of groups.values()) people.sort((a, b) => named(a).localeCompare(named(b)));
  return [...groups.values()];
}

customElements.define("hubbub-members", Members);
