/** The form that edits a message in place. */

import { CONTENT_MAX } from "../generated/limits.js";
import { messageErrorText } from "../state/outbox.js";
import { h } from "../ui/dom.js";
import { loadModule } from "../ui/lazy_modules.js";
import { growToContent } from "../ui/textarea.js";
import { t, tNodes } from "../ui/translation.js";
import { resolveMentionNames, showMentionNames } from "../content/mention_names.js";

/** Replace the content of a message's node by the form that edits the message. */
export function showEditForm(node, message, context, timeline) {
  const { text, mentions } = showMentionNames(message.content, { context, message });
  const errorLine = h("p", { class: "error", role: "alert", hidden: true });
  const stopEditing = () => timeline.toolbar.stopEditing(message.id);
  const saveMessage = async () => {
    const editedText = resolveMentionNames(input.value, mentions).trim();
    input.disabled = true;
    const module = editedText === message.content ? null : await loadModule(() => import("../content/emoji/text.js"));
    const content = (await module?.replaceEmojiNames(editedText, context)) ?? editedText;
    if (content === message.content) {
      stopEditing();
      return;
    }
    try {
      const changedMessage = await context.api.request(
        "PATCH",
        `/channels/${message.channel_id}/messages/${message.id}`,
        {
          json: { content },
        },
      );
      context.state.apply("MESSAGE_UPDATE", changedMessage);
      stopEditing();
    } catch (error) {
      errorLine.hidden = false;
      errorLine.textContent = messageErrorText(error);
      input.disabled = false;
      input.focus();
    }
  };
  const input = h("textarea", {
    class: "edit",
    rows: "1",
    value: text,
    "aria-label": t("Edit message"),
    // `maxlength` counts UTF-16 code units, of which a character has at most two.
    maxlength: 2 * CONTENT_MAX,
    dir: "auto",
    dataset: { focus: "edit" },
    oninput: () => growToContent(input),
    onkeydown: event => {
      if (event.key === "Escape") stopEditing();
      else if (event.key === "Enter" && !event.shiftKey && !event.isComposing) saveMessage();
      else return;
      event.preventDefault();
      event.stopPropagation();
    },
  });
  setTimeout(() => {
    growToContent(input);
    input.focus();
    input.setSelectionRange(input.value.length, input.value.length);
  });
  node.replaceChildren(
    input,
    errorLine,
    h(
      "p",
      { class: "small" },
      tNodes("{save} (Enter) · {cancel} (Escape)", {
        save: h("button", { type: "button", class: "link", onclick: saveMessage }, t("Save")),
        cancel: h("button", { type: "button", class: "link", onclick: stopEditing }, t("Cancel")),
      }),
    ),
  );
}
