/** The icon of an app, or its initials. */

import { h } from "../ui/dom.js";
import { colorIndex, initials } from "./avatars.js";

/**
 * Return the icon of an app, or its initials if it has none.
 *
 * @param {{id: string, icon?: string|null, name: string}} application
 */
export function appIcon({ id, icon, name }) {
  const content = icon
    ? h("img", { src: `/cdn/app-icons/${id}/${icon}.png?size=64`, alt: "", loading: "lazy" })
    : initials(name);
  return h("span", { class: `avatar square app-mark hue-${colorIndex(id)}`, "aria-hidden": "true" }, content);
}
