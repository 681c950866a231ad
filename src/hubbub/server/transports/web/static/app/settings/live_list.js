/** Lists of the settings that are read from the API, and read again after changes by other people. */

import { h, reconcile } from "../ui/dom.js";
import { showError } from "../ui/notices.js";
import { statusLine } from "./layout.js";

/** Changes come together, so the list is read once after them. */
const RELOAD_DELAY_MS = 150;

/**
 * Return a list whose entries are read from the API.
 *
 * @param {object} options
 * @param {string} options.label
 * @param {string} options.emptyText
 * @param {() => Promise<any[]>} options.fetch
 * @param {(item: any) => {key: string, version: string, build: () => Element}} options.entry
 * @param {(items: any[]) => void} [options.onDraw] called each time the list is drawn
 */
export function liveList({ label, emptyText, fetch, entry, onDraw }) {
  /** The items; null until they are loaded. @type {any[] | null} */
  let items = null,
    /** The newest request. @type {Promise<void> | null} */
    newest = null,
    request = 0,
    timer;
  const list = h("ul", { class: "settings-list", "aria-label": label });
  const status = statusLine("Loading…");
  const draw = () => {
    if (items === null) return;
    status.textContent = items.length ? "" : emptyText;
    reconcile(list, items.map(entry));
    onDraw?.(items);
  };
  /** Read the list; resolve when it is drawn, by this request or by a newer one. */
  const load = () => {
    newest = read();
    return newest;
  };
  const read = async () => {
    const current = (request += 1);
    try {
      const found = await fetch();
      if (current !== request) {
        await newest;
        return;
      }
      items = found;
      draw();
    } catch (error) {
      if (items === null) status.textContent = "The list could not be loaded.";
      showError(error);
    }
  };
  const loaded = load();
  return {
    /** Resolves when the list was loaded for the first time. */
    loaded,
    nodes: [status, list],
    draw,
    load,
    /** Read the list again after a moment, unless the screen is closed. */
    loadSoon() {
      clearTimeout(timer);
      timer = setTimeout(() => list.isConnected && load(), RELOAD_DELAY_MS);
    },
    /** Focus the button of an entry that has this name in `data-focus`; return whether it exists. */
    focus(key, name = "edit") {
      const row = /** @type {any[]} */ ([...list.children]).find(child => child.dataset.key === key);
      const button = row?.querySelector(`[data-focus="${name}"]`);
      button?.focus();
      return Boolean(button);
    },
  };
}
