/** Notification settings of the user: levels, mutes, and the messages that count or notify (decisions/0104). */

import { NotificationLevel } from "../generated/enums.js";
import { MessageFlags, RelationshipType, isPrivate } from "../network/enums.js";
import { platformNow } from "../network/platform_clock.js";

const { ALL_MESSAGES, NOTHING, INHERIT } = NotificationLevel;

/** Key of the settings of private channels. */
export const PRIVATE_SETTINGS = "@me";

/** Maximum length of an inheritance path: a thread, its channel and its category. */
const INHERITANCE_LENGTH_MAX = 3;
const DEFAULTS = {
  message_notifications: INHERIT,
  muted: false,
  mute_config: null,
  suppress_everyone: false,
  suppress_roles: false,
  mobile_push: true,
  collapsed: false,
};

/** Store the settings of a guild or of private channels from READY or USER_GUILD_SETTINGS_UPDATE. */
export function storeGuildSettings(state, settings) {
  const overrides = new Map(settings.channel_overrides.map(override => [override.channel_id, override]));
  state.guildSettings.set(settings.guild_id ?? PRIVATE_SETTINGS, { ...settings, overrides });
}

/** Return the settings of a guild, or of private channels if the ID is null; the defaults if none are stored. */
export function guildNotificationSettings(state, guildId) {
  return state.guildSettings.get(guildId ?? PRIVATE_SETTINGS) ?? DEFAULTS;
}

/** Return the settings of a channel, category or thread, or the defaults. */
export function channelNotificationSettings(state, channel) {
  return guildNotificationSettings(state, channel.guild_id).overrides?.get(channel.id) ?? DEFAULTS;
}

/** Return whether settings contain a mute that has not ended. */
export function isMuteActive(settings, now = platformNow()) {
  const endTime = settings.mute_config?.end_time;
  return settings.muted && (!endTime || Date.parse(endTime) > now);
}

/** Return the channel and the channels that it inherits settings from, nearest first. */
function inheritancePath(state, channel) {
  const path = [];
  for (
    let current = channel;
    current !== undefined && path.length < INHERITANCE_LENGTH_MAX;
    current = state.channels.get(current.parent_id)
  )
    path.push(current);
  return path;
}

/** Return whether the user has muted a guild, or private channels if the ID is null. */
export const isGuildMuted = (state, guildId) => isMuteActive(guildNotificationSettings(state, guildId));

/** Return whether a channel, one of its parents or its guild is muted. */
export function isChannelMuted(state, channel) {
  if (!state.guildSettings.size) return false;
  return (
    isGuildMuted(state, channel.guild_id) ||
    inheritancePath(state, channel).some(current => isMuteActive(channelNotificationSettings(state, current)))
  );
}

/** Return the level that a channel inherits from its parents, its guild and the guild's default. */
export function inheritedLevel(state, channel) {
  for (const current of inheritancePath(state, channel).slice(1)) {
    const level = channelNotificationSettings(state, current).message_notifications;
    if (level !== INHERIT) return level;
  }
  return channel.guild_id ? guildLevel(state, channel.guild_id) : ALL_MESSAGES;
}

/** Return the notification level of a guild: the choice of the user, or the default of the guild. */
export function guildLevel(state, guildId) {
  const level = guildNotificationSettings(state, guildId).message_notifications;
  return level === INHERIT ? (state.guilds.get(guildId)?.default_message_notifications ?? ALL_MESSAGES) : level;
}

/** Return the notification level of a channel: the choice of the user, or the inherited level. */
export function channelLevel(state, channel) {
  const level = channelNotificationSettings(state, channel).message_notifications;
  return level === INHERIT ? inheritedLevel(state, channel) : level;
}

const isBlocked = (state, userId) => state.relationships.get(userId)?.type === RelationshipType.BLOCKED;

/** Return whether a message of another user counts as a mention. */
export function countsAsMention(state, channel, message) {
  if (isBlocked(state, message.author.id) || channelLevel(state, channel) === NOTHING) return false;
  if (message.mentions?.some(user => user.id === state.me.id)) return true;
  if (isChannelMuted(state, channel)) return false;
  if (isPrivate(channel)) return true;
  const settings = guildNotificationSettings(state, channel.guild_id);
  if (message.mention_everyone && !settings.suppress_everyone) return true;
  const roleIds = state.member(channel.guild_id, state.me.id)?.roles ?? [];
  return !settings.suppress_roles && (message.mention_roles ?? []).some(roleId => roleIds.includes(roleId));
}

/** Return whether a message notifies the user by a sound and a desktop notification. */
export function notifies(state, channel, message) {
  if (message.author.id === state.me.id && !message.webhook_id) return false;
  if ((message.flags ?? 0) & (MessageFlags.SUPPRESS_NOTIFICATIONS | MessageFlags.EPHEMERAL)) return false;
  if (isBlocked(state, message.author.id) || isChannelMuted(state, channel)) return false;
  return countsAsMention(state, channel, message) || channelLevel(state, channel) === ALL_MESSAGES;
}

/** Return the time at which the next mute ends as Unix milliseconds, or null. */
export function nextMuteEndMs(state, now = platformNow()) {
  const ends = [...state.guildSettings.values()]
    .flatMap(settings => [settings, ...settings.overrides.values()])
    .filter(settings => settings.muted && settings.mute_config?.end_time)
    .map(settings => Date.parse(settings.mute_config.end_time))
    .filter(end => end > now);
  return ends.length ? Math.min(...ends) : null;
}
