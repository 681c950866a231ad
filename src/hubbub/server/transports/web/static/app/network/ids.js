/** Snowflake IDs: 64-bit integers as decimal strings, compared without conversion to numbers. */

import { EPOCH_MS } from "../generated/limits.js";

const EPOCH_BIGINT_MS = BigInt(EPOCH_MS);
/** Number of bits below the timestamp of an ID. */
const TIMESTAMP_SHIFT = 22n;

/** Compare two IDs, as a comparator for sort(). */
export function compareIds(a, b) {
  if (a === b) return 0;
  if (a.length !== b.length) return a.length - b.length;
  return a < b ? -1 : 1;
}

/** Return whether ID `a` is newer than ID `b`; true if only `b` is missing, false if `a` is missing. */
export function isNewer(a, b) {
  if (!a) return false;
  return !b || compareIds(a, b) > 0;
}

/** Return the lowest ID of a time in Unix milliseconds; "0" for a time before the epoch of IDs. */
export function lowestIdAt(timeMs) {
  const elapsedMs = BigInt(Math.floor(timeMs)) - EPOCH_BIGINT_MS;
  return String((elapsedMs < 0n ? 0n : elapsedMs) << TIMESTAMP_SHIFT);
}

/** Return the creation time of an ID as Unix milliseconds. */
export function creationTimeMs(id) {
  return Number((BigInt(id) >> TIMESTAMP_SHIFT) + EPOCH_BIGINT_MS);
}

/** Return whether a text has the form of an ID: 1 to 19 digits. */
export const isId = text => /^\d{1,19}$/.test(text);

/** Return a nonce that identifies a message before it has an ID, and prevents duplicates. */
export function createMessageNonce() {
  const bytes = crypto.getRandomValues(new Uint8Array(12));
  return Array.from(bytes, byte => byte.toString(16).padStart(2, "0")).join("");
}
