/** The time of an activity: elapsed, remaining, or a progress bar. It is updated every second while it is shown. */

import { platformNow } from "../../network/platform_clock.js";
import { h } from "../../ui/dom.js";
import { t } from "../../ui/translation.js";
import { formatPlayTime } from "./text.js";

const UPDATE_INTERVAL_MS = 1_000;

/** Functions that update the elements in the page, by element. @type {Map<HTMLElement, () => void>} */
const updates = new Map();
let timer = null;

/** Update all elements, and remove elements that are no longer in the page from `updates`. */
function updateAll() {
  for (const [node, update] of updates) {
    if (node.isConnected) update();
    else updates.delete(node);
  }
  if (!updates.size) {
    clearInterval(timer);
    timer = null;
  }
}

function updateWhileShown(node, update) {
  update();
  updates.set(node, update);
  timer ??= setInterval(updateAll, UPDATE_INTERVAL_MS);
  return node;
}

/**
 * Return the element for the time of an activity, or null if it has none.
 *
 * @param {{start?: number, end?: number} | undefined} timestamps Unix milliseconds
 */
export function activityTime({ start, end } = {}) {
  if (start && end && end > start) return progressElement(start, end);
  if (!start && !end) return null;
  const node = h("p", { class: "activity-time" });
  return updateWhileShown(node, () => {
    node.textContent = end
      ? t("{time} left", { time: formatPlayTime(end - platformNow()) })
      : t("{time} elapsed", { time: formatPlayTime(platformNow() - start) });
  });
}

function progressElement(start, end) {
  const bar = h("progress", { max: "100", "aria-label": t("Progress") });
  const text = h("span", { class: "activity-time" });
  const node = h("div", { class: "activity-progress" }, bar, text);
  return updateWhileShown(node, () => {
    const elapsedMs = Math.min(Math.max(platformNow() - start, 0), end - start);
    bar.value = Math.floor((100 * elapsedMs) / (end - start));
    text.textContent = t("{time} of {duration}", {
      time: formatPlayTime(elapsedMs),
      duration: formatPlayTime(end - start),
    });
  });
}
