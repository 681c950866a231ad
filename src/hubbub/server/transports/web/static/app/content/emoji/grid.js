/** The grid of the emoji picker. It builds only the rows near the visible part; the focus stays in the search field. */

import { h } from "../../ui/dom.js";
import { BACKWARD_KEY, FORWARD_KEY, t } from "../../ui/translation.js";
import { emojiElement } from "./element.js";

/** Cells of a row; the style sheet has the same number. */
const COLUMNS = 9;
/** Heights of rows and headings in rem; the style sheet has the same heights. */
const ROW_REM = 2.25,
  HEADING_REM = 1.9;
/** Height above and below the visible part where rows are built too. */
const MARGIN_PX = 200;
let gridCount = 0;

/**
 * A cell of the grid.
 *
 * @typedef {object} EmojiCell
 * @property {string} label
 * @property {{id?: string | null, name: string, animated?: boolean}} emoji
 */

/** A list of sections with emoji, of which one cell is active. */
export class EmojiGrid {
  /** The search field, which has the focus. @type {any} */
  input = null;
  #pick;
  #onActive;
  #content = h("div", { class: "emoji-rows", role: "presentation" });
  #status = h("p", { class: "muted small emoji-status", role: "status", hidden: true });
  /** Headings and rows with their distance from the top. @type {any[]} */
  #rows = [];
  /** Row and column of the active cell. */
  #active = { row: -1, column: 0 };
  /** Whether the user has moved into the grid with an arrow key. */
  #isEntered = false;
  #built = new Map();

  /** @param {{pick: (emoji: any, event?: any) => void, onActive: (cell: any) => void}} options */
  constructor({ pick, onActive }) {
    this.#pick = pick;
    this.#onActive = onActive;
    this.node = h(
      "div",
      { class: "emoji-grid", role: "listbox", "aria-label": t("Emoji"), id: `emoji-grid-${(gridCount += 1)}` },
      this.#content,
      this.#status,
    );
    this.node.addEventListener("scroll", () => this.draw(), { passive: true });
  }

  /**
   * Replace the sections, scroll to the top and activate the first cell.
   *
   * @param {{label: string | null, cells: EmojiCell[]}[]} sections
   */
  setSections(sections) {
    const rem = parseFloat(getComputedStyle(document.documentElement).fontSize);
    let top = 0;
    this.#rows = [];
    const add = (row, height) => {
      this.#rows.push({ ...row, top, height });
      top += height;
    };
    sections.forEach(({ label, cells }, section) => {
      if (label !== null) add({ label, section }, HEADING_REM * rem);
      for (let index = 0; index < cells.length; index += COLUMNS)
        add({ cells: cells.slice(index, index + COLUMNS), section }, ROW_REM * rem);
    });
    this.#content.style.setProperty("height", `${top}px`);
    this.#content.replaceChildren();
    this.#built.clear();
    this.#isEntered = false;
    this.node.scrollTop = 0;
    this.#setActive(
      this.#rows.findIndex(row => row.cells),
      0,
    );
  }

  /** Set the text that is shown while there are no emoji. */
  setStatus(text) {
    const isEmpty = this.#rows.length === 0;
    // A list box without options is invalid.
    this.node.setAttribute("role", isEmpty ? "group" : "listbox");
    this.#status.hidden = !isEmpty;
    this.#status.textContent = isEmpty ? text : "";
  }

  /** Build the active row and the rows near the visible part, and remove the others. */
  draw() {
    const { scrollTop, clientHeight } = this.node;
    const isNear = row =>
      row.top + row.height > scrollTop - MARGIN_PX && row.top < scrollTop + clientHeight + MARGIN_PX;
    this.#rows.forEach((row, index) => {
      const isShown = isNear(row) || index === this.#active.row;
      if (isShown === this.#built.has(index)) return;
      if (isShown) {
        const node = row.cells ? this.#buildRow(row, index) : h("p", { class: "emoji-heading" }, row.label);
        node.style.setProperty("top", `${row.top}px`);
        this.#built.set(index, node);
        this.#content.append(node);
      } else {
        this.#built.get(index).remove();
        this.#built.delete(index);
      }
    });
  }

  /** Handle a key in the search field; return whether the grid used it. */
  handleKey(event) {
    if (event.ctrlKey || event.metaKey || event.altKey) return false;
    if (event.key === "Enter") return this.pickActive(event);
    const { row, column } = this.#active;
    if (row < 0) return false;
    if (!this.#isEntered) {
      if (event.key !== "ArrowDown") return false;
      this.#isEntered = true;
      this.#setActive(row, column);
      return true;
    }
    const move = {
      ArrowDown: () => this.#moveToRow(1),
      ArrowUp: () => this.#moveToRow(-1),
      [FORWARD_KEY]: () => this.#moveToCell(1),
      [BACKWARD_KEY]: () => this.#moveToCell(-1),
    }[event.key];
    move?.();
    return move !== undefined;
  }

  /** Pick the active emoji, if there is one. Return true: the grid uses the Enter key in any case. */
  pickActive(event = undefined) {
    const cell = this.#rows[this.#active.row]?.cells[this.#active.column];
    if (cell !== undefined) this.#pick(cell.emoji, event);
    return true;
  }

  /** Scroll to the start of a section and activate its first cell. */
  scrollToSection(section) {
    this.node.scrollTop = this.#rows.find(row => row.section === section).top;
    this.#setActive(
      this.#rows.findIndex(row => row.section === section && row.cells),
      0,
      { scrollsIntoView: false },
    );
  }

  /** Move down (1) or up (-1) by a row; above the first row, the arrow keys move in the search field again. */
  #moveToRow(step) {
    let row = this.#active.row + step;
    while (this.#rows[row] && !this.#rows[row].cells) row += step;
    if (row < 0) this.#isEntered = false;
    if (this.#rows[row]) this.#setActive(row, Math.min(this.#active.column, this.#rows[row].cells.length - 1));
  }

  /** Move to the next (1) or previous (-1) cell, also in another row. */
  #moveToCell(step) {
    const { row, column } = this.#active;
    if (this.#rows[row].cells[column + step]) this.#setActive(row, column + step);
    else {
      this.#active.column = step > 0 ? 0 : COLUMNS - 1;
      this.#moveToRow(step);
    }
  }

  #setActive(row, column, { scrollsIntoView = true } = {}) {
    this.#cellNode(this.#active)?.setAttribute("aria-selected", "false");
    this.#active = { row, column };
    const active = this.#rows[row];
    if (active && scrollsIntoView) {
      const { scrollTop, clientHeight } = this.node;
      // The heading above the first row of a section comes into view with it.
      const top = this.#rows[row - 1]?.cells ? active.top : (this.#rows[row - 1]?.top ?? active.top);
      if (top < scrollTop) this.node.scrollTop = top;
      else if (active.top + active.height > scrollTop + clientHeight)
        this.node.scrollTop = active.top + active.height - clientHeight;
    }
    this.draw();
    const node = this.#cellNode(this.#active);
    node?.setAttribute("aria-selected", "true");
    if (node) this.input?.setAttribute("aria-activedescendant", node.id);
    else this.input?.removeAttribute("aria-activedescendant");
    const cell = active?.cells[column];
    this.#onActive(cell ? { label: cell.label, build: () => emojiElement(cell.emoji) } : null);
  }

  #cellNode({ row, column }) {
    return this.#built.get(row)?.children[column];
  }

  #buildRow({ cells }, row) {
    return h(
      "div",
      { class: "emoji-row", role: "presentation" },
      cells.map(({ label, emoji }, column) =>
        h(
          "button",
          {
            type: "button",
            role: "option",
            tabindex: "-1",
            id: `${this.node.id}-${row}-${column}`,
            "aria-label": label,
            "aria-selected": "false",
            title: label,
            onpointerenter: () => this.#setActive(row, column, { scrollsIntoView: false }),
            onclick: event => this.#pick(emoji, event),
          },
          emojiElement(emoji),
        ),
      ),
    );
  }
}
