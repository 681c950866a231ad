/** Reactions to messages. */

import { Permissions } from "../network/enums.js";
import { h, icon } from "../ui/dom.js";
import { attempt } from "../ui/notices.js";
import { openEmojiPicker } from "../content/emoji_picker.js";
import { customEmoji } from "../content/markdown.js";

const nameOf = emoji => (emoji.id ? `${emoji.name}:${emoji.id}` : emoji.name);

/** Add or remove the user's reaction. */
export function react(message, emoji, { api }, mine = false) {
  const path = `/channels/${message.channel_id}/messages/${message.id}/reactions/${encodeURIComponent(nameOf(emoji))}/@me`;
  return attempt(() => api.request(mine ? "DELETE" : "PUT", path));
}

export function reactions(message, context) {
  if (!message.reactions?.length) return null;
  const add = event => openEmojiPicker(event.currentTarget, context, emoji => react(message, emoji, context));
  return h(
    "div",
    { class: "reactions", role: "group", "aria-label": "Reactions" },
    message.reactions.map(reaction =>
      h(
        "button",
        {
          type: "button",
          class: reaction.me ? "reaction mine" : "reaction",
          "aria-pressed": reaction.me ? "true" : "false",
          "aria-label": `${reaction.emoji.name}, ${reaction.count}`,
          dataset: { focus: `reaction-${nameOf(reaction.emoji)}` },
          onclick: () => react(message, reaction.emoji, context, reaction.me),
        },
        reaction.emoji.id ? customEmoji(reaction.emoji) : h("span", { class: "emoji-text" }, reaction.emoji.name),
        h("span", { class: "number" }, reaction.count),
      ),
    ),
    context.state.can(message.channel_id, Permissions.ADD_REACTIONS)
      ? h(
          "button",
          { type: "button", class: "reaction add", "aria-label": "Add reaction", onclick: add },
          icon("smile"),
        )
      : null,
  );
}
