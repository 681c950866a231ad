/** An emoji on a button or in a list: a custom image or a Unicode character. */

import { h } from "../ui/dom.js";
import { customEmoji } from "./markdown.js";

/** @param {{id?: string|null, name?: string|null, animated?: boolean}} shown */
export function emojiElement(shown) {
  return shown.id
    ? customEmoji({ ...shown, name: shown.name ?? "emoji" })
    : h("span", { class: "emoji" }, shown.name ?? "");
}
