/** Messages in lists: search results, pinned messages and mentions. */

import { copyText } from "../ui/clipboard.js";
import { h } from "../ui/dom.js";
import { openMenu } from "../ui/popups.js";
import { channelPath } from "../ui/router.js";
import { sentTimeElement } from "../ui/times.js";
import { t } from "../ui/translation.js";
import { userAvatar } from "../content/avatars.js";
import { renderMarkdown } from "../content/markdown.js";
import { isUserMessage, systemMessageText, summarizeMessage } from "../content/message_text.js";
import { openProfile } from "../users/profile.js";

/**
 * Return a list entry for a message. `place` replaces the channel's name, `details` are shown below the text, and
 * `action` is an element beside the link.
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
            "aria-label": t("Jump to message of {name}: {message}", {
              name,
              message: summarizeMessage(message, context),
            }),
            onclick: close,
            oncontextmenu: event => openResultMenu(event, context, message, channelPath(channel, message.id), close),
          },
          t("Jump to message"),
        ),
        action,
      ),
    ),
  );
}

function openResultMenu(event, context, message, path, close) {
  event.preventDefault();
  const jump = () => {
    close();
    context.go(path);
  };
  openMenu(event.currentTarget, t("Message"), [
    { label: t("Jump to message"), icon: "open", onClick: jump },
    { label: t("Copy link"), icon: "link", onClick: () => copyText(context.webUrl + path, t("Link copied.")) },
    message.content && {
      label: t("Copy text"),
      icon: "copy",
      onClick: () => copyText(message.content, t("Text copied.")),
    },
    !message.webhook_id && {
      label: t("Show profile"),
      icon: "people",
      onClick: () => openProfile(context, message.author.id),
    },
  ]);
}
