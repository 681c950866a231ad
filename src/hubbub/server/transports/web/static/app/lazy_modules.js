/** Modules that are loaded on first use, to keep the start fast. */

import { notice } from "./notices.js";

const loaded = new Map();

/**
 * Load a module of this folder: `(await loadModule("modal")).openModal(...)`. Resolve to null if it fails.
 *
 * @param {"components" | "modal" | "commands" | "activity"} name
 */
export function loadModule(name) {
  if (!loaded.has(name)) {
    const module = import(`./${name}.js`).catch(error => {
      console.error(error);
      // The server was probably updated while this page was open.
      notice("Part of this page failed to load. Reload the page.", "problem");
      loaded.delete(name);
      return null;
    });
    loaded.set(name, module);
  }
  return loaded.get(name);
}
