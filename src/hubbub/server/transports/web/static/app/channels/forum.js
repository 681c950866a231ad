/** The view of a forum: its active and archived posts. */

import { ChannelFlags, Permissions } from "../network/enums.js";
import { compareIds } from "../network/ids.js";
import { messageErrorText } from "../state/outbox.js";
import { h, reconcile, setChildren } from "../ui/dom.js";
import { LayoutPart } from "../ui/layout_part.js";
import { channelHeader } from "./header.js";
import { fetchArchivedThreads, openThreadForm, threadLink } from "./threads.js";

class Forum extends LayoutPart {
  static kinds = ["channels", "readStates", "messages", "guilds"];

  begin() {
    this.head = h("div");
    this.list = h("ul", { class: "posts" });
    this.archived = h("div", { class: "thread-entries" });
    this.actions = h("div", { class: "row spread" });
    const showArchived = () =>
      fetchArchivedThreads(this.context).then(
        threads =>
          setChildren(
            this.archived,
            threads.length
              ? threads.map(thread => threadLink(thread, this.context.state))
              : h("p", { class: "muted small" }, "No archived posts."),
          ),
        error => setChildren(this.archived, h("p", { class: "muted small" }, messageErrorText(error))),
      );
    setChildren(
      this.archived,
      h("button", { type: "button", class: "button quiet small", onclick: showArchived }, "Show archived posts"),
    );
    this.replaceChildren(this.head, h("div", { class: "forum" }, this.actions, this.list, this.archived));
  }

  draw() {
    const { context } = this,
      { state, channelId } = context;
    const channel = state.channels.get(channelId);
    if (channel === undefined) return;
    setChildren(this.head, channelHeader(context, channel));
    const isPinned = post => Boolean((post.flags ?? 0) & ChannelFlags.PINNED);
    const posts = state
      .threadsOf(channelId)
      .filter(thread => !thread.thread_metadata?.archived)
      .sort((a, b) => isPinned(b) - isPinned(a) || compareIds(b.last_message_id ?? b.id, a.last_message_id ?? a.id));
    const tags = new Map((channel.available_tags ?? []).map(tag => [tag.id, tag.name]));
    setChildren(
      this.actions,
      h("p", { class: "muted" }, posts.length === 1 ? "1 post" : `${posts.length} posts`),
      state.can(channelId, Permissions.SEND_MESSAGES)
        ? h(
            "button",
            { type: "button", class: "button small", onclick: () => openThreadForm(context, null) },
            "New post",
          )
        : null,
    );
    reconcile(
      this.list,
      posts.map(post => ({
        key: post.id,
        version: JSON.stringify([
          post.name,
          post.message_count,
          state.isUnread(post.id),
          post.applied_tags,
          post.flags,
          post.last_message_id,
        ]),
        build: () =>
          h(
            "li",
            { class: "post" },
            threadLink(post, state),
            (post.applied_tags ?? []).length || isPinned(post)
              ? h(
                  "ul",
                  { class: "tags" },
                  isPinned(post) ? h("li", null, "Pinned") : null,
                  post.applied_tags.map(id => tags.has(id) && h("li", null, tags.get(id))),
                )
              : null,
          ),
      })),
    );
  }
}

customElements.define("hubbub-forum", Forum);
