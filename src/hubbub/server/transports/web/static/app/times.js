/** Times as people where the browser is read them. */

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
const UNITS = [["year", 31_536_000], ["month", 2_592_000], ["day", 86_400], ["hour", 3_600], ["minute", 60]];
/** What a date can be at all (ECMA-262, time values). */
const FAR_MS = 8.64e15;

/** How long ago, or how long still. */
export function relative(milliseconds, now = Date.now()) {
  const seconds = Math.round((milliseconds - now) / 1000);
  for (const [unit, size] of UNITS) {
    if (Math.abs(seconds) >= size) return RELATIVE.format(Math.trunc(seconds / size), /** @type {any} */ (unit));
  }
  return RELATIVE.format(seconds, "second");
}

/** A moment in one of the styles of timestamps in messages. */
export function timeElement(milliseconds, style) {
  if (!(Math.abs(milliseconds) <= FAR_MS)) return h("span", { class: "timestamp" }, "some time");
  const date = new Date(milliseconds);
  const text = style === "R" ? relative(milliseconds) : (STYLES[style] ?? STYLES.f).format(date);
  return h("time", { class: "timestamp", datetime: date.toISOString(), title: STYLES.F.format(date) }, text);
}

/** When a message was sent: the hour, and the day where it was not today. */
export function sentAt(timestamp) {
  const date = new Date(timestamp);
  const text = date.toDateString() === new Date().toDateString() ? STYLES.t.format(date) : STYLES.s.format(date);
  return h("time", { datetime: timestamp, title: STYLES.F.format(date) }, text);
}

/** Only the hour. */
export const hourOf = timestamp => STYLES.t.format(new Date(timestamp));

/** The day that a message belongs to. */
export const dayOf = timestamp => STYLES.D.format(new Date(timestamp));
