/** People, roles and channels as things to choose: what the session knows at once, and what the guild's search finds. */

import { h, icon } from "./dom.js";
import { isThread } from "./enums.js";
import { faceOf, iconOf } from "./faces.js";

export const USER_SELECT = 5;
export const ROLE_SELECT = 6;
export const MENTIONABLE_SELECT = 7;
export const CHANNEL_SELECT = 8;

const SHOWN = 25;

/**
 * What fits what somebody types into an entity select.
 * @param {{type: number, channel_types?: number[]}} component
 * @returns {Promise<import("./picker.js").Choice[]>}
 */
export async function choicesOf(component, context, query) {
  const words = query.toLowerCase();
  const kind = component.type;
  if (kind === CHANNEL_SELECT) return channels(context, words, component.channel_types);
  if (kind === ROLE_SELECT) return roles(context, words);
  const found = await people(context, query);
  return kind === MENTIONABLE_SELECT ? [...roles(context, words).slice(0, 8), ...found].slice(0, SHOWN) : found;
}

/** What an entity select has chosen before anybody touches it. */
export function defaultsOf({ default_values: values = [] }, context) {
  return values.map(({ id, type }) => {
    if (type === "role") return asRole(guildOf(context)?.roles.find(role => role.id === id) ?? { id, name: "a role" });
    if (type === "channel") return asChannel(context.state.channels.get(id) ?? { id, name: "a channel", type: 0 });
    return asPerson(context.state.user(id) ?? { id, username: "somebody" }, context);
  });
}

/** Somebody, with a picture. */
function asPerson(user, { state, guildId }) {
  const name = state.nameOf(user, guildId);
  return { value: user.id, label: name, description: name === user.username ? undefined : user.username, mark: () => faceOf(user, name) };
}

function guildOf({ state, guildId }) {
  return guildId ? state.guilds.get(guildId) : undefined;
}

async function people(context, query) {
  const { api, state, guildId, channelId } = context;
  const words = query.toLowerCase();
  const found = new Map();
  const take = user => user && found.size < SHOWN && fits(user, words, context) && found.set(user.id, user);
  if (!guildId) {
    for (const each of state.channels.get(channelId)?.recipients ?? []) take(each);
    take(state.me);
  } else {
    const known = state.members.get(guildId);
    if (words || (known?.size ?? 0) <= SHOWN) for (const [id, member] of known ?? []) take(state.user(id) ?? member.user);
    else take(state.me);
    if (found.size < SHOWN && query) {
      const more = await api.request("GET", `/guilds/${guildId}/members/search`, { query: { query: query.slice(0, 100), limit: SHOWN } });
      for (const { user } of more) if (found.size < SHOWN) found.set(user.id, user);
    }
  }
  return [...found.values()].map(user => asPerson(user, context)).sort((one, other) => one.label.localeCompare(other.label));
}

function fits(user, words, { state, guildId }) {
  return [user.username, user.global_name, state.nameOf(user, guildId)].some(name => name?.toLowerCase().includes(words));
}

function roles(context, words) {
  const guild = guildOf(context);
  const found = (guild?.roles ?? []).filter(({ name }) => name.toLowerCase().includes(words));
  return found.sort((one, other) => other.position - one.position).slice(0, SHOWN).map(asRole);
}

function asRole({ id, name, color }) {
  return { value: id, label: name, mark: () => dot(color) };
}

function dot(color) {
  const node = h("span", { class: "picker-dot" });
  if (color) node.style.background = `#${color.toString(16).padStart(6, "0")}`;
  return node;
}

function channels(context, words, types) {
  const { state, guildId } = context;
  if (!guildId) return [];
  const order = each => (isThread(each) ? 1e6 : 0) + (each.position ?? 0);
  return state
    .channelsOf(guildId)
    .filter(each => (!types?.length || types.includes(each.type)) && (each.name ?? "").toLowerCase().includes(words) && state.permissionsIn(each.id))
    .sort((one, other) => order(one) - order(other))
    .slice(0, SHOWN)
    .map(asChannel);
}

/** A channel, with its sign. */
function asChannel(channel) {
  return { value: channel.id, label: channel.name ?? "a channel", mark: () => icon(iconOf(channel)) };
}
