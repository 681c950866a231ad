/** The dialog with the notification settings of a guild, channel, category, thread or conversation. */

import { NotificationLevel } from "../generated/enums.js";
import { isPrivate } from "../network/enums.js";
import {
  channelNotificationSettings,
  guildNotificationSettings,
  inheritedLevel,
  isMuteActive,
} from "../state/notification_rules.js";
import { showNotice } from "../ui/notices.js";
import { choiceSetting, switchSetting } from "../settings/fields.js";
import { openActionDialog } from "../settings/form.js";
import { MUTE_LENGTHS, muteChanges, muteEndText, updateNotificationSettings } from "./mute_settings.js";

const { ALL_MESSAGES, ONLY_MENTIONS, NOTHING, INHERIT } = NotificationLevel;

const LEVEL_LABELS = new Map([
  [ALL_MESSAGES, "All messages"],
  [ONLY_MENTIONS, "Only mentions"],
  [NOTHING, "Nothing"],
]);

/** Value of the mute field that changes nothing. */
const UNCHANGED = "unchanged";

/** Open the settings of a guild, or of a channel if the target has one. */
export function openNotificationSettings(context, target, name) {
  const { state } = context;
  const channel = target.channelId ? state.channels.get(target.channelId) : undefined;
  const settings = channel
    ? channelNotificationSettings(state, channel)
    : guildNotificationSettings(state, target.guildId);
  const fields = {
    message_notifications: levelField(state, target, channel),
    mute: muteField(settings),
    ...(channel
      ? {}
      : {
          suppress_everyone: switchSetting("Suppress @everyone and @here"),
          suppress_roles: switchSetting("Suppress mentions of roles"),
          mobile_push: switchSetting("Push notifications", {
            hint: "In browsers in which you switched them on in the user settings.",
          }),
        }),
  };
  for (const [key, field] of Object.entries(fields)) if (key !== "mute") field.write(settings[key]);
  return openActionDialog({
    title: `Notifications: ${name}`,
    label: "Save",
    danger: false,
    fields,
    run: async ({ mute, ...changes }) => {
      if (mute !== UNCHANGED) Object.assign(changes, muteChanges(mute));
      await updateNotificationSettings(context, target, changes);
      showNotice("Notification settings saved.", "done");
    },
  });
}

function levelField(state, target, channel) {
  const inherited = channel
    ? inheritedLevel(state, channel)
    : (state.guilds.get(target.guildId)?.default_message_notifications ?? ALL_MESSAGES);
  const origin = channel === undefined ? "Default of the guild" : isPrivate(channel) ? "Default" : "Same as its parent";
  return choiceSetting("Notify me about", [
    [INHERIT, `${origin} (${LEVEL_LABELS.get(inherited).toLowerCase()})`],
    ...LEVEL_LABELS,
  ]);
}

function muteField(settings) {
  const isMuted = isMuteActive(settings);
  const field = choiceSetting(
    "Mute",
    [
      [UNCHANGED, isMuted ? `Muted ${muteEndText(settings)}` : "Not muted"],
      ...(isMuted ? [[null, "Unmute"]] : []),
      ...MUTE_LENGTHS,
    ],
    { hint: "While muted, only mentions of your name are counted, and nothing notifies you." },
  );
  field.write(UNCHANGED);
  return field;
}
