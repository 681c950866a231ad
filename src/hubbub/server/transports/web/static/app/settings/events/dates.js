/** The next dates of a repeating event; the user can skip and restore each of them. */

import { RecurrenceFrequency } from "../../generated/enums.js";
import { lowestIdAt } from "../../network/ids.js";
import { h, setChildren } from "../../ui/dom.js";
import { runAndReport, showNotice } from "../../ui/notices.js";
import { timeElement } from "../../ui/times.js";
import { t } from "../../ui/translation.js";
import { actionButton, listEntry, settingsSection } from "../forms/layout.js";

const DAY_MS = 86_400_000;
const LISTED_DATES_MAX = 5;
/** Number of days in which dates are searched: February 29 recurs after at most 8 years. */
const HORIZON_DAYS = 366 * 8;

/** Return the day of the week in UTC, 0 for Monday. */
export const weekdayOf = date => (date.getUTCDay() + 6) % 7;

/** Return the number of the week of a date, counted from 1970; weeks start on Monday. */
const weekOf = date => Math.floor((date.getTime() / DAY_MS - weekdayOf(date)) / 7);

/** Return whether a rule that starts at `start` has an occurrence on a date (spec/http.md#3.9). */
function isOccurrence(rule, start, date) {
  const weekday = weekdayOf(date);
  switch (rule.frequency) {
    case RecurrenceFrequency.DAILY:
      return !rule.by_weekday || rule.by_weekday.includes(weekday);
    case RecurrenceFrequency.WEEKLY:
      return (
        weekday === (rule.by_weekday?.[0] ?? weekdayOf(start)) && (weekOf(date) - weekOf(start)) % rule.interval === 0
      );
    case RecurrenceFrequency.MONTHLY:
      return rule.by_n_weekday.some(({ n, day }) => day === weekday && Math.ceil(date.getUTCDate() / 7) === n);
    default:
      return rule.by_month.includes(date.getUTCMonth() + 1) && rule.by_month_day.includes(date.getUTCDate());
  }
}

/** Return the times of the next occurrences of an event as Unix milliseconds. */
function nextTimes({ scheduled_start_time: nextTime, recurrence_rule: rule }) {
  const next = new Date(nextTime),
    ruleStart = new Date(rule.start),
    times = [];
  for (let days = 0; days < HORIZON_DAYS && times.length < LISTED_DATES_MAX; days += 1) {
    const date = new Date(next.getTime() + days * DAY_MS);
    if (days === 0 || isOccurrence(rule, ruleStart, date)) times.push(date.getTime());
  }
  return times;
}

/**
 * Return the section with the next dates of an event.
 *
 * `draw` shows the dates of an event; `denialReason` is the reason that the user cannot change dates, or null.
 *
 * @param {any} view the settings view that contains the section
 * @param {string} path the API path of the event
 * @param {() => void} onChange called after a date was skipped or restored
 * @returns {{node: HTMLElement, draw: (event: any, denialReason: string | null) => void}}
 */
export function eventDates(view, path, onChange) {
  const list = h("ul", { class: "settings-list", "aria-label": t("Next dates") });
  const node = settingsSection(t("Next dates"), h("p", { class: "hint" }, t("Skip single dates of the event.")), list);
  const setSkipped = (timeMs, exception, isSkipped) =>
    runAndReport(async () => {
      const { api } = view.context;
      if (exception === undefined) {
        const json = { original_scheduled_start_time: new Date(timeMs).toISOString(), is_canceled: isSkipped };
        await api.request("POST", `${path}/exceptions`, { json });
      } else {
        const json = { is_canceled: isSkipped };
        await api.request("PATCH", `${path}/exceptions/${exception.event_exception_id}`, { json });
      }
      showNotice(isSkipped ? t("The date is skipped.") : t("The date was restored."), "done");
      await onChange();
      /** @type {any} */ (list.querySelector(`[data-time="${timeMs}"]`))?.focus();
    });
  const row = (event, timeMs, denialReason) => {
    const id = lowestIdAt(timeMs);
    const exception = event.guild_scheduled_event_exceptions?.find(other => other.event_exception_id === id);
    const isSkipped = exception?.is_canceled ?? false,
      time = timeElement(Date.parse(exception?.scheduled_start_time ?? "") || timeMs, "f");
    const [label, name] = isSkipped
      ? [t("Restore"), t("Restore {time}", { time: time.textContent })]
      : [t("Skip"), t("Skip {time}", { time: time.textContent })];
    const button = actionButton(label, () => setSkipped(timeMs, exception, !isSkipped), {
      denialReason,
      name,
    });
    button.dataset.time = String(timeMs);
    return listEntry({
      title: [time, isSkipped ? h("span", { class: "tag" }, t("Skipped")) : null],
      actions: [button],
    });
  };
  return {
    node,
    draw(event, denialReason) {
      node.hidden = !event.recurrence_rule;
      if (event.recurrence_rule)
        setChildren(
          list,
          nextTimes(event).map(timeMs => row(event, timeMs, denialReason)),
        );
    },
  };
}
