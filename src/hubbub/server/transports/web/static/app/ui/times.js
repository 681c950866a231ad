/** Localized dates and times. */

import { h } from "./dom.js";

const format = options => new Intl.DateTimeFormat(undefined, options);
const STYLES = {
  t: format({ timeStyle: "short" }),
  T: format({ timeStyle: "medium" }),
  d: format({ dateStyle: "short" }),
  D: format({ dateStyle: "long" }),
  f: format({ dateStyle: "long", timeStyle: "short" }),
  F: format({ dateStyle: "full", timeStyle: "short" }),
  s: format({ dateStyle: "short", timeStyle: "short" }),
  S: format({ dateStyle: "short", timeStyle: "medium" }),
};
const RELATIVE = new Intl.RelativeTimeFormat(undefined, { numeric: "auto" });
const UNITS = [
  ["year", 31_536_000],
  ["month", 2_592_000],
  ["day", 86_400],
  ["hour", 3_600],
  ["minute", 60],
];
/** Largest time value of a Date (ECMA-262). */
const DATE_MAX_MS = 8.64e15;

/** Format a time relative to now. */
export function relativeTime(milliseconds, now = Date.now()) {
  const seconds = Math.round((milliseconds - now) / 1000);
  for (const [unit, size] of UNITS) {
    if (Math.abs(seconds) >= size) return RELATIVE.format(Math.trunc(seconds / size), /** @type {any} */ (unit));
  }
  return RELATIVE.format(seconds, "second");
}

/** Return a time element in one of the styles of message timestamps. */
export function timeElement(milliseconds, style) {
  if (!(Math.abs(milliseconds) <= DATE_MAX_MS)) return h("span", { class: "timestamp" }, "invalid date");
  const date = new Date(milliseconds);
  const text = style === "R" ? relativeTime(milliseconds) : (STYLES[style] ?? STYLES.f).format(date);
  return h("time", { class: "timestamp", datetime: date.toISOString(), title: STYLES.F.format(date) }, text);
}

/** Return the time of a message, with the date if it is not today. */
export function sentTimeElement(timestamp) {
  const date = new Date(timestamp);
  const text = date.toDateString() === new Date().toDateString() ? STYLES.t.format(date) : STYLES.s.format(date);
  return h("time", { datetime: timestamp, title: STYLES.F.format(date) }, text);
}

/** Return the date and time. */
export const formatTime = timestamp => STYLES.s.format(new Date(timestamp));

/** Return the time of day. */
export const formatTimeOfDay = timestamp => STYLES.t.format(new Date(timestamp));

/** Return the day, for separators. */
export const formatDay = timestamp => STYLES.D.format(new Date(timestamp));
