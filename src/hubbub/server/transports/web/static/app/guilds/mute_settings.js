/** Requests that change notification settings, and the texts of mutes. */

import { PRIVATE_SETTINGS } from "../state/notification_rules.js";
import { formatTime, formatTimeOfDay } from "../ui/times.js";

/** Lengths of mutes in seconds; -1 has no end. */
export const MUTE_LENGTHS = [
  [900, "For 15 minutes"],
  [3_600, "For 1 hour"],
  [10_800, "For 3 hours"],
  [28_800, "For 8 hours"],
  [86_400, "For 24 hours"],
  [-1, "Until I turn it off"],
];

/** Change the notification settings of a guild, or of a channel of it. */
export async function updateNotificationSettings({ api, state }, { guildId, channelId }, changes) {
  const body = channelId ? { channel_overrides: { [channelId]: changes } } : changes;
  const settings = await api.request("PATCH", `/users/@me/guilds/${guildId ?? PRIVATE_SETTINGS}/settings`, {
    json: body,
  });
  state.apply("USER_GUILD_SETTINGS_UPDATE", settings);
}

/** Return the fields of a mute; null as the length ends the mute. The server computes the end with its own clock. */
export function muteChanges(seconds) {
  if (seconds === null) return { muted: false, mute_config: null };
  return { muted: true, mute_config: seconds < 0 ? null : { selected_time_window: seconds } };
}

/** Return when a mute ends. */
export function muteEndText(settings) {
  const end = settings.mute_config?.end_time;
  if (!end) return "until you turn it off";
  const isToday = new Date(end).toDateString() === new Date().toDateString();
  return `until ${isToday ? formatTimeOfDay(end) : formatTime(end)}`;
}
