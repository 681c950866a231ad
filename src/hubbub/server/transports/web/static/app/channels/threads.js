/** Lists of active and archived threads, and the form that creates a thread. */

import { CHANNEL_NAME_MAX, CONTENT_MAX } from "../generated/limits.js";
import { ChannelType, Permissions, isForum } from "../network/enums.js";
import { compareIds, creationTimeMs } from "../network/ids.js";
import { messageErrorText } from "../state/outbox.js";
import { formField } from "../ui/controls.js";
import { openDialog } from "../ui/dialogs.js";
import { h, icon, setChildren } from "../ui/dom.js";
import { runAndReport } from "../ui/notices.js";
import { channelPath } from "../ui/router.js";
import { relativeTime } from "../ui/times.js";

/** Fetch the archived public threads of a channel, most recent first. */
export async function fetchArchivedThreads({ api, state, channelId }) {
  const page = await api.request("GET", `/channels/${channelId}/threads/archived/public`, { query: { limit: 50 } });
  for (const thread of page.threads) if (!state.channels.has(thread.id)) state.channels.set(thread.id, thread);
  return page.threads;
}

/** Return a link to a thread or post; `onClick` closes the dialog that contains it. */
export function threadLink(thread, state, onClick = null) {
  const unread = state.isUnread(thread.id) && thread.member;
  return h(
    "a",
    { href: channelPath(thread), class: unread ? "thread-entry unread" : "thread-entry", onclick: onClick },
    icon(thread.thread_metadata?.locked ? "lock" : "thread"),
    h("span", { class: "thread-name", dir: "auto" }, thread.name),
    h(
      "span",
      { class: "muted small" },
      `${thread.message_count ?? 0} · ${relativeTime(creationTimeMs(thread.last_message_id ?? thread.id))}`,
    ),
  );
}

/** Open the list of a channel's threads. */
export function openThreadList(context) {
  const { state, channelId } = context;
  openDialog("Threads", close => {
    const active = state
      .threadsOf(channelId)
      .filter(thread => !thread.thread_metadata?.archived)
      .sort((a, b) => compareIds(b.last_message_id ?? b.id, a.last_message_id ?? a.id));
    const archived = h("div", { class: "thread-entries" }, h("p", { class: "muted small" }, "Loading…"));
    fetchArchivedThreads(context).then(
      threads =>
        setChildren(
          archived,
          threads.length
            ? threads.map(thread => threadLink(thread, state, close))
            : h("p", { class: "muted small" }, "No threads."),
        ),
      error => setChildren(archived, h("p", { class: "muted small" }, messageErrorText(error))),
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
          : h("p", { class: "muted small" }, "No threads."),
      ),
      h("h3", null, "Archived"),
      archived,
    ];
  });
}

/** Open the form that creates a thread, optionally from a message; in a forum, a post. */
export function openThreadForm(context, message) {
  const { api, state, channelId } = context;
  const channel = state.channels.get(channelId);
  const isPost = isForum(channel);
  openDialog(isPost ? "New post" : "New thread", close => {
    const name = formField(
      isPost ? "Title" : "Name",
      h("input", { type: "text", maxlength: CHANNEL_NAME_MAX, required: true, dir: "auto", autofocus: true }),
    );
    const content = isPost
      ? formField("Message", h("textarea", { rows: "5", maxlength: CONTENT_MAX, dir: "auto" }))
      : null;
    const tags = (isPost && channel.available_tags) || [];
    const tagCheckboxes = tags.map(tag => [tag.id, h("input", { type: "checkbox" })]);
    const canBePrivate = !isPost && message === null && state.can(channelId, Permissions.CREATE_PRIVATE_THREADS);
    const privateCheckbox = canBePrivate ? h("input", { type: "checkbox" }) : null;
    const create = async event => {
      event.preventDefault();
      name.setError(null);
      content?.setError(null);
      const json = { name: name.input.value.trim() };
      if (isPost)
        Object.assign(json, {
          message: { content: content.input.value },
          applied_tags: tagCheckboxes.filter(([, checkbox]) => checkbox.checked).map(([id]) => id),
        });
      else if (message === null)
        json.type = privateCheckbox?.checked ? ChannelType.PRIVATE_THREAD : ChannelType.PUBLIC_THREAD;
      const path =
        message === null ? `/channels/${channelId}/threads` : `/channels/${channelId}/messages/${message.id}/threads`;
      try {
        const thread = await api.request("POST", path, { json });
        state.apply("THREAD_CREATE", thread);
        close();
        context.go(channelPath(thread));
      } catch (error) {
        (isPost && !error.errors?.name ? content : name).setError(messageErrorText(error));
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
            tags.map((tag, index) => h("label", { class: "choice" }, tagCheckboxes[index][1], tag.name)),
          )
        : null,
      privateCheckbox
        ? h("label", { class: "choice" }, privateCheckbox, "Private: only invited members can see it")
        : null,
      h(
        "div",
        { class: "row end" },
        h("button", { type: "submit", class: "button" }, isPost ? "Create post" : "Create thread"),
      ),
    );
  });
}

/** Join the thread in view, or leave it if the user is a member. */
export function toggleThreadMembership({ api, state, channelId }) {
  const isMember = Boolean(state.channels.get(channelId)?.member);
  return runAndReport(() => api.request(isMember ? "DELETE" : "PUT", `/channels/${channelId}/thread-members/@me`));
}
