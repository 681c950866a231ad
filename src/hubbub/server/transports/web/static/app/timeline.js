/** The messages of a channel: history by scrolling both ways, what arrives, and where one was sent to. */

import { h, icon, reconcile, replace } from "./dom.js";
import { isNewer } from "./ids.js";
import { announce } from "./live.js";
import { Part } from "./parts.js";
import { Permissions, MessageFlags } from "./enums.js";
import { buildRow, buildPending, joinsAbove, rowStamp } from "./message_row.js";
import { MessageToolbar } from "./message_toolbar.js";
import { noteRead } from "./reading.js";
import { dayOf } from "./times.js";
import { wordsOf } from "./system_words.js";

const AT_ONCE = 50;
/** How near to an edge the next page is asked for, in pixels. */
const NEAR = 600;
const BOTTOM = 40;

class Timeline extends Part {
  static kinds = ["messages", "members", "guilds", "relationships", "editing"];

  begin() {
    const { state, channelId } = this.context;
    this.log = state.open(channelId);
    this.busy = false;
    this.follow = true;
    /** The line above what is new; it stays while the channel is open. */
    this.newFrom = state.isUnread(channelId) ? state.lastRead(channelId) : null;
    this.marked = null;
    this.toolbar = new MessageToolbar(this.context, this);
    this.top = h("div", { class: "edge" });
    this.list = h("ol", { class: "messages", "aria-label": "Messages", onkeydown: event => this.#walk(event) });
    this.bottom = h("div", { class: "edge" });
    this.scroller = h("div", { class: "scroller", id: "messages", tabindex: "-1" }, this.top, this.list, this.bottom);
    this.jump = h("button", { type: "button", class: "jump", hidden: true, onclick: () => this.toNewest() }, icon("down"), h("span", null, "Newest messages"));
    this.replaceChildren(this.scroller, this.jump);
    this.scroller.addEventListener("scroll", () => this.#scrolled(), { passive: true });
    this.toolbar.attach(this.list);
    this.resizing = new ResizeObserver(() => this.follow && this.#toBottom());
    this.resizing.observe(this.list);
    this.resizing.observe(this.scroller);
    this.hear = ({ detail }) => this.#arrived(detail);
    this.context.gateway.addEventListener("MESSAGE_CREATE", this.hear);
    this.looked = () => noteRead(this.context, this);
    window.addEventListener("focus", this.looked);
    if (this.messageId) this.seek(this.messageId);
    else this.#load("newest");
  }

  end() {
    this.resizing.disconnect();
    this.context.gateway.removeEventListener("MESSAGE_CREATE", this.hear);
    window.removeEventListener("focus", this.looked);
  }

  draw() {
    const { state, channelId } = this.context;
    if (!this.log.loaded) {
      // A new session began while we were away: what was missed is in no event.
      if (!this.busy && !this.failed) this.#load("newest");
      if (!this.log.items.length) this.#edge(this.top, this.failed ?? "Reading…");
      return;
    }
    this.#edge(this.top, this.log.atOldest ? null : "Reading…");
    const before = this.#anchor();
    const entries = [];
    if (this.log.atOldest) entries.push({ key: "beginning", stamp: "", build: () => this.#beginning() });
    let above = null, day = "", isNew = false;
    for (const message of this.log.items) {
      const today = dayOf(message.timestamp);
      if (today !== day) entries.push({ key: `day-${today}`, stamp: "", build: () => h("li", { class: "day", role: "separator" }, h("span", null, today)) });
      if (!isNew && this.newFrom !== null && isNewer(message.id, this.newFrom)) {
        isNew = true;
        if (message.author.id !== state.me.id) {
          entries.push({ key: "new", stamp: "", build: () => h("li", { class: "day new", role: "separator" }, h("span", null, "New")) });
          above = null;
        }
      }
      const joined = today === day && above !== null && joinsAbove(message, above);
      const marked = message.id === this.marked;
      entries.push({
        key: message.id,
        stamp: rowStamp(message, this.context, `${joined} ${marked} ${this.toolbar.editing === message.id}`),
        build: () => buildRow(message, this.context, { joined, marked, editing: this.toolbar.editing === message.id, timeline: this }),
      });
      day = today;
      above = message;
    }
    if (this.log.atNewest) {
      for (const each of this.log.pending) {
        entries.push({ key: `nonce-${each.nonce}`, stamp: `${each.state} ${each.error} ${Math.round((each.share ?? 0) * 20)}`, build: () => buildPending(each, this.context) });
      }
    }
    reconcile(this.list, entries);
    if (!this.list.querySelector("[tabindex='0'].message")) this.list.querySelector(".message:last-of-type")?.setAttribute("tabindex", "0");
    this.jump.hidden = this.log.atNewest && this.follow;
    if (this.follow && this.log.atNewest) this.#toBottom();
    else this.#restore(before);
    if (this.wanted) this.#reveal();
    noteRead(this.context, this);
    state.changed("drawn", channelId);
  }

  get isAtBottom() {
    const { scrollHeight, scrollTop, clientHeight } = this.scroller;
    return this.log.atNewest && scrollHeight - scrollTop - clientHeight < BOTTOM;
  }

  /** Show one message, marked, among those around it. */
  async seek(messageId) {
    this.marked = messageId;
    this.wanted = messageId;
    this.follow = false;
    if (this.log.loaded && this.log.find(messageId) !== undefined) this.draw();
    else await this.#load("around", messageId);
  }

  /** Go to the end, and stay there. */
  async toNewest() {
    this.marked = null;
    this.follow = true;
    if (!this.log.atNewest) await this.#load("newest");
    this.draw();
    this.#toBottom();
  }

  async #load(side, around) {
    if (this.busy) return;
    this.busy = true;
    this.failed = null;
    const { api, channelId, state } = this.context;
    const log = this.log;
    const query = { limit: AT_ONCE };
    if (side === "older") query.before = log.oldest;
    if (side === "newer") query.after = log.newest;
    if (side === "around") query.around = around;
    try {
      const found = (await api.request("GET", `/channels/${channelId}/messages`, { query })).reverse();
      for (const each of found) {
        if (!each.webhook_id) state.keepUser(each.author);
        for (const mentioned of each.mentions) state.keepUser(mentioned);
      }
      const full = found.length >= AT_ONCE;
      const last = state.channels.get(channelId)?.last_message_id;
      if (side === "older" || side === "newer") log.extend(found, side, !full);
      else if (side === "around") {
        const older = found.filter(each => isNewer(around, each.id)).length;
        log.reset(found, { atNewest: !isNewer(last, found.at(-1)?.id), atOldest: older < Math.floor(AT_ONCE / 2) });
        if (!found.some(each => each.id === around)) announce("That message is gone, or you may not read it.", true);
      } else log.reset(found, { atNewest: true, atOldest: !full });
    } catch (error) {
      this.failed = error.status === 403 || error.status === 404 ? "You may not read what was said here." : error.sentence ?? "This could not be read.";
      if (!log.loaded && error.status === 403) log.reset([], { atNewest: true, atOldest: true });
    } finally {
      this.busy = false;
    }
    if (!this.isConnected) return;
    if (this.failed !== null) this.#edge(this.top, this.failed, () => this.#load(side, around));
    this.draw();
    this.#readOn();
  }

  #edge(node, words, again) {
    if (words === null) replace(node);
    else replace(node, h("p", { class: "soft small" }, words), again ? h("button", { type: "button", class: "button quiet small", onclick: again }, "Try again") : null);
  }

  #beginning() {
    const { state, channelId } = this.context;
    const channel = state.channels.get(channelId);
    const readable = state.can(channelId, Permissions.READ_MESSAGE_HISTORY);
    const words = readable ? "This is where it begins." : "You may not read what was said before you came.";
    return h("li", { class: "beginning" }, h("p", { class: "soft" }, words), channel?.topic ? h("p", { class: "soft words", dir: "auto" }, channel.topic) : null);
  }

  #scrolled() {
    const { scrollTop, scrollHeight, clientHeight } = this.scroller;
    this.follow = this.isAtBottom;
    this.jump.hidden = this.log.atNewest && (this.follow || scrollHeight - scrollTop - clientHeight < clientHeight);
    this.#readOn();
    if (this.follow) noteRead(this.context, this);
  }

  /** Ask for what lies beyond an edge that is near. */
  #readOn() {
    const { scrollTop, scrollHeight, clientHeight } = this.scroller;
    if (!this.log.loaded || this.failed || this.busy) return;
    if (scrollTop < NEAR && !this.log.atOldest) this.#load("older");
    else if (scrollHeight - scrollTop - clientHeight < NEAR && !this.log.atNewest) this.#load("newer");
  }

  /** The first row in view and how far down it stands, so that it can stand there again. */
  #anchor() {
    const top = this.scroller.getBoundingClientRect().top;
    // Days are no hold: they move up when older messages of the same day come.
    for (const row of this.list.querySelectorAll(".message")) {
      const box = row.getBoundingClientRect();
      if (box.bottom > top) return { key: /** @type {any} */ (row).dataset.key, offset: box.top - top };
    }
    return null;
  }

  #restore(before) {
    if (before === null) return;
    const row = this.list.querySelector(`[data-key="${CSS.escape(before.key)}"]`);
    if (row === null) return;
    const offset = row.getBoundingClientRect().top - this.scroller.getBoundingClientRect().top;
    if (Math.abs(offset - before.offset) > 1) this.scroller.scrollTop += offset - before.offset;
  }

  #reveal() {
    const row = this.list.querySelector(`[data-key="${CSS.escape(this.wanted)}"]`);
    this.wanted = null;
    if (row === null) return;
    row.scrollIntoView({ block: "center" });
    focusRow(this.list, row);
  }

  #toBottom() {
    this.scroller.scrollTop = this.scroller.scrollHeight;
  }

  /** Say aloud what has just been said here, to those who do not see it appear. */
  #arrived(message) {
    const { state, channelId, me } = this.context;
    if (message.channel_id !== channelId || message.author.id === me.id) return;
    const before = message.flags & MessageFlags.EPHEMERAL ? "Only for you, " : "";
    announce(`${before}${state.nameOf(message.author, this.context.guildId)}: ${wordsOf(message, this.context)}`);
  }

  #walk(event) {
    const row = event.target.closest?.(".message");
    if (row === null || event.target !== row) {
      if (event.key === "Escape" && row) focusRow(this.list, row);
      return;
    }
    const rows = [...this.list.querySelectorAll(".message")], at = rows.indexOf(row);
    const to = { ArrowUp: at - 1, ArrowDown: at + 1, Home: 0, End: rows.length - 1 }[event.key];
    if (to !== undefined && rows[to]) {
      event.preventDefault();
      focusRow(this.list, rows[to]);
      rows[to].scrollIntoView({ block: "nearest" });
    } else if (event.key === "ArrowDown" || event.key === "Escape") {
      event.preventDefault();
      this.dispatchEvent(new CustomEvent("compose", { bubbles: true }));
    } else this.toolbar.press(event, row);
  }
}

/** Only one row is reached by Tab; the arrows go on from there. */
export function focusRow(list, row) {
  for (const each of list.querySelectorAll(".message[tabindex='0']")) each.setAttribute("tabindex", "-1");
  row.setAttribute("tabindex", "0");
  row.focus({ preventScroll: true });
}

customElements.define("hubbub-timeline", Timeline);
