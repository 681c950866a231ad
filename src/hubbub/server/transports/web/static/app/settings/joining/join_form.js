/** Guild settings: the form that new members complete before they can write. */

import { FormFieldType } from "../../generated/enums.js";
import {
  FORM_CHOICES_MAX,
  FORM_CHOICE_LENGTH_MAX,
  FORM_FIELDS_MAX,
  FORM_LABEL_MAX,
  FORM_VALUES_MAX,
  VERIFICATION_DESCRIPTION_MAX,
} from "../../generated/limits.js";
import { Permissions } from "../../network/enums.js";
import { h } from "../../ui/dom.js";
import { t } from "../../ui/translation.js";
import { choiceSetting, groupSetting, linesSetting, switchSetting, textSetting } from "../forms/fields.js";
import { settingsSection } from "../forms/layout.js";
import { loadAndShowForm } from "../forms/content_loader.js";
import { recordsSetting } from "../forms/record_list.js";
import { SORTING_HINT } from "../forms/sortable_list.js";

const { TERMS, TEXT_INPUT, PARAGRAPH, MULTIPLE_CHOICE } = FormFieldType;

const TYPE_OPTIONS = [
  [TERMS, t("Rules to accept")],
  [TEXT_INPUT, t("Short answer")],
  [PARAGRAPH, t("Long answer")],
  [MULTIPLE_CHOICE, t("Choice")],
];

/** @type {import("../forms/settings_dialog.js").SettingsScreen} */
export const JOIN_FORM_SCREEN = { id: "join-form", label: t("Join form"), icon: "edit", build };

function build(view) {
  const { context, guildId } = view;
  const path = `/guilds/${guildId}/member-verification`;
  /** Return the values of the two switches, which the API stores as features of the guild. */
  const switches = () => {
    const features = view.guild.features ?? [];
    return {
      enabled: features.includes("MEMBER_VERIFICATION_GATE_ENABLED"),
      manual_approval: features.includes("MEMBER_VERIFICATION_MANUAL_APPROVAL"),
    };
  };
  return loadAndShowForm(view, JOIN_FORM_SCREEN, {
    viewDenialReason: () => null,
    changeDenialReason: () => view.access.findDenialReason(Permissions.MANAGE_GUILD),
    load: async () => {
      const form = await context.api.request("GET", path).catch(error => {
        // The guild has no form yet.
        if (error.status !== 404) throw error;
        return { description: null, form_fields: [] };
      });
      return { ...form, ...switches() };
    },
    save: async changes => ({
      ...switches(),
      ...changes,
      ...(await context.api.request("PATCH", path, { json: changes })),
    }),
    createFields: () => ({
      enabled: switchSetting(t("New members complete the form"), {
        hint: t("They cannot write until then. Turning it off admits all members who are waiting."),
      }),
      manual_approval: switchSetting(t("Moderators approve new members"), {
        hint: t("Members with the permission “Kick members” review the answers under “Join requests”."),
      }),
      description: textSetting(t("Introduction"), {
        hint: t("Shown above the form."),
        multiline: true,
        isNullable: true,
        maxlength: VERIFICATION_DESCRIPTION_MAX,
      }),
      form_fields: formFieldsSetting(),
    }),
    layout: fields => [
      settingsSection(t("New members"), fields.enabled.node, fields.manual_approval.node),
      settingsSection(t("Form"), fields.description.node),
      settingsSection(t("Questions"), h("p", { class: "hint sorting-hint" }, SORTING_HINT), fields.form_fields.node),
    ],
  });
}

function formFieldsSetting() {
  return recordsSetting(t("Questions"), {
    addLabel: t("Add question"),
    newLabel: t("New question"),
    max: FORM_FIELDS_MAX,
    emptyText: t("There are no questions yet."),
    isCollapsible: true,
    blank: fieldValues({ field_type: TEXT_INPUT }),
    title: ({ content: { field_type: type, label } }) => label || (type === TERMS ? t("Rules") : ""),
    fields: () => ({ content: formFieldSetting() }),
    fromStored: fieldValues,
    toStored: ({ content }) => fieldBody(content),
  });
}

/** Return the form values of a stored question, with defaults for missing properties. */
function fieldValues({ field_type, label, description, required, values, choices, placeholder }) {
  return {
    content: {
      field_type,
      label: label ?? "",
      description: description ?? null,
      values: values ?? [],
      choices: choices ?? [],
      placeholder: placeholder ?? null,
      required: required ?? true,
    },
  };
}

/** Return a question as the API takes it: only with the properties of its type. */
function fieldBody({ field_type, values, choices, placeholder, ...others }) {
  return {
    field_type,
    ...others,
    ...(field_type === TERMS ? { values } : {}),
    ...(field_type === MULTIPLE_CHOICE ? { choices } : {}),
    ...(field_type === TEXT_INPUT || field_type === PARAGRAPH ? { placeholder } : {}),
  };
}

/** Return the field of one question; it shows only the inputs of the chosen type. */
function formFieldSetting() {
  const fields = {
    field_type: choiceSetting(t("Type"), TYPE_OPTIONS),
    label: textSetting(t("Question"), { maxlength: FORM_LABEL_MAX }),
    description: textSetting(t("Explanation"), { maxlength: FORM_LABEL_MAX, isNullable: true }),
    values: linesSetting(t("Rules"), {
      hint: t("One per line, up to {max} of {lengthMax} characters each.", {
        max: FORM_VALUES_MAX,
        lengthMax: FORM_LABEL_MAX,
      }),
    }),
    choices: linesSetting(t("Answers"), {
      hint: t("One per line, up to {max} of {lengthMax} characters each.", {
        max: FORM_CHOICES_MAX,
        lengthMax: FORM_CHOICE_LENGTH_MAX,
      }),
    }),
    placeholder: textSetting(t("Placeholder"), {
      hint: t("Shown in the empty field."),
      maxlength: FORM_LABEL_MAX,
      isNullable: true,
    }),
    required: switchSetting(t("Members must answer")),
  };
  const group = groupSetting(fields);
  const showFieldsOfType = () => {
    const type = fields.field_type.read();
    fields.values.node.hidden = type !== TERMS;
    fields.choices.node.hidden = type !== MULTIPLE_CHOICE;
    fields.placeholder.node.hidden = type !== TEXT_INPUT && type !== PARAGRAPH;
  };
  group.node.addEventListener("change", showFieldsOfType);
  return {
    ...group,
    write(values) {
      group.write(values);
      showFieldsOfType();
    },
  };
}
