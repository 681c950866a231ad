/** A field and a button that choose an emoji, and the node that shows it. */

import { iconButton } from "../../ui/controls.js";
import { h, icon } from "../../ui/dom.js";
import { t } from "../../ui/translation.js";
import { openEmojiPicker } from "../../content/emoji/picker.js";
import { customEmojiImage } from "../../content/markdown.js";
import { labelInSentence, showFieldNotice } from "./fields.js";

/** Return the emoji of a tag, reaction or sound as a node; an icon if there is none or the guild does not have it. */
export function emojiNode(guild, { emoji_id: id, emoji_name: name }) {
  if (id) {
    const emoji = (guild.emojis ?? []).find(other => other.id === id);
    return emoji === undefined ? icon("smile") : customEmojiImage(emoji);
  }
  return name ? h("span", null, name) : icon("smile");
}

/** Return a button that shows and chooses an emoji; `onChoose` receives `{emoji_id, emoji_name}`. */
export function emojiButton(view, value, label, onChoose, disabled) {
  const button = h(
    "button",
    { type: "button", class: "icon-button emoji-button", "aria-label": label, title: label, disabled },
    emojiNode(view.guild, value),
  );
  button.addEventListener("click", () =>
    openEmojiPicker(button, view.context, ({ id, name }) =>
      onChoose(id ? { emoji_id: id, emoji_name: null } : { emoji_id: null, emoji_name: name }),
    ),
  );
  return button;
}

/**
 * Return a field whose value is `{emoji_id, emoji_name}`, or null.
 *
 * @returns {import("./fields.js").SettingsField}
 */
export function emojiSetting(view, label, { hint } = {}) {
  let value = null,
    isDisabled = false;
  const controls = h("div", { class: "row" });
  const node = h(
    "div",
    { class: "field" },
    h("p", { class: "label" }, label),
    hint ? h("p", { class: "hint" }, hint) : null,
    controls,
  );
  const setEmoji = emoji => {
    value = emoji;
    drawControls();
    node.dispatchEvent(new Event("input", { bubbles: true }));
    controls.querySelector("button").focus();
  };
  const drawControls = () =>
    controls.replaceChildren(
      emojiButton(view, value ?? {}, t("Choose {label}", { label: labelInSentence(label) }), setEmoji, isDisabled),
      ...(value === null
        ? []
        : [
            iconButton("close", t("Remove {name}", { name: labelInSentence(label) }), () => setEmoji(null), {
              disabled: isDisabled,
            }),
          ]),
    );
  return {
    node,
    read: () => value,
    write(storedEmoji) {
      const hasEmoji = Boolean(storedEmoji?.emoji_id ?? storedEmoji?.emoji_name);
      value = hasEmoji
        ? { emoji_id: storedEmoji.emoji_id ?? null, emoji_name: storedEmoji.emoji_id ? null : storedEmoji.emoji_name }
        : null;
      drawControls();
    },
    setError: showFieldNotice,
    setDisabled(disabled) {
      isDisabled = disabled;
      drawControls();
    },
  };
}
