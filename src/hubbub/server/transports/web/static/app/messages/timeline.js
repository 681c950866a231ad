/** The message list of a channel, with infinite scrolling in both directions. */

import { MessageFlags } from "../network/enums.js";
import { isNewer } from "../network/ids.js";
import { markRead, resumeReading } from "../state/read_markers.js";
import { h, icon, reconcile, setChildren } from "../ui/dom.js";
import { LayoutPart } from "../ui/layout_part.js";
import { announce } from "../ui/live_region.js";
import { showNotice } from "../ui/notices.js";
import { matchShortcut } from "../ui/shortcuts.js";
import { formatDay } from "../ui/times.js";
import { t } from "../ui/translation.js";
import { summarizeMessage } from "../content/message_text.js";
import { buildBeginning } from "./channel_start.js";
import { FrameBatches } from "./frame_batches.js";
import { buildMessageRow, buildPendingRow, isGroupedWithPrevious, messageRowVersion } from "./row.js";
import { MessageSelection } from "./selection.js";
import { MessageToolbar } from "./toolbar.js";
import { UnreadBar } from "./unread_bar.js";

const PAGE_SIZE = 50;
/** Distance to an edge, in pixels, at which the next page is loaded. */
const LOAD_THRESHOLD_PX = 600;
const BOTTOM_THRESHOLD_PX = 40;

class Timeline extends LayoutPart {
  static kinds = ["messages", "members", "guilds", "relationships"];
  // A drawn message is marked as read, which other parts show.
  static isDrawnEarly = true;

  /** @type {string | null | undefined} ID of the message to show first, set by `createPart`; empty for the newest one. */
  messageId;
  /** @type {{text: string, isAtEnd: boolean, retry: () => void} | null} The page that could not be loaded, or null. */
  failure = null;
  /** @type {string | null} ID of the message to scroll to after the next drawing, or null. */
  scrollTargetId = null;

  #batches = new FrameBatches();

  begin() {
    const { state, channelId } = this.context;
    this.log = state.openLog(channelId);
    this.isLoading = false;
    this.isFollowing = true;
    this.lastScrollTop = 0;
    /** ID up to which messages are read, or null if the channel has no unread messages; the "New" line stays there. */
    this.lastReadId = state.isUnread(channelId) ? state.lastRead(channelId) : null;
    resumeReading(state, channelId);
    this.unreadBar = new UnreadBar(this);
    this.highlightedId = null;
    this.toolbar = new MessageToolbar(this.context, this);
    this.selection = new MessageSelection(this.context, this);
    this.top = h("div", { class: "edge" });
    this.list = h("ol", { class: "messages", "aria-label": t("Messages"), onkeydown: event => this.#onKeydown(event) });
    this.bottom = h("div", { class: "edge" });
    this.scroller = h("div", { class: "scroller", tabindex: "-1" }, this.top, this.list, this.bottom);
    this.jumpButton = h(
      "button",
      { type: "button", class: "jump", hidden: true, onclick: () => this.scrollToNewest() },
      icon("down"),
      h("span", null, t("Newest messages")),
    );
    this.replaceChildren(this.unreadBar.node, this.scroller, this.jumpButton, this.selection.bar);
    this.scroller.addEventListener("scroll", () => this.#onScroll(), { passive: true });
    this.toolbar.attach(this.list);
    this.selection.attach(this.list);
    this.resizeObserver = new ResizeObserver(() => {
      if (this.isFollowing) this.#scrollToBottom();
      this.unreadBar.draw(this.lastReadId);
    });
    this.resizeObserver.observe(this.list);
    this.resizeObserver.observe(this.scroller);
    this.onMessage = ({ detail }) => this.#announceMessage(detail);
    this.context.gateway.addEventListener("MESSAGE_CREATE", this.onMessage);
    this.onReady = () => (this.failure = null);
    this.context.gateway.addEventListener("READY", this.onReady);
    this.onFocus = () => markRead(this.context, this);
    window.addEventListener("focus", this.onFocus);
    if (this.messageId) this.seek(this.messageId);
    else this.#load("newest");
  }

  /** Whether the view is at the newest message and scrolls when a message arrives. */
  get isFollowing() {
    return this.log.isFollowed;
  }

  set isFollowing(isFollowing) {
    this.log.isFollowed = isFollowing;
  }

  end() {
    this.isFollowing = true;
    this.resizeObserver.disconnect();
    this.context.gateway.removeEventListener("MESSAGE_CREATE", this.onMessage);
    this.context.gateway.removeEventListener("READY", this.onReady);
    window.removeEventListener("focus", this.onFocus);
  }

  /** Update the rows. After a new session, load the newest messages first, because missed messages are in no event. */
  draw() {
    const { state } = this.context;
    if (!this.log.isLoaded && !this.isLoading && this.failure === null) this.#load("newest");
    this.#drawEdges();
    if (!this.log.isLoaded) return;
    const staysAtBottom = this.isFollowing && this.log.atNewest;
    // Reading positions forces a layout, which is not necessary at the bottom.
    const anchor = staysAtBottom ? null : this.#findAnchor();
    const entries = [];
    if (this.log.atOldest) entries.push({ key: "beginning", version: "", build: () => buildBeginning(this.context) });
    let [previousMessage, day, isNew] = [null, "", false];
    const batch = this.#batches.takeNext(this.log.messages, state.me.id, staysAtBottom);
    if (!batch.isComplete) this.drawSoon();
    for (const message of batch.messages) {
      const messageDay = this.#dayOf(message);
      if (messageDay !== day)
        entries.push({ key: `day-${messageDay}`, version: "", build: () => divider("day", messageDay) });
      if (!isNew && this.lastReadId !== null && isNewer(message.id, this.lastReadId)) {
        isNew = true;
        if (message.author.id !== state.me.id) {
          entries.push({ key: "new", version: "", build: () => divider("day new", t("New")) });
          previousMessage = null;
        }
      }
      const isGrouped =
        messageDay === day && previousMessage !== null && isGroupedWithPrevious(message, previousMessage);
      const isHighlighted = message.id === this.highlightedId;
      entries.push({
        key: message.id,
        version: messageRowVersion(
          message,
          this.context,
          `${isGrouped} ${isHighlighted} ${this.toolbar.editedMessageId === message.id}`,
        ),
        build: () =>
          buildMessageRow(message, this.context, {
            isGrouped,
            isHighlighted,
            isEditing: this.toolbar.editedMessageId === message.id,
            timeline: this,
          }),
      });
      day = messageDay;
      previousMessage = message;
    }
    if (this.log.atNewest) {
      for (const pending of this.log.pending) {
        entries.push({
          key: `nonce-${pending.nonce}`,
          version: `${pending.state} ${pending.error} ${Math.round((pending.uploadProgress ?? 0) * 20)}`,
          build: () => buildPendingRow(pending, this.context),
        });
      }
    }
    reconcile(this.list, entries);
    this.selection.draw();
    if (!this.list.querySelector("[tabindex='0'].message"))
      this.list.querySelector(".message:last-of-type")?.setAttribute("tabindex", "0");
    this.jumpButton.hidden =
      this.log.atNewest && (this.isFollowing || this.#distanceToEnd < this.scroller.clientHeight);
    // At the bottom, the resize observer scrolls after the only layout of the frame.
    if (!staysAtBottom) this.#restoreScroll(anchor);
    if (this.scrollTargetId) this.#scrollToTarget();
    if (!staysAtBottom) this.unreadBar.draw(this.lastReadId);
    markRead(this.context, this);
  }

  /** Days of the messages as text, which is slow to format. @type {WeakMap<any, string>} */
  #days = new WeakMap();

  #dayOf(message) {
    if (!this.#days.has(message)) this.#days.set(message, formatDay(message.timestamp));
    return this.#days.get(message);
  }

  get isAtBottom() {
    return this.log.atNewest && (this.isFollowing || this.#distanceToEnd < BOTTOM_THRESHOLD_PX);
  }

  get #distanceToEnd() {
    const { scrollHeight, scrollTop, clientHeight } = this.scroller;
    return scrollHeight - scrollTop - clientHeight;
  }

  /** Show and highlight a message among those around it. */
  async seek(messageId) {
    this.highlightedId = messageId;
    this.scrollTargetId = messageId;
    this.isFollowing = false;
    if (this.log.isLoaded && this.log.find(messageId) !== undefined) this.draw();
    else await this.#load("around", messageId);
  }

  /** Whether messages before the loaded ones may be unread. */
  get hasEarlierUnread() {
    return this.lastReadId !== null && isNewer(this.log.oldestId, this.lastReadId);
  }

  /** Show the first unread message. */
  async seekUnread() {
    this.isFollowing = false;
    if (this.hasEarlierUnread && !this.log.atOldest) await this.#load("around", this.lastReadId, { isExact: false });
    const firstUnread = this.log.messages.find(message => isNewer(message.id, this.lastReadId));
    if (firstUnread !== undefined) await this.seek(firstUnread.id);
  }

  /** Show the "New" line after a message that the user marked as the last read one. */
  showUnreadAfter(messageId) {
    this.lastReadId = messageId;
    this.draw();
  }

  /** Scroll to the newest message and follow new ones. */
  async scrollToNewest() {
    this.highlightedId = null;
    this.isFollowing = true;
    if (!this.log.atNewest) await this.#load("newest");
    this.draw();
    this.#scrollToBottom();
  }

  /**
   * Load a page of messages: `range` is "newest", "older", "newer" or "around" the message with the ID `aroundId`.
   *
   * If `isExact` is set and that message is not in the page, show a notice.
   */
  async #load(range, aroundId, { isExact = true } = {}) {
    if (this.isLoading) return;
    this.isLoading = true;
    this.failure = null;
    const { api, channelId, state } = this.context;
    const log = this.log;
    if (range !== "older") log.arrivedMessages = [];
    const query = { limit: PAGE_SIZE };
    if (range === "older") query.before = log.oldestId;
    if (range === "newer") query.after = log.newestId;
    if (range === "around") query.around = aroundId;
    try {
      const messages = (await api.request("GET", `/channels/${channelId}/messages`, { query })).reverse();
      for (const message of messages) {
        if (!message.webhook_id) state.storeUser(message.author);
        for (const mentionedUser of message.mentions) state.storeUser(mentionedUser);
      }
      const isFullPage = messages.length >= PAGE_SIZE;
      const newestId = state.channels.get(channelId)?.last_message_id;
      if (range === "older" || range === "newer") log.extend(messages, range, !isFullPage);
      else if (range === "around") {
        const olderCount = messages.filter(message => isNewer(aroundId, message.id)).length;
        log.reset(messages, {
          atNewest: !isNewer(newestId, messages.at(-1)?.id),
          atOldest: olderCount < Math.floor(PAGE_SIZE / 2),
        });
        if (isExact && !messages.some(message => message.id === aroundId))
          showNotice(t("This message was deleted, or you cannot read it."));
      } else log.reset(messages, { atNewest: true, atOldest: !isFullPage });
    } catch (error) {
      const isDenied = error.status === 403 || error.status === 404;
      const text = isDenied
        ? t("You do not have permission to read messages in this channel.")
        : (error.userText ?? t("Messages could not be loaded."));
      const isAtEnd = range === "newer" || (range === "newest" && log.messages.length > 0);
      this.failure = { text, isAtEnd, retry: () => this.#load(range, aroundId, { isExact }) };
      if (!log.isLoaded && error.status === 403) log.reset([], { atNewest: true, atOldest: true });
    } finally {
      this.isLoading = false;
      log.arrivedMessages = null;
    }
    if (!this.isConnected) return;
    this.draw();
    if (this.isFollowing) this.#scrollToBottom();
    this.#loadMore();
  }

  /** Show that messages are loading, or which page could not be loaded, at the start or end of the list. */
  #drawEdges() {
    const { failure, log } = this;
    const loadingText = (log.isLoaded ? log.atOldest : log.messages.length) ? "" : t("Loading…");
    this.#drawEdge(this.top, failure?.isAtEnd ? null : failure, loadingText);
    this.#drawEdge(this.bottom, failure?.isAtEnd ? failure : null, "");
  }

  #drawEdge(node, failure, loadingText) {
    const text = failure?.text ?? loadingText;
    // An unchanged edge stays, because replacing it costs a style update and a layout.
    const version = `${failure !== null} ${text}`;
    if (node.dataset.version === version) return;
    node.dataset.version = version;
    const retry = () => this.failure?.retry();
    setChildren(
      node,
      text ? h("p", { class: "muted small" }, text) : null,
      failure && h("button", { type: "button", class: "button quiet small", onclick: retry }, t("Try again")),
    );
  }

  #onScroll() {
    const { scrollTop, clientHeight } = this.scroller,
      { atNewest } = this.log;
    // A change of the layout also causes this event, before the resize observer runs. Only the user scrolls up.
    const hasMovedUp = scrollTop < this.lastScrollTop;
    this.isFollowing = atNewest && (this.#distanceToEnd < BOTTOM_THRESHOLD_PX || (this.isFollowing && !hasMovedUp));
    this.lastScrollTop = scrollTop;
    this.jumpButton.hidden = atNewest && (this.isFollowing || this.#distanceToEnd < clientHeight);
    if (hasMovedUp || !this.isFollowing) this.#loadMore();
    this.unreadBar.draw(this.lastReadId);
    if (this.isFollowing) markRead(this.context, this);
  }

  /** Load the next page if an edge is near. */
  #loadMore() {
    const { isLoaded, atNewest, atOldest } = this.log;
    if (!isLoaded || this.failure !== null || this.isLoading) return;
    if (!atOldest && this.scroller.scrollTop < LOAD_THRESHOLD_PX) this.#load("older");
    else if (!atNewest && this.#distanceToEnd < LOAD_THRESHOLD_PX) this.#load("newer");
  }

  /** Return the first visible row and its offset, to restore the scroll position. */
  #findAnchor() {
    const scrollerTop = this.scroller.getBoundingClientRect().top;
    // Day separators are not used: they move when older messages of the same day are added.
    for (const row of this.list.querySelectorAll(".message")) {
      const box = row.getBoundingClientRect();
      if (box.bottom > scrollerTop) return { key: /** @type {any} */ (row).dataset.key, offset: box.top - scrollerTop };
    }
    return null;
  }

  #restoreScroll(anchor) {
    if (anchor === null) return;
    const row = this.list.querySelector(`[data-key="${CSS.escape(anchor.key)}"]`);
    if (row === null) return;
    const offset = row.getBoundingClientRect().top - this.scroller.getBoundingClientRect().top;
    if (Math.abs(offset - anchor.offset) > 1) this.scroller.scrollTop += offset - anchor.offset;
  }

  #scrollToTarget() {
    const row = this.list.querySelector(`[data-key="${CSS.escape(this.scrollTargetId)}"]`);
    this.scrollTargetId = null;
    if (row === null) return;
    row.scrollIntoView({ block: "center" });
    focusRow(this.list, row);
  }

  #scrollToBottom() {
    this.scroller.scrollTop = this.scroller.scrollHeight;
    this.lastScrollTop = this.scroller.scrollTop;
  }

  /** Remove the line above the first unread message, and show the newest one. */
  clearUnread() {
    this.lastReadId = null;
    this.scrollToNewest();
    this.draw();
  }

  /** Announce a new message to screen readers. */
  #announceMessage(message) {
    const { state, channelId, me } = this.context;
    if (message.channel_id !== channelId || message.author.id === me.id) return;
    const name = state.displayName(message.author, this.context.guildId);
    const text = `${name}: ${summarizeMessage(message, this.context)}`;
    announce(message.flags & MessageFlags.EPHEMERAL ? t("Only visible to you: {message}", { message: text }) : text);
  }

  #onKeydown(event) {
    const row = event.target.closest?.(".message");
    if (row === null || event.target !== row) {
      if (event.key === "Escape" && row) focusRow(this.list, row);
      return;
    }
    const rows = [...this.list.querySelectorAll(".message")],
      index = rows.indexOf(row);
    const shortcut = matchShortcut(event, "list");
    const targetIndex = {
      "previous-message": index - 1,
      "next-message": index + 1,
      "first-message": 0,
      "last-message": rows.length - 1,
    }[shortcut];
    if (targetIndex !== undefined && rows[targetIndex]) {
      event.preventDefault();
      focusRow(this.list, rows[targetIndex]);
      rows[targetIndex].scrollIntoView({ block: "nearest" });
    } else if (shortcut === "next-message" || shortcut === "compose") {
      event.preventDefault();
      this.dispatchEvent(new CustomEvent("focus-composer", { bubbles: true }));
    } else this.toolbar.handleKey(event, row);
  }
}

const divider = (className, text) => h("li", { class: className }, h("span", null, text));

/** Focus a row. Only one row is in the tab order; the arrow keys move between rows. */
export function focusRow(list, row) {
  for (const tabbableRow of list.querySelectorAll(".message[tabindex='0']")) tabbableRow.setAttribute("tabindex", "-1");
  row.setAttribute("tabindex", "0");
  row.focus({ preventScroll: true });
}

customElements.define("hubbub-timeline", Timeline);
