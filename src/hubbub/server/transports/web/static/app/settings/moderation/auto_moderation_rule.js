/** Guild settings: the page of one auto moderation rule, and the labels of the actions. */

import {
  AutoModerationActionType,
  AutoModerationKeywordPresetType,
  AutoModerationTriggerType,
  ComponentType,
} from "../../generated/enums.js";
import {
  ACTIONS_BY_TRIGGER,
  ALLOW_LIST_MAX,
  CUSTOM_MESSAGE_MAX,
  EXEMPT_CHANNELS_MAX,
  EXEMPT_ROLES_MAX,
  KEYWORDS_MAX,
  KEYWORD_LENGTH_MAX,
  MENTION_TOTAL_LIMIT_MAX,
  PRESET_ALLOW_LIST_MAX,
  REGEX_PATTERNS_MAX,
  REGEX_PATTERN_LENGTH_MAX,
  RULE_NAME_MAX,
  TIMEOUT_SECONDS_MAX,
} from "../../generated/limits.js";
import { ChannelType, Permissions } from "../../network/enums.js";
import { h } from "../../ui/dom.js";
import { showNotice } from "../../ui/notices.js";
import { t, tn } from "../../ui/translation.js";
import { channelOptions } from "../channels/choices.js";
import { entitiesSetting } from "../forms/entity_picker.js";
import {
  choiceSetting,
  firstErrorMessage,
  groupSetting,
  linesSetting,
  numberSetting,
  setFieldErrors,
  switchSetting,
  textSetting,
} from "../forms/fields.js";
import { SettingsForm, openActionDialog } from "../forms/form.js";
import { actionButton, lockedNotice, settingsSection } from "../forms/layout.js";
import { createReload } from "../forms/content_loader.js";

const { BLOCK_MESSAGE, SEND_ALERT_MESSAGE, TIMEOUT, BLOCK_MEMBER_INTERACTION } = AutoModerationActionType;
const { KEYWORD, KEYWORD_PRESET, MENTION_SPAM, MEMBER_PROFILE } = AutoModerationTriggerType;

/** Labels and explanations of the actions. @type {Map<number, {label: string, hint: string}>} */
export const ACTION_TEXTS = new Map([
  [BLOCK_MESSAGE, { label: t("Block the message"), hint: t("It is not sent. Its author is notified.") }],
  [SEND_ALERT_MESSAGE, { label: t("Send an alert"), hint: t("The content and its author are posted in a channel.") }],
  [TIMEOUT, { label: t("Time out the member"), hint: t("They can read, but not write, react or speak.") }],
  [
    BLOCK_MEMBER_INTERACTION,
    { label: t("Quarantine the member"), hint: t("They cannot write, react or speak until they change their name.") },
  ],
]);

/** Word lists of the platform, as pairs of type and label. */
const PRESET_TEXTS = [
  [AutoModerationKeywordPresetType.PROFANITY, t("Swear words")],
  [AutoModerationKeywordPresetType.SEXUAL_CONTENT, t("Sexual content")],
  [AutoModerationKeywordPresetType.SLURS, t("Insults and slurs")],
];

/** Durations of a timeout in seconds, with their labels. */
const TIMEOUT_OPTIONS = [
  [60, t("1 minute")],
  [300, t("5 minutes")],
  [600, t("10 minutes")],
  [3_600, t("1 hour")],
  [86_400, t("1 day")],
  [604_800, t("1 week")],
  [TIMEOUT_SECONDS_MAX, t("4 weeks")],
];

/** Duration of a timeout that is chosen before the user selects one. */
const DEFAULT_TIMEOUT_SECONDS = 300;

const ALERT_CHANNEL_TYPES = [
  ChannelType.GUILD_TEXT,
  ChannelType.GUILD_VOICE,
  ChannelType.GUILD_ANNOUNCEMENT,
  ChannelType.GUILD_STAGE_VOICE,
];

/** Show the page of a rule; `goBack` shows the list again. */
export function openRule(view, loadedRule, goBack) {
  const { context, guildId } = view,
    path = `/guilds/${guildId}/auto-moderation/rules/${loadedRule.id}`;
  let rule = loadedRule,
    isDeletedHere = false;
  const actions = actionsSetting(view, rule.trigger_type);
  const fields = {
    name: textSetting(t("Name"), { maxlength: RULE_NAME_MAX }),
    enabled: switchSetting(t("Turned on")),
    trigger_metadata: groupSetting(triggerFields(rule.trigger_type)),
    actions,
    exempt_roles: entitiesSetting(view, t("Exempt roles"), {
      type: ComponentType.ROLE_SELECT,
      max: EXEMPT_ROLES_MAX,
      placeholder: t("No roles"),
    }),
    ...(rule.trigger_type === MEMBER_PROFILE
      ? {}
      : {
          exempt_channels: entitiesSetting(view, t("Exempt channels"), {
            type: ComponentType.CHANNEL_SELECT,
            max: EXEMPT_CHANNELS_MAX,
            placeholder: t("No channels"),
          }),
        }),
  };
  const form = new SettingsForm(fields, rule, {
    save: async changes => {
      rule = await context.api.request("PATCH", path, { json: changes });
      view.setTitle(rule.name);
      updateDenials();
      return rule;
    },
    onInput: () => view.drawBar(),
  });
  view.useForm(form);
  const notice = h("div", { class: "settings-access" });
  const updateDenials = () => {
    const denialReason = view.access.findDenialReason(Permissions.MODERATE_MEMBERS),
      isLocked = denialReason !== null && rule.actions.some(({ type }) => type === TIMEOUT);
    notice.replaceChildren(
      ...(isLocked
        ? [
            lockedNotice(
              t("This rule times out members. You can rename it, turn it off or remove the timeout. {reason}", {
                reason: denialReason,
              }),
            ),
          ]
        : []),
    );
    for (const name of ["trigger_metadata", "exempt_roles", "exempt_channels"]) fields[name]?.setDisabled(isLocked);
    fields.enabled.setDisabled(isLocked && !rule.enabled);
    actions.updateDenials(denialReason, rule);
  };
  const leavePage = () => {
    goBack();
    if (!isDeletedHere) showNotice(t("{name} was deleted by someone else.", { name: rule.name }));
  };
  const loadRule = () =>
    context.api.request("GET", path).catch(error => {
      if (error.status !== 404) throw error;
      return null;
    });
  const reload = createReload(notice, loadRule, loadedRule => {
    if (loadedRule === null) {
      leavePage();
      return;
    }
    rule = loadedRule;
    form.showStored(rule);
    view.setTitle(rule.name);
    updateDenials();
  });
  view.onChange(({ kind, id }) => {
    if (!view.access.hasPermissions(Permissions.MANAGE_GUILD)) goBack();
    else if (kind === "autoModeration" && id === rule.id) reload();
    else updateDenials();
  });
  updateDenials();
  const remove = () => removeRule(view, rule, path, () => (isDeletedHere = true), goBack);
  view.openPage(rule.name, t("All rules"), goBack, [
    notice,
    h(
      "div",
      { class: "settings-form" },
      settingsSection(t("Rule"), fields.name.node, fields.enabled.node),
      hasTriggerFields(rule.trigger_type)
        ? settingsSection(t("Reacts to"), fields.trigger_metadata.node)
        : settingsSection(t("Reacts to"), h("p", null, t("Messages that look like spam. There is nothing to choose."))),
      settingsSection(t("Actions"), actions.node),
      settingsSection(t("Exceptions"), fields.exempt_roles.node, fields.exempt_channels?.node),
      settingsSection(
        t("Delete"),
        h("div", { class: "row" }, actionButton(t("Delete rule"), remove, { isDangerous: true })),
      ),
    ),
  ]);
}

async function removeRule(view, rule, path, onDelete, goBack) {
  const isDone = await openActionDialog({
    title: t("Delete {name}?", { name: rule.name }),
    text: t("Messages are no longer checked by this rule. This cannot be undone."),
    label: t("Delete rule"),
    run: async () => {
      onDelete();
      await view.context.api.request("DELETE", path);
    },
  });
  if (!isDone) return;
  goBack();
  showNotice(t("{name} was deleted.", { name: rule.name }), "done");
}

const hasTriggerFields = type => Object.keys(triggerFields(type)).length > 0;

/** Return the fields for the content that triggers a rule of a type; spam rules have none. */
function triggerFields(type) {
  if (type === KEYWORD || type === MEMBER_PROFILE)
    return {
      keyword_filter: linesSetting(t("Words and phrases"), {
        hint: t(
          "One per line, up to {max} of {lengthMax} characters. “cat” matches the word, “cat*” its start, “*cat*” any part.",
          {
            max: KEYWORDS_MAX,
            lengthMax: KEYWORD_LENGTH_MAX,
          },
        ),
      }),
      regex_patterns: linesSetting(t("Regular expressions"), {
        hint: t("One per line, up to {max} of {lengthMax} characters each.", {
          max: REGEX_PATTERNS_MAX,
          lengthMax: REGEX_PATTERN_LENGTH_MAX,
        }),
        class: "code-input",
      }),
      allow_list: linesSetting(t("Allowed words and phrases"), {
        hint: t("They do not trigger the rule. One per line, up to {max}.", { max: ALLOW_LIST_MAX }),
      }),
    };
  if (type === KEYWORD_PRESET)
    return {
      presets: presetsSetting(),
      allow_list: linesSetting(t("Allowed words and phrases"), {
        hint: t("They do not trigger the rule. One per line, up to {max}.", { max: PRESET_ALLOW_LIST_MAX }),
      }),
    };
  if (type === MENTION_SPAM)
    return {
      mention_total_limit: numberSetting(t("Mentions in a message"), {
        hint: t("More different users and roles than this trigger the rule. At most {max}.", {
          max: MENTION_TOTAL_LIMIT_MAX,
        }),
        min: "0",
        max: String(MENTION_TOTAL_LIMIT_MAX),
      }),
      mention_raid_protection_enabled: switchSetting(t("Detect mention raids"), {
        hint: t("Many members mention others within a short time."),
      }),
    };
  return {};
}

/** Return the field for the word lists; the value is the list of their types. */
function presetsSetting() {
  const switches = PRESET_TEXTS.map(([type, label]) => ({ type, field: switchSetting(label) }));
  const error = h("p", { class: "error", hidden: true, role: "alert" });
  return {
    node: h(
      "fieldset",
      { class: "field" },
      h("legend", null, t("Word lists")),
      switches.map(({ field }) => field.node),
      error,
    ),
    read: () => switches.filter(({ field }) => field.read()).map(({ type }) => type),
    write(types) {
      for (const { type, field } of switches) field.write((types ?? []).includes(type));
    },
    setError(text) {
      error.hidden = !text;
      error.textContent = text ?? "";
    },
    setDisabled(disabled) {
      for (const { field } of switches) field.setDisabled(disabled);
    },
  };
}

/** Return the fields of an action's metadata by name; some actions have none. */
function metadataFields(view, type) {
  if (type === BLOCK_MESSAGE)
    return {
      custom_message: textSetting(t("Message to the author"), {
        hint: t("Optional. Explain what is not allowed."),
        maxlength: CUSTOM_MESSAGE_MAX,
        isNullable: true,
      }),
    };
  if (type === SEND_ALERT_MESSAGE) {
    const permissions = Permissions.VIEW_CHANNEL | Permissions.SEND_MESSAGES;
    const choices = channelOptions(view, permissions, channel => ALERT_CHANNEL_TYPES.includes(channel.type));
    return {
      channel_id: choiceSetting(t("Alert channel"), [[null, t("Choose a channel")], ...choices], {
        hint: t("Only channels in which you can write."),
        unknown: id => `#${view.context.state.channels.get(id)?.name ?? t("unknown")}`,
      }),
    };
  }
  if (type === TIMEOUT)
    return {
      duration_seconds: choiceSetting(t("Duration"), TIMEOUT_OPTIONS, {
        unknown: seconds => tn("{count} second", "{count} seconds", seconds),
      }),
    };
  return {};
}

/** Return the field for the actions of a rule: a switch and the metadata of each possible action. */
function actionsSetting(view, triggerType) {
  const actionFields = ACTIONS_BY_TRIGGER[triggerType].map(type => {
    const toggle = switchSetting(ACTION_TEXTS.get(type).label, { hint: ACTION_TEXTS.get(type).hint });
    const details = groupSetting(metadataFields(view, type), { class: "settings-group action-details" });
    return { type, toggle, details, reason: h("p", { class: "hint", hidden: true }) };
  });
  const error = h("p", { class: "error", hidden: true, role: "alert" });
  const showEnabledDetails = () => {
    for (const { toggle, details } of actionFields) details.node.hidden = !toggle.read();
  };
  const enabledParts = () => actionFields.filter(({ toggle }) => toggle.read());
  const showError = text => {
    error.hidden = !text;
    error.textContent = text ?? "";
  };
  const node = h(
    "div",
    { class: "settings-group" },
    actionFields.map(({ toggle, details, reason }) =>
      h("div", { class: "settings-group" }, toggle.node, reason, details.node),
    ),
    error,
  );
  node.addEventListener("change", showEnabledDetails);
  return {
    node,
    read: () => enabledParts().map(({ type, details }) => ({ type, metadata: details.read() })),
    write(actions) {
      for (const { type, toggle, details } of actionFields) {
        const action = actions.find(other => other.type === type);
        toggle.write(action !== undefined);
        details.write({ channel_id: null, duration_seconds: DEFAULT_TIMEOUT_SECONDS, ...action?.metadata });
      }
      showEnabledDetails();
    },
    setError(text) {
      showError(text);
      if (!text) for (const { details } of actionFields) details.setError(null);
    },
    setErrors(errors) {
      const [index, actionErrors] = Object.entries(errors).find(([key]) => key !== "_errors") ?? [];
      const actionField = enabledParts()[Number(index)];
      if (actionField !== undefined && actionErrors.metadata !== undefined)
        setFieldErrors(actionField.details, actionErrors.metadata);
      else showError(errors._errors?.length ? t("Choose at least one action.") : firstErrorMessage(errors));
    },
    setDisabled(disabled) {
      for (const { toggle, details } of actionFields)
        for (const field of [toggle, details]) field.setDisabled(disabled);
    },
    /** Disable the timeout for users without the permission; they can still remove a stored timeout. */
    updateDenials(timeoutDenialReason, rule) {
      for (const { type, toggle, details, reason } of actionFields) {
        if (type !== TIMEOUT) continue;
        const isStored = rule.actions.some(action => action.type === TIMEOUT);
        toggle.setDisabled(timeoutDenialReason !== null && !isStored);
        details.setDisabled(timeoutDenialReason !== null);
        reason.hidden = timeoutDenialReason === null;
        reason.textContent = timeoutDenialReason ?? "";
      }
    },
  };
}
