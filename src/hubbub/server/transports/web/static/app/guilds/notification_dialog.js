/** The dialog with the notification settings of a guild, channel, category, thread or conversation. */

import { NotificationLevel } from "../generated/enums.js";
import { isPrivate, isThread } from "../network/enums.js";
import {
  channelNotificationSettings,
  guildNotificationSettings,
  inheritedLevel,
  isMuteActive,
} from "../state/notification_rules.js";
import { showNotice } from "../ui/notices.js";
import { t } from "../ui/translation.js";
import { choiceSetting, switchSetting } from "../settings/forms/fields.js";
import { openActionDialog } from "../settings/forms/form.js";
import { MUTE_DURATIONS, muteChanges, muteEndText, updateNotificationSettings } from "./mute_settings.js";

const { ALL_MESSAGES, ONLY_MENTIONS, NOTHING, INHERIT } = NotificationLevel;

const LEVEL_LABELS = new Map([
  [ALL_MESSAGES, t("All messages")],
  [ONLY_MENTIONS, t("Only mentions")],
  [NOTHING, t("Nothing")],
]);

/** Labels of the levels in lower case, for the label of the inherited level. */
const INHERITED_LEVEL_LABELS = new Map([
  [ALL_MESSAGES, t("all messages")],
  [ONLY_MENTIONS, t("only mentions")],
  [NOTHING, t("nothing")],
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
          suppress_everyone: switchSetting(t("Suppress @everyone and @here")),
          suppress_roles: switchSetting(t("Suppress mentions of roles")),
          mobile_push: switchSetting(t("Push notifications"), {
            hint: t("In browsers where you turned them on in your user settings."),
          }),
        }),
  };
  for (const [key, field] of Object.entries(fields)) if (key !== "mute") field.write(settings[key]);
  return openActionDialog({
    title: t("Notifications: {name}", { name }),
    label: t("Save"),
    isDangerous: false,
    fields,
    run: async ({ mute, ...changes }) => {
      if (mute !== UNCHANGED) Object.assign(changes, muteChanges(mute));
      await updateNotificationSettings(context, target, changes);
      showNotice(t("Notification settings saved."), "done");
    },
  });
}

function levelField(state, target, channel) {
  const defaultLevel = channel
    ? inheritedLevel(state, channel)
    : (state.guilds.get(target.guildId)?.default_message_notifications ?? ALL_MESSAGES);
  const origin = channel === undefined ? t("Default of the guild") : originOf(state, channel);
  return choiceSetting(t("Notify me about"), [
    [INHERIT, `${origin} (${INHERITED_LEVEL_LABELS.get(defaultLevel)})`],
    ...LEVEL_LABELS,
  ]);
}

/** Return the text about the place whose level a channel has by default. */
function originOf(state, channel) {
  if (isPrivate(channel)) return t("Default");
  if (isThread(channel)) return t("Same as the channel");
  return state.channels.has(channel.parent_id) ? t("Same as the category") : t("Same as the guild");
}

const mutedText = time => (time === null ? t("Muted until you turn it off") : t("Muted until {time}", { time }));

function muteField(settings) {
  const isMuted = isMuteActive(settings);
  const field = choiceSetting(
    t("Mute"),
    [
      [UNCHANGED, isMuted ? mutedText(muteEndText(settings)) : t("Not muted")],
      ...(isMuted ? [[null, t("Unmute")]] : []),
      ...MUTE_DURATIONS,
    ],
    { hint: t("While muted, only mentions of your name are counted, and nothing notifies you.") },
  );
  field.write(UNCHANGED);
  return field;
}
