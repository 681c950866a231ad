/** The head of the client for screen readers and the keyboard: its name, and the link that skips to the view. */

import { h } from "./ui/dom.js";
import { t } from "./ui/translation.js";

/** Return the head; `focusView` moves the focus to the view. */
export function createClientHead(focusView) {
  const skip = event => {
    event.preventDefault();
    focusView();
  };
  return h(
    "header",
    { class: "client-head" },
    h("h1", { class: "visually-hidden" }, "Hubbub"),
    h("a", { class: "skip", href: "#view", onclick: skip }, t("Skip to the conversation")),
  );
}
