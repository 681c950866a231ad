/** The status line, which also announces results to screen readers, and buttons whose errors it shows. */

import { h } from "../ui/dom.js";

export const consoleStatus = h("p", { class: "status-line", role: "status" });

/** Show a message until the next one. */
export function report(message, isError = false) {
  consoleStatus.textContent = message;
  consoleStatus.classList.toggle("is-error", isError);
}

/** Run an action and report its error, or `message` after success; return whether it succeeded. */
export async function attempt(action, message) {
  try {
    await action();
    if (message) report(message);
    return true;
  } catch (error) {
    report(error.message, true);
    return false;
  }
}

/** Return a button that runs an action; it is disabled meanwhile. */
export function controlButton(label, action, { message = "", style = "quiet", ...attributes } = {}) {
  const button = h(
    "button",
    {
      type: "button",
      class: `button small ${style}`,
      ...attributes,
      onclick: async () => {
        button.disabled = true;
        await attempt(action, message);
        button.disabled = false;
      },
    },
    label,
  );
  return button;
}

/** Return a labeled form field. */
export function labeled(label, control) {
  return h("label", { class: "labeled" }, h("span", null, label), control);
}
