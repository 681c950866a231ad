/** Spoilers: something that is not shown until somebody wants to see it. */

import { h } from "./dom.js";

/** @param {HTMLElement} node */
export function veil(node) {
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
