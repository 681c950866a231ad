/** Guild settings: the conditions of a linked role, as alternative sets of conditions on connected accounts. */

import { ALTERNATIVES_MAX, METADATA_VALUE_LENGTH_MAX, REQUIREMENTS_MAX } from "../../generated/limits.js";
import { iconButton } from "../../ui/controls.js";
import { h, icon } from "../../ui/dom.js";
import { t } from "../../ui/translation.js";
import { firstErrorMessage } from "../forms/fields.js";
import { isBooleanRecord, recordLabel, requirementText } from "./conditions.js";

/**
 * Return the field for the conditions of a linked role; its value is the configuration that the API takes.
 *
 * @param {() => any[]} listApplications returns the linkable applications of the guild
 * @returns {import("../forms/fields.js").SettingsField}
 */
export function connectionsSetting(listApplications) {
  /** The sets, each a list of requirements. @type {any[][]} */
  let sets = [];
  let isDisabled = true;
  const list = h("div", { class: "condition-sets" });
  const empty = h("p", { class: "muted" });
  const error = h("p", { class: "error", hidden: true, role: "alert" });
  const addButton = h("button", { type: "button", class: "button small quiet", onclick: () => addSet() }, icon("plus"));
  const emit = () => list.dispatchEvent(new Event("input", { bubbles: true }));
  const change = () => {
    draw();
    emit();
  };
  const addSet = () => {
    sets.push([firstRequirement()]);
    change();
    list.lastElementChild?.querySelector("select")?.focus();
  };
  const firstRequirement = () => requirementOf(listApplications()[0]);

  const draw = () => {
    const applications = listApplications();
    const isFull = sets.length >= ALTERNATIVES_MAX;
    empty.hidden = sets.length > 0;
    empty.textContent = applications.length
      ? t("This is an ordinary role: moderators assign it.")
      : t("No app in this guild offers conditions. Add an app that does, such as a game, to link the role.");
    addButton.lastChild?.nodeType === Node.TEXT_NODE && addButton.lastChild.remove();
    addButton.append(sets.length ? t("Add alternative") : t("Add conditions"));
    addButton.disabled = isDisabled || isFull || !applications.length;
    list.replaceChildren(
      ...sets.flatMap((requirements, index) => [
        ...(index ? [h("p", { class: "condition-or muted small" }, t("or"))] : []),
        drawSet(requirements, index, applications),
      ]),
    );
  };

  const drawSet = (requirements, index, applications) =>
    h(
      "fieldset",
      { class: "condition-set" },
      h("legend", null, t("Alternative {number}", { number: index + 1 })),
      h("p", { class: "hint" }, t("A member must meet all of these conditions.")),
      h(
        "ul",
        { class: "condition-list" },
        requirements.map((requirement, position) => drawRequirement(requirements, requirement, position, applications)),
      ),
      h(
        "div",
        { class: "row" },
        h(
          "button",
          {
            type: "button",
            class: "button small quiet",
            disabled: isDisabled || requirements.length >= REQUIREMENTS_MAX || !applications.length,
            onclick: () => {
              requirements.push(firstRequirement());
              change();
            },
          },
          icon("plus"),
          t("Add condition"),
        ),
      ),
    );

  const drawRequirement = (requirements, requirement, position, applications) => {
    const options = optionsOf(applications);
    const chosen = options.findIndex(option => isOption(option, requirement));
    const number = position + 1;
    const select = h(
      "select",
      { "aria-label": t("Condition {number}", { number }), disabled: isDisabled, onchange: () => choose() },
      chosen < 0 ? h("option", { value: "-1", selected: true }, requirementText(requirement, undefined)) : null,
      applications.map(application =>
        h(
          "optgroup",
          { label: application.name },
          options.flatMap((option, index) =>
            option.application === application
              ? [h("option", { value: String(index), selected: index === chosen }, option.label)]
              : [],
          ),
        ),
      ),
    );
    const choose = () => {
      const option = options[Number(select.value)];
      if (option === undefined) return;
      requirements[position] = requirementOf(option.application, option.record);
      change();
      list
        .querySelectorAll("fieldset")
        [sets.indexOf(requirements)]?.querySelectorAll("select.condition")
        [position]?.focus();
    };
    select.classList.add("condition");
    const record = options[chosen]?.record;
    const name = requirementText(requirement, options[chosen]?.application);
    return h(
      "li",
      { class: "condition-row" },
      h("div", { class: "condition-fields" }, select, record ? valueInput(requirement, record, number) : null),
      iconButton(
        "bin",
        t("Remove {name}", { name }),
        () => {
          requirements.splice(position, 1);
          if (!requirements.length) sets = sets.filter(other => other !== requirements);
          change();
          addButton.focus();
        },
        { disabled: isDisabled },
      ),
      h(
        "p",
        { class: "hint", dir: "auto" },
        [options[chosen]?.application.name, record?.description].filter(Boolean).join(" · "),
      ),
    );
  };

  const valueInput = (requirement, record, number) => {
    const label = t("Value of condition {number}", { number });
    const onInput = event => {
      requirement.value = event.currentTarget.value;
    };
    if (isBooleanRecord(record))
      return h(
        "select",
        { class: "short-input", "aria-label": label, disabled: isDisabled, onchange: onInput },
        h("option", { value: "1", selected: requirement.value === "1" }, t("yes")),
        h("option", { value: "0", selected: requirement.value !== "1" }, t("no")),
      );
    return h("input", {
      type: "text",
      inputmode: "numeric",
      class: "short-input",
      "aria-label": label,
      value: requirement.value ?? "",
      maxlength: METADATA_VALUE_LENGTH_MAX,
      disabled: isDisabled,
      oninput: onInput,
    });
  };

  const showError = text => {
    error.hidden = !text;
    error.textContent = text ?? "";
  };
  return {
    node: h("div", { class: "field" }, empty, list, error, h("div", { class: "row" }, addButton)),
    read: () => sets.map(requirements => requirements.map(requirement => ({ ...requirement }))),
    write(configuration) {
      sets = (configuration ?? []).map(requirements => requirements.map(requirement => ({ ...requirement })));
      draw();
    },
    setError: showError,
    setErrors(errors) {
      showError(firstErrorMessage(errors));
    },
    setDisabled(disabled) {
      if (isDisabled === disabled) return;
      isDisabled = disabled;
      draw();
    },
  };
}

/** Return the conditions that can be chosen: for each application its connection and its metadata records. */
const optionsOf = applications =>
  applications.flatMap(application => [
    { application, record: undefined, label: t("Has connected an account") },
    ...application.metadata.map(record => ({ application, record, label: recordLabel(record) })),
  ]);

const isOption = ({ application, record }, requirement) =>
  application.id === requirement.application_id && (record?.key ?? null) === requirement.connection_metadata_field;

/** Return a new requirement of an application, on one of its metadata records or only on a connected account. */
const requirementOf = (application, record = undefined) => ({
  application_id: application.id,
  connection_type: "application",
  connection_metadata_field: record?.key ?? null,
  value: record === undefined ? null : "1",
});
