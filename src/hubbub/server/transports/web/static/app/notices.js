/** Short sentences near the user: what went wrong, what was done. */

import { h, icon } from "./dom.js";

const SHOWN_MS = 8_000;
const MOST = 3;

let place = null;

/** Where notices appear; errors are read out at once, the rest when there is time. */
function shelf() {
  if (place === null || !place.isConnected) {
    place = h("div", { class: "notices", role: "region", "aria-label": "Notices" });
    document.body.append(place);
  }
  return place;
}

/**
 * Say something near the user.
 *
 * @param {string} text
 * @param {"problem" | "done" | "plain"} [kind]
 */
export function notice(text, kind = "plain") {
  const on = shelf();
  const box = h(
    "div",
    { class: `notice-box ${kind}`, role: kind === "problem" ? "alert" : "status" },
    h("p", null, text),
    h("button", { type: "button", class: "icon-button", "aria-label": "Close this notice", onclick: () => box.remove() }, icon("close")),
  );
  on.append(box);
  while (on.children.length > MOST) on.firstElementChild.remove();
  const timer = setTimeout(() => box.remove(), SHOWN_MS);
  box.addEventListener("focusin", () => clearTimeout(timer));
}

/** Say what a refusal says; other errors are ours, and are said to the console too. */
export function noticeOf(error, before = "") {
  if (error?.name === "AbortError") return;
  if (error?.name !== "ApiError") console.error(error);
  const sentence = error?.name === "ApiError" ? error.sentence : "Something went wrong on this page.";
  notice(before ? `${before} ${sentence}` : sentence, "problem");
}
