/** The live region that announces new messages, calls and results of actions to screen readers. */

import { h } from "./dom.js";
import { t } from "./translation.js";

const TEXT_LENGTH_MAX = 300;
const TEXTS_MAX = 5;

let region = null;

/** Create the region. It must exist before its content: screen readers ignore regions inserted together with text. */
export function createLiveRegion() {
  region = h("div", { class: "visually-hidden", role: "log", "aria-live": "polite", "aria-label": t("New messages") });
  return region;
}

/** Announce a text to screen readers. */
export function announce(text) {
  if (region === null) return;
  region.append(h("p", null, text.slice(0, TEXT_LENGTH_MAX)));
  while (region.children.length > TEXTS_MAX) region.firstElementChild.remove();
}
