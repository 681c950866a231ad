/** Guild settings: the welcome screen that new members see. */

import {
  WELCOME_CHANNELS_MAX,
  WELCOME_CHANNEL_DESCRIPTION_MAX,
  WELCOME_DESCRIPTION_MAX,
} from "../../generated/limits.js";
import { Permissions } from "../../network/enums.js";
import { t } from "../../ui/translation.js";
import { emojiSetting } from "../forms/emoji_field.js";
import { channelOptions } from "../channels/choices.js";
import { choiceSetting, switchSetting, textSetting } from "../forms/fields.js";
import { settingsSection } from "../forms/layout.js";
import { loadAndShowForm } from "../forms/content_loader.js";
import { recordsSetting } from "../forms/record_list.js";

/** @type {import("../forms/settings_dialog.js").SettingsScreen} */
export const WELCOME_SCREEN = { id: "welcome", label: t("Welcome screen"), icon: "hand", build };

const isEnabled = view => (view.guild.features ?? []).includes("WELCOME_SCREEN_ENABLED");

function build(view) {
  const { context, guildId } = view;
  const path = `/guilds/${guildId}/welcome-screen`;
  const changeDenialReason = () => view.access.findDenialReason(Permissions.MANAGE_GUILD);
  return loadAndShowForm(view, WELCOME_SCREEN, {
    // Everyone sees an enabled welcome screen.
    viewDenialReason: () =>
      isEnabled(view) || changeDenialReason() === null
        ? null
        : t("The welcome screen is off. {reason}", { reason: changeDenialReason() }),
    changeDenialReason,
    load: async () => ({ ...(await context.api.request("GET", path)), enabled: isEnabled(view) }),
    save: async changes => ({
      enabled: isEnabled(view),
      ...changes,
      ...(await context.api.request("PATCH", path, { json: changes })),
    }),
    createFields: () => ({
      enabled: switchSetting(t("Show the welcome screen"), { hint: t("New members see it when they join.") }),
      description: textSetting(t("Description"), {
        hint: t("What the guild is about."),
        multiline: true,
        isNullable: true,
        maxlength: WELCOME_DESCRIPTION_MAX,
      }),
      welcome_channels: welcomeChannelsSetting(view),
    }),
    layout: fields => [
      settingsSection(t("Introduction"), fields.enabled.node, fields.description.node),
      settingsSection(t("Recommended channels"), fields.welcome_channels.node),
    ],
  });
}

function welcomeChannelsSetting(view) {
  const { state } = view.context;
  const channelName = id => `#${state.channels.get(id)?.name ?? t("unknown")}`;
  return recordsSetting(t("Recommended channels"), {
    addLabel: t("Add channel"),
    newLabel: t("New channel"),
    max: WELCOME_CHANNELS_MAX,
    emptyText: t("There are no recommended channels yet."),
    blank: { channel_id: null, description: "", emoji: null },
    title: ({ channel_id: id }) => (id === null ? "" : channelName(id)),
    fields: () => ({
      emoji: emojiSetting(view, t("Emoji")),
      channel_id: choiceSetting(
        t("Channel"),
        [[null, t("Choose a channel")], ...channelOptions(view, Permissions.VIEW_CHANNEL)],
        {
          unknown: channelName,
        },
      ),
      description: textSetting(t("Description of the channel"), { maxlength: WELCOME_CHANNEL_DESCRIPTION_MAX }),
    }),
    fromStored: ({ channel_id, description, emoji_id, emoji_name }) => ({
      emoji: emoji_id || emoji_name ? { emoji_id, emoji_name: emoji_id ? null : emoji_name } : null,
      channel_id,
      description,
    }),
    toStored: ({ emoji, channel_id, description }) => ({
      channel_id,
      description,
      emoji_id: emoji?.emoji_id ?? null,
      emoji_name: emoji?.emoji_name ?? null,
    }),
  });
}
