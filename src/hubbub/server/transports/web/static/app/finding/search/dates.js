/** Dates in search filters: days, months and years in the time zone of the browser. */

import { lowestIdAt } from "../../network/ids.js";

const DAYS_AGO_BY_WORD = new Map([
  ["today", 0],
  ["yesterday", 1],
]);

/** The dates that the completion offers. */
export const SUGGESTED_DATES = [...DAYS_AGO_BY_WORD.keys()];

/** Return the start and end of a date such as `2026-11-01`, `2026-11`, `2026` or `today`; null if the text is not a date. */
export function parseDateRange(text, now = new Date()) {
  const daysAgo = DAYS_AGO_BY_WORD.get(text.toLowerCase());
  if (daysAgo !== undefined) {
    const [year, month, day] = [now.getFullYear(), now.getMonth(), now.getDate() - daysAgo];
    return { startMs: new Date(year, month, day).getTime(), endMs: new Date(year, month, day + 1).getTime() };
  }
  const match = /^(\d{4})(?:-(\d{1,2})(?:-(\d{1,2}))?)?$/.exec(text);
  if (match === null) return null;
  const year = Number(match[1]),
    month = match[2] === undefined ? null : Number(match[2]) - 1,
    day = match[3] === undefined ? null : Number(match[3]);
  const start = new Date(year, month ?? 0, day ?? 1);
  if ((month !== null && start.getMonth() !== month) || (day !== null && start.getDate() !== day)) return null;
  const end =
    day !== null
      ? new Date(year, month, day + 1)
      : month !== null
        ? new Date(year, month + 1, 1)
        : new Date(year + 1, 0, 1);
  return { startMs: start.getTime(), endMs: end.getTime() };
}

/**
 * Return the exclusive bounds of message IDs for a date filter, as BigInt: `min` for `after`, `max` for `before`, both for
 * `during`.
 */
export function dateBounds(filterKey, range) {
  const lastIdBefore = timeMs => {
    const id = BigInt(lowestIdAt(timeMs));
    return id > 0n ? id - 1n : 0n;
  };
  if (filterKey === "before") return { max: BigInt(lowestIdAt(range.startMs)) };
  if (filterKey === "after") return { min: lastIdBefore(range.endMs) };
  return { min: lastIdBefore(range.startMs), max: BigInt(lowestIdAt(range.endMs)) };
}
