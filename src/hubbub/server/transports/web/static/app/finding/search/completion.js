/** Completion in the search field: names of filters and their values. */

import { icon } from "../../ui/dom.js";
import { LOCALE } from "../../ui/translation.js";
import { channelIconName, userAvatar } from "../../content/avatars.js";
import { SUGGESTED_DATES, parseDateRange } from "./dates.js";
import {
  CONTENT_KINDS,
  SEARCH_FILTER_KINDS,
  findOpenToken,
  searchableChannels,
  searchableUsers,
  userFilter,
} from "./filters.js";

const OPTIONS_MAX = 8;

/**
 * Return the options for the text before the cursor.
 *
 * @param {any} context
 * @param {string} text
 * @param {{complete: (start: number, text: string) => void, add: (start: number, filter: any) => void}} actions
 *   `complete` replaces the text from a position on; `add` removes it and adds a filter
 * @returns {import("../../ui/option_list.js").Option[]}
 */
export function completeSearch(context, text, actions) {
  const token = findOpenToken(text);
  if (token === null) return [];
  const { key, value, start } = token;
  if (key === null) {
    const keyPrefix = value.toLowerCase();
    return SEARCH_FILTER_KINDS.filter(
      kind => kind.key.startsWith(keyPrefix) && (context.guildId || !kind.isGuildOnly),
    ).map(kind => ({
      label: `${kind.key}:`,
      hint: kind.hint,
      choose: () => actions.complete(start, `${kind.key}:`),
    }));
  }
  return valueOptions(context, key, value.toLowerCase())
    .slice(0, OPTIONS_MAX)
    .map(({ filter, ...option }) => ({ label: filter.label, ...option, choose: () => actions.add(start, filter) }));
}

function valueOptions(context, key, typedValue) {
  if (key === "from" || key === "mentions") return userOptions(context, key, typedValue.replace(/^@/, ""));
  if (key === "in") {
    if (!context.guildId) return [];
    const name = typedValue.replace(/^#/, "");
    return searchableChannels(context)
      .filter(channel => channel.name.toLowerCase().includes(name))
      .sort((a, b) => (b.id === context.channelId) - (a.id === context.channelId))
      .map(channel => ({
        filter: { key, value: channel.id, label: `#${channel.name}` },
        label: channel.name,
        icon: icon(channelIconName(channel)),
      }));
  }
  const values = { has: CONTENT_KINDS, pinned: ["true", "false"] }[key] ?? [
    ...(parseDateRange(typedValue) ? [typedValue] : []),
    ...SUGGESTED_DATES.filter(date => date !== typedValue),
  ];
  return values
    .filter(value => value.startsWith(typedValue))
    .map(value => ({ filter: { key, value, label: value }, hint: dateHint(key, value) }));
}

/** Return the first day of a suggested date as text, so that the user can check it; undefined for other values. */
function dateHint(key, value) {
  if (!SUGGESTED_DATES.includes(value)) return undefined;
  return new Date(parseDateRange(value).startMs).toLocaleDateString(LOCALE);
}

function userOptions(context, key, typedName) {
  const { state, guildId, me } = context;
  const names = user => [user.username, user.global_name, state.displayName(user, guildId)];
  const isMatch = user => names(user).some(name => name?.toLowerCase().includes(typedName));
  const isPrefixMatch = user => names(user).some(name => name?.toLowerCase().startsWith(typedName));
  const ownOptions = "me".startsWith(typedName)
    ? [{ filter: userFilter(context, key, me), label: "me", hint: me.username, icon: userAvatar(me, me.username) }]
    : [];
  return [
    ...ownOptions,
    ...searchableUsers(context)
      .filter(user => user.id !== me.id || !ownOptions.length)
      .filter(isMatch)
      .sort((a, b) => Number(isPrefixMatch(b)) - Number(isPrefixMatch(a)))
      .slice(0, OPTIONS_MAX)
      .map(user => ({
        filter: userFilter(context, key, user),
        hint: user.username,
        icon: userAvatar(user, state.displayName(user, guildId)),
      })),
  ];
}
