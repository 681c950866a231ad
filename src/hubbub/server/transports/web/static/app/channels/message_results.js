/** Messages in lists: search results, pinned messages and mentions. */

import { h } from "../ui/dom.js";
import { channelPath } from "../ui/router.js";
import { sentTimeElement } from "../ui/times.js";
import { userAvatar } from "../content/avatars.js";
import { renderMarkdown } from "../content/markdown.js";
import { isUserMessage, systemMessageText, summarizeMessage } from "../content/message_text.js";

/**
 * Return a list entry for a message. `place` replaces the channel's name, `details` are shown below the text, and `action` is
 * a further element beside the link.
 */
export function buildMessageResult(
  message,
  context,
  close,
  { action = null, details = null, place = null, guildId = context.guildId } = {},
) {
  const { state } = context;
  const channel = state.channels.get(message.channel_id) ?? { id: message.channel_id, guild_id: guildId };
  const name = state.displayName(message.author, guildId);
  return h(
    "li",
    { class: "search-result" },
    userAvatar(message.author, name),
    h(
      "div",
      { class: "message-body" },
      h(
        "p",
        { class: "message-head" },
        h("strong", { dir: "auto" }, name),
        h("span", { class: "when" }, sentTimeElement(message.timestamp)),
        place || channel.name ? h("span", { class: "when", dir: "auto" }, place ?? `#${channel.name}`) : null,
      ),
      h(
        "div",
        { class: "content" },
        isUserMessage(message) && message.content
          ? renderMarkdown(message.content, { context, message })
          : isUserMessage(message)
            ? summarizeMessage(message, context)
            : systemMessageText(message, context),
      ),
      details,
      h(
        "p",
        { class: "row" },
        h(
          "a",
          {
            href: channelPath(channel, message.id),
            class: "search-result-link",
            "aria-label": `Jump to message of ${name}: ${summarizeMessage(message, context)}`,
            onclick: close,
          },
          "Jump to message",
        ),
        action,
      ),
    ),
  );
}
