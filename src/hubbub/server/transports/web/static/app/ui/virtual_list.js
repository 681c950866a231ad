/** A list that builds only the entries near the visible part, for thousands of entries with known heights. */

import { h, reconcile } from "./dom.js";

/** Height above and below the visible part where entries are built too, so that short scrolls show no gaps. */
const MARGIN_PX = 400;

/**
 * An entry of a virtual list.
 *
 * @typedef {object} VirtualEntry
 * @property {string} key
 * @property {string} version changes when the entry must be built again
 * @property {number} height in pixels
 * @property {boolean} [isFocusable] whether the arrow keys stop at the entry, which then has a button or link
 * @property {() => HTMLElement} build returns a list item
 */

/** The entries in a scrolling element. One entry is in the tab order; the arrow keys, Home and End move between entries. */
export class VirtualList {
  /** @type {VirtualEntry[]} */
  #entries = [];
  /** Distance of each entry from the top in pixels. */
  #tops = [];
  #focusKey = null;
  #scroller;
  #onShow;

  /** `onShow` is called with the built entries each time the list is drawn. */
  constructor(scroller, attributes, onShow = () => {}) {
    this.#scroller = scroller;
    this.#onShow = onShow;
    this.node = h("ul", { ...attributes, onkeydown: event => this.#onKeydown(event) });
    this.node.classList.add("virtual-list");
    this.node.addEventListener("focusin", event => {
      const key = event.target.closest("li")?.dataset.key;
      if (key) this.#focusKey = key;
    });
    scroller.addEventListener("scroll", () => this.draw(), { passive: true });
  }

  /** Replace all entries. @param {VirtualEntry[]} entries */
  set entries(entries) {
    this.#entries = entries;
    let top = 0;
    this.#tops = entries.map(entry => {
      const entryTop = top;
      top += entry.height;
      return entryTop;
    });
    this.node.style.setProperty("height", `${top}px`);
    this.draw();
  }

  /** Build the entries near the visible part and a focused entry, and remove the others. */
  draw() {
    const { scrollTop, clientHeight } = this.#scroller;
    const firstIndex = this.#indexAt(scrollTop - MARGIN_PX),
      lastIndex = this.#indexAt(scrollTop + clientHeight + MARGIN_PX);
    const indexes = Array.from({ length: lastIndex + 1 - firstIndex }, (_, offset) => firstIndex + offset).filter(
      index => index in this.#entries,
    );
    let tabStopIndex = this.#findTabStopIndex();
    if (tabStopIndex >= 0 && !indexes.includes(tabStopIndex)) {
      // Keep a focused entry in the page, so that scrolling does not lose the focus.
      if (this.node.contains(document.activeElement)) indexes.push(tabStopIndex);
      else tabStopIndex = indexes.find(index => this.#entries[index].isFocusable) ?? -1;
    }
    const shownEntries = indexes.map(index => this.#entries[index]);
    reconcile(
      this.node,
      indexes.map(index => {
        const entry = this.#entries[index];
        return {
          key: entry.key,
          version: `${entry.version} ${this.#tops[index]} ${this.#entries.length}`,
          build: () => this.#place(entry.build(), index),
        };
      }),
    );
    // Building an entry again would move the focus, so the version of an entry leaves out the tab order.
    indexes.forEach((index, position) => {
      const control = this.node.children[position].querySelector("button, a");
      control?.setAttribute("tabindex", index === tabStopIndex ? "0" : "-1");
    });
    this.#onShow(shownEntries);
  }

  #place(listItem, index) {
    listItem.style.setProperty("top", `${this.#tops[index]}px`);
    listItem.style.setProperty("height", `${this.#entries[index].height}px`);
    listItem.setAttribute("aria-setsize", String(this.#entries.length));
    listItem.setAttribute("aria-posinset", String(index + 1));
    return listItem;
  }

  /** Return the index of the entry in the tab order: the last focused one, or the first that can be focused. */
  #findTabStopIndex() {
    const index = this.#entries.findIndex(entry => entry.key === this.#focusKey && entry.isFocusable);
    return index >= 0 ? index : this.#entries.findIndex(entry => entry.isFocusable);
  }

  #indexAt(distance) {
    let low = 0,
      high = this.#entries.length - 1;
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if (this.#tops[middle] <= distance) low = middle;
      else high = middle - 1;
    }
    return low;
  }

  #onKeydown(event) {
    const currentIndex = this.#findTabStopIndex(),
      lastIndex = this.#entries.length - 1;
    const [from, step] =
      { ArrowDown: [currentIndex + 1, 1], ArrowUp: [currentIndex - 1, -1], Home: [0, 1], End: [lastIndex, -1] }[
        event.key
      ] ?? [];
    if (step === undefined) return;
    event.preventDefault();
    let index = from;
    while (index >= 0 && index <= lastIndex && !this.#entries[index].isFocusable) index += step;
    if (index < 0 || index > lastIndex) return;
    const { key } = this.#entries[index];
    this.#focusKey = key;
    this.#scrollTo(index);
    this.draw();
    this.node.querySelector(`[data-key="${CSS.escape(key)}"] :is(button, a)`)?.focus({ preventScroll: true });
  }

  #scrollTo(index) {
    const top = this.#tops[index],
      { height } = this.#entries[index];
    const { scrollTop, clientHeight } = this.#scroller;
    if (top < scrollTop) this.#scroller.scrollTop = index ? top : 0;
    else if (top + height > scrollTop + clientHeight) this.#scroller.scrollTop = top + height - clientHeight;
  }
}
