/** Spoilers in components: content that is hidden until the user reveals it. */

import { h } from "../ui/dom.js";
import { t } from "../ui/translation.js";

/** Return the node behind a cover that a click removes. @param {HTMLElement} node */
export function coverSpoiler(node) {
  node.inert = true;
  const cover = h("button", { type: "button", class: "spoiler-cover", onclick: reveal }, t("Spoiler"));
  const wrapper = h("div", { class: "component-spoiler" }, node, cover);
  return wrapper;

  function reveal() {
    node.inert = false;
    wrapper.classList.add("revealed");
    cover.remove();
  }
}
