/** Unsent texts by channel or thread, which the browser keeps across reloads. Files are not kept. */

import { CONTENT_MAX } from "../generated/limits.js";
import { readStored, writeStored } from "../network/browser_storage.js";

/** Maximum number of stored drafts. If another draft is saved, the oldest one is removed. */
const DRAFTS_MAX = 50;
/** Maximum length of a stored text in UTF-16 code units. A longer text stays in the field, but is not stored. */
const DRAFT_LENGTH_MAX = 4 * CONTENT_MAX;
const STORAGE_NAME = "drafts";

/**
 * The draft of a channel.
 *
 * @typedef {object} Draft
 * @property {string} text
 * @property {[string, string][]} mentions names in the text and the mentions that replace them
 */

/** Return the draft of a channel, or null. @returns {Draft | null} */
export function readDraft(channelId) {
  const draft = readDrafts().find(([id]) => id === channelId)?.[1];
  return typeof draft?.text === "string" && Array.isArray(draft.mentions) ? draft : null;
}

/** Save the draft of a channel; an empty or too long text removes the stored draft. @param {Draft} draft */
export function saveDraft(channelId, { text, mentions }) {
  const drafts = readDrafts();
  const otherDrafts = drafts.filter(([id]) => id !== channelId);
  if (text.trim() && text.length <= DRAFT_LENGTH_MAX) {
    const usedMentions = mentions.filter(([name]) => text.includes(name));
    writeStored(STORAGE_NAME, [...otherDrafts, [channelId, { text, mentions: usedMentions }]].slice(-DRAFTS_MAX));
  } else if (otherDrafts.length !== drafts.length) writeStored(STORAGE_NAME, otherDrafts.length ? otherDrafts : null);
}

/** Return the drafts as pairs of a channel ID and a draft, oldest first. */
function readDrafts() {
  const storedDrafts = readStored(STORAGE_NAME);
  return Array.isArray(storedDrafts) ? storedDrafts.filter(Array.isArray) : [];
}
