/** Buttons and form fields. */

import { h, icon } from "./dom.js";
import { showNotice } from "./notices.js";

/** Return a button with an icon and an accessible label. */
export function iconButton(name, label, onClick, attributes = {}) {
  return h(
    "button",
    { type: "button", class: "icon-button", "aria-label": label, title: label, onclick: onClick, ...attributes },
    icon(name),
  );
}

/** Reasons why a button does nothing, by button. @type {WeakMap<HTMLElement, string>} */
const denialReasons = new WeakMap();

/**
 * Disable a button for a reason, or enable it if the reason is null.
 *
 * The button stays in the tab order with the reason as its description, and a click shows the reason: touch screens have
 * no tooltips.
 */
export function setDenialReason(button, reason) {
  button.addEventListener("click", onDeniedClick, true);
  if (reason === null) {
    denialReasons.delete(button);
    button.removeAttribute("aria-disabled");
    button.removeAttribute("title");
  } else {
    denialReasons.set(button, reason);
    button.setAttribute("aria-disabled", "true");
    button.title = reason;
  }
}

function onDeniedClick(event) {
  const reason = denialReasons.get(event.currentTarget);
  if (reason === undefined) return;
  event.preventDefault();
  event.stopImmediatePropagation();
  showNotice(reason, "problem");
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
