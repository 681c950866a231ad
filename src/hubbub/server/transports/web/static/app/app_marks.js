/** An app's picture, or its initials. */

import { h } from "./dom.js";
import { hue, initials } from "./faces.js";

/** @param {{id: string, icon?: string|null, name: string}} application */
export function mark({ id, icon, name }) {
  const drawn = icon ? h("img", { src: `/cdn/app-icons/${id}/${icon}.png?size=64`, alt: "", loading: "lazy" }) : initials(name);
  return h("span", { class: `face square app-mark hue-${hue(id)}`, "aria-hidden": "true" }, drawn);
}
