/** Copying texts to the clipboard, also on pages without HTTPS, where browsers lack the clipboard API. */

import { formField } from "./controls.js";
import { openDialog } from "./dialogs.js";
import { h } from "./dom.js";
import { showNotice } from "./notices.js";
import { t } from "./translation.js";

/** Copy a text and show a confirmation. If the browser does not allow it, show the text so that the user can copy it. */
export async function copyText(text, confirmation) {
  if ((await copyWithApi(text)) || copyWithCommand(text)) {
    showNotice(confirmation, "done");
    return;
  }
  const area = h("textarea", { rows: "4", readonly: true, class: "code-input", dir: "auto" });
  area.value = text;
  const hint = t("The browser does not allow this page to use the clipboard. Copy the text with Ctrl+C or ⌘C.");
  openDialog(t("Copy text"), () => formField(t("Text"), area, hint).node);
  area.select();
}

async function copyWithApi(text) {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    return false;
  }
}

/** Copy a text with the older command, which needs a selection. Return whether the browser copied it. */
function copyWithCommand(text) {
  const focusedElement = document.activeElement;
  const area = h("textarea", { class: "visually-hidden", "aria-hidden": "true" });
  area.value = text;
  // A modal dialog makes the rest of the page inert.
  ([...document.querySelectorAll("dialog:modal")].at(-1) ?? document.body).append(area);
  area.select();
  const isCopied = document.execCommand("copy");
  area.remove();
  if (focusedElement instanceof HTMLElement) focusedElement.focus();
  return isCopied;
}
