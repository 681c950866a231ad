/** Notices (toasts): errors and confirmations. */

import { h, icon } from "./dom.js";
import { t } from "./translation.js";

const SHOWN_MS = 8_000;
const NOTICES_MAX = 3;

let region = null;

/** Return the container of notices, inside the topmost modal dialog if one is open, because it covers the rest of the page. */
function container() {
  region ??= h("div", { class: "notices", role: "region", "aria-label": t("Notices") });
  const dialog = [...document.querySelectorAll("dialog:modal")].at(-1);
  const host = dialog ?? document.body;
  if (region.parentElement === host) return region;
  host.append(region);
  // Move the notices to the page when the dialog closes.
  dialog?.addEventListener("close", () => dialog.contains(region) && container(), { once: true });
  return region;
}

/**
 * Show a notice for some seconds. It replaces a notice of the same kind with the same text.
 *
 * @param {string} text
 * @param {"problem" | "done" | "plain"} [kind]
 */
export function showNotice(text, kind = "plain") {
  const notice = addNotice(text, kind);
  const timer = setTimeout(() => notice.remove(), SHOWN_MS);
  notice.addEventListener("focusin", () => clearTimeout(timer));
}

/** Show a problem until the user clicks, then run an action. */
export function showUntilClick(text, action) {
  const notice = addNotice(text, "problem");
  const onClick = () => {
    notice.remove();
    action();
  };
  // The click that led to the problem may still bubble to the document.
  setTimeout(() => document.addEventListener("click", onClick, { once: true }));
}

function addNotice(text, kind) {
  const notices = container();
  const notice = h(
    "div",
    { class: `notice-box ${kind}`, role: kind === "problem" ? "alert" : "status" },
    h("p", null, text),
    h(
      "button",
      { type: "button", class: "icon-button", "aria-label": t("Dismiss"), onclick: () => notice.remove() },
      icon("close"),
    ),
  );
  for (const other of [...notices.children])
    if (other.className === notice.className && other.querySelector("p").textContent === text) other.remove();
  notices.append(notice);
  while (notices.children.length > NOTICES_MAX) notices.firstElementChild.remove();
  return notice;
}

/** Show an error as a notice, after an optional introduction. Log errors that do not come from the API to the console. */
export function showError(error, introduction = "") {
  if (error?.name === "AbortError") return;
  if (error?.name !== "ApiError") console.error(error);
  const text = error?.name === "ApiError" ? error.userText : t("Something went wrong. Reload the page and try again.");
  showNotice(introduction ? `${introduction} ${text}` : text, "problem");
}

/** Run an action and show a notice if it fails. Return whether it succeeded. */
export async function runAndReport(action, introduction = "") {
  try {
    await action();
    return true;
  } catch (error) {
    showError(error, introduction);
    return false;
  }
}
