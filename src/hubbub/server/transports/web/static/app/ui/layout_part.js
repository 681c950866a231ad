/** The base class of the custom elements of the client. */

/**
 * A custom element that renders part of the state. Set `context` before adding it to the page.
 *
 * Subclasses override `begin` (build the static nodes), `draw` (update after a change) and `end` (clean up).
 */
export class LayoutPart extends HTMLElement {
  /** The kinds of state changes after which `draw` is called. @type {string[]} */
  static kinds = [];
  /** @type {import("../state/context.js").Context} */
  context;
  #stopWatching = null;

  connectedCallback() {
    this.#stopWatching = watchChanges(
      this.context.state,
      /** @type {any} */ (this.constructor).kinds,
      () => this.isConnected && this.draw(),
    );
    this.begin();
    this.draw();
  }

  disconnectedCallback() {
    this.#stopWatching?.();
    this.end();
  }

  begin() {}
  end() {}
  draw() {}
}

/** Create a custom element with its context. */
export function createPart(tag, context, attributes = {}) {
  const element = document.createElement(tag);
  Object.assign(element, { context }, attributes);
  return /** @type {any} */ (element);
}

/** Call `onChange` after changes of the given kinds and READY, once for changes in one task; return a function that stops it. */
function watchChanges(state, kinds, onChange) {
  let isScheduled = false;
  const watchedKinds = new Set([...kinds, "ready"]);
  const listener = ({ detail }) => {
    if (isScheduled || !watchedKinds.has(detail.kind)) return;
    isScheduled = true;
    setTimeout(() => {
      isScheduled = false;
      onChange();
    });
  };
  state.addEventListener("change", listener);
  return () => state.removeEventListener("change", listener);
}
