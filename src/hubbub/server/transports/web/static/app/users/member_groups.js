/** The members of a guild, grouped by hoisted role and presence. The size of a group includes members that are not loaded. */

import { LOCALE, t } from "../ui/translation.js";

const collator = new Intl.Collator(LOCALE, { sensitivity: "base" });

/**
 * A group of the member list.
 *
 * @typedef {object} MemberGroup
 * @property {string} key
 * @property {string} title
 * @property {any[]} users
 * @property {number} count number of members, including those that are not loaded
 */

/** Return the groups of a guild: by hoisted role, highest first, then online and offline. @returns {MemberGroup[]} */
export function groupMembers(guild, state) {
  const hoistedRoles = guild.roles
    .filter(role => role.hoist && role.id !== guild.id)
    .sort((a, b) => b.position - a.position);
  const groups = new Map([
    ...hoistedRoles.map(role => [role.id, { key: role.id, title: role.name, users: [] }]),
    ["online", { key: "online", title: t("Online"), users: [] }],
    ["offline", { key: "offline", title: t("Offline"), users: [] }],
  ]);
  let onlineCount = 0;
  for (const member of state.members.get(guild.id)?.values() ?? []) {
    const isOnline = member.user.id === state.me.id || state.statusOf(member.user.id) !== "offline";
    const role = isOnline ? hoistedRoles.find(hoistedRole => member.roles.includes(hoistedRole.id)) : undefined;
    if (isOnline) onlineCount += 1;
    groups.get(role?.id ?? (isOnline ? "online" : "offline")).users.push(state.user(member.user.id) ?? member.user);
  }
  for (const group of groups.values()) {
    group.users = sortByName(group.users, guild.id, state);
    group.count = group.users.length;
  }
  // All online members are loaded, so the members that are not loaded are offline.
  const offline = groups.get("offline");
  offline.count = Math.max(offline.count, (guild.member_count ?? 0) - onlineCount);
  return [...groups.values()].filter(group => group.count);
}

function sortByName(users, guildId, state) {
  return users
    .map(user => ({ user, name: state.displayName(user, guildId) }))
    .sort((a, b) => collator.compare(a.name, b.name) || (a.user.id < b.user.id ? -1 : 1))
    .map(({ user }) => user);
}
