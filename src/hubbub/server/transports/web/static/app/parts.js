/** What the parts of the client have in common: they draw when something they show has changed. */

import { h, icon } from "./dom.js";
import { noticeOf } from "./notices.js";
import { watch } from "./context.js";

/** A custom element that shows something of the state: `context` is set before it is put into the page. */
export class Part extends HTMLElement {
  /** The kinds of changes after which it is drawn anew. @type {string[]} */
  static kinds = [];
  /** @type {import("./context.js").Context} */
  context;
  #end = null;

  connectedCallback() {
    this.#end = watch(this.context.state, /** @type {any} */ (this.constructor).kinds, () => this.isConnected && this.draw());
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

/** A part, with its context. */
export function part(tag, context, attributes = {}) {
  const made = document.createElement(tag);
  Object.assign(made, { context }, attributes);
  return /** @type {any} */ (made);
}

/** A small button that is a picture, with its name for everybody else. */
export function iconButton(name, label, press, more = {}) {
  return h("button", { type: "button", class: "icon-button", "aria-label": label, title: label, onclick: press, ...more }, icon(name));
}

/** Do something, and say so near the user where it is refused; answers whether it was done. */
export async function attempt(work, before = "") {
  try {
    await work();
    return true;
  } catch (error) {
    noticeOf(error, before);
    return false;
  }
}

let dialogs = 0;

/**
 * A window over the client. `build(close)` makes its inside; Escape and the cross close it, and focus goes back.
 *
 * @param {string} title
 * @param {(close: () => void) => any} build
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
  // A press beside the window closes it; one that began inside does not.
  box.addEventListener("pointerdown", event => event.target === box && box.close());
  document.body.append(box);
  box.showModal();
  (box.querySelector("[autofocus], .window-body input, .window-body textarea, .window-body button") ?? box).focus();
  return box;
}

/** Ask before something that cannot be undone. */
export function confirmed(title, words, label) {
  return new Promise(resolve => {
    let answer = false;
    openDialog(
      title,
      close => [
        typeof words === "string" ? h("p", null, words) : words,
        h(
          "div",
          { class: "row end" },
          h("button", { type: "button", class: "button quiet", onclick: close }, "Leave it"),
          h("button", { type: "button", class: "button danger", onclick: () => { answer = true; close(); } }, label),
        ),
      ],
      { closed: () => resolve(answer) },
    );
  });
}

/** A field with its label, and a place for what was wrong with it. */
export function field(label, input, hint) {
  const id = `field-${(dialogs += 1)}`;
  input.id = id;
  const wrong = h("p", { class: "error", hidden: true, role: "alert" });
  const node = h("div", { class: "field" }, h("label", { for: id }, label), hint ? h("p", { class: "hint" }, hint) : null, input, wrong);
  return {
    node,
    input,
    refuse(text) {
      wrong.hidden = !text;
      wrong.textContent = text ?? "";
      input.toggleAttribute("aria-invalid", Boolean(text));
      if (text) input.setAttribute("aria-invalid", "true");
      if (text) input.focus();
    },
  };
}
