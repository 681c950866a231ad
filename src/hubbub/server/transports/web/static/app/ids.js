/** Snowflakes: 64 bits as decimal strings, compared without becoming numbers. */

const EPOCH_MS = 1_420_070_400_000n;

/** Below, at or above nothing, as sort wants it. */
export function compareIds(a, b) {
  if (a === b) return 0;
  if (a.length !== b.length) return a.length - b.length;
  return a < b ? -1 : 1;
}

/** Whether `a` is younger than `b`; nothing is older than everything. */
export function isNewer(a, b) {
  if (!a) return false;
  return !b || compareIds(a, b) > 0;
}

/** The first id of a moment. */
export function idAt(milliseconds) {
  const passed = BigInt(Math.floor(milliseconds)) - EPOCH_MS;
  return String((passed < 0n ? 0n : passed) << 22n);
}

/** When something was made, in milliseconds. */
export function timeOf(id) {
  return Number((BigInt(id) >> 22n) + EPOCH_MS);
}

/** Whether a text can be an id. */
export const isId = text => /^\d{1,19}$/.test(text);

/** A word for a message that the platform has not numbered yet; also what tells it from a second one. */
export function newNonce() {
  const bytes = crypto.getRandomValues(new Uint8Array(12));
  return Array.from(bytes, byte => byte.toString(16).padStart(2, "0")).join("");
}
