/** Emoji that the user chose last, newest first. The browser keeps them. */

import { readStored, writeStored } from "../network/browser_storage.js";

const RECENT_MAX = 27;
const STORAGE_NAME = "recent_emoji";

/** Return the recent emoji, newest first. @returns {{id?: string | null, name: string, animated?: boolean}[]} */
export function listRecentEmoji() {
  const storedEmoji = readStored(STORAGE_NAME);
  return Array.isArray(storedEmoji) ? storedEmoji.filter(emoji => typeof emoji?.name === "string") : [];
}

/** Put an emoji first in the stored list; the oldest one is dropped if the list is full. */
export function addRecentEmoji({ id = null, name, animated = false }) {
  const isSame = other => (other.id ?? null) === id && (id !== null || other.name === name);
  const otherEmoji = listRecentEmoji().filter(other => !isSame(other));
  writeStored(STORAGE_NAME, [{ id, name, animated }, ...otherEmoji].slice(0, RECENT_MAX));
}
