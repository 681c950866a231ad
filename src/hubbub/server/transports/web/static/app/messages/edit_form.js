/** The form that edits a message in place. */

import { CONTENT_MAX } from "../generated/limits.js";
import { messageErrorText } from "../state/outbox.js";
import { h } from "../ui/dom.js";
import { growToContent } from "../ui/textarea.js";
import { resolveMentionNames, showMentionNames } from "../content/mention_names.js";

/** Return the form that replaces the content of a message. */
export function createEditForm(message, context, timeline) {
  const { text, mentions } = showMentionNames(message.content, { context, message });
  const errorLine = h("p", { class: "error", role: "alert", hidden: true });
  const done = () => timeline.toolbar.stopEditing(message.id);
  const save = async () => {
    const content = resolveMentionNames(input.value, mentions).trim();
    if (content === message.content) {
      done();
      return;
    }
    input.disabled = true;
    try {
      const changed = await context.api.request("PATCH", `/channels/${message.channel_id}/messages/${message.id}`, {
        json: { content },
      });
      context.state.apply("MESSAGE_UPDATE", changed);
      done();
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
    "aria-label": "Edit message",
    // `maxlength` counts UTF-16 code units, of which a character has at most two.
    maxlength: 2 * CONTENT_MAX,
    dir: "auto",
    dataset: { focus: "edit" },
    oninput: () => growToContent(input),
    onkeydown: event => {
      if (event.key === "Escape") done();
      else if (event.key === "Enter" && !event.shiftKey && !event.isComposing) save();
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
  return h(
    "div",
    { class: "edit-form" },
    input,
    errorLine,
    h(
      "p",
      { class: "small" },
      h("button", { type: "button", class: "link", onclick: save }, "Save"),
      " (Enter) · ",
      h("button", { type: "button", class: "link", onclick: done }, "Cancel"),
      " (Escape)",
    ),
  );
}
