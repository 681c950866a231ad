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
  #end = null;

  connectedCallback() {
    this.#end = watchChanges(
      this.context.state,
      /** @type {any} */ (this.constructor).kinds,
      () => this.isConnected && this.draw(),
    );
    this.begin();
    this.draw();
  }

  disconnectedCallback() {
    this.#end?.();
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

/** Call `react` after changes of the given kinds, once for several. Return a function that stops it. */
function watchChanges(state, kinds, react) {
  let waiting = false;
  const watchedKinds = new Set([...kinds, "ready"]);
  const listener = ({ detail }) => {
    if (waiting || !watchedKinds.has(detail.kind)) return;
    waiting = true;
    setTimeout(() => {
      waiting = false;
      react();
    });
  };
  state.addEventListener("change", listener);
  return () => state.removeEventListener("change", listener);
}
