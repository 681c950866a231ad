/** Notices (toasts): errors and confirmations. */

import { h, icon } from "./dom.js";

const SHOWN_MS = 8_000;
const NOTICES_MAX = 3;

let region = null;

/** Return the container of notices, created on first use. An open modal dialog covers everything outside of it. */
function container() {
  region ??= h("div", { class: "notices", role: "region", "aria-label": "Notices" });
  const dialog = [...document.querySelectorAll("dialog:modal")].at(-1);
  const host = dialog ?? document.body;
  if (region.parentElement === host) return region;
  host.append(region);
  // The notices outlive the dialog.
  dialog?.addEventListener("close", () => dialog.contains(region) && container(), { once: true });
  return region;
}

/**
 * Show a notice.
 *
 * @param {string} text
 * @param {"problem" | "done" | "plain"} [kind]
 */
export function showNotice(text, kind = "plain") {
  const on = container();
  const box = h(
    "div",
    { class: `notice-box ${kind}`, role: kind === "problem" ? "alert" : "status" },
    h("p", null, text),
    h(
      "button",
      { type: "button", class: "icon-button", "aria-label": "Dismiss", onclick: () => box.remove() },
      icon("close"),
    ),
  );
  on.append(box);
  while (on.children.length > NOTICES_MAX) on.firstElementChild.remove();
  const timer = setTimeout(() => box.remove(), SHOWN_MS);
  box.addEventListener("focusin", () => clearTimeout(timer));
}

/** Show an error as a notice. Errors that do not come from the API are also logged to the console. */
export function showError(error, before = "") {
  if (error?.name === "AbortError") return;
  if (error?.name !== "ApiError") console.error(error);
  const sentence = error?.name === "ApiError" ? error.sentence : "Something went wrong. Reload the page and try again.";
  showNotice(before ? `${before} ${sentence}` : sentence, "problem");
}

/** Run an action and show a notice if it fails. Return whether it succeeded. */
export async function runAndReport(action, before = "") {
  try {
    await action();
    return true;
  } catch (error) {
    showError(error, before);
    return false;
  }
}
