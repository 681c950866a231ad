/** Spoilers in components: content that is hidden until the user reveals it. */

import { h } from "../ui/dom.js";

/** Return the node behind a cover. @param {HTMLElement} node */
export function coverSpoiler(node) {
  node.inert = true;
  const cover = h("button", { type: "button", class: "component-veil", onclick: lift }, "Spoiler");
  const wrapped = h("div", { class: "component-veiled" }, node, cover);
  return wrapped;

  function lift() {
    node.inert = false;
    wrapped.classList.add("lifted");
    cover.remove();
  }
}
