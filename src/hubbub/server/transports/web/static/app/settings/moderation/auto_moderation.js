/** Guild settings: the rules of auto moderation, and the dialog to create one. */

import { AutoModerationEventType, AutoModerationTriggerType } from "../../generated/enums.js";
import { RULES_MAX_BY_TRIGGER, RULE_NAME_MAX } from "../../generated/limits.js";
import { Permissions } from "../../network/enums.js";
import { h, icon, reconcile } from "../../ui/dom.js";
import { showNotice } from "../../ui/notices.js";
import { t } from "../../ui/translation.js";
import { ACTION_TEXTS, openRule } from "./auto_moderation_rule.js";
import { choiceSetting, textSetting } from "../forms/fields.js";
import { openActionDialog } from "../forms/form.js";
import { actionButton, listEntry, lockedNotice } from "../forms/layout.js";
import { createReload, loadAndShow } from "../forms/content_loader.js";

const { KEYWORD, KEYWORD_PRESET, MENTION_SPAM, SPAM, MEMBER_PROFILE } = AutoModerationTriggerType;

/** Labels of the trigger types. @type {Map<number, string>} */
const TRIGGER_TEXTS = new Map([
  [KEYWORD, t("Words and patterns that you list")],
  [KEYWORD_PRESET, t("Commonly flagged words")],
  [MENTION_SPAM, t("Too many mentions")],
  [SPAM, t("Spam")],
  [MEMBER_PROFILE, t("Names of members")],
]);

/** @type {import("../forms/settings_dialog.js").SettingsScreen} */
export const AUTO_MODERATION_SCREEN = {
  id: "auto-moderation",
  label: t("Auto moderation"),
  icon: "filter",
  build: view => build(view),
};

function build(view, focusedId = null) {
  const { context, guildId } = view;
  const denialReason = view.access.findDenialReason(Permissions.MANAGE_GUILD);
  if (denialReason !== null) {
    view.onChange(() => view.access.hasPermissions(Permissions.MANAGE_GUILD) && view.show(AUTO_MODERATION_SCREEN.id));
    return lockedNotice(t("You cannot see the rules. {reason}", { reason: denialReason }));
  }
  const loadRules = () => context.api.request("GET", `/guilds/${guildId}/auto-moderation/rules`);
  return loadAndShow(view, AUTO_MODERATION_SCREEN.label, loadRules, rules =>
    buildList(view, rules, loadRules, focusedId),
  );
}

function buildList(view, loadedRules, loadRules, focusedId) {
  let rules = loadedRules;
  const list = h("ul", { class: "settings-list", "aria-label": t("Rules") });
  const status = h("p", { class: "muted", role: "status" });
  const edit = rule => openRule(view, rule, () => view.setContent(AUTO_MODERATION_SCREEN.label, build(view, rule.id)));
  const drawRules = () => {
    status.textContent = rules.length ? "" : t("There are no rules yet. Create one to block words or spam.");
    reconcile(
      list,
      rules.map(rule => ruleEntry(rule, () => edit(rule))),
    );
  };
  const createButton = h(
    "button",
    { type: "button", class: "button small", onclick: () => createRule(view, rules, edit) },
    icon("plus"),
    t("Create rule"),
  );
  const reload = createReload(list, loadRules, loadedRules => {
    rules = loadedRules;
    drawRules();
  });
  view.onChange(({ kind }) => {
    if (!view.access.hasPermissions(Permissions.MANAGE_GUILD)) view.show(AUTO_MODERATION_SCREEN.id);
    else if (kind === "autoModeration") reload();
  });
  drawRules();
  if (focusedId !== null) queueMicrotask(() => focusRule(list, focusedId));
  return [
    h(
      "p",
      { class: "hint settings-intro" },
      t("Rules check messages before they are sent. Members who manage the guild are exempt."),
    ),
    h("div", { class: "settings-tools" }, createButton),
    status,
    list,
  ];
}

function focusRule(list, id) {
  const row = [...list.children].find(child => child.dataset.key === id);
  (row?.querySelector("button") ?? list.closest(".settings-main"))?.focus();
}

function ruleEntry(rule, onEdit) {
  const actions = rule.actions.map(({ type }) => ACTION_TEXTS.get(type)?.label ?? t("action {type}", { type }));
  return {
    key: rule.id,
    version: JSON.stringify(rule),
    build: () =>
      listEntry({
        title: [rule.name, rule.enabled ? null : h("span", { class: "tag" }, t("Off"))],
        details: [
          TRIGGER_TEXTS.get(rule.trigger_type) ?? t("Type {type}", { type: rule.trigger_type }),
          actions.join(" · "),
        ],
        actions: [actionButton(t("Edit"), onEdit, { name: t("Edit {name}", { name: rule.name }) })],
      }),
  };
}

/** Return the trigger types for which the guild can have another rule, as pairs of type and label. */
function availableTriggers(rules) {
  const count = type => rules.filter(rule => rule.trigger_type === type).length;
  return [...TRIGGER_TEXTS].filter(([type]) => count(type) < RULES_MAX_BY_TRIGGER[type]);
}

async function createRule(view, rules, edit) {
  const options = availableTriggers(rules);
  if (!options.length) {
    showNotice(t("The guild has the maximum number of rules. Edit or delete one of them."));
    return;
  }
  const exhaustedTriggers = [...TRIGGER_TEXTS].filter(([type]) => !options.some(([option]) => option === type));
  let rule = null;
  const isDone = await openActionDialog({
    title: t("Create rule"),
    text: t("The rule is off until you turn it on."),
    label: t("Create"),
    isDangerous: false,
    fields: {
      name: textSetting(t("Name"), { maxlength: RULE_NAME_MAX, required: true }),
      trigger_type: choiceSetting(t("Reacts to"), options, {
        hint: exhaustedTriggers.length
          ? t("Already used: {names}.", {
              names: exhaustedTriggers.map(([type, label]) => `${label} (${RULES_MAX_BY_TRIGGER[type]})`).join(", "),
            })
          : undefined,
      }),
    },
    run: async ({ name, trigger_type: type }) => {
      const json = {
        name,
        trigger_type: type,
        event_type:
          type === MEMBER_PROFILE ? AutoModerationEventType.MEMBER_UPDATE : AutoModerationEventType.MESSAGE_SEND,
        trigger_metadata: {},
      };
      rule = await view.context.api.request("POST", `/guilds/${view.guildId}/auto-moderation/rules`, { json });
    },
  });
  if (!isDone) return;
  showNotice(t("{name} was created.", { name: rule.name }), "done");
  edit(rule);
}
