/** Guild settings: onboarding, with the default channels of new members and the questions that they answer. */

import { ComponentType, OnboardingMode, OnboardingPromptType } from "../../generated/enums.js";
import {
  DEFAULT_CHANNELS_MAX,
  DEFAULT_CHANNELS_MIN,
  OPTIONS_MAX,
  OPTION_CHANNELS_MAX,
  OPTION_DESCRIPTION_MAX,
  OPTION_ROLES_MAX,
  OPTION_TITLE_MAX,
  PROMPTS_MAX,
  PROMPT_TITLE_MAX,
  WRITABLE_CHANNELS_MIN,
} from "../../generated/limits.js";
import { ChannelType, Permissions, isForum } from "../../network/enums.js";
import { h } from "../../ui/dom.js";
import { channelPermissions } from "../../state/permissions.js";
import { t } from "../../ui/translation.js";
import { emojiSetting } from "../forms/emoji_field.js";
import { entitiesSetting } from "../forms/entity_picker.js";
import { choiceSetting, switchSetting, textSetting } from "../forms/fields.js";
import { settingsSection } from "../forms/layout.js";
import { loadAndShowForm } from "../forms/content_loader.js";
import { plainMember } from "../permissions/preview.js";
import { recordsSetting } from "../forms/record_list.js";
import { SORTING_HINT } from "../forms/sortable_list.js";

const MODE_OPTIONS = [
  [OnboardingMode.DEFAULT, t("Default channels")],
  [OnboardingMode.ADVANCED, t("Default channels and channels of answers")],
];
const TYPE_OPTIONS = [
  [OnboardingPromptType.MULTIPLE_CHOICE, t("List of answers")],
  [OnboardingPromptType.DROPDOWN, t("Dropdown")],
];
/** An ID that no stored question has: the API creates a question for it. */
const NEW_ID = "0";

/** @type {import("../forms/settings_dialog.js").SettingsScreen} */
export const ONBOARDING_SCREEN = { id: "onboarding", label: t("Onboarding"), icon: "list", build };

function build(view) {
  const { context, guildId } = view;
  const path = `/guilds/${guildId}/onboarding`;
  const requirements = h("p", { class: "hint", role: "status" });
  let fields = null;
  return loadAndShowForm(view, ONBOARDING_SCREEN, {
    viewDenialReason: () => null,
    changeDenialReason: () =>
      view.access.findDenialReason(Permissions.MANAGE_GUILD) ?? view.access.findDenialReason(Permissions.MANAGE_ROLES),
    load: () => context.api.request("GET", path),
    save: changes => context.api.request("PUT", path, { json: changes }),
    createFields: () => {
      fields = {
        enabled: switchSetting(t("Use onboarding"), {
          hint: t("New members answer questions, and start with the channels and roles that fit."),
        }),
        mode: choiceSetting(t("Channels that count for the requirements"), MODE_OPTIONS),
        default_channel_ids: channelsSetting(view, t("Default channels"), {
          hint: t("Every new member starts with them."),
          max: DEFAULT_CHANNELS_MAX,
        }),
        prompts: promptsSetting(view),
      };
      return fields;
    },
    layout: () => {
      const node = h(
        "div",
        { class: "settings-form" },
        settingsSection(t("New members"), fields.enabled.node, requirements),
        settingsSection(t("Channels"), fields.default_channel_ids.node, fields.mode.node),
        settingsSection(t("Questions"), h("p", { class: "hint sorting-hint" }, SORTING_HINT), fields.prompts.node),
      );
      for (const event of ["input", "change"]) node.addEventListener(event, () => drawRequirements());
      return node;
    },
    onValues: () => drawRequirements(),
  });

  function drawRequirements() {
    const values = Object.fromEntries(Object.entries(fields).map(([name, field]) => [name, field.read()]));
    const { count, writableCount } = countChannels(view, values);
    requirements.textContent = t(
      "Needs {min} channels (now {count}). Everyone must be able to write in {writableMin} of them (now {writableCount}).",
      {
        min: DEFAULT_CHANNELS_MIN,
        count,
        writableMin: WRITABLE_CHANNELS_MIN,
        writableCount,
      },
    );
  }
}

/** Return how many channels count for the requirements, and in how many of them everyone can write. */
function countChannels({ context: { state }, guild }, { mode, default_channel_ids: defaults, prompts }) {
  const ids = new Set(defaults);
  if (mode === OnboardingMode.ADVANCED)
    for (const { options } of prompts)
      for (const { channel_ids: offered } of options) for (const id of offered) ids.add(id);
  const everyone = plainMember();
  const neededPermissions = Permissions.VIEW_CHANNEL | Permissions.SEND_MESSAGES;
  const channels = [...ids].map(id => state.channels.get(id)).filter(channel => channel !== undefined);
  const isWritable = channel =>
    ([ChannelType.GUILD_TEXT, ChannelType.GUILD_ANNOUNCEMENT].includes(channel.type) || isForum(channel)) &&
    (channelPermissions(guild, everyone, channel) & neededPermissions) === neededPermissions;
  return { count: channels.length, writableCount: channels.filter(isWritable).length };
}

function channelsSetting(view, label, { hint, max }) {
  return entitiesSetting(view, label, {
    type: ComponentType.CHANNEL_SELECT,
    max,
    hint,
    placeholder: t("No channels"),
    isPossible: id => view.context.state.channels.get(id)?.type !== ChannelType.GUILD_CATEGORY,
  });
}

function promptsSetting(view) {
  return recordsSetting(t("Questions"), {
    addLabel: t("Add question"),
    newLabel: t("New question"),
    max: PROMPTS_MAX,
    emptyText: t("There are no questions yet."),
    isCollapsible: true,
    blank: {
      title: "",
      type: OnboardingPromptType.MULTIPLE_CHOICE,
      in_onboarding: true,
      required: false,
      single_select: false,
      options: [],
    },
    title: ({ title }) => title,
    fields: () => ({
      title: textSetting(t("Question"), { maxlength: PROMPT_TITLE_MAX }),
      type: choiceSetting(t("Shown as"), TYPE_OPTIONS),
      in_onboarding: switchSetting(t("Ask when joining"), { hint: t("Otherwise members find it later.") }),
      required: switchSetting(t("Members must answer")),
      single_select: switchSetting(t("Only one answer")),
      options: optionsSetting(view),
    }),
    fromStored: ({ title, type, in_onboarding, required, single_select, options }) => ({
      title,
      type,
      in_onboarding,
      required,
      single_select,
      options: options.map(option => optionBody(optionValues(option), option.id)),
    }),
    toStored: (values, id) => ({ id: id ?? NEW_ID, ...values }),
  });
}

function optionsSetting(view) {
  const isAssignable = id => {
    const role = view.guild.roles.find(other => other.id === id);
    return role !== undefined && !role.managed && view.access.findRoleDenialReason(role) === null;
  };
  const records = recordsSetting(t("Answers"), {
    addLabel: t("Add answer"),
    newLabel: t("New answer"),
    max: OPTIONS_MAX,
    emptyText: t("A question needs at least one answer."),
    isCollapsible: true,
    blank: { title: "", description: "", emoji: null, role_ids: [], channel_ids: [] },
    title: ({ title }) => title,
    fields: () => ({
      title: textSetting(t("Answer"), { maxlength: OPTION_TITLE_MAX }),
      description: textSetting(t("Description"), { maxlength: OPTION_DESCRIPTION_MAX }),
      emoji: emojiSetting(view, t("Emoji")),
      role_ids: entitiesSetting(view, t("Roles of this answer"), {
        type: ComponentType.ROLE_SELECT,
        max: OPTION_ROLES_MAX,
        placeholder: t("No roles"),
        hint: t("Only roles below your highest role."),
        isPossible: isAssignable,
      }),
      channel_ids: channelsSetting(view, t("Channels of this answer"), { max: OPTION_CHANNELS_MAX }),
    }),
    fromStored: optionValues,
    toStored: optionBody,
  });
  records.node.prepend(h("p", { class: "label" }, t("Answers")));
  return records;
}

/** Return the field values of an answer option, which comes from a response or from the form itself. */
function optionValues({ title, description, emoji, emoji_id: id, emoji_name: name, role_ids, channel_ids }) {
  const emojiId = emoji?.id ?? id ?? null,
    emojiName = emojiId ? null : (emoji?.name ?? name ?? null);
  return {
    title,
    description: description ?? "",
    emoji: emojiId || emojiName ? { emoji_id: emojiId, emoji_name: emojiName } : null,
    role_ids: role_ids ?? [],
    channel_ids: channel_ids ?? [],
  };
}

/** Return an answer option as the API takes it. */
function optionBody({ emoji, ...values }, id) {
  return {
    ...(id ? { id } : {}),
    ...values,
    emoji_id: emoji?.emoji_id ?? null,
    emoji_name: emoji?.emoji_name ?? null,
  };
}
