/** The place of the search pane: beside the view, or over it in a narrow window. */

import { h, setChildren } from "./ui/dom.js";
import { createPart } from "./ui/layout_part.js";
import { loadModule } from "./ui/lazy_modules.js";
import { t } from "./ui/translation.js";

/** Return the ID of the guild or private channel that a search covers, or null. */
const scopeOf = context => context.guildId ?? context.channelId;

/** The search pane of the shell. It keeps its results until the user goes to another guild or conversation. */
export class SearchArea {
  #context;
  #onToggle;
  #previousFocus = null;

  /** `onToggle` is called after the pane was opened or closed. */
  constructor(context, onToggle) {
    this.#context = context;
    this.#onToggle = onToggle;
    this.node = h("aside", { class: "search-pane", "aria-label": t("Search"), hidden: true });
  }

  get isOpen() {
    return !this.node.hidden;
  }

  /** Open the pane for the guild or conversation in view, and focus its field. */
  async open() {
    const scope = scopeOf(this.#context);
    if (scope === null || (await loadModule(() => import("./finding/search/pane.js"))) === null) return;
    if (scope !== scopeOf(this.#context)) return;
    if (!this.isOpen) this.#previousFocus = document.activeElement;
    if (this.node.dataset.scope !== scope || !this.node.firstElementChild) {
      this.node.dataset.scope = scope;
      const { guildId, channelId } = this.#context;
      const context = Object.create(this.#context, { guildId: { value: guildId }, channelId: { value: channelId } });
      setChildren(
        this.node,
        createPart("hubbub-search", context, { onClose: () => this.close(), onOpen: () => this.#onOpen() }),
      );
    }
    this.node.hidden = false;
    this.#onToggle();
    /** @type {any} */ (this.node.firstElementChild).focusField();
  }

  /** Hide the pane. Its results stay until the user leaves the guild or conversation. */
  close() {
    if (!this.isOpen) return;
    const hadFocus = this.node.contains(document.activeElement);
    this.node.hidden = true;
    this.#onToggle();
    const target = this.#previousFocus?.isConnected
      ? this.#previousFocus
      : document.querySelector(".view textarea.compose");
    if (hadFocus) /** @type {HTMLElement | null} */ (target)?.focus();
  }

  /** Close the pane if the view left its guild or conversation. */
  closeIfLeft() {
    if (this.node.firstElementChild === null || this.node.dataset.scope === scopeOf(this.#context)) return;
    this.close();
    setChildren(this.node);
  }

  /** In a narrow window, uncover the view that shows the opened message. */
  #onOpen() {
    if (!window.matchMedia("(min-width: 64rem)").matches) this.close();
  }
}
