/** An emoji on a button or in a list: a custom image or a Unicode character. */

import { h } from "../../ui/dom.js";
import { customEmojiImage } from "../markdown.js";

/**
 * Return an element that shows an emoji.
 *
 * @param {{id?: string|null, name?: string|null, animated?: boolean}} emoji
 */
export function emojiElement(emoji) {
  return emoji.id
    ? customEmojiImage({ ...emoji, name: emoji.name ?? "emoji" })
    : h("span", { class: "emoji" }, emoji.name ?? "");
}
