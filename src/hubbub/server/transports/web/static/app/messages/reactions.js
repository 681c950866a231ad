/** Reactions to messages: their buttons, the list of their users, and adding or removing a reaction of the user. */

import { Permissions } from "../network/enums.js";
import { h, icon } from "../ui/dom.js";
import { loadModule } from "../ui/lazy_modules.js";
import { runAndReport } from "../ui/notices.js";
import { t } from "../ui/translation.js";
import { openEmojiPicker } from "../content/emoji/picker.js";
import { customEmojiImage } from "../content/markdown.js";
import { emojiKey, reactionPath } from "./reaction_paths.js";

/** Open the users who reacted to a message; `emoji` is the reaction that is shown first. */
export async function showReactionUsers(context, message, emoji = null) {
  const module = await loadModule(() => import("./reaction_users.js"));
  module?.openReactionUsers(context, message, emoji);
}

/** Add the user's reaction, or remove it if `isMine` is set. */
export function toggleReaction(message, emoji, { api }, isMine = false) {
  return runAndReport(() => api.request(isMine ? "DELETE" : "PUT", `${reactionPath(message, emoji)}/@me`));
}

/** Return the reactions of a message with their buttons, or null. */
export function renderReactions(message, context) {
  if (!message.reactions?.length) return null;
  const add = event => openEmojiPicker(event.currentTarget, context, emoji => toggleReaction(message, emoji, context));
  return h(
    "div",
    { class: "reactions", role: "group", "aria-label": t("Reactions") },
    message.reactions.map(reaction =>
      h(
        "button",
        {
          type: "button",
          class: reaction.me ? "reaction own" : "reaction",
          "aria-pressed": reaction.me ? "true" : "false",
          "aria-label": `${reaction.emoji.name}, ${reaction.count}`,
          title: t("Right-click to see who reacted"),
          "aria-haspopup": "dialog",
          dataset: { focus: `reaction-${emojiKey(reaction.emoji)}` },
          // A long press, and Shift+F10 on the keyboard, cause this event too.
          oncontextmenu: event => {
            event.preventDefault();
            event.stopPropagation();
            showReactionUsers(context, message, reaction.emoji);
          },
          onclick: () => toggleReaction(message, reaction.emoji, context, reaction.me),
        },
        reaction.emoji.id ? customEmojiImage(reaction.emoji) : h("span", { class: "emoji-text" }, reaction.emoji.name),
        h("span", { class: "number" }, reaction.count),
      ),
    ),
    context.state.can(message.channel_id, Permissions.ADD_REACTIONS)
      ? h(
          "button",
          { type: "button", class: "reaction add", "aria-label": t("Add reaction"), onclick: add },
          icon("smile"),
        )
      : null,
  );
}
