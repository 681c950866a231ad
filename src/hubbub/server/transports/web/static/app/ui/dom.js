/**
 * DOM helpers. Nodes are built, never parsed from markup, so user content cannot inject markup.
 *
 * @typedef {Node | string | number | null | undefined | false | Child[]} Child
 */

const SAFE_SCHEMES = new Set(["http:", "https:", "blob:"]);
const URL_ATTRIBUTES = new Set(["href", "src", "action", "formaction", "poster"]);
const FORBIDDEN_ATTRIBUTES = new Set(["innerHTML", "outerHTML", "srcdoc"]);

/** Return whether a URL may be used in links and media: http, https, blob or an image data URL. */
export function isSafeUrl(value) {
  let url;
  try {
    url = new URL(String(value), document.baseURI);
  } catch {
    return false;
  }
  return SAFE_SCHEMES.has(url.protocol) || /^data:image\/(png|gif|jpeg|webp);/i.test(url.href);
}

/**
 * Create an element: `h("button", {class: "quiet", onclick: save, disabled: !ready}, "Send")`.
 *
 * `on<event>` takes a function, `style` and `dataset` take objects, and `true` sets an attribute without a value.
 * `false`, `null` and `undefined` are skipped, and so are URLs that are not safe. `ref` is called with the element.
 *
 * @param {string} tag
 * @param {Record<string, any> | null} [attributes]
 * @param {...Child} children
 * @returns {any}
 */
export function h(tag, attributes, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes ?? {})) {
    if (value === false || value === null || value === undefined) continue;
    if (FORBIDDEN_ATTRIBUTES.has(name)) throw new TypeError(`${name} is not allowed`);
    if (name === "ref") value(node);
    else if (name === "style")
      for (const [property, setting] of Object.entries(value)) node.style.setProperty(property, String(setting));
    else if (name === "dataset") Object.assign(node.dataset, value);
    else if (name.startsWith("on")) {
      if (typeof value !== "function") throw new TypeError(`${name} takes a function`);
      node.addEventListener(name.slice(2).toLowerCase(), value);
    } else if (URL_ATTRIBUTES.has(name) && !isSafeUrl(value)) node.setAttribute("data-rejected", name);
    else if (name === "value" && "value" in node && tag !== "li" && tag !== "option") node.value = String(value);
    else node.setAttribute(name, value === true ? "" : String(value));
  }
  append(node, children);
  return node;
}

/** Replace the children of a node. */
export function setChildren(node, ...children) {
  node.replaceChildren();
  append(node, children);
  return node;
}

/** @param {Child[]} children */
function append(node, children) {
  for (const child of children) {
    if (Array.isArray(child)) append(node, child);
    else if (child !== null && child !== undefined && child !== false) {
      node.append(child instanceof Node ? child : document.createTextNode(String(child)));
    }
  }
}

/**
 * Update the children of a node to match a list. Unchanged children stay, with their focus and scroll position.
 *
 * @param {Element} node
 * @param {{key: string, version: string, build: () => Element}[]} entries `version` must change whenever `build` would return
 *   something else
 */
export function reconcile(node, entries) {
  const existingNodes = new Map();
  const keys = new Set(entries.map(entry => entry.key));
  // Removed children go first: a stale child before the others would make every one of them move.
  for (const child of /** @type {any[]} */ ([...node.children]))
    if (keys.has(child.dataset.key)) existingNodes.set(child.dataset.key, child);
    else child.remove();
  let next = node.firstElementChild;
  for (const { key, version, build } of entries) {
    let child = existingNodes.get(key);
    existingNodes.delete(key);
    if (child === undefined || child.dataset.version !== version) {
      const focusedElement = child?.contains(document.activeElement) ? document.activeElement : null;
      const builtNode = /** @type {any} */ (build());
      builtNode.dataset.key = key;
      builtNode.dataset.version = version;
      if (child === undefined) node.insertBefore(builtNode, next);
      else {
        if (child === next) next = next.nextElementSibling;
        child.replaceWith(builtNode);
        if (builtNode.nextElementSibling !== next) node.insertBefore(builtNode, next);
        if (focusedElement !== null) refocus(builtNode, focusedElement);
      }
      child = builtNode;
    } else if (child === next) next = next.nextElementSibling;
    else node.insertBefore(child, next);
  }
}

/** Focus the element of a rebuilt node that has the same `data-focus` as the previously focused one, else its first control. */
function refocus(node, focusedElement) {
  const name = focusedElement.dataset?.focus;
  const counterpart = name === undefined ? null : node.querySelector(`[data-focus="${CSS.escape(name)}"]`);
  (
    counterpart ?? (node.matches("a, button, [tabindex]") ? node : node.querySelector("a, button, [tabindex]"))
  )?.focus();
}

/** Return an icon of the built-in set. Screen readers ignore it. */
export function icon(name) {
  const svg = document.createElementNS("http://www.w3.org/2000/svg", "svg");
  svg.setAttribute("viewBox", "0 0 24 24");
  svg.setAttribute("class", DIRECTIONAL_ICONS.has(name) ? "icon directional" : "icon");
  svg.setAttribute("aria-hidden", "true");
  for (const pathData of ICON_PATHS[name] ?? ICON_PATHS.dot) {
    const path = document.createElementNS("http://www.w3.org/2000/svg", "path");
    path.setAttribute("d", pathData);
    svg.append(path);
  }
  return svg;
}

/** Icons that are mirrored in languages that are written from right to left. */
const DIRECTIONAL_ICONS = new Set("back forward leave left list quote reply right send thread".split(" "));

const ICON_PATHS = {
  dot: ["M12 10a2 2 0 1 0 0 4 2 2 0 0 0 0-4"],
  hash: ["M9 4 7 20M17 4l-2 16M4 9h16M4 15h16"],
  voice: ["M4 10v4h4l5 4V6l-5 4H4M16 9a4 4 0 0 1 0 6M18.5 6.5a8 8 0 0 1 0 11"],
  forum: ["M4 5h12v8H9l-3 3v-3H4V5M9 17h6l3 3v-3h2V9"],
  thread: ["M6 4v9a3 3 0 0 0 3 3h9M14 12l4 4-4 4"],
  megaphone: ["M4 10v4h3l9 4V6l-9 4H4M8 14l1 5h3M19 10v4"],
  people: [
    "M9 11a3.5 3.5 0 1 0 0-7 3.5 3.5 0 0 0 0 7M3 20c0-3.5 2.7-6 6-6s6 2.5 6 6M16 4.5a3.5 3.5 0 0 1 0 6M17 14.3c2.4.6 4 2.8 4 5.7",
  ],
  plus: ["M12 5v14M5 12h14"],
  check: ["M5 13l4 4L19 7"],
  close: ["M6 6l12 12M18 6 6 18"],
  menu: ["M4 7h16M4 12h16M4 17h16"],
  back: ["M15 5l-7 7 7 7"],
  search: ["M11 18a7 7 0 1 0 0-14 7 7 0 0 0 0 14M16 16l5 5"],
  pin: ["M9 4h6l-1 6 3 3H7l3-3-1-6M12 13v7"],
  reply: ["M10 6 4 12l6 6M4 12h9c4 0 7 2 7 6"],
  edit: ["M4 20l1-4L16 5l3 3L8 19l-4 1M14 7l3 3"],
  bin: ["M5 7h14M10 7V4h4v3M7 7l1 13h8l1-13M10 11v5M14 11v5"],
  smile: ["M12 21a9 9 0 1 0 0-18 9 9 0 0 0 0 18M8.5 14.5c1.8 2.4 5.2 2.4 7 0M9 9.5v.5M15 9.5v.5"],
  more: ["M6 12h.01M12 12h.01M18 12h.01"],
  link: ["M10 14a4 4 0 0 0 6 0l3-3a4 4 0 0 0-6-6l-1 1M14 10a4 4 0 0 0-6 0l-3 3a4 4 0 0 0 6 6l1-1"],
  file: ["M6 3h8l4 4v14H6V3M14 3v4h4"],
  microphone: ["M12 15a3 3 0 0 0 3-3V6a3 3 0 0 0-6 0v6a3 3 0 0 0 3 3M6 11v1a6 6 0 0 0 12 0v-1M12 18v3"],
  microphone_off: ["M12 15a3 3 0 0 0 3-3V6a3 3 0 0 0-6 0v6a3 3 0 0 0 3 3M6 11v1a6 6 0 0 0 12 0v-1M12 18v3M4 4l16 16"],
  ears: ["M5 14v-2a7 7 0 0 1 14 0v2M5 14h3v6H6a1 1 0 0 1-1-1v-5M19 14h-3v6h2a1 1 0 0 0 1-1v-5"],
  ears_off: ["M5 14v-2a7 7 0 0 1 14 0v2M5 14h3v6H6a1 1 0 0 1-1-1v-5M19 14h-3v6h2a1 1 0 0 0 1-1v-5M4 4l16 16"],
  leave: ["M10 5H5v14h5M14 8l4 4-4 4M18 12H9"],
  camera: ["M4 7h11v10H4V7M15 11l5-3v8l-5-3"],
  screen: ["M4 5h16v11H4V5M9 20h6M12 16v4M12 13V8M9.5 10.5 12 8l2.5 2.5"],
  hang_up: ["M3 14c0-5 18-5 18 0v2l-5-1v-2.5c-2.5-.7-5.5-.7-8 0V15l-5 1v-2"],
  signal: ["M5 19v-4", "M12 19v-9", "M19 19V5"],
  hand: [
    "M8 12V6a1.5 1.5 0 0 1 3 0v5M11 11V4.5a1.5 1.5 0 0 1 3 0V11",
    "M14 11V6a1.5 1.5 0 0 1 3 0v8a6 6 0 0 1-11 3l-2-4a1.5 1.5 0 0 1 2.5-1.5L8 14v-2",
  ],
  volume: ["M4 10v4h4l5 4V6l-5 4H4M16 9a4 4 0 0 1 0 6"],
  expand: ["M9 4H4v5M15 4h5v5M9 20H4v-5M15 20h5v-5"],
  picture: ["M4 5h16v14H4V5M12 12h6v5h-6v-5"],
  grid: ["M4 5h7v6H4V5M13 5h7v6h-7V5M4 13h7v6H4v-6M13 13h7v6h-7v-6"],
  speaker: ["M4 4h16v10H4V4M4 17h4v3H4v-3M10 17h4v3h-4v-3M16 17h4v3h-4v-3"],
  sound: ["M9 18V6l10-2v12M9 18a2.5 2.5 0 1 1-5 0 2.5 2.5 0 0 1 5 0M19 16a2.5 2.5 0 1 1-5 0 2.5 2.5 0 0 1 5 0"],
  lock: ["M6 11h12v9H6v-9M9 11V8a3 3 0 0 1 6 0v3"],
  send: ["M4 12 20 4l-5 16-3-6-8-2"],
  retry: ["M20 12a8 8 0 1 1-2.5-5.8M20 4v4h-4"],
  invite: ["M10 11a3.5 3.5 0 1 0 0-7 3.5 3.5 0 0 0 0 7M4 20c0-3.5 2.7-6 6-6 1.6 0 3 .6 4 1.5M18 14v6M15 17h6"],
  play: ["M8 5l11 7-11 7V5"],
  down: ["M6 9l6 6 6-6"],
  up: ["M6 15l6-6 6 6"],
  settings: ["M4 7h9M17 7h3M15 5v4M4 12h3M11 12h9M9 10v4M4 17h9M17 17h3M15 15v4"],
  flag: ["M6 21V4M6 4h12l-3 4.5 3 4.5H6"],
  shield: ["M12 3l7 3v5c0 5-3 8-7 10-4-2-7-5-7-10V6l7-3"],
  move: ["M9 6h.01M15 6h.01M9 12h.01M15 12h.01M9 18h.01M15 18h.01"],
  sticker: ["M5 5h14v9l-5 5H5V5M19 14h-5v5M9 10h.01M14 10h.01"],
  apps: ["M4 4h6v6H4V4M14 4h6v6h-6V4M4 14h6v6H4v-6M17 14v6M14 17h6"],
  calendar: ["M5 6h14v14H5V6M5 10h14M9 3v5M15 3v5"],
  tag: ["M4 4h8l8 8-8 8-8-8V4M8.5 8.5h.01"],
  key: ["M8 16a4 4 0 1 0 0-8 4 4 0 0 0 0 8M12 12h9v4M17 12v3"],
  filter: ["M4 5h16l-6 8v6l-4-2v-4L4 5"],
  history: ["M4 12a8 8 0 1 0 2.5-5.8M4 4v4h4M12 8v5l3 2"],
  minus: ["M5 12h14"],
  left: ["M15 5l-7 7 7 7"],
  right: ["M9 5l7 7-7 7"],
  open: ["M14 4h6v6M20 4l-9 9M18 14v6H4V6h6"],
  download: ["M12 4v11M7 11l5 5 5-5M5 20h14"],
  forward: ["M14 6l6 6-6 6M20 12h-9a7 7 0 0 0-7 7"],
  copy: ["M9 9h11v11H9V9M5 15H4V4h11v1"],
  book: ["M12 6c-2-1.6-5-2-8-2v14c3 0 6 .4 8 2 2-1.6 5-2 8-2V4c-3 0-6 .4-8 2v14"],
  bell: ["M6 17V11a6 6 0 0 1 12 0v6l2 2H4l2-2M10 21h4"],
  bell_off: ["M6 17V11a6 6 0 0 1 12 0v6l2 2H4l2-2M10 21h4M4 4l16 16"],
  mention: ["M16 12a4 4 0 1 0-4 4 4 4 0 0 0 4-4v1.5a2.5 2.5 0 0 0 5 0V12a9 9 0 1 0-4 7.5"],
  inbox: ["M4 13l3-8h10l3 8v6H4v-6M4 13h5l1 2h4l1-2h5"],
  globe: ["M12 21a9 9 0 1 0 0-18 9 9 0 0 0 0 18M3 12h18M12 3c3 2.5 4 5.5 4 9s-1 6.5-4 9c-3-2.5-4-5.5-4-9s1-6.5 4-9"],
  list: ["M9 6h11M9 12h11M9 18h11M4 6h.01M4 12h.01M4 18h.01"],
  hide: ["M3 12c4-7 14-7 18 0-4 7-14 7-18 0M12 15a3 3 0 1 0 0-6 3 3 0 0 0 0 6M4 4l16 16"],
  bold: ["M7 5h6a3.5 3.5 0 0 1 0 7H7V5M7 12h7a3.5 3.5 0 0 1 0 7H7v-7"],
  italic: ["M10 5h8M6 19h8M14 5l-4 14"],
  strike: ["M4 12h16M16 7c-1-2-8-3-8 1 0 1.5.7 2.4 2 3M8 17c1 2 8 3 8-1 0-.8-.2-1.4-.6-2"],
  code: ["M8 7l-5 5 5 5M16 7l5 5-5 5"],
  code_block: ["M4 4h16v16H4V4M10 9l-3 3 3 3M14 9l3 3-3 3"],
  quote: ["M5 5v14M10 8h9M10 12h9M10 16h5"],
  pause: ["M9 5v14M15 5v14"],
  block: ["M12 21a9 9 0 1 0 0-18 9 9 0 0 0 0 18M6 6l12 12"],
};
