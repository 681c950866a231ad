/** The fields of settings forms, and functions that show the errors of the API at them. */

import { REASON_MAX } from "../../generated/limits.js";
import { formField } from "../../ui/controls.js";
import { h, setChildren } from "../../ui/dom.js";
import { showNotice } from "../../ui/notices.js";
import { t } from "../../ui/translation.js";

/**
 * A field of a settings form.
 *
 * @typedef {object} SettingsField
 * @property {HTMLElement} node
 * @property {() => any} read returns the value as the API takes it
 * @property {(value: any) => void} write shows a stored value
 * @property {(text: string | null) => void} setError shows an error; null removes it
 * @property {(errors: any) => void} [setErrors] shows the errors of the API at the parts of a field that has parts
 * @property {(disabled: boolean) => void} setDisabled
 */

/** Return a field with one input element; `field` has its node, input and `setError`. @returns {SettingsField} */
function inputField(field, read, write) {
  return {
    node: field.node,
    read,
    write,
    setError: field.setError,
    setDisabled(disabled) {
      field.input.disabled = disabled;
    },
  };
}

/** Return a text field. With `isNullable`, an empty text is null. */
export function textSetting(label, { hint, multiline = false, isNullable = false, ...attributes } = {}) {
  const input = multiline
    ? h("textarea", { rows: "3", dir: "auto", ...attributes })
    : h("input", { type: "text", dir: "auto", autocomplete: "off", ...attributes });
  const read = () => (isNullable && !input.value.trim() ? null : input.value);
  return inputField(formField(label, input, hint), read, value => {
    input.value = value ?? "";
  });
}

/** Return a select field. `options` are pairs of value and label; `unknown` returns the label of any other value. */
export function choiceSetting(label, options, { hint, unknown = String } = {}) {
  const input = h("select");
  const values = [...options];
  const drawOptions = () =>
    setChildren(
      input,
      values.map(([, text], index) => h("option", { value: index }, text)),
    );
  drawOptions();
  return inputField(
    formField(label, input, hint),
    () => values[Number(input.value)][0],
    value => {
      let index = values.findIndex(([option]) => option === value);
      if (index < 0) {
        index = values.push([value, unknown(value)]) - 1;
        drawOptions();
      }
      input.value = String(index);
    },
  );
}

/** Return a field for a whole number; an empty input is 0. */
export function numberSetting(label, { hint, ...attributes }) {
  const input = h("input", { type: "number", class: "short-input", inputmode: "numeric", ...attributes });
  return inputField(
    formField(label, input, hint),
    () => (input.value === "" ? 0 : Number(input.value)),
    value => {
      input.value = String(value ?? 0);
    },
  );
}

/** Return a field for a list of texts, one per line; empty lines are left out. */
export function linesSetting(label, { hint, ...attributes } = {}) {
  const input = h("textarea", { rows: "4", dir: "auto", spellcheck: "false", ...attributes });
  const field = formField(label, input, hint);
  const read = () => input.value.split("\n").filter(line => line.trim());
  return {
    ...inputField(field, read, value => {
      input.value = (value ?? []).join("\n");
    }),
    /** Show the first error with the text of its line. */
    setErrors(errors) {
      const [index, inner] = Object.entries(errors).find(([key]) => key !== "_errors") ?? [];
      const message = firstErrorMessage(inner ?? errors);
      field.setError(index === undefined ? message : `“${read()[Number(index)]}”: ${message}`);
    },
  };
}

let switchCount = 0;

/** Return a checkbox with a label and an explanation. */
export function switchSetting(label, { hint } = {}) {
  const id = `switch-${(switchCount += 1)}`;
  const input = h("input", { type: "checkbox", id, "aria-describedby": hint ? `${id}-hint` : null });
  const node = h(
    "div",
    { class: "switch" },
    input,
    h("div", null, h("label", { for: id }, label), hint ? h("p", { class: "hint", id: `${id}-hint` }, hint) : null),
  );
  return inputField(
    { node, input, setError: text => text && input.focus() },
    () => input.checked,
    value => {
      input.checked = Boolean(value);
    },
  );
}

/** Return a color field; its value is the number 0xRRGGBB. */
export function colorSetting(label, { hint } = {}) {
  const input = h("input", { type: "color", class: "color" });
  return inputField(
    formField(label, input, hint),
    () => Number.parseInt(input.value.slice(1), 16),
    value => {
      input.value = `#${Number(value).toString(16).padStart(6, "0")}`;
    },
  );
}

/**
 * Return a field that combines several fields; its value is an object with their values by name.
 *
 * @param {Record<string, SettingsField>} fields
 * @param {Record<string, any>} [attributes] of the node
 * @returns {SettingsField}
 */
export function groupSetting(fields, attributes = { class: "settings-group" }) {
  const entries = Object.entries(fields);
  const error = h("p", { class: "error", hidden: true, role: "alert" });
  const showError = text => {
    error.hidden = !text;
    error.textContent = text ?? "";
  };
  return {
    node: h(
      "div",
      attributes,
      entries.map(([, field]) => field.node),
      error,
    ),
    read: () => Object.fromEntries(entries.map(([name, field]) => [name, field.read()])),
    write(values) {
      for (const [name, field] of entries) field.write(values?.[name]);
    },
    setError(text) {
      showError(text);
      if (!text) for (const [, field] of entries) field.setError(null);
    },
    setErrors(errors) {
      const invalid = entries.filter(([name]) => name in errors);
      for (const [name, field] of invalid.reverse()) setFieldErrors(field, errors[name]);
      if (!invalid.length) showError(firstErrorMessage(errors));
    },
    setDisabled(disabled) {
      for (const [, field] of entries) field.setDisabled(disabled);
    },
  };
}

/** Return the field for the reason of an action, which the audit log shows. */
export const reasonSetting = () =>
  textSetting(t("Reason"), { hint: t("Optional. The audit log shows it."), maxlength: REASON_MAX, isNullable: true });

/** Show the errors of the API at a field, or at its parts. */
export function setFieldErrors(field, errors) {
  if (field.setErrors === undefined) field.setError(firstErrorMessage(errors));
  else field.setErrors(errors);
}

/** Return the first message in the errors that the API returned for a field. */
export function firstErrorMessage(node) {
  if (Array.isArray(node?._errors) && node._errors.length) return String(node._errors[0].message);
  const childErrors = Object.values(node ?? {}).find(value => typeof value === "object");
  return childErrors ? firstErrorMessage(childErrors) : t("This value is not valid.");
}

/** Return a label as part of a sentence: in lower case, except in languages that write nouns with a capital letter. */
export const labelInSentence = label =>
  CAPITAL_NOUN_LANGUAGES.has(document.documentElement.lang.split("-")[0]) ? label : label.toLowerCase();

/** Languages that write every noun with a capital letter. */
const CAPITAL_NOUN_LANGUAGES = new Set(["de"]);

/** Show the error of a field as a notice; for fields that have no element for errors. */
export function showFieldNotice(text) {
  if (text) showNotice(text, "problem");
}
