/** Fields of modals: rendering, reading values and showing errors. */

import { ComponentType, TextInputStyle } from "../generated/enums.js";
import { TEXT_INPUT_MAX } from "../generated/limits.js";
import { iconButton } from "../ui/controls.js";
import { h, icon, setChildren } from "../ui/dom.js";
import { formatBytes } from "../ui/byte_sizes.js";
import { createPicker } from "../ui/picker.js";
import { t } from "../ui/translation.js";
import { selectSource } from "./selects.js";

const { TEXT_INPUT, FILE_UPLOAD, RADIO_GROUP, CHECKBOX_GROUP, CHECKBOX } = ComponentType;
const SELECT_TYPES = [
  ComponentType.STRING_SELECT,
  ComponentType.USER_SELECT,
  ComponentType.ROLE_SELECT,
  ComponentType.MENTIONABLE_SELECT,
  ComponentType.CHANNEL_SELECT,
];
/** If the component sets no maximum, the character counter appears when fewer characters than this remain. */
const COUNTER_THRESHOLD = 200;
let fieldCount = 0;

/**
 * A field of a modal.
 *
 * @typedef {{node: HTMLElement, read: (files: File[]) => object, setErrors: (messages: string[]) => void,
 *   focus: () => void}} Field `read` appends the field's files to `files`
 */

/** Return the field of a modal component, with its label, hint and errors. @returns {Field} */
export function createModalField(component, label, description, context) {
  const id = `modal-field-${(fieldCount += 1)}`;
  const type = component.type;
  const control =
    type === TEXT_INPUT
      ? textControl(component, id)
      : type === FILE_UPLOAD
        ? uploadControl(component, id, label)
        : type === RADIO_GROUP
          ? groupControl(component, id, "radio")
          : type === CHECKBOX_GROUP
            ? groupControl(component, id, "checkbox")
            : type === CHECKBOX
              ? checkboxControl(component, id)
              : SELECT_TYPES.includes(type)
                ? selectControl(component, label, context)
                : { node: h("p", null, t("This field cannot be displayed.")), read: () => ({}), focus() {} };
  const isOptional = component.required === false;
  const error = h("p", { class: "field-error", id: `${id}-error`, hidden: true });
  const hint = description ? h("p", { class: "field-hint", id: `${id}-hint` }, description) : null;
  const caption = [label, isOptional ? h("span", { class: "field-optional" }, ` ${t("(optional)")}`) : null];
  const isGroup = type === RADIO_GROUP || type === CHECKBOX_GROUP;
  const captionElement = isGroup ? h("legend", null, caption) : h("label", { for: id }, caption);
  // A single checkbox comes before its label; other controls come after it.
  const content =
    type === CHECKBOX
      ? [h("div", { class: "field-single" }, control.node, captionElement), hint]
      : [captionElement, hint, control.node];
  const node = h(isGroup ? "fieldset" : "div", { class: "app-field" }, content, error);
  const describedElement = control.describedElement ?? control.node;
  updateDescription([]);
  return {
    node,
    read: files => ({ type, id: component.id, custom_id: component.custom_id, ...control.read(files) }),
    setErrors(messages) {
      error.textContent = messages.join(" ");
      error.hidden = !messages.length;
      updateDescription(messages);
    },
    focus: control.focus,
  };

  /** Connect the control with its hint and errors for screen readers. */
  function updateDescription(messages) {
    const ids = [hint?.id, messages.length ? error.id : null].filter(Boolean).join(" ");
    if (ids) describedElement.setAttribute("aria-describedby", ids);
    else describedElement.removeAttribute("aria-describedby");
    if (messages.length) describedElement.setAttribute("aria-invalid", "true");
    else describedElement.removeAttribute("aria-invalid");
  }
}

function textControl(component, id) {
  const limit = component.max_length ?? TEXT_INPUT_MAX;
  const sharedAttributes = {
    id,
    maxlength: limit,
    placeholder: component.placeholder,
    value: component.value ?? "",
    oninput: updateCount,
    autocomplete: "off",
  };
  const field =
    component.style === TextInputStyle.PARAGRAPH
      ? h("textarea", { ...sharedAttributes, rows: 4 })
      : h("input", { ...sharedAttributes, type: "text" });
  const counter = h("span", { class: "field-count", "aria-hidden": "true" });
  updateCount();
  return {
    node: h("div", { class: "field-text" }, field, counter),
    describedElement: field,
    read: () => ({ value: field.value }),
    focus: () => field.focus(),
  };

  function updateCount() {
    counter.textContent =
      component.max_length || field.value.length > limit - COUNTER_THRESHOLD ? `${field.value.length}/${limit}` : "";
  }
}

function selectControl(component, label, context) {
  const menu = createPicker({
    ...selectSource(component, context),
    label: component.placeholder ? `${label}: ${component.placeholder}` : label,
    placeholder: component.placeholder || t("Choose"),
    // The minimum is not enforced while choosing; the server checks it on submit.
    min: 0,
    max: component.max_values ?? 1,
  });
  return {
    node: menu.node,
    describedElement: menu.button,
    read: () => ({ values: menu.values.map(({ value }) => value) }),
    focus: () => menu.button.focus(),
  };
}

function groupControl({ options = [], max_values: max }, id, type) {
  const inputs = options.map(({ value, default: isDefault }, index) =>
    h("input", { type, name: id, id: `${id}-${index}`, value, checked: Boolean(isDefault), onchange: enforceMaximum }),
  );
  const node = h(
    "div",
    { class: "field-options" },
    options.map(({ label, description }, index) => {
      const caption = h("span", null, h("span", null, label), description ? h("small", null, description) : null);
      return h("label", { class: "field-option", for: inputs[index].id }, inputs[index], caption);
    }),
  );
  enforceMaximum();
  const chosenValues = () => inputs.filter(({ checked }) => checked).map(({ value }) => value);
  const read = () => (type === "radio" ? { value: chosenValues()[0] ?? null } : { values: chosenValues() });
  return { node, read, focus: () => inputs[0]?.focus() };

  /** Disable the other checkboxes when the maximum is reached. */
  function enforceMaximum() {
    if (type === "radio" || !max) return;
    const isFull = inputs.filter(({ checked }) => checked).length >= max;
    for (const input of inputs) input.disabled = isFull && !input.checked;
  }
}

function checkboxControl(component, id) {
  const input = h("input", { type: "checkbox", id, checked: Boolean(component.default) });
  return { node: input, read: () => ({ value: input.checked }), focus: () => input.focus() };
}

function uploadControl(component, id, label) {
  const limit = component.max_values ?? 1;
  let chosenFiles = [];
  const accept = (component.file_types ?? []).map(type => (type.startsWith(".") ? type : `${type}/*`)).join(",");
  const input = h("input", {
    type: "file",
    id,
    class: "field-files",
    multiple: limit > 1,
    accept: accept || null,
    onchange: onFilesChosen,
    disabled: limit === 0,
  });
  const list = h("ul", { class: "field-list" });
  const node = h(
    "div",
    { class: "field-upload", ondragover: event => event.preventDefault(), ondrop: onDrop },
    input,
    list,
  );
  return {
    node,
    describedElement: input,
    read(files) {
      const values = chosenFiles.map((_, index) => String(files.length + index));
      files.push(...chosenFiles);
      return { values };
    },
    focus: () => input.focus(),
  };

  function onFilesChosen() {
    addFiles([...input.files]);
    input.value = "";
  }

  function onDrop(event) {
    event.preventDefault();
    addFiles([...(event.dataTransfer?.files ?? [])]);
  }

  function addFiles(files) {
    chosenFiles = limit === 1 ? files.slice(0, 1) : [...chosenFiles, ...files].slice(0, limit);
    drawFiles();
  }

  function drawFiles() {
    setChildren(
      list,
      chosenFiles.map((file, index) =>
        h(
          "li",
          null,
          icon("file"),
          h("span", { class: "field-file" }, file.name),
          h("small", null, formatBytes(file.size)),
          iconButton("close", t("Remove {file} from {field}", { file: file.name, field: label }), () =>
            removeFile(index),
          ),
        ),
      ),
    );
  }

  function removeFile(index) {
    chosenFiles.splice(index, 1);
    drawFiles();
    input.focus();
  }
}
