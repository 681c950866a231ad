/** Lists of active and archived threads, and the function that joins or leaves a thread. */

import { Permissions } from "../network/enums.js";
import { compareIds, creationTimeMs } from "../network/ids.js";
import { platformNow } from "../network/platform_clock.js";
import { bindToChannel } from "../state/context.js";
import { messageErrorText } from "../state/outbox.js";
import { openDialog } from "../ui/dialogs.js";
import { h, icon, setChildren } from "../ui/dom.js";
import { runAndReport } from "../ui/notices.js";
import { channelPath } from "../ui/router.js";
import { relativeTime } from "../ui/times.js";
import { t } from "../ui/translation.js";
import { openThreadForm } from "./thread_form.js";

/** Fetch up to 50 archived public threads of a channel, most recent first, and add those that are missing to the state. */
export async function fetchArchivedThreads({ api, state, channelId }) {
  const page = await api.request("GET", `/channels/${channelId}/threads/archived/public`, { query: { limit: 50 } });
  for (const thread of page.threads) if (!state.channels.has(thread.id)) state.channels.set(thread.id, thread);
  return page.threads;
}

/** Return a link to a thread or post; `onClick` closes the dialog that contains it, `openMenu` opens the menu of the thread. */
export function threadLink(thread, context, { onClick = null, openMenu }) {
  const { state } = context;
  const onMenu = event => {
    event.preventDefault();
    openMenu(event.currentTarget, bindToChannel(context, thread.id), thread);
  };
  const isUnread = state.isUnread(thread.id) && thread.member;
  return h(
    "a",
    {
      href: channelPath(thread),
      class: isUnread ? "thread-entry unread" : "thread-entry",
      onclick: onClick,
      oncontextmenu: onMenu,
    },
    icon(thread.thread_metadata?.locked ? "lock" : "thread"),
    h("span", { class: "thread-name", dir: "auto" }, thread.name),
    h(
      "span",
      { class: "muted small" },
      `${thread.message_count ?? 0} · ${relativeTime(creationTimeMs(thread.last_message_id ?? thread.id), platformNow())}`,
    ),
  );
}

/** Open the list of a channel's threads; `openMenu` opens the menu of a thread. */
export function openThreadList(context, openMenu) {
  const { state, channelId } = context;
  openDialog(t("Threads"), close => {
    const activeThreads = state
      .threadsOf(channelId)
      .filter(thread => !thread.thread_metadata?.archived)
      .sort((a, b) => compareIds(b.last_message_id ?? b.id, a.last_message_id ?? a.id));
    const archivedList = h("div", { class: "thread-entries" }, h("p", { class: "muted small" }, t("Loading…")));
    fetchArchivedThreads(context).then(
      threads =>
        setChildren(
          archivedList,
          threads.length
            ? threads.map(thread => threadLink(thread, context, { onClick: close, openMenu }))
            : h("p", { class: "muted small" }, t("No threads.")),
        ),
      error => setChildren(archivedList, h("p", { class: "muted small" }, messageErrorText(error))),
    );
    return [
      state.can(channelId, Permissions.CREATE_PUBLIC_THREADS)
        ? h(
            "p",
            null,
            h(
              "button",
              {
                type: "button",
                class: "button small",
                onclick: () => {
                  close();
                  openThreadForm(context, null);
                },
              },
              t("Create thread"),
            ),
          )
        : null,
      h("h3", null, t("Active")),
      h(
        "div",
        { class: "thread-entries" },
        activeThreads.length
          ? activeThreads.map(thread => threadLink(thread, context, { onClick: close, openMenu }))
          : h("p", { class: "muted small" }, t("No threads.")),
      ),
      h("h3", null, t("Archived")),
      archivedList,
    ];
  });
}

/** Join the thread of the context, or leave it if the user is a member. */
export function toggleThreadMembership({ api, state, channelId }) {
  const isMember = Boolean(state.channels.get(channelId)?.member);
  return runAndReport(() => api.request(isMember ? "DELETE" : "PUT", `/channels/${channelId}/thread-members/@me`));
}
