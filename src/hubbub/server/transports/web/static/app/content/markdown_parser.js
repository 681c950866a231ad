/**
 * Markdown parser for chat messages.
 *
 * The result is a tree of plain objects `{type, ...}`, most with `children`; `markdown.js` renders it. Input is at most a few
 * thousand characters and untrusted.
 */

const DEPTH_MAX = 12;
const PARSED_TEXTS_MAX = 50;
/**
 * Trees of the last parsed texts. A new message is parsed several times: to announce, label and render it.
 *
 * @type {Map<string, any[]>}
 */
const parsedTexts = new Map();
const FENCE_PATTERN = /(?<!\\)```(?:([a-z0-9_+#.-]{1,30})\n)?\n*([\s\S]*?[^\n])\n*```/gi;

const HEADING_PATTERN = /^(#{1,3})[ \t]+(\S.*)$/;
const SUBTEXT_PATTERN = /^-#[ \t]+(\S.*)$/;
const ITEM_PATTERN = /^( *)(?:([-*])|(\d{1,9})\.)[ \t]+(\S.*)$/;
const QUOTE_PATTERN = /^> ?(.*)$/;

/**
 * Parse a text into block nodes.
 *
 * @param {string} text
 * @returns {any[]}
 */
export function parseMarkdown(text) {
  const cached = parsedTexts.get(text);
  if (cached !== undefined) return cached;
  const nodes = parseBlocks(String(text).replace(/\r\n?/g, "\n"), 0);
  parsedTexts.set(text, nodes);
  if (parsedTexts.size > PARSED_TEXTS_MAX) parsedTexts.delete(parsedTexts.keys().next().value);
  return nodes;
}

function parseBlocks(text, depth) {
  const quoteMatch = /^([\s\S]*?(?:^|\n))>>> ?([\s\S]+)$/.exec(text);
  // `>>>` quotes the rest of the text, except inside a code block.
  if (quoteMatch !== null && depth < DEPTH_MAX && !isInFence(text, quoteMatch[1].length)) {
    return [
      ...parseBlocks(quoteMatch[1].replace(/\n$/, ""), depth),
      { type: "quote", children: parseBlocks(quoteMatch[2], depth + 1) },
    ];
  }
  const nodes = [];
  let textStart = 0;
  for (const match of text.matchAll(FENCE_PATTERN)) {
    const textBefore = text.slice(textStart, match.index);
    nodes.push(...parseLines(textBefore.replace(/\n$/, ""), depth));
    // In a quote, the code keeps the `> ` markers of its lines.
    nodes.push({ type: "block", language: match[1] ?? "", text: match[2] });
    textStart = match.index + match[0].length;
    if (text[textStart] === "\n") textStart += 1;
  }
  nodes.push(...parseLines(text.slice(textStart), depth));
  return nodes;
}

function isInFence(text, position) {
  for (const match of text.matchAll(FENCE_PATTERN)) {
    if (match.index < position && position < match.index + match[0].length) return true;
  }
  return false;
}

function parseLines(text, depth) {
  if (!text) return [];
  const nodes = [],
    lines = text.split("\n");
  let plainLines = [];
  const flush = () => {
    if (plainLines.length) nodes.push({ type: "lines", children: parseInline(plainLines.join("\n"), depth) });
    plainLines = [];
  };
  for (let index = 0; index < lines.length; ) {
    const line = lines[index];
    let match;
    if ((match = HEADING_PATTERN.exec(line)) !== null) {
      flush();
      nodes.push({ type: "heading", level: match[1].length, children: parseInline(match[2], depth) });
      index += 1;
    } else if ((match = SUBTEXT_PATTERN.exec(line)) !== null) {
      flush();
      nodes.push({ type: "subtext", children: parseInline(match[1], depth) });
      index += 1;
    } else if (line.startsWith("> ") && depth < DEPTH_MAX) {
      flush();
      const innerLines = [];
      while (index < lines.length && lines[index].startsWith("> "))
        innerLines.push(QUOTE_PATTERN.exec(lines[index++])[1]);
      nodes.push({ type: "quote", children: parseLines(innerLines.join("\n"), depth + 1) });
    } else if (ITEM_PATTERN.test(line) && depth < DEPTH_MAX) {
      flush();
      const items = [];
      while (index < lines.length && (match = ITEM_PATTERN.exec(lines[index])) !== null) {
        items.push({ indent: match[1].length, number: match[3], text: match[4] });
        index += 1;
      }
      nodes.push(...nestItems(items, depth));
    } else {
      plainLines.push(line);
      index += 1;
    }
  }
  flush();
  return nodes;
}

/** Nest list items by indentation. */
function nestItems(items, depth) {
  const lists = [];
  for (let index = 0; index < items.length; ) {
    const firstItem = items[index],
      ordered = firstItem.number !== undefined;
    const list = { type: "list", ordered, start: ordered ? Number(firstItem.number) : 1, items: [] };
    while (
      index < items.length &&
      items[index].indent <= firstItem.indent &&
      (items[index].number !== undefined) === ordered
    ) {
      const innerItems = [];
      const children = parseInline(items[index].text, depth);
      index += 1;
      while (index < items.length && items[index].indent > firstItem.indent) innerItems.push(items[index++]);
      list.items.push(
        innerItems.length && depth < DEPTH_MAX ? [...children, ...nestItems(innerItems, depth + 1)] : children,
      );
    }
    lists.push(list);
  }
  return lists;
}

// Inline rules, tried in this order at each character that can start markup. Everything else is text.

const LINK_LABEL = /\[((?:\\.|[^\[\]\\\n]|\[[^\[\]\n]*\])+)\]/.source;
const LINK_URL = /<?(https?:\/\/[^\s<>()]+(?:\([^\s<>()]*\)[^\s<>()]*)*)>?/.source;
const LINK_TITLE = /(?:\s+(?:"[^"\n]*"|'[^'\n]*'))?/.source;
/** `[label](https://example.com "title")`: the label may contain one level of brackets, the URL one level of parentheses. */
const MASKED_LINK_PATTERN = new RegExp(`${LINK_LABEL}\\(\\s*${LINK_URL}${LINK_TITLE}\\s*\\)`, "iy");

/** @type {[RegExp, (match: RegExpExecArray, depth: number) => any][]} */
const RULES = [
  [/\\([^\w\s])/y, match => ({ type: "text", text: match[1] })],
  [/(`+)([\s\S]*?[^`])\1(?!`)/y, match => ({ type: "code", text: trimCode(match[2]) })],
  [/<@!?(\d{1,19})>/y, match => ({ type: "user", id: match[1] })],
  [/<@&(\d{1,19})>/y, match => ({ type: "role", id: match[1] })],
  [/<#(\d{1,19})>/y, match => ({ type: "channel", id: match[1] })],
  [
    /<(a?):(\w{1,64}):(\d{1,19})>/y,
    match => ({ type: "emoji", animated: match[1] === "a", name: match[2], id: match[3] }),
  ],
  [/<\/([^<>:\n]{1,100}):(\d{1,19})>/y, match => ({ type: "command", name: match[1], id: match[2] })],
  [
    /<t:(-?\d{1,13})(?::([tTdDfFsSR]))?>/y,
    match => ({ type: "time", seconds: Number(match[1]), style: match[2] ?? "f" }),
  ],
  [/<(https?:\/\/[^\s<>]+)>/iy, match => link(match[1], [{ type: "text", text: match[1] }])],
  [/@(everyone|here)(?!\w)/y, match => ({ type: "everyone", text: match[0] })],
  [/https?:\/\/[^\s<]+/iy, match => autolink(match[0])],
  [MASKED_LINK_PATTERN, (match, depth) => link(match[2], parseInline(match[1], depth + 1, { isInLink: true }))],
  [/\|\|([\s\S]+?)\|\|/y, (match, depth) => ({ type: "spoiler", children: parseInline(match[1], depth + 1) })],
  [
    /\*\*\*(?=\S)([\s\S]*?[^\s*])\*\*\*(?!\*)/y,
    (match, depth) => wrap("em", [wrap("strong", parseInline(match[1], depth + 1))]),
  ],
  [
    /\*\*(?=\S)((?:\\.|[^\\])*?[^\s\\])\*\*(?!\*)/sy,
    (match, depth) => wrap("strong", parseInline(match[1], depth + 1)),
  ],
  [/__(?=\S)((?:\\.|[^\\])*?[^\s\\])__(?!_)/sy, (match, depth) => wrap("u", parseInline(match[1], depth + 1))],
  [/~~(?=\S)((?:\\.|[^\\])*?[^\s\\])~~(?!~)/sy, (match, depth) => wrap("s", parseInline(match[1], depth + 1))],
  [
    /\*(?=[^\s*])((?:\*\*|\\.|[^*\\])*?[^\s*\\])\*(?!\*)/sy,
    (match, depth) => wrap("em", parseInline(match[1], depth + 1)),
  ],
  [
    /(?<!\w)_(?=[^\s_])((?:__|\\.|[^_\\])*?[^\s_\\])_(?!\w)/sy,
    (match, depth) => wrap("em", parseInline(match[1], depth + 1)),
  ],
];
const MARKUP_START_PATTERN = /[\\`<@[|*_~h]/gi;

function parseInline(text, depth, { isInLink = false } = {}) {
  if (depth >= DEPTH_MAX) return text ? [{ type: "text", text }] : [];
  const nodes = [];
  let textStart = 0,
    position = 0;
  while (position < text.length) {
    MARKUP_START_PATTERN.lastIndex = position;
    const next = MARKUP_START_PATTERN.exec(text);
    if (next === null) break;
    position = next.index;
    const parsedMarkup = parseMarkup(text, position, depth, isInLink);
    if (parsedMarkup === null) {
      position += 1;
      continue;
    }
    if (position > textStart) pushText(nodes, text.slice(textStart, position));
    if (parsedMarkup.node.type === "text") pushText(nodes, parsedMarkup.node.text);
    else nodes.push(parsedMarkup.node);
    position = textStart = parsedMarkup.end;
  }
  if (textStart < text.length) pushText(nodes, text.slice(textStart));
  return nodes;
}

/** Return the node of the first rule that matches at a position, and the position after its markup; null if none matches. */
function parseMarkup(text, position, depth, isInLink) {
  for (const [rule, make] of RULES) {
    rule.lastIndex = position;
    const match = rule.exec(text);
    if (match === null) continue;
    const node = make(match, depth);
    // Links cannot be nested.
    if (node === null || (isInLink && node.type === "link")) continue;
    return { node, end: position + (node.length ?? match[0].length) };
  }
  return null;
}

function pushText(nodes, text) {
  const lastNode = nodes.at(-1);
  if (lastNode?.type === "text") lastNode.text += text;
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

/**
 * Return the plain text of a tree, for notifications, live regions and quotes.
 *
 * @param {any[]} nodes
 * @param {Record<string, (node: any) => string>} [mentionTexts] functions that return the text of a mention, by type of the node
 */
export function plainText(nodes, mentionTexts = {}) {
  return nodes
    .map(node => {
      if (node.type === "spoiler") return "▇▇▇";
      if (node.type === "list") return node.items.map(item => `• ${plainText(item, mentionTexts)}`).join(" ");
      if (node.children) return plainText(node.children, mentionTexts);
      if (node.type in mentionTexts) return mentionTexts[node.type](node);
      if (node.type === "emoji") return `:${node.name}:`;
      if (node.type === "command") return `/${node.name}`;
      return node.text ?? "";
    })
    .join("");
}
