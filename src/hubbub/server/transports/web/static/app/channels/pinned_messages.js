/** The dialog with the pinned messages of a channel. */

import { messageErrorText } from "../state/outbox.js";
import { openDialog } from "../ui/dialogs.js";
import { h, setChildren } from "../ui/dom.js";
import { t } from "../ui/translation.js";
import { buildMessageResult } from "./message_results.js";

/** Open the pinned messages of the context's channel; with `canUnpin`, each one has a button that unpins it. */
export function openPinnedMessages(context, canUnpin) {
  const { api, channelId } = context;
  openDialog(
    t("Pinned messages"),
    close => {
      const list = h("ol", { class: "search-result-list" }, h("li", { class: "muted" }, t("Loading…")));
      const refreshMessages = async () => {
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
                  refreshMessages();
                },
              },
              t("Unpin"),
            );
          setChildren(
            list,
            items.length
              ? items.map(({ message }) =>
                  buildMessageResult(message, context, close, { action: canUnpin ? unpin(message) : null }),
                )
              : h("li", { class: "muted" }, t("No pinned messages.")),
          );
        } catch (error) {
          setChildren(list, h("li", { class: "muted" }, messageErrorText(error)));
        }
      };
      refreshMessages();
      return list;
    },
    { wide: true },
  );
}
