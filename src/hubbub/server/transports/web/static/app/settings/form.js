/** The form toolkit of the settings screens: fields, forms with unsaved changes, lists with actions, action dialogs. */

import { REASON_MAX } from "../generated/limits.js";
import { formField } from "../ui/controls.js";
import { openDialog } from "../ui/dialogs.js";
import { h, setChildren } from "../ui/dom.js";
import { showError, showNotice } from "../ui/notices.js";

/**
 * A field of a settings form.
 *
 * @typedef {object} SettingsField
 * @property {HTMLElement} node
 * @property {() => any} read returns the value as the API takes it
 * @property {(value: any) => void} write
 * @property {(text: string | null) => void} setError
 * @property {(errors: any) => void} [setErrors] shows the errors of the API at the parts of a field that has parts
 * @property {(disabled: boolean) => void} setDisabled
 */

/** @returns {SettingsField} */
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
  const draw = () =>
    setChildren(
      input,
      values.map(([, text], index) => h("option", { value: index }, text)),
    );
  draw();
  return inputField(
    formField(label, input, hint),
    () => values[Number(input.value)][0],
    value => {
      let index = values.findIndex(([option]) => option === value);
      if (index < 0) {
        index = values.push([value, unknown(value)]) - 1;
        draw();
      }
      input.value = String(index);
    },
  );
}

/** Return a field for a whole number. */
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

/** Return a field for a list of texts, one in each line. */
export function linesSetting(label, { hint, ...attributes } = {}) {
  const input = h("textarea", { rows: "4", dir: "auto", spellcheck: "false", ...attributes });
  const field = formField(label, input, hint);
  const read = () => input.value.split("\n").filter(line => line.trim());
  return {
    ...inputField(field, read, value => {
      input.value = (value ?? []).join("\n");
    }),
    /** Name the line with the first error. */
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

/** Return a color field; the value is a number, 0 for no color. */
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
 * Return a field that combines several; its value is an object by their names.
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

/** A form that tracks unsaved changes and sends only the changed values. */
export class SettingsForm {
  /** @type {Map<string, SettingsField>} */
  #fields = new Map();
  #saved = {};
  #save;
  #onInput;

  /**
   * @param {Record<string, SettingsField>} fields by the name in the request body
   * @param {Record<string, any>} values the stored values
   * @param {{save: (changes: Record<string, any>) => Promise<any>, onInput: () => void}} handlers `save` resolves to the
   *   stored values
   */
  constructor(fields, values, { save, onInput }) {
    this.#fields = new Map(Object.entries(fields));
    this.#save = save;
    this.#onInput = onInput;
    for (const field of this.#fields.values()) {
      for (const event of ["input", "change"])
        field.node.addEventListener(event, () => {
          field.setError(null);
          onInput();
        });
    }
    this.load(values);
  }

  /** The nodes of all fields, in order. */
  get nodes() {
    return [...this.#fields.values()].map(field => field.node);
  }

  /** Show stored values. Values that the user changed stay. */
  load(values) {
    const changes = this.changes;
    for (const [name, field] of this.#fields) {
      if (name in changes) continue;
      field.write(values[name]);
      this.#saved[name] = field.read();
    }
    this.#onInput();
  }

  /** The changed values by name. */
  get changes() {
    const changes = {};
    for (const [name, field] of this.#fields)
      if (name in this.#saved && !isSame(field.read(), this.#saved[name])) changes[name] = field.read();
    return changes;
  }

  get isDirty() {
    return Object.keys(this.changes).length > 0;
  }

  /** Discard the changes. */
  reset() {
    for (const [name, field] of this.#fields) {
      field.write(this.#saved[name]);
      field.setError(null);
    }
    this.#onInput();
  }

  /** Disable the fields, all of them or those with these names. */
  disable(names = [...this.#fields.keys()]) {
    for (const name of names) this.#fields.get(name)?.setDisabled(true);
  }

  /** Send the changes. Return whether the server accepted them; errors are shown at their fields. */
  async submit() {
    const changes = this.changes;
    let stored;
    try {
      stored = await this.#save(changes);
    } catch (error) {
      showFieldErrors(this.#fields, error);
      return false;
    }
    Object.assign(this.#saved, changes);
    this.load(stored ?? this.#saved);
    return true;
  }
}

/** Return whether two values are equal; lists and objects are compared by their content. */
function isSame(one, other) {
  return one === other || JSON.stringify(one) === JSON.stringify(other);
}

/** Show an error of the API at its fields, or as a notice if it names none of them. */
function showFieldErrors(fields, error) {
  const invalid = Object.keys(error.errors ?? {}).filter(name => fields.has(name));
  for (const name of invalid.reverse()) {
    const field = fields.get(name);
    // The tab of the field must be visible before the field takes the focus.
    field.node.dispatchEvent(new Event("settings-error", { bubbles: true }));
    setFieldErrors(field, error.errors[name]);
  }
  if (!invalid.length) showError(error);
}

/** Show the errors of the API at a field, or at its parts. */
export function setFieldErrors(field, errors) {
  if (field.setErrors === undefined) field.setError(firstErrorMessage(errors));
  else field.setErrors(errors);
}

/** Return the first message in the errors of a field. */
export function firstErrorMessage(node) {
  if (Array.isArray(node?._errors) && node._errors.length) return String(node._errors[0].message);
  const inner = Object.values(node ?? {}).find(value => typeof value === "object");
  return inner ? firstErrorMessage(inner) : "This value is not valid.";
}

/** Show an error of a request at a field if it names none: the API reports some problems of files without a field. */
export async function reportAtField(name, request) {
  try {
    return await request;
  } catch (error) {
    if (error.status === 400 && error.errors === undefined) error.errors = { [name]: { _errors: [error] } };
    throw error;
  }
}

/** Show the error of a field without a place for it. */
export function showFieldNotice(text) {
  if (text) showNotice(text, "problem");
}

/** Return the line that says how a list is loaded, or that it is empty. */
export const statusLine = text => h("p", { class: "muted", role: "status" }, text);

/** Return a notice that says why the user cannot do something. */
export function lockedNotice(text) {
  return h("p", { class: "notice warning", role: "note" }, text);
}

/** Return a notice for content that the user can view but not change, with the reason. */
export const viewOnlyNotice = why => lockedNotice(`You can view this but not change it. ${why}`);

/** Return a section with a heading. */
export function settingsSection(title, ...children) {
  return h("section", { class: "settings-section" }, h("h4", null, title), ...children);
}

/**
 * Return one entry of a list with actions.
 *
 * @param {{mark?: any, title: any, details?: any[], actions?: any[]}} parts
 */
export function listEntry({ mark, title, details = [], actions = [] }) {
  return h(
    "li",
    { class: "settings-entry" },
    mark ?? null,
    h(
      "div",
      { class: "settings-entry-text" },
      h("p", { class: "settings-entry-title", dir: "auto" }, title),
      details.filter(Boolean).map(detail => h("p", { class: "muted small", dir: "auto" }, detail)),
    ),
    actions.length ? h("div", { class: "settings-entry-actions" }, actions) : null,
  );
}

/** Return a small button; `why` disables it and is its explanation. */
export function actionButton(label, onClick, { danger = false, why = null, name = label } = {}) {
  return h(
    "button",
    {
      type: "button",
      class: `button small ${danger ? "danger" : "quiet"}`,
      "aria-label": name === label ? null : name,
      disabled: why !== null,
      title: why,
      onclick: onClick,
    },
    label,
  );
}

/**
 * Open a dialog that confirms an action, with fields. Resolve to whether the action succeeded.
 *
 * @param {{title: string, text?: any, label: string, fields?: Record<string, SettingsField>, danger?: boolean,
 *   isLocked?: boolean, run: (values: Record<string, any>) => Promise<any>}} options
 * @returns {Promise<boolean>}
 */
export function openActionDialog({ title, text, label, fields = {}, danger = true, isLocked = false, run }) {
  return new Promise(resolve => {
    let done = false;
    openDialog(
      title,
      close => {
        const submit = async event => {
          event.preventDefault();
          const values = Object.fromEntries(Object.entries(fields).map(([name, field]) => [name, field.read()]));
          button.disabled = true;
          try {
            for (const field of Object.values(fields)) field.setError(null);
            await run(values);
            done = true;
            close();
          } catch (error) {
            showFieldErrors(new Map(Object.entries(fields)), error);
          } finally {
            button.disabled = false;
          }
        };
        const button = h(
          "button",
          { type: "submit", class: danger ? "button danger" : "button", disabled: isLocked },
          label,
        );
        return h(
          "form",
          { class: "stack", onsubmit: submit },
          text ? h("p", null, text) : null,
          Object.values(fields).map(field => field.node),
          h(
            "div",
            { class: "row end" },
            h("button", { type: "button", class: "button quiet", onclick: close }, "Cancel"),
            button,
          ),
        );
      },
      { onClose: () => resolve(done) },
    );
  });
}

/** Return the field for the reason of an action, which the audit log shows. */
export const reasonSetting = () =>
  textSetting("Reason", { hint: "Optional. The audit log shows it.", maxlength: REASON_MAX, isNullable: true });
