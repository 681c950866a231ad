/** Building blocks of the client: the base class of its custom elements, dialogs, buttons and form fields. */

import { h, icon } from "./dom.js";
import { showError } from "./notices.js";
import { watch } from "../state/context.js";

/**
 * A custom element that renders part of the state. Set `context` before adding it to the page.
 *
 * Subclasses override `begin` (build the static nodes), `draw` (update after a change) and `end` (clean up).
 */
export class LayoutPart extends HTMLElement {
  /** The kinds of state changes after which `draw` is called. @type {string[]} */
  static kinds = [];
  /** @type {import("../state/context.js").Context} */
  context;
  #end = null;

  connectedCallback() {
    this.#end = watch(
      this.context.state,
      /** @type {any} */ (this.constructor).kinds,
      () => this.isConnected && this.draw(),
    );
    this.begin();
    this.draw();
  }

  disconnectedCallback() {
    this.#end?.();
    this.end();
  }

  begin() {}
  end() {}
  draw() {}
}

/** Create a custom element with its context. */
export function createPart(tag, context, attributes = {}) {
  const element = document.createElement(tag);
  Object.assign(element, { context }, attributes);
  return /** @type {any} */ (element);
}

/** Return a button with an icon and an accessible label. */
export function iconButton(name, label, press, more = {}) {
  return h(
    "button",
    { type: "button", class: "icon-button", "aria-label": label, title: label, onclick: press, ...more },
    icon(name),
  );
}

/** Run an action and show a notice if it fails. Return whether it succeeded. */
export async function attempt(action, before = "") {
  try {
    await action();
    return true;
  } catch (error) {
    showError(error, before);
    return false;
  }
}

let dialogs = 0;

/**
 * Open a modal dialog. Escape and the close button close it and restore the focus.
 *
 * @param {string} title
 * @param {(close: () => void) => any} build returns the content
 * @param {{wide?: boolean, closed?: () => void}} [options]
 */
export function openDialog(title, build, { wide = false, closed } = {}) {
  const before = document.activeElement;
  const id = `dialog-${(dialogs += 1)}`;
  const close = () => box.close();
  const box = h(
    "dialog",
    { class: wide ? "window wide" : "window", "aria-labelledby": id },
    h("header", { class: "window-head" }, h("h2", { id }, title), iconButton("close", "Close", close)),
  );
  box.append(h("div", { class: "window-body" }, build(close)));
  box.addEventListener("close", () => {
    box.remove();
    closed?.();
    if (before instanceof HTMLElement && before.isConnected) before.focus();
  });
  // A click on the backdrop closes the dialog.
  box.addEventListener("pointerdown", event => event.target === box && box.close());
  document.body.append(box);
  box.showModal();
  (box.querySelector("[autofocus], .window-body input, .window-body textarea, .window-body button") ?? box).focus();
  return box;
}

/** Ask for confirmation. Resolve to whether the user confirmed. */
export function confirmAction(title, text, label) {
  return new Promise(resolve => {
    let answer = false;
    openDialog(
      title,
      close => [
        typeof text === "string" ? h("p", null, text) : text,
        h(
          "div",
          { class: "row end" },
          h("button", { type: "button", class: "button quiet", onclick: close }, "Cancel"),
          h(
            "button",
            {
              type: "button",
              class: "button danger",
              onclick: () => {
                answer = true;
                close();
              },
            },
            label,
          ),
        ),
      ],
      { closed: () => resolve(answer) },
    );
  });
}

/** Return a labeled form field that can show an error. */
export function field(label, input, hint) {
  const id = `field-${(dialogs += 1)}`;
  input.id = id;
  const error = h("p", { class: "error", hidden: true, role: "alert" });
  const node = h(
    "div",
    { class: "field" },
    h("label", { for: id }, label),
    hint ? h("p", { class: "hint" }, hint) : null,
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
