/**
 * Estimate of the server's clock, from the `Date` headers of its responses.
 *
 * The clock of this device may be wrong, and the clock of a rehearsal can be set freely. Times that the server decides,
 * such as the end of an invite, a timeout or slow mode, therefore follow the server's clock.
 */

/** Tolerance in milliseconds: the header has whole seconds and arrives late. */
const TOLERANCE_MS = 3_000;

let offsetMs = 0;

/** Return the estimated time of the server as Unix milliseconds. */
export const platformNow = () => Date.now() + offsetMs;

/** Correct the estimate after a response. @param {string | null} dateHeader */
export function recordServerDate(dateHeader) {
  const serverMs = Date.parse(dateHeader ?? "");
  if (Number.isNaN(serverMs)) return;
  const errorMs = platformNow() - serverMs;
  if (errorMs < 0 || errorMs > TOLERANCE_MS) offsetMs = serverMs - Date.now();
}
