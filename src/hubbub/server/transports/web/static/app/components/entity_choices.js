/** Users, roles and channels as choices of a select, from the client's state and the guild's member search. */

import { ComponentType } from "../generated/enums.js";
import { SEARCH_QUERY_MAX } from "../generated/limits.js";
import { ChannelType, isThread } from "../network/enums.js";
import { h, icon } from "../ui/dom.js";
import { LOCALE, t } from "../ui/translation.js";
import { userAvatar, channelIconName } from "../content/avatars.js";

const { ROLE_SELECT, MENTIONABLE_SELECT, CHANNEL_SELECT } = ComponentType;

const RESULTS_MAX = 25;
/** Largest number of roles in a mentionable select, so that users remain visible. */
const MENTIONABLE_ROLES_MAX = 8;
/** Added to the position of threads, so that they follow the other channels. */
const THREAD_OFFSET = 1e6;

/**
 * Return the choices of an entity select that match the query.
 *
 * @param {{type: number, channel_types?: number[]}} component
 * @returns {Promise<import("../ui/picker.js").Choice[]>}
 */
export async function findEntityChoices(component, context, query) {
  const text = query.toLowerCase();
  const type = component.type;
  if (type === CHANNEL_SELECT) return findChannels(context, text, component.channel_types);
  if (type === ROLE_SELECT) return findRoles(context, text);
  const userChoices = await findUsers(context, query);
  return type === MENTIONABLE_SELECT
    ? [...findRoles(context, text).slice(0, MENTIONABLE_ROLES_MAX), ...userChoices].slice(0, RESULTS_MAX)
    : userChoices;
}

/** Return the default values of an entity select as choices. */
export function defaultEntityChoices({ default_values: values = [] }, context) {
  return values.map(({ id, type }) => {
    if (type === "role")
      return roleChoice(guildOf(context)?.roles.find(role => role.id === id) ?? { id, name: t("Unknown role") });
    if (type === "channel")
      return channelChoice(
        context.state.channels.get(id) ?? { id, name: t("Unknown channel"), type: ChannelType.GUILD_TEXT },
      );
    return userChoice(context.state.user(id) ?? { id, username: t("Unknown user") }, context);
  });
}

function userChoice(user, { state, guildId }) {
  const name = state.displayName(user, guildId);
  return {
    value: user.id,
    label: name,
    description: name === user.username ? undefined : user.username,
    buildIcon: () => userAvatar(user, name),
  };
}

function guildOf({ state, guildId }) {
  return guildId ? state.guilds.get(guildId) : undefined;
}

async function findUsers(context, query) {
  const { api, state, guildId, channelId } = context;
  const text = query.toLowerCase();
  const usersById = new Map();
  const add = user =>
    user && usersById.size < RESULTS_MAX && matches(user, text, context) && usersById.set(user.id, user);
  if (!guildId) {
    for (const recipient of state.channels.get(channelId)?.recipients ?? []) add(recipient);
    add(state.me);
  } else {
    const members = state.members.get(guildId);
    if (text || (members?.size ?? 0) <= RESULTS_MAX)
      for (const [id, member] of members ?? []) add(state.user(id) ?? member.user);
    else add(state.me);
    if (usersById.size < RESULTS_MAX && query) {
      const results = await api.request("GET", `/guilds/${guildId}/members/search`, {
        query: { query: query.slice(0, SEARCH_QUERY_MAX), limit: RESULTS_MAX },
      });
      for (const { user } of results) if (usersById.size < RESULTS_MAX) usersById.set(user.id, user);
    }
  }
  return [...usersById.values()]
    .map(user => userChoice(user, context))
    .sort((choice, otherChoice) => choice.label.localeCompare(otherChoice.label, LOCALE));
}

function matches(user, text, { state, guildId }) {
  return [user.username, user.global_name, state.displayName(user, guildId)].some(name =>
    name?.toLowerCase().includes(text),
  );
}

function findRoles(context, text) {
  const guild = guildOf(context);
  const matchingRoles = (guild?.roles ?? []).filter(({ name }) => name.toLowerCase().includes(text));
  return matchingRoles
    .sort((role, otherRole) => otherRole.position - role.position)
    .slice(0, RESULTS_MAX)
    .map(roleChoice);
}

function roleChoice({ id, name, color }) {
  return { value: id, label: name, buildIcon: () => dot(color) };
}

function dot(color) {
  const node = h("span", { class: "picker-dot" });
  if (color) node.style.background = `#${color.toString(16).padStart(6, "0")}`;
  return node;
}

function findChannels(context, text, types) {
  const { state, guildId } = context;
  if (!guildId) return [];
  const sortKey = channel => (isThread(channel) ? THREAD_OFFSET : 0) + (channel.position ?? 0);
  return state
    .channelsOf(guildId)
    .filter(
      channel =>
        (!types?.length || types.includes(channel.type)) &&
        (channel.name ?? "").toLowerCase().includes(text) &&
        state.permissionsIn(channel.id),
    )
    .sort((one, other) => sortKey(one) - sortKey(other))
    .slice(0, RESULTS_MAX)
    .map(channelChoice);
}

function channelChoice(channel) {
  return {
    value: channel.id,
    label: channel.name ?? t("Unnamed channel"),
    buildIcon: () => icon(channelIconName(channel)),
  };
}
