/** Parts that are loaded when they are first needed, so that a page begins without them. */

import { notice } from "./notices.js";

const loaded = new Map();

/**
 * A module of this folder by its name: `(await apps("modal")).openModal(...)`; null where it does not load.
 *
 * @param {"components" | "modal" | "commands" | "activity"} name
 */
export function apps(name) {
  if (!loaded.has(name)) {
    const module = import(`./${name}.js`).catch(error => {
      console.error(error);
      // Most likely the platform was renewed under a page that is still the old one.
      notice("A part of this page did not load. Reload it when you can.", "problem");
      loaded.delete(name);
      return null;
    });
    loaded.set(name, module);
  }
  return loaded.get(name);
}
