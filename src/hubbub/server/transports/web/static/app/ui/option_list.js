/** The list of options of a combobox: the input keeps the focus, and the arrow keys move through the options. */

import { h, setChildren } from "./dom.js";

let listCount = 0;

/**
 * An option: `label` is its text, `hint` a further text beside it. `icon` is shown before the label, `trailing` at the end of
 * the line. `choose` is called when the user selects the option.
 *
 * @typedef {{label: string, hint?: string, icon?: Element | null, trailing?: Element | null, choose: () => void}} Option
 */

/** The options below an input. The caller places `node` and calls `setOptions` after each change of the input. */
export class OptionList {
  /** @type {Option[]} */
  #options = [];
  #active = -1;

  /**
   * @param {HTMLInputElement} input
   * @param {string} label
   */
  constructor(input, label) {
    this.input = input;
    this.node = h("ul", {
      class: "option-list",
      role: "listbox",
      id: `options-${(listCount += 1)}`,
      "aria-label": label,
      hidden: true,
    });
    input.setAttribute("role", "combobox");
    input.setAttribute("aria-autocomplete", "list");
    input.setAttribute("aria-controls", this.node.id);
    input.setAttribute("aria-expanded", "false");
    input.setAttribute("autocomplete", "off");
    input.setAttribute("spellcheck", "false");
  }

  get isOpen() {
    return this.#options.length > 0;
  }

  /** Show options; `active` is the index of the active one, or -1. @param {Option[]} options */
  setOptions(options, active = -1) {
    this.#options = options;
    this.node.hidden = !options.length;
    this.input.setAttribute("aria-expanded", String(this.isOpen));
    setChildren(
      this.node,
      options.map((option, index) =>
        h(
          "li",
          {
            id: `${this.node.id}-${index}`,
            role: "option",
            "aria-selected": "false",
            onpointerdown: event => event.preventDefault(),
            onclick: option.choose,
            onpointermove: () => this.#active !== index && this.#setActive(index, false),
          },
          option.icon ?? null,
          h("span", { class: "option-label", dir: "auto" }, option.label),
          option.hint ? h("span", { class: "muted small option-hint", dir: "auto" }, option.hint) : null,
          option.trailing ?? null,
        ),
      ),
    );
    this.#active = -1;
    this.#setActive(Math.min(active, options.length - 1));
  }

  close() {
    this.setOptions([]);
  }

  /** Handle a key of the input; return whether the list used it. */
  handleKey(event) {
    if (!this.isOpen || event.isComposing || event.altKey || event.ctrlKey || event.metaKey) return false;
    const count = this.#options.length;
    if (event.key === "ArrowDown") this.#setActive((this.#active + 1) % count);
    else if (event.key === "ArrowUp") this.#setActive(this.#active <= 0 ? count - 1 : this.#active - 1);
    else if ((event.key === "Enter" || (event.key === "Tab" && !event.shiftKey)) && this.#active >= 0)
      this.#options[this.#active].choose();
    else return false;
    event.preventDefault();
    return true;
  }

  #setActive(index, scrolls = true) {
    this.node.children[this.#active]?.setAttribute("aria-selected", "false");
    this.#active = index;
    const option = this.node.children[index];
    if (option === undefined) {
      this.input.removeAttribute("aria-activedescendant");
      return;
    }
    option.setAttribute("aria-selected", "true");
    this.input.setAttribute("aria-activedescendant", option.id);
    if (scrolls) option.scrollIntoView({ block: "nearest" });
  }
}
