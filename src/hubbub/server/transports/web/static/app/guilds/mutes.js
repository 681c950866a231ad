/** Mutes of guilds, channels, categories and threads, and their menu entries. */

import {
  PRIVATE_SETTINGS,
  channelNotificationSettings,
  guildNotificationSettings,
  isMuteActive,
} from "../state/notification_rules.js";
import { loadModule } from "../ui/lazy_modules.js";
import { runAndReport, showNotice } from "../ui/notices.js";
import { openMenu } from "../ui/popups.js";
import { formatTime, formatTimeOfDay } from "../ui/times.js";
import { channelTitle } from "../content/avatars.js";

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

/** Return the menu entries for the notifications of a guild. */
export function guildNotificationItems(context, anchor, guild) {
  const settings = guildNotificationSettings(context.state, guild.id);
  return notificationItems(context, anchor, { guildId: guild.id }, settings, guild.name);
}

/** Return the menu entries for the notifications of a channel, category, thread or conversation. */
export function channelNotificationItems(context, anchor, channel) {
  const { state } = context;
  const target = { guildId: channel.guild_id ?? null, channelId: channel.id };
  const settings = channelNotificationSettings(state, channel);
  return notificationItems(context, anchor, target, settings, channelTitle(channel, state));
}

function notificationItems(context, anchor, target, settings, name) {
  const isMuted = isMuteActive(settings);
  const mute = seconds =>
    runAndReport(async () => {
      await updateNotificationSettings(context, target, muteChanges(seconds));
      showNotice(seconds === null ? `${name} is no longer muted.` : `${name} is muted.`, "done");
    });
  const openLengths = () =>
    openMenu(
      anchor,
      `Mute ${name}`,
      MUTE_LENGTHS.map(([seconds, label]) => ({ label, onClick: () => mute(seconds) })),
    );
  return [
    isMuted
      ? { label: `Unmute (${muteEndText(settings)})`, icon: "bell", onClick: () => mute(null) }
      : { label: "Mute…", icon: "bell_off", onClick: openLengths },
    {
      label: "Notification settings",
      icon: "bell",
      onClick: () => openNotificationDialog(context, target, name),
    },
  ];
}

async function openNotificationDialog(context, target, name) {
  const module = await loadModule(() => import("./notification_dialog.js"));
  module?.openNotificationSettings(context, target, name);
}
