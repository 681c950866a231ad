/**
 * Markdown parser for chat messages.
 *
 * Returns a tree of plain objects `{type, ...}`, most with `children`; markdown.js builds the nodes. Input is at most a few
 * thousand characters and untrusted.
 */

const DEPTH_MAX = 12;
const FENCE = /(?<!\\)```(?:([a-z0-9_+#.-]{1,30})\n)?\n*([\s\S]*?[^\n])\n*```/gi;

const HEADING = /^(#{1,3})[ \t]+(\S.*)$/;
const SUBTEXT = /^-#[ \t]+(\S.*)$/;
const ITEM = /^( *)(?:([-*])|(\d{1,9})\.)[ \t]+(\S.*)$/;
const QUOTE = /^> ?(.*)$/;

/**
 * Parse a text.
 *
 * @param {string} text
 * @returns {any[]}
 */
export function parse(text) {
  return parseBlocks(String(text).replace(/\r\n?/g, "\n"), 0);
}

function parseBlocks(text, depth) {
  const rest = /^([\s\S]*?(?:^|\n))>>> ?([\s\S]+)$/.exec(text);
  // `>>>` quotes the rest of the text, except inside a code block.
  if (rest !== null && depth < DEPTH_MAX && !inFence(text, rest[1].length)) {
    return [
      ...parseBlocks(rest[1].replace(/\n$/, ""), depth),
      { type: "quote", children: parseBlocks(rest[2], depth + 1) },
    ];
  }
  const nodes = [];
  let from = 0;
  for (const found of text.matchAll(FENCE)) {
    const before = text.slice(from, found.index);
    // A code block inside a quoted line includes the quote markers of its lines.
    nodes.push(...parseLines(before.replace(/\n$/, ""), depth));
    nodes.push({ type: "block", language: found[1] ?? "", text: found[2] });
    from = found.index + found[0].length;
    if (text[from] === "\n") from += 1;
  }
  nodes.push(...parseLines(text.slice(from), depth));
  return nodes;
}

function inFence(text, position) {
  for (const found of text.matchAll(FENCE)) {
    if (found.index < position && position < found.index + found[0].length) return true;
  }
  return false;
}

function parseLines(text, depth) {
  if (!text) return [];
  const nodes = [],
    lines = text.split("\n");
  let plain = [];
  const flush = () => {
    if (plain.length) nodes.push({ type: "lines", children: parseInline(plain.join("\n"), depth) });
    plain = [];
  };
  for (let at = 0; at < lines.length; ) {
    const line = lines[at];
    let found;
    if ((found = HEADING.exec(line)) !== null) {
      flush();
      nodes.push({ type: "heading", level: found[1].length, children: parseInline(found[2], depth) });
      at += 1;
    } else if ((found = SUBTEXT.exec(line)) !== null) {
      flush();
      nodes.push({ type: "subtext", children: parseInline(found[1], depth) });
      at += 1;
    } else if (line.startsWith("> ") && depth < DEPTH_MAX) {
      flush();
      const inside = [];
      while (at < lines.length && lines[at].startsWith("> ")) inside.push(QUOTE.exec(lines[at++])[1]);
      nodes.push({ type: "quote", children: parseLines(inside.join("\n"), depth + 1) });
    } else if (ITEM.test(line) && depth < DEPTH_MAX) {
      flush();
      const items = [];
      while (at < lines.length && (found = ITEM.exec(lines[at])) !== null) {
        items.push({ indent: found[1].length, number: found[3], text: found[4] });
        at += 1;
      }
      nodes.push(...nest(items, depth));
    } else {
      plain.push(line);
      at += 1;
    }
  }
  flush();
  return nodes;
}

/** Nest list items by indentation. */
function nest(items, depth) {
  const lists = [];
  for (let at = 0; at < items.length; ) {
    const first = items[at],
      ordered = first.number !== undefined;
    const list = { type: "list", ordered, start: ordered ? Number(first.number) : 1, items: [] };
    while (at < items.length && items[at].indent <= first.indent && (items[at].number !== undefined) === ordered) {
      const inside = [];
      const children = parseInline(items[at].text, depth);
      at += 1;
      while (at < items.length && items[at].indent > first.indent) inside.push(items[at++]);
      list.items.push(inside.length && depth < DEPTH_MAX ? [...children, ...nest(inside, depth + 1)] : children);
    }
    lists.push(list);
  }
  return lists;
}

// Inline rules, tried in this order at each character that can start markup. Everything else is text.

/** `[label](https://example.com "title")`: the label may contain one level of brackets, the URL one level of parentheses. */
const LINK_LABEL = /\[((?:\\.|[^\[\]\\\n]|\[[^\[\]\n]*\])+)\]/.source;
const LINK_URL = /<?(https?:\/\/[^\s<>()]+(?:\([^\s<>()]*\)[^\s<>()]*)*)>?/.source;
const LINK_TITLE = /(?:\s+(?:"[^"\n]*"|'[^'\n]*'))?/.source;
const MASKED_LINK = new RegExp(`${LINK_LABEL}\\(\\s*${LINK_URL}${LINK_TITLE}\\s*\\)`, "iy");

/** @type {[RegExp, (found: RegExpExecArray, depth: number) => any][]} */
const RULES = [
  [/\\([^\w\s])/y, found => ({ type: "text", text: found[1] })],
  [/(`+)([\s\S]*?[^`])\1(?!`)/y, found => ({ type: "code", text: trimCode(found[2]) })],
  [/<@!?(\d{1,19})>/y, found => ({ type: "user", id: found[1] })],
  [/<@&(\d{1,19})>/y, found => ({ type: "role", id: found[1] })],
  [/<#(\d{1,19})>/y, found => ({ type: "channel", id: found[1] })],
  [
    /<(a?):(\w{1,64}):(\d{1,19})>/y,
    found => ({ type: "emoji", animated: found[1] === "a", name: found[2], id: found[3] }),
  ],
  [/<\/([^<>:\n]{1,100}):(\d{1,19})>/y, found => ({ type: "command", name: found[1], id: found[2] })],
  [
    /<t:(-?\d{1,13})(?::([tTdDfFsSR]))?>/y,
    found => ({ type: "time", seconds: Number(found[1]), style: found[2] ?? "f" }),
  ],
  [/<(https?:\/\/[^\s<>]+)>/iy, found => link(found[1], [{ type: "text", text: found[1] }])],
  [/@(everyone|here)(?!\w)/y, found => ({ type: "everyone", text: found[0] })],
  [/https?:\/\/[^\s<]+/iy, found => autolink(found[0])],
  [MASKED_LINK, (found, depth) => link(found[2], parseInline(found[1], depth + 1, true))],
  [/\|\|([\s\S]+?)\|\|/y, (found, depth) => ({ type: "spoiler", children: parseInline(found[1], depth + 1) })],
  [
    /\*\*\*(?=\S)([\s\S]*?[^\s*])\*\*\*(?!\*)/y,
    (found, depth) => wrap("em", [wrap("strong", parseInline(found[1], depth + 1))]),
  ],
  [
    /\*\*(?=\S)((?:\\.|[^\\])*?[^\s\\])\*\*(?!\*)/sy,
    (found, depth) => wrap("strong", parseInline(found[1], depth + 1)),
  ],
  [/__(?=\S)((?:\\.|[^\\])*?[^\s\\])__(?!_)/sy, (found, depth) => wrap("u", parseInline(found[1], depth + 1))],
  [/~~(?=\S)((?:\\.|[^\\])*?[^\s\\])~~(?!~)/sy, (found, depth) => wrap("s", parseInline(found[1], depth + 1))],
  [
    /\*(?=[^\s*])((?:\*\*|\\.|[^*\\])*?[^\s*\\])\*(?!\*)/sy,
    (found, depth) => wrap("em", parseInline(found[1], depth + 1)),
  ],
  [
    /(?<!\w)_(?=[^\s_])((?:__|\\.|[^_\\])*?[^\s_\\])_(?!\w)/sy,
    (found, depth) => wrap("em", parseInline(found[1], depth + 1)),
  ],
];
const MARKUP_START = /[\\`<@[|*_~h]/gi;

function parseInline(text, depth, inLink = false) {
  if (depth >= DEPTH_MAX) return text ? [{ type: "text", text }] : [];
  const nodes = [];
  let from = 0,
    at = 0;
  while (at < text.length) {
    MARKUP_START.lastIndex = at;
    const next = MARKUP_START.exec(text);
    if (next === null) break;
    at = next.index;
    const node = ruleAt(text, at, depth, inLink);
    if (node === null) {
      at += 1;
      continue;
    }
    if (at > from) pushText(nodes, text.slice(from, at));
    if (node.node.type === "text") pushText(nodes, node.node.text);
    else nodes.push(node.node);
    at = from = node.end;
  }
  if (from < text.length) pushText(nodes, text.slice(from));
  return nodes;
}

function ruleAt(text, at, depth, inLink) {
  for (const [rule, make] of RULES) {
    rule.lastIndex = at;
    const found = rule.exec(text);
    if (found === null) continue;
    const node = make(found, depth);
    // Links cannot be nested.
    if (node === null || (inLink && node.type === "link")) continue;
    return { node, end: at + (node.length ?? found[0].length) };
  }
  return null;
}

function pushText(nodes, text) {
  const last = nodes.at(-1);
  if (last?.type === "text") last.text += text;
  else nodes.push({ type: "text", text });
}

const wrap = (type, children) => ({ type, children });

/** Strip one space that separates code from a backtick at its edge. */
function trimCode(text) {
  return /^ .*`.* $|^ `| ` $|` $/.test(text) && text.trim() ? text.replace(/^ | $/g, "") : text;
}

/** Return a link node, or null if the URL is not http or https. */
function link(href, children) {
  let url;
  try {
    url = new URL(href);
  } catch {
    return null;
  }
  if (url.protocol !== "https:" && url.protocol !== "http:") return null;
  return { type: "link", href: url.href, children };
}

/** Return a link for a bare URL, without trailing punctuation. */
function autolink(text) {
  let href = text;
  for (;;) {
    const shorter = href.replace(/[.,:;!?'"*_|~]+$/, "");
    const open = shorter.split("(").length,
      close = shorter.split(")").length;
    const next = shorter.endsWith(")") && close > open ? shorter.slice(0, -1) : shorter;
    if (next === href) break;
    href = next;
  }
  if (href.length <= "https://".length) return null;
  const node = link(href, [{ type: "text", text: href }]);
  return node === null ? null : { ...node, length: href.length };
}

/** Return the plain text of a tree, for notifications, live regions and quotes. */
export function plain(nodes) {
  return nodes
    .map(node => {
      if (node.type === "spoiler") return "▇▇▇";
      if (node.type === "list") return node.items.map(item => `• ${plain(item)}`).join(" ");
      if (node.children) return plain(node.children);
      if (node.type === "emoji") return `:${node.name}:`;
      if (node.type === "command") return `/${node.name}`;
      return node.text ?? "";
    })
    .join("");
}
