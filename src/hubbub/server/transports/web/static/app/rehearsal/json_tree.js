/** A JSON value as a tree whose objects and lists can be collapsed. */

import { h } from "../ui/dom.js";

const OPEN_DEPTH = 2;
const PREVIEW_LENGTH_MAX = 60;

/** Return the tree of a JSON text; other texts are shown as they are. */
export function jsonTree(text) {
  if (text === "") return h("p", { class: "muted small" }, "Empty");
  let value;
  try {
    value = JSON.parse(text);
  } catch {
    return h("pre", { class: "payload", tabindex: "0" }, text);
  }
  return h("div", { class: "json-tree payload" }, treeNode(null, value, 0));
}

function treeNode(key, value, depth) {
  const label = key === null ? null : h("span", { class: "json-key" }, `${key}: `);
  if (value === null || typeof value !== "object")
    return h("div", { class: "json-leaf" }, label, h("span", { class: `json-${typeof value}` }, JSON.stringify(value)));
  const entries = Object.entries(value);
  const [open, close] = Array.isArray(value) ? ["[", "]"] : ["{", "}"];
  if (entries.length === 0) return h("div", { class: "json-leaf" }, label, open + close);
  const body = h("div", { class: "json-children" });
  const node = h(
    "details",
    {
      open: depth < OPEN_DEPTH,
      // Children of a closed object are built when it is opened.
      ontoggle: () => node.open && buildChildren(),
    },
    h("summary", null, label, h("span", { class: "muted" }, preview(value, open, close))),
    body,
  );
  function buildChildren() {
    if (body.childElementCount === 0) body.append(...entries.map(([name, item]) => treeNode(name, item, depth + 1)));
  }
  if (depth < OPEN_DEPTH) buildChildren();
  return node;
}

function preview(value, open, close) {
  if (Array.isArray(value)) return `${open}${value.length}${close}`;
  const names = Object.keys(value).join(", ");
  return `${open}${names.length > PREVIEW_LENGTH_MAX ? `${names.slice(0, PREVIEW_LENGTH_MAX)}…` : names}${close}`;
}
