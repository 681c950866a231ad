/** Colors in code blocks, with highlight.js. The library is loaded for the first block with a language (decisions/0084). */

import { h } from "../ui/dom.js";

/** The library, or null if it could not be loaded; undefined before the first use. @type {Promise<any> | undefined} */
let library;

/** Color the code of an element that contains only text. Unknown languages, and a server without the library, change nothing. */
export function highlightCode(element, language) {
  const meta = /** @type {HTMLMetaElement | null} */ (document.querySelector("meta[name=hubbub-client]"));
  if (meta?.dataset.highlighter === undefined) return;
  library ??= loadLibrary();
  library.then(highlighter => {
    if (highlighter === null || highlighter.getLanguage(language) === undefined) return;
    const result = highlighter.highlight(element.textContent, { language, ignoreIllegals: true });
    element.replaceChildren(...result._emitter.root.childNodes);
  });
}

async function loadLibrary() {
  try {
    const { default: highlighter } = await import("../third_party/highlight.js");
    // The default emitter returns markup, which the Content Security Policy of the page forbids.
    highlighter.configure({ __emitter: NodeEmitter });
    return highlighter;
  } catch (error) {
    console.error(error);
    return null;
  }
}

/** An emitter of the library that builds nodes from tokens. The library calls all methods. */
class NodeEmitter {
  root = h("span");
  #open = [this.root];

  addText(text) {
    this.#open.at(-1).append(text);
  }

  /** Start a token of a kind, such as "keyword" or "title.function". */
  openNode(kind) {
    const span = h("span", { class: `code-${kind.split(".")[0]}` });
    this.#open.at(-1).append(span);
    this.#open.push(span);
  }

  closeNode() {
    if (this.#open.length > 1) this.#open.pop();
  }

  startScope(kind) {
    this.openNode(kind);
  }

  endScope() {
    this.closeNode();
  }

  /** Add the tokens of code in another language, for example a script in a page. */
  __addSublanguage(emitter) {
    this.#open.at(-1).append(...emitter.root.childNodes);
  }

  finalize() {}

  toHTML() {
    return "";
  }
}
