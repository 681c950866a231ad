/** The mentions inbox: recent messages that mention the user, in all guilds and conversations. */

import { isNewer } from "../network/ids.js";
import { messageErrorText } from "../state/outbox.js";
import { openDialog } from "../ui/dialogs.js";
import { h, setChildren } from "../ui/dom.js";
import { loadModule } from "../ui/lazy_modules.js";
import { t } from "../ui/translation.js";
import { channelTitle } from "../content/avatars.js";
import { buildMessageResult } from "./message_results.js";

const PAGE_SIZE = 25;

/** Open the dialog with the mentions inbox, in which the user can filter mentions and load older ones. */
export function openMentions(context) {
  const { state } = context;
  openDialog(
    t("Mentions"),
    close => {
      const list = h("ol", { class: "search-result-list", "aria-label": t("Mentions") });
      const status = h("p", { class: "muted small", role: "status" });
      const moreRow = h("div", { class: "row" });
      const everyoneCheckbox = h("input", { type: "checkbox", checked: true });
      const rolesCheckbox = h("input", { type: "checkbox", checked: true });
      let requestNumber = 0;
      const loadMentions = async beforeId => {
        const currentRequest = (requestNumber += 1);
        if (!beforeId) setChildren(list);
        setChildren(moreRow);
        status.textContent = t("Loading…");
        try {
          const query = {
            limit: PAGE_SIZE,
            before: beforeId,
            everyone: everyoneCheckbox.checked,
            roles: rolesCheckbox.checked,
          };
          const messages = await context.api.request("GET", "/users/@me/mentions", { query });
          await loadChannels(context, messages);
          if (currentRequest !== requestNumber) return;
          for (const message of messages) if (!message.webhook_id) state.storeUser(message.author);
          list.append(...messages.map(message => mentionItem(context, message, close)));
          status.textContent = list.children.length ? "" : t("No mentions in the last 90 days.");
          if (messages.length === PAGE_SIZE) {
            const showMore = () => loadMentions(messages.at(-1).id);
            setChildren(
              moreRow,
              h("button", { type: "button", class: "button quiet small", onclick: showMore }, t("Show more")),
            );
          }
        } catch (error) {
          if (currentRequest === requestNumber) status.textContent = messageErrorText(error);
        }
      };
      for (const input of [everyoneCheckbox, rolesCheckbox]) input.addEventListener("change", () => loadMentions());
      loadMentions();
      return [
        h(
          "fieldset",
          { class: "mention-filters" },
          h("legend", { class: "visually-hidden" }, t("Show")),
          h("label", { class: "choice" }, everyoneCheckbox, t("@everyone and @here")),
          h("label", { class: "choice" }, rolesCheckbox, t("My roles")),
        ),
        status,
        list,
        moreRow,
        h(
          "p",
          { class: "row end" },
          h(
            "button",
            { type: "button", class: "button quiet small", onclick: () => openNotificationSettings(context) },
            t("Notification settings"),
          ),
        ),
      ];
    },
    { wide: true },
  );
}

async function openNotificationSettings(context) {
  const module = await loadModule(() => import("../account/notifications.js"));
  if (module !== null) openDialog(t("Notifications"), () => module.NOTIFICATIONS_SCREEN.build({ context }));
}

function mentionItem(context, message, close) {
  const { state } = context;
  const channel = state.channels.get(message.channel_id);
  const guild = state.guilds.get(channel?.guild_id);
  const place = channel ? `${guild ? `${guild.name} · #` : ""}${channelTitle(channel, state)}` : null;
  const isUnread = isNewer(message.id, state.lastRead(message.channel_id));
  const node = buildMessageResult(message, context, close, { place, guildId: channel?.guild_id ?? null });
  if (isUnread) {
    node.classList.add("unread");
    node.querySelector(".message-head").append(h("span", { class: "tag" }, t("Unread")));
  }
  return node;
}

/** Fetch the channels of messages that are not in the state, such as archived threads, and add them to the state. */
async function loadChannels({ api, state }, messages) {
  const unknownIds = new Set(messages.map(message => message.channel_id).filter(id => !state.channels.has(id)));
  await Promise.all(
    [...unknownIds].map(async id => {
      try {
        // The event stores a channel that is not in the state.
        state.apply("CHANNEL_UPDATE", await api.request("GET", `/channels/${id}`));
      } catch {
        // The message is shown without its channel.
      }
    }),
  );
}
