/** What is said to those who listen to the page rather than look at it. */

import { h } from "./dom.js";
import { notice } from "./notices.js";

let region = null;

/** The place that screen readers hear; made with the client, since one that comes with its words is not read. */
export function liveRegion() {
  region = h("div", { class: "visually-hidden", role: "log", "aria-live": "polite", "aria-label": "New messages" });
  return region;
}

/** Say something aloud; `shown` says it to everybody. */
export function announce(words, shown = false) {
  if (shown) {
    notice(words);
    return;
  }
  if (region === null) return;
  region.append(h("p", null, words.slice(0, 300)));
  while (region.children.length > 5) region.firstElementChild.remove();
}
