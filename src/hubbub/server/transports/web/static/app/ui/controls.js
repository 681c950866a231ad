/** Buttons and form fields. */

import { h, icon } from "./dom.js";

/** Return a button with an icon and an accessible label. */
export function iconButton(name, label, onClick, attributes = {}) {
  return h(
    "button",
    { type: "button", class: "icon-button", "aria-label": label, title: label, onclick: onClick, ...attributes },
    icon(name),
  );
}

let fieldCount = 0;

/**
 * Return a field with a label, an input and a hint.
 *
 * `setError` shows an error below the input and focuses the input; null removes the error.
 */
export function formField(label, input, hint) {
  const id = `field-${(fieldCount += 1)}`;
  input.id = id;
  const error = h("p", { class: "error", hidden: true, role: "alert", id: `${id}-error` });
  input.setAttribute("aria-describedby", hint ? `${id}-hint ${id}-error` : `${id}-error`);
  const node = h(
    "div",
    { class: "field" },
    h("label", { for: id }, label),
    hint ? h("p", { class: "hint", id: `${id}-hint` }, hint) : null,
    input,
    error,
  );
  return {
    node,
    input,
    setError(text) {
      error.hidden = !text;
      error.textContent = text ?? "";
      input.toggleAttribute("aria-invalid", Boolean(text));
      if (text) input.setAttribute("aria-invalid", "true");
      if (text) input.focus();
    },
  };
}
