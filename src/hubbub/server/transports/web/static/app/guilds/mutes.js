/** Menu entries that mute guilds, channels, categories, threads and conversations or open their notification settings. */

import { channelNotificationSettings, guildNotificationSettings, isMuteActive } from "../state/notification_rules.js";
import { loadModule } from "../ui/lazy_modules.js";
import { runAndReport, showNotice } from "../ui/notices.js";
import { openMenu } from "../ui/popups.js";
import { t } from "../ui/translation.js";
import { channelTitle } from "../content/avatars.js";
import { MUTE_DURATIONS, muteChanges, muteEndText, updateNotificationSettings } from "./mute_settings.js";

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
  /** Mute for a duration of `MUTE_DURATIONS`; null unmutes. */
  const setMute = seconds =>
    runAndReport(async () => {
      await updateNotificationSettings(context, target, muteChanges(seconds));
      showNotice(
        seconds === null ? t("{name} is no longer muted.", { name }) : t("{name} is muted.", { name }),
        "done",
      );
    });
  const openDurations = () =>
    openMenu(
      anchor,
      t("Mute {name}", { name }),
      MUTE_DURATIONS.map(([seconds, label]) => ({ label, onClick: () => setMute(seconds) })),
    );
  const time = isMuted ? muteEndText(settings) : null;
  const unmuteLabel = time === null ? t("Unmute (until you turn it off)") : t("Unmute (until {time})", { time });
  return [
    isMuted
      ? { label: unmuteLabel, icon: "bell", onClick: () => setMute(null) }
      : { label: t("Mute…"), icon: "bell_off", onClick: openDurations },
    {
      label: t("Notification settings"),
      icon: "bell",
      onClick: () => openNotificationDialog(context, target, name),
    },
  ];
}

async function openNotificationDialog(context, target, name) {
  const module = await loadModule(() => import("./notification_dialog.js"));
  module?.openNotificationSettings(context, target, name);
}
