/** The messages of one open channel: a window of its history, and what is on its way there. */

import { compareIds } from "./ids.js";

/** Messages kept of a channel; what is scrolled far away is read again when it is wanted. */
export const WINDOW = 250;

/** A window on a channel's history, oldest first. */
export class MessageLog {
  constructor(channelId) {
    this.channelId = channelId;
    /** @type {any[]} */
    this.items = [];
    /** Sent, not yet told back: `{nonce, content, state: "sending" | "failed", error, ...}`. @type {any[]} */
    this.pending = [];
    /** Whether the window's end is the channel's; only then new messages belong into it. */
    this.atNewest = false;
    this.atOldest = false;
    this.loaded = false;
  }

  find(id) {
    return this.items.find(each => each.id === id);
  }

  get oldest() {
    return this.items.find(each => !each.local)?.id;
  }

  get newest() {
    return this.items.findLast(each => !each.local)?.id;
  }

  /** Begin anew with these. */
  reset(messages, { atNewest, atOldest }) {
    // What only this person sees comes once and is in no history.
    const kept = atNewest ? this.items.filter(each => each.flags & 64) : [];
    this.items = [];
    for (const each of [...messages, ...kept]) this.put(each);
    this.atNewest = atNewest;
    this.atOldest = atOldest;
    this.loaded = true;
  }

  /** Put messages before or after those that are here; what falls out at the other end is forgotten. */
  extend(messages, side, end) {
    for (const each of messages) this.put(each);
    if (side === "older") {
      this.atOldest = end;
      if (this.items.length > WINDOW) {
        this.items.length = WINDOW;
        this.atNewest = false;
      }
    } else {
      this.atNewest = end;
      this.#trim();
    }
  }

  /** A message that has just been said; false where it does not belong into the window. */
  add(message) {
    this.pending = this.pending.filter(each => each.nonce !== message.nonce || each.state === "failed" || !message.nonce);
    if (!this.loaded || !this.atNewest) return false;
    this.put(message);
    this.#trim();
    return true;
  }

  /** Put one in its place, over an older edition of itself. */
  put(message) {
    const items = this.items;
    let at = items.length;
    while (at > 0 && compareIds(items[at - 1].id, message.id) >= 0) at -= 1;
    if (items[at]?.id === message.id) items[at] = { ...items[at], ...message };
    else items.splice(at, 0, message);
  }

  remove(id) {
    const at = this.items.findIndex(each => each.id === id);
    if (at >= 0) this.items.splice(at, 1);
    return at >= 0;
  }

  #trim() {
    if (this.items.length > WINDOW) {
      this.items.splice(0, this.items.length - WINDOW);
      this.atOldest = false;
    }
  }
}
