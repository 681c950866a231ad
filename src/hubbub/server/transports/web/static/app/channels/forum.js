/** The view of a forum: its posts as a list or gallery, filtered by tags and sorted, and a list of archived posts. */

import { ForumLayout, SortOrder } from "../generated/enums.js";
import { ChannelFlags, ChannelType, Permissions } from "../network/enums.js";
import { compareIds, creationTimeMs } from "../network/ids.js";
import { platformNow } from "../network/platform_clock.js";
import { bindToChannel } from "../state/context.js";
import { messageErrorText } from "../state/outbox.js";
import { h, icon, reconcile, setChildren } from "../ui/dom.js";
import { LayoutPart } from "../ui/layout_part.js";
import { loadModule } from "../ui/lazy_modules.js";
import { runAndReport } from "../ui/notices.js";
import { channelPath } from "../ui/router.js";
import { relativeTime } from "../ui/times.js";
import { t, tn } from "../ui/translation.js";
import { cdnPath } from "../content/cdn_paths.js";
import { emojiElement } from "../content/emoji/element.js";
import { summarizeMessage } from "../content/message_text.js";
import { FirstMessages } from "./first_messages.js";
import { channelHeader, openChannelMenu } from "./header.js";
import { tagLabel } from "./post_tags.js";
import { fetchArchivedThreads, threadLink } from "./threads.js";

const SORT_LABELS = { [SortOrder.LATEST_ACTIVITY]: t("Latest activity"), [SortOrder.CREATION_DATE]: t("Newest posts") };

const isPinned = post => Boolean((post.flags ?? 0) & ChannelFlags.PINNED);

class Forum extends LayoutPart {
  static kinds = ["channels", "readStates", "messages", "guilds", "members"];

  begin() {
    const { context } = this;
    const forum = context.state.channels.get(context.channelId);
    this.chosenTagIds = new Set();
    this.firstMessages = new FirstMessages(context, () => this.isConnected && this.draw());
    this.headArea = h("div");
    this.list = h("ul", { class: "posts", "aria-label": t("Posts") });
    this.emptyText = h("p", { class: "muted", hidden: true });
    this.archivedArea = h("div", { class: "thread-entries" });
    this.actions = h("div", { class: "row spread" });
    this.tags = h("div", { class: "forum-tags", role: "group", "aria-label": t("Filter by tags") });
    this.orderSelect = h(
      "select",
      { "aria-label": t("Sort posts by"), onchange: () => this.draw() },
      Object.entries(SORT_LABELS).map(([value, label]) => h("option", { value }, label)),
    );
    this.orderSelect.value = String(forum?.default_sort_order ?? SortOrder.LATEST_ACTIVITY);
    this.#offerArchived();
    this.replaceChildren(
      this.headArea,
      h("div", { class: "forum" }, this.actions, this.tags, this.emptyText, this.list, this.archivedArea),
    );
  }

  end() {
    this.firstMessages.end();
  }

  draw() {
    const { context } = this,
      { state, channelId } = context;
    const forum = state.channels.get(channelId);
    if (forum === undefined) return;
    this.#drawHead(forum);
    const activePosts = state.threadsOf(channelId).filter(thread => !thread.thread_metadata?.archived);
    const posts = this.#sorted(activePosts.filter(post => this.#matchesTags(post, forum)));
    this.#drawActions(forum, posts.length);
    this.#drawTags(forum);
    this.emptyText.hidden = posts.length > 0;
    this.emptyText.textContent = activePosts.length
      ? t("No active post has these tags. Choose other tags.")
      : t("There are no posts yet. Create the first one.");
    const isGallery = forum.type === ChannelType.GUILD_MEDIA || forum.default_forum_layout === ForumLayout.GRID;
    this.list.classList.toggle("gallery", isGallery);
    reconcile(
      this.list,
      posts.map(post => this.#entry(post, forum, isGallery)),
    );
  }

  #drawHead(forum) {
    const version = JSON.stringify([forum.name, forum.topic, String(this.context.state.permissionsIn(forum.id))]);
    if (this.headArea.dataset.version === version) return;
    this.headArea.dataset.version = version;
    setChildren(this.headArea, channelHeader(this.context, forum));
  }

  #drawActions(forum, postCount) {
    const canPost = this.context.state.can(forum.id, Permissions.SEND_MESSAGES);
    const version = `${postCount} ${canPost}`;
    if (this.actions.dataset.version === version) return;
    this.actions.dataset.version = version;
    const create = async () =>
      (await loadModule(() => import("./post_form.js")))?.openPostForm(bindToChannel(this.context, forum.id));
    setChildren(
      this.actions,
      h("p", { class: "muted", role: "status" }, tn("{count} post", "{count} posts", postCount)),
      h(
        "div",
        { class: "row" },
        this.orderSelect,
        canPost ? h("button", { type: "button", class: "button small", onclick: create }, t("New post")) : null,
      ),
    );
  }

  #drawTags(forum) {
    const tags = forum.available_tags ?? [];
    this.tags.hidden = !tags.length;
    const guild = this.context.state.guilds.get(forum.guild_id);
    const toggle = id => {
      if (!this.chosenTagIds.delete(id)) this.chosenTagIds.add(id);
      this.#offerArchived();
      this.draw();
    };
    reconcile(
      this.tags,
      tags.map(tag => {
        const isChosen = this.chosenTagIds.has(tag.id);
        return {
          key: tag.id,
          version: `${tag.name} ${tag.emoji_id} ${tag.emoji_name} ${isChosen}`,
          build: () =>
            h(
              "button",
              { type: "button", class: "tag-toggle", "aria-pressed": String(isChosen), onclick: () => toggle(tag.id) },
              tagLabel(tag, guild),
            ),
        };
      }),
    );
  }

  #matchesTags(post, forum) {
    const availableIds = new Set((forum.available_tags ?? []).map(tag => tag.id));
    const chosenIds = [...this.chosenTagIds].filter(id => availableIds.has(id)),
      appliedIds = post.applied_tags ?? [];
    if (!chosenIds.length) return true;
    return forum.default_tag_setting === "match_all"
      ? chosenIds.every(id => appliedIds.includes(id))
      : chosenIds.some(id => appliedIds.includes(id));
  }

  #sorted(posts) {
    const keyOf =
      Number(this.orderSelect.value) === SortOrder.CREATION_DATE
        ? post => post.id
        : post => post.last_message_id ?? post.id;
    return posts.sort((a, b) => Number(isPinned(b)) - Number(isPinned(a)) || compareIds(keyOf(b), keyOf(a)));
  }

  // Posts

  #entry(post, forum, isGallery) {
    const { state } = this.context;
    const message = this.firstMessages.get(post.id);
    return {
      key: post.id,
      version: JSON.stringify([
        post.name,
        post.message_count,
        state.isUnread(post.id),
        post.applied_tags,
        post.flags,
        post.last_message_id,
        post.thread_metadata,
        Boolean(post.member),
        isGallery,
        forum.available_tags,
        forum.default_reaction_emoji,
        message?.content,
        message?.attachments?.map(file => file.id),
        message?.reactions,
      ]),
      build: () => this.#postItem(post, forum, message),
    };
  }

  #postItem(post, forum, message) {
    const { context } = this,
      { state } = context;
    const guild = state.guilds.get(forum.guild_id);
    const tagsById = new Map((forum.available_tags ?? []).map(tag => [tag.id, tag]));
    const appliedTagIds = (post.applied_tags ?? []).filter(id => tagsById.has(id));
    const authorName = message?.author ? state.displayName(message.author, forum.guild_id) : null;
    const isUnread = state.isUnread(post.id) && post.member;
    const openMenu = event => {
      event.preventDefault();
      openChannelMenu(event.currentTarget, bindToChannel(context, post.id), post);
    };
    const picture = this.#picture(message);
    return h(
      "li",
      { class: picture ? "post has-picture" : "post" },
      picture,
      h(
        "div",
        { class: "post-body" },
        appliedTagIds.length || isPinned(post)
          ? h(
              "ul",
              { class: "tags", "aria-label": t("Tags") },
              isPinned(post) ? h("li", null, icon("pin"), ` ${t("Pinned")}`) : null,
              appliedTagIds.map(id => h("li", null, tagLabel(tagsById.get(id), guild))),
            )
          : null,
        h(
          "a",
          {
            href: channelPath(post),
            class: isUnread ? "post-title unread" : "post-title",
            dataset: { focus: "title" },
            oncontextmenu: openMenu,
          },
          post.thread_metadata?.locked ? icon("lock") : null,
          h("span", { dir: "auto" }, post.name),
          isUnread ? h("span", { class: "visually-hidden" }, ` ${t("unread")}`) : null,
        ),
        message
          ? h(
              "p",
              { class: "muted small post-text", dir: "auto" },
              authorName ? `${authorName}: ` : "",
              summarizeMessage(message, context),
            )
          : null,
        h(
          "p",
          { class: "row post-foot" },
          this.#defaultReaction(post, forum, message),
          h(
            "span",
            { class: "muted small" },
            tn("{count} reply", "{count} replies", post.message_count ?? 0),
            ` · ${relativeTime(creationTimeMs(post.last_message_id ?? post.id), platformNow())}`,
          ),
        ),
      ),
    );
  }

  /** Return the first image of a message; null if there is none, or if it is a spoiler or not on this server. */
  #picture(message) {
    const file = message?.attachments?.find(attachment => /^image\//.test(attachment.content_type ?? ""));
    const path = file ? cdnPath(file.url, this.context.webUrl) : null;
    if (path === null || /^SPOILER_/.test(file.filename)) return null;
    return h("img", { class: "post-picture", src: path, alt: file.description ?? "", loading: "lazy" });
  }

  /**
   * Return the button of the forum's default reaction; null if the forum has none, the message of the post is not
   * known, or the user cannot use the reaction.
   */
  #defaultReaction(post, forum, message) {
    const defaultEmoji = forum.default_reaction_emoji,
      { api, state } = this.context;
    if (!defaultEmoji || !message || !state.can(forum.id, Permissions.READ_MESSAGE_HISTORY)) return null;
    const customEmoji = defaultEmoji.emoji_id
      ? state.guilds.get(forum.guild_id)?.emojis?.find(emoji => emoji.id === defaultEmoji.emoji_id)
      : null;
    if (defaultEmoji.emoji_id && !customEmoji) return null;
    const emoji = customEmoji ?? { id: null, name: defaultEmoji.emoji_name };
    const reaction = message.reactions?.find(
      candidate => (candidate.emoji.id ?? null) === (emoji.id ?? null) && candidate.emoji.name === emoji.name,
    );
    const isMine = reaction?.me ?? false;
    if (!isMine && !reaction && !state.can(forum.id, Permissions.ADD_REACTIONS)) return null;
    const key = encodeURIComponent(emoji.id ? `${emoji.name}:${emoji.id}` : emoji.name);
    const toggle = () =>
      runAndReport(() =>
        api.request(isMine ? "DELETE" : "PUT", `/channels/${post.id}/messages/${message.id}/reactions/${key}/@me`),
      );
    return h(
      "button",
      {
        type: "button",
        class: isMine ? "reaction own" : "reaction",
        "aria-pressed": String(isMine),
        "aria-label": `${emoji.name}, ${reaction?.count ?? 0}`,
        dataset: { focus: "reaction" },
        onclick: toggle,
      },
      emojiElement(emoji),
      h("span", { class: "number" }, reaction?.count ?? 0),
    );
  }

  // Archived posts

  #offerArchived() {
    setChildren(
      this.archivedArea,
      h(
        "button",
        { type: "button", class: "button quiet small", onclick: () => this.#showArchived() },
        t("Show archived posts"),
      ),
    );
  }

  async #showArchived() {
    const { context } = this;
    const forum = context.state.channels.get(context.channelId);
    try {
      const threads = (await fetchArchivedThreads(context)).filter(post => this.#matchesTags(post, forum));
      setChildren(
        this.archivedArea,
        threads.length
          ? threads.map(thread => threadLink(thread, context, { openMenu: openChannelMenu }))
          : h("p", { class: "muted small" }, t("No archived posts.")),
      );
    } catch (error) {
      setChildren(this.archivedArea, h("p", { class: "muted small" }, messageErrorText(error)));
    }
  }
}

customElements.define("hubbub-forum", Forum);
