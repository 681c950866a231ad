/** The loaded messages of a channel, and the messages that are being sent. */

import { MessageFlags } from "../generated/enums.js";
import { compareIds } from "../network/ids.js";

/** Maximum number of loaded messages per channel; other messages are loaded again when the user scrolls to them. */
const MESSAGES_MAX = 250;
/** Maximum number of loaded messages while the user reads the newest ones. */
const FOLLOWED_MESSAGES_MAX = 100;

/** A window of a channel's history, oldest first. */
export class MessageLog {
  constructor(channelId) {
    this.channelId = channelId;
    /** @type {any[]} */
    this.items = [];
    /** Messages being sent: `{nonce, content, state: "sending" | "failed", error, ...}`. @type {any[]} */
    this.pending = [];
    /** Whether the window includes the newest message; only then new messages are added. */
    this.atNewest = false;
    /** Whether new messages replace the oldest ones; false while the user reads older messages. */
    this.isFollowed = true;
    /** Whether the window includes the oldest message. */
    this.atOldest = false;
    /** Messages that arrived since a page was requested, as the page may lack them; null if none loads. @type {any[] | null} */
    this.arrived = null;
    /** Whether messages have been loaded; false again after a new session. */
    this.loaded = false;
  }

  find(id) {
    return this.items.find(message => message.id === id);
  }

  get oldestId() {
    return this.items[0]?.id;
  }

  get newestId() {
    return this.items.at(-1)?.id;
  }

  /** Replace the messages by a page. Ephemeral and new messages stay if the page reaches the newest message. */
  reset(messages, { atNewest, atOldest }) {
    // Ephemeral messages are not in the history, so keep them.
    const ephemeral = atNewest ? this.items.filter(message => message.flags & MessageFlags.EPHEMERAL) : [];
    this.items = [];
    for (const message of [...messages, ...ephemeral, ...this.#takeArrived(atNewest)]) this.put(message);
    this.atNewest = atNewest;
    this.atOldest = atOldest;
    this.loaded = true;
  }

  /**
   * Add messages at one end, "older" or "newer", and drop the excess at the other; with `isEnd` there are no more
   * messages at this end.
   */
  extend(messages, side, isEnd) {
    for (const message of messages) this.put(message);
    if (side === "older") {
      this.atOldest = isEnd;
      if (this.items.length > MESSAGES_MAX) {
        this.items.length = MESSAGES_MAX;
        this.atNewest = false;
      }
    } else {
      this.atNewest = isEnd;
      for (const message of this.#takeArrived(isEnd)) this.put(message);
      this.#trim(MESSAGES_MAX);
    }
  }

  /** Add a new message. Return false if it is outside the window. */
  add(message) {
    this.pending = this.pending.filter(
      pendingMessage => pendingMessage.nonce !== message.nonce || pendingMessage.state === "failed" || !message.nonce,
    );
    this.arrived?.push(message);
    if (!this.loaded || !this.atNewest) return false;
    if (!this.isFollowed && this.items.length >= MESSAGES_MAX && this.find(message.id) === undefined) {
      // The messages that the user reads stay; the new ones are loaded when the user scrolls to them.
      this.atNewest = false;
      return false;
    }
    this.put(message);
    this.#trim(this.isFollowed ? FOLLOWED_MESSAGES_MAX : MESSAGES_MAX);
    return true;
  }

  /** Insert a message, or update it if it exists. */
  put(message) {
    const items = this.items;
    let index = items.length;
    while (index > 0 && compareIds(items[index - 1].id, message.id) >= 0) index -= 1;
    if (items[index]?.id === message.id) items[index] = { ...items[index], ...message };
    else items.splice(index, 0, message);
  }

  remove(id) {
    this.arrived = this.arrived?.filter(message => message.id !== id) ?? null;
    const index = this.items.findIndex(message => message.id === id);
    if (index >= 0) this.items.splice(index, 1);
    return index >= 0;
  }

  /** Return the messages that arrived during a request, if the page reaches the newest message. */
  #takeArrived(isNewestPage) {
    const arrived = this.arrived ?? [];
    this.arrived = null;
    return isNewestPage ? arrived : [];
  }

  /** Drop the oldest messages above a number. */
  #trim(count) {
    if (this.items.length > count) {
      this.items.splice(0, this.items.length - count);
      this.atOldest = false;
    }
  }
}
