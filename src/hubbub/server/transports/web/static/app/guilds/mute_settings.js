/** The request that changes notification settings, and the durations and texts of mutes. */

import { PRIVATE_SETTINGS } from "../state/notification_rules.js";
import { formatTime, formatTimeOfDay } from "../ui/times.js";
import { t } from "../ui/translation.js";

/** Duration of a mute that lasts until the user ends it. */
const NO_END = -1;

/** Durations of mutes in seconds, with their labels. */
export const MUTE_DURATIONS = [
  [900, t("For 15 minutes")],
  [3_600, t("For 1 hour")],
  [10_800, t("For 3 hours")],
  [28_800, t("For 8 hours")],
  [86_400, t("For 24 hours")],
  [NO_END, t("Until I turn it off")],
];

/** Change the notification settings of a channel if the target has one, else those of a guild. */
export async function updateNotificationSettings({ api, state }, { guildId, channelId }, changes) {
  const body = channelId ? { channel_overrides: { [channelId]: changes } } : changes;
  const settings = await api.request("PATCH", `/users/@me/guilds/${guildId ?? PRIVATE_SETTINGS}/settings`, {
    json: body,
  });
  state.apply("USER_GUILD_SETTINGS_UPDATE", settings);
}

/** Return the changes that mute for a duration of `MUTE_DURATIONS`, or that unmute if it is null. The server computes the end. */
export function muteChanges(seconds) {
  if (seconds === null) return { muted: false, mute_config: null };
  return { muted: true, mute_config: seconds === NO_END ? null : { selected_time_window: seconds } };
}

/** Return the formatted end of a mute, or null for a mute that lasts until the user ends it. */
export function muteEndText(settings) {
  const endTime = settings.mute_config?.end_time;
  if (!endTime) return null;
  const isToday = new Date(endTime).toDateString() === new Date().toDateString();
  return isToday ? formatTimeOfDay(endTime) : formatTime(endTime);
}
