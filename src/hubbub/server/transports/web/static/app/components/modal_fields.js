/** Fields of modals: rendering, reading values and showing errors. */

import { iconButton } from "../ui/controls.js";
import { h, icon, setChildren } from "../ui/dom.js";
import { formatBytes } from "../ui/formats.js";
import { createPicker } from "../ui/picker.js";
import { selectSource } from "./selects.js";

const SELECTS = [3, 5, 6, 7, 8];
const TEXT_INPUT = 4;
const FILE_UPLOAD = 19;
const RADIO_GROUP = 21;
const CHECKBOX_GROUP = 22;
const CHECKBOX = 23;
const PARAGRAPH = 2;
const TEXT_MAX = 4000;
let count = 0;

/**
 * @typedef {{node: HTMLElement, read: (files: File[]) => object, setErrors: (messages: string[]) => void,
 *   focus: () => void}} Field `read` appends the field's files to `files`
 */

/** @returns {Field} */
export function createModalField(component, label, description, context) {
  const id = `field-${(count += 1)}`;
  const kind = component.type;
  const control =
    kind === TEXT_INPUT
      ? text(component, id)
      : kind === FILE_UPLOAD
        ? upload(component, id, label)
        : kind === RADIO_GROUP
          ? group(component, id, "radio")
          : kind === CHECKBOX_GROUP
            ? group(component, id, "checkbox")
            : kind === CHECKBOX
              ? checkbox(component, id)
              : SELECTS.includes(kind)
                ? select(component, label, context)
                : { node: h("p", null, "This field cannot be displayed."), read: () => ({}), focus() {} };
  const optional = component.required === false;
  const error = h("p", { class: "field-error", id: `${id}-error`, hidden: true });
  const hint = description ? h("p", { class: "field-hint", id: `${id}-hint` }, description) : null;
  const caption = [label, optional ? h("span", { class: "field-optional" }, " (optional)") : null];
  const many = kind === RADIO_GROUP || kind === CHECKBOX_GROUP;
  const name = many ? h("legend", null, caption) : h("label", { for: id }, caption);
  // A single checkbox comes before its label; other controls come after it.
  const inside =
    kind === CHECKBOX ? [h("div", { class: "field-single" }, control.node, name), hint] : [name, hint, control.node];
  const node = h(many ? "fieldset" : "div", { class: "app-field" }, inside, error);
  const described = control.described ?? control.node;
  describe([]);
  return {
    node,
    read: files => ({ type: kind, id: component.id, custom_id: component.custom_id, ...control.read(files) }),
    setErrors(messages) {
      error.textContent = messages.join(" ");
      error.hidden = !messages.length;
      describe(messages);
    },
    focus: control.focus,
  };

  function describe(messages) {
    const by = [hint?.id, messages.length ? error.id : null].filter(Boolean).join(" ");
    if (by) described.setAttribute("aria-describedby", by);
    else described.removeAttribute("aria-describedby");
    if (messages.length) described.setAttribute("aria-invalid", "true");
    else described.removeAttribute("aria-invalid");
  }
}

function text(component, id) {
  const limit = component.max_length ?? TEXT_MAX;
  const shared = {
    id,
    maxlength: limit,
    placeholder: component.placeholder,
    value: component.value ?? "",
    oninput: updateCount,
    autocomplete: "off",
  };
  const field =
    component.style === PARAGRAPH ? h("textarea", { ...shared, rows: 4 }) : h("input", { ...shared, type: "text" });
  const left = h("span", { class: "field-count", "aria-hidden": "true" });
  updateCount();
  return {
    node: h("div", { class: "field-text" }, field, left),
    described: field,
    read: () => ({ value: field.value }),
    focus: () => field.focus(),
  };

  function updateCount() {
    left.textContent = component.max_length || field.value.length > limit - 200 ? `${field.value.length}/${limit}` : "";
  }
}

function select(component, label, context) {
  const menu = createPicker({
    ...selectSource(component, context),
    label: component.placeholder ? `${label}: ${component.placeholder}` : label,
    placeholder: component.placeholder || "Choose",
    // The minimum is not enforced while choosing; the server checks it on submit.
    min: 0,
    max: component.max_values ?? 1,
  });
  return {
    node: menu.node,
    described: menu.button,
    read: () => ({ values: menu.values.map(({ value }) => value) }),
    focus: () => menu.button.focus(),
  };
}

function group({ options = [], max_values: max }, id, type) {
  const inputs = options.map(({ value, default: chosen }, index) =>
    h("input", { type, name: id, id: `${id}-${index}`, value, checked: Boolean(chosen), onchange: limit }),
  );
  const node = h(
    "div",
    { class: "field-options" },
    options.map(({ label, description }, index) => {
      const caption = h("span", null, h("span", null, label), description ? h("small", null, description) : null);
      return h("label", { class: "field-option", for: inputs[index].id }, inputs[index], caption);
    }),
  );
  limit();
  const chosen = () => inputs.filter(({ checked }) => checked).map(({ value }) => value);
  const read = () => (type === "radio" ? { value: chosen()[0] ?? null } : { values: chosen() });
  return { node, read, focus: () => inputs[0]?.focus() };

  /** Disable the other checkboxes when the maximum is reached. */
  function limit() {
    if (type === "radio" || !max) return;
    const full = inputs.filter(({ checked }) => checked).length >= max;
    for (const input of inputs) input.disabled = full && !input.checked;
  }
}

function checkbox(component, id) {
  const input = h("input", { type: "checkbox", id, checked: Boolean(component.default) });
  return { node: input, read: () => ({ value: input.checked }), focus: () => input.focus() };
}

function upload(component, id, label) {
  const limit = component.max_values ?? 1;
  let chosen = [];
  const accept = (component.file_types ?? []).map(type => (type.startsWith(".") ? type : `${type}/*`)).join(",");
  const input = h("input", {
    type: "file",
    id,
    class: "field-files",
    multiple: limit > 1,
    accept: accept || null,
    onchange: added,
    disabled: limit === 0,
  });
  const list = h("ul", { class: "field-list" });
  const node = h(
    "div",
    { class: "field-upload", ondragover: event => event.preventDefault(), ondrop: dropped },
    input,
    list,
  );
  return {
    node,
    described: input,
    read(files) {
      const values = chosen.map((_, index) => String(files.length + index));
      files.push(...chosen);
      return { values };
    },
    focus: () => input.focus(),
  };

  function added() {
    addFiles([...input.files]);
    input.value = "";
  }

  function dropped(event) {
    event.preventDefault();
    addFiles([...(event.dataTransfer?.files ?? [])]);
  }

  function addFiles(files) {
    chosen = limit === 1 ? files.slice(0, 1) : [...chosen, ...files].slice(0, limit);
    draw();
  }

  function draw() {
    setChildren(
      list,
      chosen.map((file, index) =>
        h(
          "li",
          null,
          icon("file"),
          h("span", { class: "field-file" }, file.name),
          h("small", null, formatBytes(file.size)),
          iconButton("close", `Remove ${file.name} from ${label}`, () => drop(index)),
        ),
      ),
    );
  }

  function drop(index) {
    chosen.splice(index, 1);
    draw();
    input.focus();
  }
}
