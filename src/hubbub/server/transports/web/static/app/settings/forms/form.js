/** Forms of the settings screens: a form that tracks unsaved changes, and a dialog with fields for one action. */

import { openDialog } from "../../ui/dialogs.js";
import { h } from "../../ui/dom.js";
import { showError } from "../../ui/notices.js";
import { t } from "../../ui/translation.js";
import { setFieldErrors } from "./fields.js";

/** @import { SettingsField } from "./fields.js" */

/** A form that tracks unsaved changes and sends only the changed values. */
export class SettingsForm {
  /** @type {Map<string, SettingsField>} */
  #fields = new Map();
  /** Stored values by field name, in the form that fields return. */
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
    this.showStored(values);
  }

  /** The nodes of all fields, in order. */
  get nodes() {
    return [...this.#fields.values()].map(field => field.node);
  }

  /** Show stored values. Values that the user changed stay. */
  showStored(values) {
    const changes = this.changes;
    for (const [name, field] of this.#fields) {
      if (name in changes) continue;
      field.write(values[name]);
      this.#saved[name] = field.read();
    }
    this.#onInput();
  }

  /** The changed values by field name. */
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
    let storedValues;
    try {
      storedValues = await this.#save(changes);
    } catch (error) {
      showFieldErrors(this.#fields, error);
      return false;
    }
    Object.assign(this.#saved, changes);
    this.showStored(storedValues ?? this.#saved);
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

/**
 * Await a request. If the API rejects it without naming a field, attach the error to the field `name` and throw it again:
 * some problems of files are reported without a field.
 */
export async function reportAtField(name, request) {
  try {
    return await request;
  } catch (error) {
    if (error.status === 400 && error.errors === undefined) error.errors = { [name]: { _errors: [error] } };
    throw error;
  }
}

/**
 * Open a dialog with fields and a button that runs an action. Resolve to whether the action succeeded.
 *
 * `run` receives the values of the fields. With `isDangerous`, the button warns; with `isLocked`, it is disabled.
 *
 * @param {{title: string, text?: any, label: string, fields?: Record<string, SettingsField>, isDangerous?: boolean,
 *   isLocked?: boolean, run: (values: Record<string, any>) => Promise<any>}} options
 * @returns {Promise<boolean>}
 */
export function openActionDialog({ title, text, label, fields = {}, isDangerous = true, isLocked = false, run }) {
  return new Promise(resolve => {
    let isDone = false;
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
            isDone = true;
            close();
          } catch (error) {
            showFieldErrors(new Map(Object.entries(fields)), error);
          } finally {
            button.disabled = false;
          }
        };
        const button = h(
          "button",
          { type: "submit", class: isDangerous ? "button danger" : "button", disabled: isLocked },
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
            h("button", { type: "button", class: "button quiet", onclick: close }, t("Cancel")),
            button,
          ),
        );
      },
      { onClose: () => resolve(isDone) },
    );
  });
}
