/** Dialogs with the pinned messages of a channel and the message search of a guild. */

import { messageErrorText } from "../state/outbox.js";
import { openDialog } from "../ui/dialogs.js";
import { h, setChildren } from "../ui/dom.js";
import { channelPath } from "../ui/router.js";
import { sentTimeElement } from "../ui/times.js";
import { userAvatar } from "../content/avatars.js";
import { renderMarkdown } from "../content/markdown.js";
import { isUserMessage, systemMessageText, summarizeMessage } from "../content/message_text.js";

const SEARCH_PAGE_SIZE = 25;
/** Number of times that a search is repeated while the server indexes the guild. */
const INDEXING_RETRIES_MAX = 8;
const INDEXING_DELAY_MAX_SECONDS = 2;

/** Return a list entry for a message; `place` replaces the channel's name, and `action` is a further element beside the link. */
export function buildMessageResult(
  message,
  context,
  close,
  { action = null, place = null, guildId = context.guildId } = {},
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
      h(
        "p",
        { class: "row" },
        h("a", { href: channelPath(channel, message.id), onclick: close }, "Jump to message"),
        action,
      ),
    ),
  );
}

/** Open the pinned messages of a channel. */
export function openPinnedMessages(context, canUnpin) {
  const { api, channelId } = context;
  openDialog(
    "Pinned messages",
    close => {
      const list = h("ol", { class: "search-result-list" }, h("li", { class: "muted" }, "Loading…"));
      const load = async () => {
        try {
          const { items } = await api.request("GET", `/channels/${channelId}/messages/pins`);
          const unpin = message =>
            h(
              "button",
              {
                type: "button",
                class: "link",
                onclick: async () => {
                  await api.request("DELETE", `/channels/${channelId}/messages/pins/${message.id}`).catch(() => {});
                  load();
                },
              },
              "Unpin",
            );
          setChildren(
            list,
            items.length
              ? items.map(({ message }) =>
                  buildMessageResult(message, context, close, { action: canUnpin ? unpin(message) : null }),
                )
              : h("li", { class: "muted" }, "No pinned messages."),
          );
        } catch (error) {
          setChildren(list, h("li", { class: "muted" }, messageErrorText(error)));
        }
      };
      load();
      return list;
    },
    { wide: true },
  );
}

/** Open the message search of a guild. */
export function openSearch(context) {
  const { api, guildId, state } = context;
  openDialog(
    "Search",
    close => {
      const queryField = h("input", {
        type: "search",
        "aria-label": "Search messages",
        placeholder: "Search messages",
        autofocus: true,
        dir: "auto",
      });
      const inChannelCheckbox = h("input", { type: "checkbox" });
      const list = h("ol", { class: "search-result-list" });
      const nextPage = h("div", { class: "row" });
      const status = h("p", { class: "muted small", role: "status" });
      let requestId = 0;
      const search = async (offset = 0) => {
        const content = queryField.value.trim(),
          currentRequest = (requestId += 1);
        if (!content) return;
        if (!offset) setChildren(list);
        setChildren(nextPage);
        status.textContent = "Searching…";
        try {
          const query = {
            content,
            offset,
            limit: SEARCH_PAGE_SIZE,
            channel_id: inChannelCheckbox.checked ? context.channelId : undefined,
          };
          let page = await api.request("GET", `/guilds/${guildId}/messages/search`, { query });
          // The server indexes a guild on its first search; `retry_after` is the estimated duration in seconds.
          for (
            let retries = 0;
            page.messages === undefined &&
            retries < INDEXING_RETRIES_MAX &&
            list.isConnected &&
            currentRequest === requestId;
            retries += 1
          ) {
            status.textContent = "Indexing messages…";
            await new Promise(resolve =>
              setTimeout(resolve, Math.min(Number(page.retry_after ?? 1), INDEXING_DELAY_MAX_SECONDS) * 1000),
            );
            page = await api.request("GET", `/guilds/${guildId}/messages/search`, { query });
          }
          if (currentRequest !== requestId) return;
          const messages = (page.messages ?? []).flat();
          for (const message of messages) if (!message.webhook_id) state.storeUser(message.author);
          for (const thread of page.threads ?? [])
            if (!state.channels.has(thread.id)) state.channels.set(thread.id, { ...thread, guild_id: guildId });
          list.append(...messages.map(message => buildMessageResult(message, context, close)));
          const total = page.total_results ?? messages.length;
          status.textContent =
            page.messages === undefined
              ? "Messages are still being indexed. Try again in a moment."
              : `${total} ${total === 1 ? "message" : "messages"}`;
          if (offset + SEARCH_PAGE_SIZE < total)
            setChildren(
              nextPage,
              h(
                "button",
                { type: "button", class: "button quiet small", onclick: () => search(offset + SEARCH_PAGE_SIZE) },
                "Show more",
              ),
            );
        } catch (error) {
          if (currentRequest === requestId) status.textContent = messageErrorText(error);
        }
      };
      const submit = event => {
        event.preventDefault();
        search();
      };
      return [
        h(
          "form",
          { class: "search-form", role: "search", onsubmit: submit },
          queryField,
          h("button", { type: "submit", class: "button" }, "Search"),
          context.channelId ? h("label", { class: "choice" }, inChannelCheckbox, "Only in this channel") : null,
        ),
        status,
        list,
        nextPage,
      ];
    },
    { wide: true },
  );
}
