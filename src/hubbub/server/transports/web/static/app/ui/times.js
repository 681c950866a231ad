/** Localized dates and times. */

import { h } from "./dom.js";
import { LOCALE, t } from "./translation.js";

const format = options => new Intl.DateTimeFormat(LOCALE, options);
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
const RELATIVE = new Intl.RelativeTimeFormat(LOCALE, { numeric: "auto" });
/** Units with their length in seconds. */
const UNITS = [
  ["year", 31_536_000],
  ["month", 2_592_000],
  ["day", 86_400],
  ["hour", 3_600],
  ["minute", 60],
];
/** Largest time value of a Date (ECMA-262). */
const DATE_MAX_MS = 8.64e15;

/** Format a time in Unix milliseconds relative to now; times that the server decides are relative to its clock. */
export function relativeTime(timeMs, now = Date.now()) {
  const seconds = Math.round((timeMs - now) / 1000);
  for (const [unit, size] of UNITS) {
    if (Math.abs(seconds) >= size) return RELATIVE.format(Math.trunc(seconds / size), /** @type {any} */ (unit));
  }
  return RELATIVE.format(seconds, "second");
}

/**
 * Return a time element for Unix milliseconds, in one of the styles of message timestamps (`t`, `R` and so on); a span
 * for an invalid time.
 */
export function timeElement(timeMs, style) {
  if (!(Math.abs(timeMs) <= DATE_MAX_MS)) return h("span", { class: "timestamp" }, t("invalid date"));
  const date = new Date(timeMs);
  const text = style === "R" ? relativeTime(timeMs) : (STYLES[style] ?? STYLES.f).format(date);
  return h("time", { class: "timestamp", datetime: date.toISOString(), title: STYLES.F.format(date) }, text);
}

/** Return a time element for the timestamp of a message, with the date if it is not today. */
export function sentTimeElement(timestamp) {
  const date = new Date(timestamp);
  const text = date.toDateString() === new Date().toDateString() ? STYLES.t.format(date) : STYLES.s.format(date);
  return h("time", { datetime: timestamp, title: STYLES.F.format(date) }, text);
}

/** Format the date and time of a timestamp: ISO 8601 or Unix milliseconds. */
export const formatTime = timestamp => STYLES.s.format(new Date(timestamp));

/** Format the time of day of a timestamp: ISO 8601 or Unix milliseconds. */
export const formatTimeOfDay = timestamp => STYLES.t.format(new Date(timestamp));

/** Format the day of a timestamp: ISO 8601 or Unix milliseconds. */
export const formatDay = timestamp => STYLES.D.format(new Date(timestamp));
