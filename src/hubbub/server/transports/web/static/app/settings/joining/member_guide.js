/** Guild settings: the guide for new members, with a greeting, first steps and resources. */

import { ComponentType, NewMemberActionType } from "../../generated/enums.js";
import {
  GUIDE_AUTHORS_MAX,
  GUIDE_DESCRIPTION_MAX,
  GUIDE_TITLE_MAX,
  NEW_MEMBER_ACTIONS_MAX,
  RESOURCE_CHANNELS_MAX,
  WELCOME_MESSAGE_MAX,
} from "../../generated/limits.js";
import { Permissions } from "../../network/enums.js";
import { t } from "../../ui/translation.js";
import { emojiSetting } from "../forms/emoji_field.js";
import { channelOptions } from "../channels/choices.js";
import { entitiesSetting } from "../forms/entity_picker.js";
import { choiceSetting, groupSetting, switchSetting, textSetting } from "../forms/fields.js";
import { settingsSection } from "../forms/layout.js";
import { loadAndShowForm } from "../forms/content_loader.js";
import { recordsSetting } from "../forms/record_list.js";

const ACTION_OPTIONS = [
  [NewMemberActionType.VIEW, t("Read the channel")],
  [NewMemberActionType.TALK, t("Write in the channel")],
];

/** @type {import("../forms/settings_dialog.js").SettingsScreen} */
export const MEMBER_GUIDE_SCREEN = { id: "member-guide", label: t("Member guide"), icon: "book", build };

const EMPTY_GUIDE = { enabled: false, new_member_actions: [], resource_channels: [] };

function build(view) {
  const { context, guildId } = view;
  const path = `/guilds/${guildId}/new-member-welcome`;
  let storedGuide = EMPTY_GUIDE;
  return loadAndShowForm(view, MEMBER_GUIDE_SCREEN, {
    viewDenialReason: () => null,
    changeDenialReason: () => view.access.findDenialReason(Permissions.MANAGE_GUILD),
    load: async () => (await context.api.request("GET", path)) ?? EMPTY_GUIDE,
    // The request replaces the guide as a whole.
    save: changes => context.api.request("PUT", path, { json: guideBody({ ...storedGuide, ...changes }) }),
    onValues: values => {
      storedGuide = values;
    },
    createFields: () => ({
      enabled: switchSetting(t("Show the guide"), { hint: t("New members find it in their list of channels.") }),
      welcome_message: groupSetting({
        message: textSetting(t("Greeting"), { multiline: true, maxlength: WELCOME_MESSAGE_MAX }),
        author_ids: entitiesSetting(view, t("Signed by"), {
          type: ComponentType.USER_SELECT,
          max: GUIDE_AUTHORS_MAX,
          placeholder: t("No members"),
        }),
      }),
      new_member_actions: entriesSetting(
        view,
        t("First steps"),
        { addLabel: t("Add step"), newLabel: t("New step") },
        NEW_MEMBER_ACTIONS_MAX,
        t("There are no steps yet."),
        () => ({
          action_type: choiceSetting(t("Step"), ACTION_OPTIONS),
        }),
      ),
      resource_channels: entriesSetting(
        view,
        t("Resources"),
        { addLabel: t("Add resource"), newLabel: t("New resource") },
        RESOURCE_CHANNELS_MAX,
        t("There are no resources yet."),
        () => ({}),
      ),
    }),
    layout: fields => [
      settingsSection(t("Guide"), fields.enabled.node, fields.welcome_message.node),
      settingsSection(t("First steps"), fields.new_member_actions.node),
      settingsSection(t("Resources"), fields.resource_channels.node),
    ],
  });
}

/** Return the request body of a guide; a guide without greeting has no `welcome_message`. */
function guideBody({ enabled, welcome_message: greeting, new_member_actions, resource_channels }) {
  const hasGreeting = Boolean(greeting?.message || greeting?.author_ids?.length);
  return { enabled, new_member_actions, resource_channels, ...(hasGreeting ? { welcome_message: greeting } : {}) };
}

/** Return the field for a list of channels, each with a title, a description, an emoji and `extraFields`. */
function entriesSetting(view, label, texts, max, emptyText, extraFields) {
  const { state } = view.context;
  return recordsSetting(label, {
    ...texts,
    max,
    emptyText,
    isCollapsible: true,
    blank: { title: "", channel_id: null, action_type: NewMemberActionType.VIEW, description: "", emoji: null },
    title: ({ title }) => title,
    fields: () => ({
      title: textSetting(t("Title"), { maxlength: GUIDE_TITLE_MAX }),
      channel_id: choiceSetting(
        t("Channel"),
        [[null, t("Choose a channel")], ...channelOptions(view, Permissions.VIEW_CHANNEL)],
        {
          unknown: id => `#${state.channels.get(id)?.name ?? t("unknown")}`,
        },
      ),
      ...extraFields(),
      description: textSetting(t("Description"), { maxlength: GUIDE_DESCRIPTION_MAX }),
      emoji: emojiSetting(view, t("Emoji")),
    }),
    fromStored: ({ title, channel_id, action_type, description, emoji }) => ({
      title,
      channel_id,
      ...(action_type === undefined ? {} : { action_type }),
      description: description ?? "",
      emoji: emoji?.id || emoji?.name ? { emoji_id: emoji.id ?? null, emoji_name: emoji.id ? null : emoji.name } : null,
    }),
    toStored: ({ emoji, ...values }) => ({
      ...values,
      ...(emoji === null ? {} : { emoji: guideEmoji(view, emoji) }),
    }),
  });
}

/** Return an emoji as the guide stores it. */
function guideEmoji(view, { emoji_id: id, emoji_name: name }) {
  const custom = (view.guild.emojis ?? []).find(other => other.id === id);
  return { id, name: custom?.name ?? name, animated: Boolean(custom?.animated) };
}
