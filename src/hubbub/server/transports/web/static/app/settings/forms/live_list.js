/** Lists in settings screens that are loaded from the API, and loaded again after changes. */

import { h, reconcile } from "../../ui/dom.js";
import { showError } from "../../ui/notices.js";
import { t } from "../../ui/translation.js";
import { statusLine } from "./layout.js";

/** Delay before a list is loaded again, so that several changes in a row cause one request. */
const LIST_RELOAD_DELAY_MS = 150;

/**
 * Return a list whose entries are loaded from the API, and start to load it.
 *
 * @param {object} options
 * @param {string} options.label the accessible name of the list
 * @param {string} options.emptyText the text in place of an empty list
 * @param {() => Promise<any[]>} options.fetchItems resolves to the items
 * @param {(item: any) => {key: string, version: string, build: () => Element}} options.describeItem describes
 *   an item for `reconcile`
 * @param {(items: any[]) => void} [options.onDraw] called each time the list is drawn
 */
export function liveList({ label, emptyText, fetchItems, describeItem, onDraw }) {
  /** The items; null until they are loaded. @type {any[] | null} */
  let items = null,
    /** Resolves when the newest request is complete. @type {Promise<void> | null} */
    newestLoad = null,
    /** Number of requests, to ignore the responses and failures of all but the newest. */
    requestCount = 0,
    timer;
  const list = h("ul", { class: "settings-list", "aria-label": label });
  const status = statusLine(t("Loading…"));
  const drawItems = () => {
    if (items === null) return;
    status.textContent = items.length ? "" : emptyText;
    reconcile(list, items.map(describeItem));
    onDraw?.(items);
  };
  /** Load and draw the list, unless a newer request does; resolve when the newest request is complete, also if it failed. */
  const refresh = () => {
    newestLoad = fetchAndDraw();
    return newestLoad;
  };
  const fetchAndDraw = async () => {
    const requestNumber = (requestCount += 1);
    try {
      const loadedItems = await fetchItems();
      if (requestNumber === requestCount) {
        items = loadedItems;
        drawItems();
      }
    } catch (error) {
      if (requestNumber === requestCount) {
        if (items === null) status.textContent = t("The list could not be loaded.");
        showError(error);
      }
    }
    if (requestNumber !== requestCount) await newestLoad;
  };
  const loaded = refresh();
  return {
    /** Resolves when the list was loaded for the first time, or could not be loaded. */
    loaded,
    nodes: [status, list],
    draw: drawItems,
    refresh,
    /** Load the list again after a short delay, unless the screen is closed by then. */
    refreshSoon() {
      clearTimeout(timer);
      timer = setTimeout(() => list.isConnected && refresh(), LIST_RELOAD_DELAY_MS);
    },
    /** Focus the button with `name` in `data-focus` in the entry with a key; return whether it exists. */
    focus(key, name = "edit") {
      const row = /** @type {any[]} */ ([...list.children]).find(child => child.dataset.key === key);
      const button = row?.querySelector(`[data-focus="${name}"]`);
      button?.focus();
      return Boolean(button);
    },
  };
}
