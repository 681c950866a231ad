/** A forum: its posts, those that run and those that are over. */

import { ChannelFlags, Permissions } from "./enums.js";
import { h, reconcile, replace } from "./dom.js";
import { Part } from "./parts.js";
import { archivedThreads, openNewThread, threadLine } from "./threads.js";
import { compareIds } from "./ids.js";
import { sentenceOf } from "./sending.js";
import { viewHead } from "./view_head.js";

class Forum extends Part {
  static kinds = ["channels", "readStates", "messages", "guilds"];

  begin() {
    this.head = h("div");
    this.list = h("ul", { class: "posts" });
    this.over = h("div", { class: "thread-entries" });
    this.act = h("div", { class: "row apart" });
    const show = () =>
      archivedThreads(this.context).then(
        found => replace(this.over, found.length ? found.map(each => threadLine(each, this.context.state)) : h("p", { class: "soft small" }, "None.")),
        error => replace(this.over, h("p", { class: "soft small" }, sentenceOf(error))),
      );
    replace(this.over, h("button", { type: "button", class: "button quiet small", onclick: show }, "Posts that are over"));
    this.replaceChildren(this.head, h("div", { class: "forum" }, this.act, this.list, this.over));
  }

  draw() {
    const { context } = this, { state, channelId } = context;
    const channel = state.channels.get(channelId);
    if (channel === undefined) return;
    replace(this.head, viewHead(context, channel));
    const pinned = post => Boolean((post.flags ?? 0) & ChannelFlags.PINNED);
    const posts = state.threadsOf(channelId).filter(each => !each.thread_metadata?.archived).sort((a, b) => pinned(b) - pinned(a) || compareIds(b.last_message_id ?? b.id, a.last_message_id ?? a.id));
    const tags = new Map((channel.available_tags ?? []).map(tag => [tag.id, tag.name]));
    replace(
      this.act,
      h("p", { class: "soft" }, posts.length === 1 ? "One post" : `${posts.length} posts`),
      state.can(channelId, Permissions.SEND_MESSAGES) ? h("button", { type: "button", class: "button small", onclick: () => openNewThread(context, null) }, "New post") : null,
    );
    reconcile(
      this.list,
      posts.map(post => ({
        key: post.id,
        stamp: `${post.name} ${post.message_count} ${state.isUnread(post.id)} ${post.applied_tags} ${post.flags} ${post.last_message_id}`,
        build: () => h("li", { class: "post" }, threadLine(post, state), (post.applied_tags ?? []).length || pinned(post) ? h("ul", { class: "tags" }, pinned(post) ? h("li", null, "Pinned") : null, post.applied_tags.map(id => tags.has(id) && h("li", null, tags.get(id)))) : null),
      })),
    );
  }
}

customElements.define("hubbub-forum", Forum);
