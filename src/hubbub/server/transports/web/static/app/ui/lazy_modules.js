/** Loading of modules on first use, so that the page starts fast, with a notice if it fails. */

import { showNotice } from "./notices.js";
import { t } from "./translation.js";

/**
 * Load a module: `(await loadModule(() => import("../components/modal.js")))?.openModal(...)`. If it fails, show a
 * notice and resolve to null.
 *
 * @param {() => Promise<any>} load imports the module, which the browser caches
 */
export async function loadModule(load) {
  try {
    return await load();
  } catch (error) {
    console.error(error);
    // The server was probably updated while this page was open.
    showNotice(t("Part of this page failed to load. Reload the page."), "problem");
    return null;
  }
}
