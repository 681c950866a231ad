/** Threads: lists of active and archived ones, and the form for a new one. */

import { ChannelType, Permissions, isForum } from "../network/enums.js";
import { compareIds, timeOf } from "../network/ids.js";
import { errorText } from "../state/outbox.js";
import { field } from "../ui/controls.js";
import { openDialog } from "../ui/dialogs.js";
import { h, icon, replace } from "../ui/dom.js";
import { attempt } from "../ui/notices.js";
import { pathOf } from "../ui/router.js";
import { relative } from "../ui/times.js";

/** Fetch the archived public threads of a channel, most recent first. */
export async function archivedThreads({ api, state, channelId }) {
  const found = await api.request("GET", `/channels/${channelId}/threads/archived/public`, { query: { limit: 50 } });
  for (const thread of found.threads) if (!state.channels.has(thread.id)) state.channels.set(thread.id, thread);
  return found.threads;
}

/** Return a link to a thread or post. */
export function threadLink(thread, state, press = null) {
  const unread = state.isUnread(thread.id) && thread.member;
  return h(
    "a",
    { href: pathOf(thread), class: unread ? "thread-entry unread" : "thread-entry", onclick: press },
    icon(thread.thread_metadata?.locked ? "lock" : "thread"),
    h("span", { class: "thread-name", dir: "auto" }, thread.name),
    h(
      "span",
      { class: "soft small" },
      `${thread.message_count ?? 0} · ${relative(timeOf(thread.last_message_id ?? thread.id))}`,
    ),
  );
}

/** Open the list of a channel's threads. */
export function openThreads(context) {
  const { state, channelId } = context;
  openDialog("Threads", close => {
    const active = state
      .threadsOf(channelId)
      .filter(thread => !thread.thread_metadata?.archived)
      .sort((a, b) => compareIds(b.last_message_id ?? b.id, a.last_message_id ?? a.id));
    const archived = h("div", { class: "thread-entries" }, h("p", { class: "soft small" }, "Loading…"));
    archivedThreads(context).then(
      found =>
        replace(
          archived,
          found.length
            ? found.map(thread => threadLink(thread, state, close))
            : h("p", { class: "soft small" }, "No threads."),
        ),
      error => replace(archived, h("p", { class: "soft small" }, errorText(error))),
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
                  openNewThread(context, null);
                },
              },
              "Create thread",
            ),
          )
        : null,
      h("h3", null, "Active"),
      h(
        "div",
        { class: "thread-entries" },
        active.length
          ? active.map(thread => threadLink(thread, state, close))
          : h("p", { class: "soft small" }, "No threads."),
      ),
      h("h3", null, "Archived"),
      archived,
    ];
  });
}

/** Open the form for a new thread, optionally from a message; in a forum, for a post. */
export function openNewThread(context, message) {
  const { api, state, channelId } = context;
  const channel = state.channels.get(channelId);
  const post = isForum(channel);
  openDialog(post ? "New post" : "New thread", close => {
    const name = field(
      post ? "Title" : "Name",
      h("input", { type: "text", maxlength: "100", required: true, dir: "auto", autofocus: true }),
    );
    const content = post ? field("Message", h("textarea", { rows: "5", maxlength: "2000", dir: "auto" })) : null;
    const tags = (post && channel.available_tags) || [];
    const boxes = tags.map(tag => [tag.id, h("input", { type: "checkbox" })]);
    const canBePrivate = !post && message === null && state.can(channelId, Permissions.CREATE_PRIVATE_THREADS);
    const isPrivate = canBePrivate ? h("input", { type: "checkbox" }) : null;
    const create = async event => {
      event.preventDefault();
      name.setError(null);
      content?.setError(null);
      const json = { name: name.input.value.trim() };
      if (post)
        Object.assign(json, {
          message: { content: content.input.value },
          applied_tags: boxes.filter(([, box]) => box.checked).map(([id]) => id),
        });
      else if (message === null)
        json.type = isPrivate?.checked ? ChannelType.PRIVATE_THREAD : ChannelType.PUBLIC_THREAD;
      const path =
        message === null ? `/channels/${channelId}/threads` : `/channels/${channelId}/messages/${message.id}/threads`;
      try {
        const thread = await api.request("POST", path, { json });
        state.apply("THREAD_CREATE", thread);
        close();
        context.go(pathOf(thread));
      } catch (error) {
        (post && !error.errors?.name ? content : name).setError(errorText(error));
      }
    };
    return h(
      "form",
      { class: "stack", onsubmit: create },
      name.node,
      content?.node,
      tags.length
        ? h(
            "fieldset",
            null,
            h("legend", null, "Tags"),
            tags.map((tag, at) => h("label", { class: "choice" }, boxes[at][1], tag.name)),
          )
        : null,
      isPrivate ? h("label", { class: "choice" }, isPrivate, "Private: only invited members can see it") : null,
      h(
        "div",
        { class: "row end" },
        h("button", { type: "submit", class: "button" }, post ? "Create post" : "Create thread"),
      ),
    );
  });
}

/** Leave or join the thread. */
export function joinOrLeave({ api, state, channelId }) {
  const joined = Boolean(state.channels.get(channelId)?.member);
  return attempt(() => api.request(joined ? "DELETE" : "PUT", `/channels/${channelId}/thread-members/@me`));
}
