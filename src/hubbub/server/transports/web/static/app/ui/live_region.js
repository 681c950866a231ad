/** The live region that announces new messages to screen readers. */

import { h } from "./dom.js";
import { showNotice } from "./notices.js";

let region = null;

/** Create the region. It must exist before its content: screen readers ignore regions inserted together with text. */
export function createLiveRegion() {
  region = h("div", { class: "visually-hidden", role: "log", "aria-live": "polite", "aria-label": "New messages" });
  return region;
}

/** Announce a text to screen readers, or to everyone as a notice if `visible` is set. */
export function announce(text, visible = false) {
  if (visible) {
    showNotice(text);
    return;
  }
  if (region === null) return;
  region.append(h("p", null, text.slice(0, 300)));
  while (region.children.length > 5) region.firstElementChild.remove();
}
