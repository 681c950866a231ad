/**
 * The filters of a message search, as typed text (`from:alice has:image`) and as parameters of the API.
 *
 * @typedef {{key: string, value: string, label: string}} SearchFilter `value` is an ID, a date or a word; `label` is its text
 */

import { Permissions, isMessageable } from "../../network/enums.js";
import { t } from "../../ui/translation.js";
import { dateBounds, parseDateRange } from "./dates.js";

/** The kinds of filters in the order in which the completion lists them. */
export const SEARCH_FILTER_KINDS = [
  { key: "from", hint: t("author of the message") },
  { key: "in", hint: t("channel or thread"), isGuildOnly: true },
  { key: "has", hint: t("link, embed, file, image, video, sound, sticker or poll") },
  { key: "mentions", hint: t("mentioned user") },
  { key: "before", hint: t("date, such as 2026-11-01") },
  { key: "after", hint: t("date, such as 2026-11-01") },
  { key: "during", hint: t("date, such as 2026-11") },
  { key: "pinned", hint: t("true or false") },
];

/** The values of `has`. */
export const CONTENT_KINDS = ["link", "embed", "file", "image", "video", "sound", "sticker", "poll"];

/** The values of `pinned`, by the typed word. */
const PINNED_VALUES = new Map([
  ["true", "true"],
  ["yes", "true"],
  ["false", "false"],
  ["no", "false"],
]);

const TOKEN_PATTERN = /(^|\s)(from|in|has|mentions|before|after|during|pinned):("[^"]*"|\S+)(?=\s|$)/gi;
const OPEN_TOKEN_PATTERN = /(?:^|\s)(?:(from|in|has|mentions|before|after|during|pinned):("[^"]*|\S*)|(\w*))$/i;

/** Return the keys and values of the filters in a text, and its other words. */
export function splitSearchText(text) {
  const tokens = [];
  const words = text.replace(TOKEN_PATTERN, (_, space, key, value) => {
    tokens.push({ key: key.toLowerCase(), value: value.replaceAll('"', "") });
    return space;
  });
  return { tokens, words: words.replace(/\s+/g, " ").trim() };
}

/**
 * Return the filter or word at the end of a text, or null if there is none; `key` is null for a word, `start` is its
 * position.
 */
export function findOpenToken(text) {
  const match = OPEN_TOKEN_PATTERN.exec(text);
  if (match === null) return null;
  const start = match.index + (/^\s/.test(match[0]) ? 1 : 0);
  return match[1] === undefined
    ? { key: null, value: match[3] ?? "", start }
    : { key: match[1].toLowerCase(), value: match[2].replaceAll('"', ""), start };
}

/** Return the users that a search can name: members of the guild that the client has loaded, or recipients and the user. */
export function searchableUsers({ state, guildId, channelId, me }) {
  if (guildId) return [...(state.members.get(guildId)?.values() ?? [])].map(member => member.user);
  return [...(state.channels.get(channelId)?.recipients ?? []), me];
}

/** Return the channels and threads of the guild that the user can search. */
export function searchableChannels({ state, guildId }) {
  return state
    .channelsOf(guildId)
    .filter(
      channel =>
        isMessageable(channel) && state.can(channel.id, Permissions.VIEW_CHANNEL | Permissions.READ_MESSAGE_HISTORY),
    );
}

/**
 * Return the filter for a typed key and value, or a sentence about the error.
 *
 * @returns {Promise<{filter?: SearchFilter, error?: string}>}
 */
export async function resolveFilter(context, key, value) {
  if (key === "from" || key === "mentions") return await resolveUser(context, key, value);
  if (key === "in") return resolveChannel(context, value);
  if (key === "has")
    return CONTENT_KINDS.includes(value.toLowerCase())
      ? { filter: { key, value: value.toLowerCase(), label: value.toLowerCase() } }
      : { error: t("“has:{value}” is unknown. Use one of: {kinds}.", { value, kinds: CONTENT_KINDS.join(", ") }) };
  if (key === "pinned") {
    const pinnedValue = PINNED_VALUES.get(value.toLowerCase());
    return pinnedValue
      ? { filter: { key, value: pinnedValue, label: pinnedValue } }
      : { error: t("Use “pinned:true” or “pinned:false”.") };
  }
  return parseDateRange(value)
    ? { filter: { key, value: value.toLowerCase(), label: value.toLowerCase() } }
    : { error: t("“{value}” is not a date. Write the year, month and day: {key}:2026-11-01.", { value, key }) };
}

async function resolveUser(context, key, value) {
  const { state, guildId, api, me } = context;
  const name = value.replace(/^@/, "").toLowerCase();
  const isNamed = user =>
    user.id === name ||
    [user.username, user.global_name, state.displayName(user, guildId)].some(other => other?.toLowerCase() === name);
  let user = name === "me" ? me : searchableUsers(context).find(isNamed);
  if (user === undefined && guildId) {
    const members = await api.request("GET", `/guilds/${guildId}/members/search`, {
      query: { query: name, limit: 10 },
    });
    for (const member of members) state.storeUser(member.user);
    user = members.map(member => member.user).find(isNamed);
  }
  if (user === undefined)
    return { error: t("No user is named “{value}” here. Choose a name from the list.", { value }) };
  return { filter: userFilter(context, key, user) };
}

/** Return the filter for a user; `key` is `from` or `mentions`. */
export function userFilter({ state, guildId }, key, user) {
  return { key, value: user.id, label: state.displayName(user, guildId) };
}

function resolveChannel(context, value) {
  const name = value.replace(/^#/, "").toLowerCase();
  const channel = searchableChannels(context).find(
    candidate => candidate.id === name || candidate.name?.toLowerCase() === name,
  );
  if (channel === undefined)
    return { error: t("No channel that you can read is named “{value}”. Choose a name from the list.", { value }) };
  return { filter: { key: "in", value: channel.id, label: `#${channel.name}` } };
}

/** Labels and API parameters of the orders of results, by the value of the order field. */
export const SEARCH_ORDERS = {
  newest: { label: t("Newest first"), query: { sort_by: "timestamp", sort_order: "desc" } },
  oldest: { label: t("Oldest first"), query: { sort_by: "timestamp", sort_order: "asc" } },
  relevance: { label: t("Most relevant first"), query: { sort_by: "relevance", sort_order: "desc" } },
};

/**
 * Return the parameters of the API for a search with filters, words and a key of `SEARCH_ORDERS`.
 *
 * @param {SearchFilter[]} filters
 */
export function searchParameters({ state, channelId }, filters, words, order) {
  const values = key => filters.filter(filter => filter.key === key).map(filter => filter.value);
  let min = null,
    max = null;
  for (const filter of filters.filter(({ key }) => key === "before" || key === "after" || key === "during")) {
    const bounds = dateBounds(filter.key, parseDateRange(filter.value));
    if (bounds.min !== undefined && (min === null || bounds.min > min)) min = bounds.min;
    if (bounds.max !== undefined && (max === null || bounds.max < max)) max = bounds.max;
  }
  const channelIds = values("in");
  return {
    content: words || undefined,
    author_id: values("from"),
    mentions: values("mentions"),
    has: values("has"),
    channel_id: channelIds,
    pinned: values("pinned").at(-1),
    min_id: min === null ? undefined : String(min),
    max_id: max === null ? undefined : String(max),
    // Age-restricted channels are searched only from inside one, or if a filter selects one.
    include_nsfw: [channelId, ...channelIds].some(id => state.channels.get(id)?.nsfw) || undefined,
    ...SEARCH_ORDERS[order].query,
  };
}
