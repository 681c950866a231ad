/** Modal dialogs. */

import { iconButton } from "./controls.js";
import { h } from "./dom.js";

let dialogCount = 0;

/**
 * Open a modal dialog. Escape and the close button close it and restore the focus.
 *
 * @param {string} title
 * @param {(close: () => void) => any} build returns the content
 * @param {{wide?: boolean, onClose?: () => void}} [options]
 */
export function openDialog(title, build, { wide = false, onClose } = {}) {
  const before = document.activeElement;
  const id = `dialog-${(dialogCount += 1)}`;
  const close = () => box.close();
  const box = h(
    "dialog",
    { class: wide ? "window wide" : "window", "aria-labelledby": id },
    h("header", { class: "window-head" }, h("h2", { id }, title), iconButton("close", "Close", close)),
  );
  box.append(h("div", { class: "window-body" }, build(close)));
  box.addEventListener("close", () => {
    box.remove();
    onClose?.();
    if (before instanceof HTMLElement && before.isConnected) before.focus();
  });
  // A click on the backdrop closes the dialog.
  box.addEventListener("pointerdown", event => event.target === box && box.close());
  document.body.append(box);
  box.showModal();
  (box.querySelector("[autofocus], .window-body :is(input, select, textarea, button)") ?? box).focus();
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
      { onClose: () => resolve(answer) },
    );
  });
}
