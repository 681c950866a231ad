/** Modal dialogs, and the dialog that asks for confirmation. */

import { iconButton } from "./controls.js";
import { h } from "./dom.js";
import { t } from "./translation.js";

let dialogCount = 0;

/**
 * Open a modal dialog. Escape, the close button and a click on the backdrop close it. Closing it restores the focus,
 * unless another view has the focus.
 *
 * @param {string} title
 * @param {(close: () => void) => any} build returns the content
 * @param {{wide?: boolean, onClose?: () => void}} [options]
 */
export function openDialog(title, build, { wide = false, onClose } = {}) {
  const previousFocus = document.activeElement;
  const id = `dialog-${(dialogCount += 1)}`;
  const close = () => dialog.close();
  const dialog = h(
    "dialog",
    { class: wide ? "window wide" : "window", "aria-labelledby": id },
    h("header", { class: "window-head" }, h("h2", { id }, title), iconButton("close", t("Close"), close)),
  );
  const body = h("div", { class: "window-body" }, build(close));
  // The keyboard scrolls only an element that has the focus or contains it.
  if (!body.querySelector(":is(a, button, input, select, textarea, [tabindex]):not(:disabled)")) body.tabIndex = 0;
  dialog.append(body);
  dialog.addEventListener("close", () => {
    // A link in the dialog may have led to a view that has the focus now.
    const hasOtherFocus = document.activeElement !== document.body && !dialog.contains(document.activeElement);
    dialog.remove();
    onClose?.();
    if (hasOtherFocus) return;
    if (previousFocus instanceof HTMLElement && previousFocus.isConnected) previousFocus.focus();
  });
  dialog.addEventListener("pointerdown", event => event.target === dialog && dialog.close());
  document.body.append(dialog);
  dialog.showModal();
  (dialog.querySelector("[autofocus], .window-body :is(input, select, textarea, button)") ?? dialog).focus();
  return dialog;
}

/** Ask for confirmation. Resolve to whether the user confirmed. */
export function confirmAction(title, text, label) {
  return new Promise(resolve => {
    let isConfirmed = false;
    openDialog(
      title,
      close => [
        typeof text === "string" ? h("p", null, text) : text,
        h(
          "div",
          { class: "row end" },
          h("button", { type: "button", class: "button quiet", onclick: close }, t("Cancel")),
          h(
            "button",
            {
              type: "button",
              class: "button danger",
              onclick: () => {
                isConfirmed = true;
                close();
              },
            },
            label,
          ),
        ),
      ],
      { onClose: () => resolve(isConfirmed) },
    );
  });
}
