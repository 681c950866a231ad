/**
 * Markdown as people write it in chat, to a tree of plain objects: `{type, ...}`, most with `children`. No markup comes out of it; what is
 * shown is built node by node (markdown.js). Written for messages: at most some thousand characters, any of them hostile.
 */

const DEPTH_MOST = 12;
const FENCE = /(?<!\\)```(?:([a-z0-9_+#.-]{1,30})\n)?\n*([\s\S]*?[^\n])\n*```/gi;

const HEADING = /^(#{1,3})[ \t]+(\S.*)$/;
const SUBTEXT = /^-#[ \t]+(\S.*)$/;
const ITEM = /^( *)(?:([-*])|(\d{1,9})\.)[ \t]+(\S.*)$/;
const QUOTE = /^> ?(.*)$/;

/**
 * A text as a tree.
 *
 * @param {string} text
 * @returns {any[]}
 */
export function parse(text) {
  return parseBlocks(String(text).replace(/\r\n?/g, "\n"), 0);
}

function parseBlocks(text, depth) {
  const rest = /^([\s\S]*?(?:^|\n))>>> ?([\s\S]+)$/.exec(text);
  // `>>>` quotes all that follows; inside a fence it is code.
  if (rest !== null && depth < DEPTH_MOST && !inFence(text, rest[1].length)) {
    return [...parseBlocks(rest[1].replace(/\n$/, ""), depth), { type: "quote", children: parseBlocks(rest[2], depth + 1) }];
  }
  const nodes = [];
  let from = 0;
  for (const found of text.matchAll(FENCE)) {
    const before = text.slice(from, found.index);
    // A quoted line may hold a fence of its own; then its marks belong to the code's lines as well.
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
  const nodes = [], lines = text.split("\n");
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
    } else if (line.startsWith("> ") && depth < DEPTH_MOST) {
      flush();
      const inside = [];
      while (at < lines.length && lines[at].startsWith("> ")) inside.push(QUOTE.exec(lines[at++])[1]);
      nodes.push({ type: "quote", children: parseLines(inside.join("\n"), depth + 1) });
    } else if (ITEM.test(line) && depth < DEPTH_MOST) {
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

/** Lines of a list, by how far they stand in. */
function nest(items, depth) {
  const lists = [];
  for (let at = 0; at < items.length; ) {
    const first = items[at], ordered = first.number !== undefined;
    const list = { type: "list", ordered, start: ordered ? Number(first.number) : 1, items: [] };
    while (at < items.length && items[at].indent <= first.indent && (items[at].number !== undefined) === ordered) {
      const inside = [];
      const children = parseInline(items[at].text, depth);
      at += 1;
      while (at < items.length && items[at].indent > first.indent) inside.push(items[at++]);
      list.items.push(inside.length && depth < DEPTH_MOST ? [...children, ...nest(inside, depth + 1)] : children);
    }
    lists.push(list);
  }
  return lists;
}

// Inline: each rule is tried where a character of its own begins, in this order; what fits none is text.

/** @type {[RegExp, (found: RegExpExecArray, depth: number) => any][]} */
const RULES = [
  [/\\([^\w\s])/y, found => ({ type: "text", text: found[1] })],
  [/(`+)([\s\S]*?[^`])\1(?!`)/y, found => ({ type: "code", text: trimCode(found[2]) })],
  [/<@!?(\d{1,19})>/y, found => ({ type: "user", id: found[1] })],
  [/<@&(\d{1,19})>/y, found => ({ type: "role", id: found[1] })],
  [/<#(\d{1,19})>/y, found => ({ type: "channel", id: found[1] })],
  [/<(a?):(\w{1,64}):(\d{1,19})>/y, found => ({ type: "emoji", animated: found[1] === "a", name: found[2], id: found[3] })],
  [/<\/([^<>:\n]{1,100}):(\d{1,19})>/y, found => ({ type: "command", name: found[1], id: found[2] })],
  [/<t:(-?\d{1,13})(?::([tTdDfFsSR]))?>/y, found => ({ type: "time", seconds: Number(found[1]), style: found[2] ?? "f" })],
  [/<(https?:\/\/[^\s<>]+)>/iy, found => link(found[1], [{ type: "text", text: found[1] }])],
  [/@(everyone|here)(?!\w)/y, found => ({ type: "everyone", text: found[0] })],
  [/https?:\/\/[^\s<]+/iy, found => autolink(found[0])],
  [
    /\[((?:\\.|[^\[\]\\\n]|\[[^\[\]\n]*\])+)\]\(\s*<?(https?:\/\/[^\s<>()]+(?:\([^\s<>()]*\)[^\s<>()]*)*)>?(?:\s+(?:"[^"\n]*"|'[^'\n]*'))?\s*\)/iy,
    (found, depth) => link(found[2], parseInline(found[1], depth + 1, true)),
  ],
  [/\|\|([\s\S]+?)\|\|/y, (found, depth) => ({ type: "spoiler", children: parseInline(found[1], depth + 1) })],
  [/\*\*\*(?=\S)([\s\S]*?[^\s*])\*\*\*(?!\*)/y, (found, depth) => wrap("em", [wrap("strong", parseInline(found[1], depth + 1))])],
  [/\*\*(?=\S)((?:\\.|[^\\])*?[^\s\\])\*\*(?!\*)/sy, (found, depth) => wrap("strong", parseInline(found[1], depth + 1))],
  [/__(?=\S)((?:\\.|[^\\])*?[^\s\\])__(?!_)/sy, (found, depth) => wrap("u", parseInline(found[1], depth + 1))],
  [/~~(?=\S)((?:\\.|[^\\])*?[^\s\\])~~(?!~)/sy, (found, depth) => wrap("s", parseInline(found[1], depth + 1))],
  [/\*(?=[^\s*])((?:\*\*|\\.|[^*\\])*?[^\s*\\])\*(?!\*)/sy, (found, depth) => wrap("em", parseInline(found[1], depth + 1))],
  [/(?<!\w)_(?=[^\s_])((?:__|\\.|[^_\\])*?[^\s_\\])_(?!\w)/sy, (found, depth) => wrap("em", parseInline(found[1], depth + 1))],
];
const BEGINS = /[\\`<@[|*_~h]/gi;

function parseInline(text, depth, inLink = false) {
  if (depth >= DEPTH_MOST) return text ? [{ type: "text", text }] : [];
  const nodes = [];
  let from = 0, at = 0;
  while (at < text.length) {
    BEGINS.lastIndex = at;
    const next = BEGINS.exec(text);
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
    // A link inside a link is nobody's.
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

/** Code may begin or end with a backtick if a blank stands between. */
function trimCode(text) {
  return /^ .*`.* $|^ `| ` $|` $/.test(text) && text.trim() ? text.replace(/^ | $/g, "") : text;
}

/** Only http and https become links, whatever was written. */
function link(address, children) {
  let url;
  try {
    url = new URL(address);
  } catch {
    return null;
  }
  if (url.protocol !== "https:" && url.protocol !== "http:") return null;
  return { type: "link", href: url.href, children };
}

/** An address in the text, without the punctuation of the sentence around it. */
function autolink(text) {
  let address = text;
  for (;;) {
    const shorter = address.replace(/[.,:;!?'"*_|~]+$/, "");
    const open = shorter.split("(").length, close = shorter.split(")").length;
    const next = shorter.endsWith(")") && close > open ? shorter.slice(0, -1) : shorter;
    if (next === address) break;
    address = next;
  }
  if (address.length <= "https://".length) return null;
  const node = link(address, [{ type: "text", text: address }]);
  return node === null ? null : { ...node, length: address.length };
}

/** A tree as the words in it, for notifications, live regions and quotes. */
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
