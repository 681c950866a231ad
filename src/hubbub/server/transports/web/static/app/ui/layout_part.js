/** The base class of the custom elements of the client, and the function that creates them. */

import { drawInNextFrame } from "./frames.js";

/**
 * A custom element that renders part of the state. Set `context` before adding it to the page.
 *
 * Subclasses override `begin` (build the static nodes), `draw` (update after a change) and `end` (clean up).
 */
export class LayoutPart extends HTMLElement {
  /** The kinds of state changes after which `draw` is called. @type {string[]} */
  static kinds = [];
  /** Whether `draw` can change the state, so that it is called before other parts draw. */
  static isDrawnEarly = false;
  /** @type {import("../state/context.js").Context} */
  context;
  #stopWatching = null;
  #drawIfConnected = () => this.isConnected && this.draw();

  connectedCallback() {
    const { kinds } = /** @type {typeof LayoutPart} */ (this.constructor);
    this.#stopWatching = watchChanges(this.context.state, kinds, () => this.drawSoon());
    this.begin();
    this.draw();
  }

  disconnectedCallback() {
    this.#stopWatching?.();
    this.end();
  }

  /** Draw in the next frame, once for all calls until then. */
  drawSoon() {
    drawInNextFrame(this.#drawIfConnected, /** @type {typeof LayoutPart} */ (this.constructor).isDrawnEarly);
  }

  begin() {}
  end() {}
  draw() {}
}

/** Create a custom element, and set its context and other properties. */
export function createPart(tag, context, properties = {}) {
  const element = document.createElement(tag);
  Object.assign(element, { context }, properties);
  return /** @type {any} */ (element);
}

/** Call `onChange` after changes of these kinds and READY; return a function that stops it. */
function watchChanges(state, kinds, onChange) {
  const watchedKinds = new Set([...kinds, "ready"]);
  const listener = ({ detail }) => watchedKinds.has(detail.kind) && onChange();
  state.addEventListener("change", listener);
  return () => state.removeEventListener("change", listener);
}
