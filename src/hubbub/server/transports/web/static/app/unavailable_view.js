/** The view in place of a channel that cannot be shown. */

import { h, icon } from "./ui/dom.js";

/** Return the view with a text; `showSide` opens the list of channels on narrow screens. */
export function createUnavailableView(text, showSide) {
  return h(
    "div",
    { class: "unavailable" },
    h(
      "header",
      { class: "view-head" },
      h(
        "button",
        {
          type: "button",
          class: "icon-button to-side",
          "aria-label": "Channels and conversations",
          onclick: showSide,
        },
        icon("menu"),
      ),
    ),
    h(
      "div",
      { class: "empty" },
      h("p", { role: "status" }, text),
      h("p", null, h("a", { href: "/app" }, "Friends and conversations")),
    ),
  );
}
