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
    this.messages = [];
    /** Messages being sent: `{nonce, content, state: "sending" | "failed", error, ...}`. @type {any[]} */
    this.pending = [];
    /** Whether the window includes the newest message; only then new messages are added. */
    this.atNewest = false;
    /** Whether new messages replace the oldest ones; false while the user reads older messages. */
    this.isFollowed = true;
    /** Whether the window includes the oldest message. */
    this.atOldest = false;
    /** Messages that arrived since a page was requested, as the page may lack them; null if none loads. @type {any[] | null} */
    this.arrivedMessages = null;
    /** Whether messages have been loaded; false again after a new session. */
    this.isLoaded = false;
  }

  find(id) {
    return this.messages.find(message => message.id === id);
  }

  get oldestId() {
    return this.messages[0]?.id;
  }

  get newestId() {
    return this.messages.at(-1)?.id;
  }

  /** Replace the messages by a page. Ephemeral and new messages stay if the page reaches the newest message. */
  reset(messages, { atNewest, atOldest }) {
    // Ephemeral messages are not in the history, so keep them.
    const ephemeralMessages = atNewest ? this.messages.filter(message => message.flags & MessageFlags.EPHEMERAL) : [];
    this.messages = [];
    for (const message of [...messages, ...ephemeralMessages, ...this.#takeArrived(atNewest)]) this.put(message);
    this.atNewest = atNewest;
    this.atOldest = atOldest;
    this.isLoaded = true;
  }

  /**
   * Add messages at one end, "older" or "newer", and drop the excess at the other; with `isEnd` there are no more
   * messages at this end.
   */
  extend(messages, side, isEnd) {
    for (const message of messages) this.put(message);
    if (side === "older") {
      this.atOldest = isEnd;
      if (this.messages.length > MESSAGES_MAX) {
        this.messages.length = MESSAGES_MAX;
        this.atNewest = false;
      }
    } else {
      this.atNewest = isEnd;
      for (const message of this.#takeArrived(isEnd)) this.put(message);
      this.#trim(MESSAGES_MAX);
    }
  }

  /** Add a new message, and remove the pending message with its nonce. Return false if it is outside the window. */
  add(message) {
    this.pending = this.pending.filter(
      pendingMessage => pendingMessage.nonce !== message.nonce || pendingMessage.state === "failed" || !message.nonce,
    );
    this.arrivedMessages?.push(message);
    if (!this.isLoaded || !this.atNewest) return false;
    if (!this.isFollowed && this.messages.length >= MESSAGES_MAX && this.find(message.id) === undefined) {
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
    const messages = this.messages;
    let index = messages.length;
    while (index > 0 && compareIds(messages[index - 1].id, message.id) >= 0) index -= 1;
    if (messages[index]?.id === message.id) messages[index] = { ...messages[index], ...message };
    else messages.splice(index, 0, message);
  }

  remove(id) {
    this.arrivedMessages = this.arrivedMessages?.filter(message => message.id !== id) ?? null;
    const index = this.messages.findIndex(message => message.id === id);
    if (index >= 0) this.messages.splice(index, 1);
    return index >= 0;
  }

  /** Return and clear the messages that arrived during a request; return none if the page does not reach the newest message. */
  #takeArrived(isNewestPage) {
    const arrivedMessages = this.arrivedMessages ?? [];
    this.arrivedMessages = null;
    return isNewestPage ? arrivedMessages : [];
  }

  /** Drop the oldest messages above a number. */
  #trim(count) {
    if (this.messages.length > count) {
      this.messages.splice(0, this.messages.length - count);
      this.atOldest = false;
    }
  }
}
