/**
 * The places that the quick switcher can lead to, and their order.
 *
 * @typedef {{key: string, kind: "guild" | "text" | "voice" | "user", names: string[], label: string, hint: string,
 *   icon: () => Element, channel?: any, open: () => void}} Destination
 */

import {
  ChannelFlags,
  ChannelType,
  Permissions,
  RelationshipType,
  isMessageable,
  isPrivate,
  isThread,
  isVoice,
} from "../network/enums.js";
import { icon } from "../ui/dom.js";
import { channelPath } from "../ui/router.js";
import { LOCALE, t } from "../ui/translation.js";
import { channelIconName, channelTitle, conversationIcon, guildIcon, userAvatar } from "../content/avatars.js";
import { openDirectMessage } from "../users/profile.js";
import { EXACT, foldText, matchScore } from "./fuzzy_match.js";

/** Kinds of destinations by the prefix of a query. */
export const PREFIXES = { "@": "user", "#": "text", "!": "voice", "*": "guild" };

const MENTION_BONUS = 30,
  UNREAD_BONUS = 15,
  RECENCY_BONUS_MAX = 20,
  /** Factor of the score of a query whose words match the name of the destination and the hint, such as its guild. */
  CONTEXT_FACTOR = 0.6;

/** Return the visible channels, the guilds, and the users without a conversation, unordered. @returns {Destination[]} */
export function listDestinations(context) {
  const { state } = context;
  const channels = [...state.channels.values()].filter(channel => isReachable(state, channel));
  const contactedIds = new Set(
    channels.filter(channel => channel.type === ChannelType.DM).map(channel => channel.recipients?.[0]?.id),
  );
  return [
    ...channels.map(channel => channelDestination(context, channel)),
    ...[...state.guilds.values()].filter(guild => !guild.unavailable).map(guild => guildDestination(context, guild)),
    ...knownUsers(context)
      .filter(user => !contactedIds.has(user.id))
      .map(user => userDestination(context, user)),
  ];
}

function isReachable(state, channel) {
  if (isPrivate(channel)) return true;
  if (channel.type === ChannelType.GUILD_CATEGORY || (channel.flags ?? 0) & ChannelFlags.CHANNEL_OBFUSCATED)
    return false;
  return state.can(channel.id, Permissions.VIEW_CHANNEL);
}

/** Return friends and members of common guilds, without the current user, blocked users and bots. */
function knownUsers({ state, me }) {
  const users = new Map();
  for (const relationship of state.relationships.values())
    if (relationship.type === RelationshipType.FRIEND) users.set(relationship.id, relationship.user);
  for (const members of state.members.values())
    for (const { user } of members.values()) if (!user.bot) users.set(user.id, user);
  users.delete(me.id);
  return [...users.values()].filter(user => state.relationships.get(user.id)?.type !== RelationshipType.BLOCKED);
}

function channelDestination(context, channel) {
  const { state } = context;
  const title = channelTitle(channel, state);
  const guild = state.guilds.get(channel.guild_id);
  const parent = isThread(channel) ? state.channels.get(channel.parent_id) : null;
  return {
    key: channel.id,
    kind: isPrivate(channel) ? "user" : isVoice(channel) ? "voice" : "text",
    names: [title, ...(channel.recipients ?? []).map(recipient => recipient.username)].map(foldText),
    label: title,
    hint: guild
      ? [guild.name, parent && `#${parent.name}`].filter(Boolean).join(" › ")
      : channel.type === ChannelType.DM
        ? (channel.recipients?.[0]?.username ?? "")
        : t("Group"),
    icon: () => (guild ? icon(channelIconName(channel)) : conversationIcon(channel, title)),
    channel,
    open: () => context.go(channelPath(channel)),
  };
}

function guildDestination(context, guild) {
  const name = guild.name ?? "";
  return {
    key: `guild-${guild.id}`,
    kind: /** @type {const} */ ("guild"),
    names: [foldText(name)],
    label: name,
    hint: t("Guild"),
    icon: () => guildIcon(guild),
    open: () => context.go(`/app/channels/${guild.id}`),
  };
}

function userDestination(context, user) {
  const name = context.state.displayName(user, null);
  return {
    key: `user-${user.id}`,
    kind: /** @type {const} */ ("user"),
    names: [name, user.username].map(foldText),
    label: name,
    hint: user.username,
    icon: () => userAvatar(user, name),
    open: () => openDirectMessage(context, user.id),
  };
}

/** Return whether a channel is marked as unread; a thread only if the user has joined it. */
export const isMarkedUnread = (state, channel) =>
  isMessageable(channel) && state.isShownUnread(channel.id) && (!isThread(channel) || Boolean(channel.member));

/**
 * Return the destinations for a query, best first. Without words: unread and recently visited ones, or all of the kind
 * that a prefix selects.
 */
export function rankDestinations({ state, visits, channelId }, destinations, query) {
  const kind = PREFIXES[query[0]];
  const foldedQuery = foldText(kind ? query.slice(1) : query).trim();
  const recency = [...visits].reverse();
  const bonusOf = ({ channel }) => {
    if (channel === undefined) return 0;
    const index = recency.indexOf(channel.id);
    const isUnread = isMarkedUnread(state, channel);
    return (
      (state.mentionCountIn(channel.id) ? MENTION_BONUS : 0) +
      (isUnread ? UNREAD_BONUS : 0) +
      (index < 0 ? 0 : Math.max(1, RECENCY_BONUS_MAX - index))
    );
  };
  return destinations
    .filter(destination => !kind || destination.kind === kind)
    .map(destination => {
      const match = foldedQuery ? bestScore(foldedQuery, destination) : 0;
      // A query without words does not suggest the channel in view.
      const bonus = !foldedQuery && destination.key === channelId ? 0 : bonusOf(destination);
      return { destination, match, score: match + bonus };
    })
    .filter(({ match, score }) => (foldedQuery ? match > 0 : score > 0 || Boolean(kind)))
    .sort((a, b) => b.score - a.score || a.destination.label.localeCompare(b.destination.label, LOCALE))
    .map(({ destination }) => destination);
}

function bestScore(foldedQuery, { names, hint }) {
  const best = Math.max(...names.map(name => matchScore(foldedQuery, name)));
  if (best) return best;
  // “harbour general” finds #general of the guild Harbour.
  const words = foldedQuery.split(/\s+/);
  const foldedHint = foldText(hint);
  if (words.length < 2 || !words.every(word => names.some(name => name.includes(word)) || foldedHint.includes(word)))
    return 0;
  return EXACT * CONTEXT_FACTOR;
}
