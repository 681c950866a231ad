/** Markdown to nodes: what markdown_parse.js found, built one by one, with mentions by their names here. */

import { h } from "./dom.js";
import { emojiPath } from "./media.js";
import { parse } from "./markdown_parse.js";
import { pathOf } from "./router.js";
import { timeElement } from "./times.js";

const DRAWN = "\\p{Extended_Pictographic}[\\uFE0F\\u{1F3FB}-\\u{1F3FF}]?";
const ONE_EMOJI = `(?:<a?:\\w{1,64}:\\d{1,19}>|\\p{Regional_Indicator}{2}|${DRAWN}(?:\\u200D${DRAWN})*)`;
const ONLY_EMOJI = new RegExp(`^(?:\\s*${ONE_EMOJI}){1,20}\\s*$`, "u");

/**
 * A text of somebody, to be shown.
 *
 * @param {string} text
 * @param {{context: import("./context.js").Context, message?: any}} place where it is read; the message brings the names it mentions
 * @returns {DocumentFragment}
 */
export function markdown(text, place) {
  const made = document.createDocumentFragment();
  made.append(...build(parse(text), place));
  return made;
}

/** Whether a message is nothing but a few emoji, which are shown large. */
export const isOnlyEmoji = text => text.length < 600 && ONLY_EMOJI.test(text);

function build(nodes, place) {
  return nodes.map(node => BUILDERS[node.type]?.(node, place) ?? document.createTextNode(node.text ?? ""));
}

const inside = tag => (node, place) => h(tag, null, build(node.children, place));

const BUILDERS = {
  text: node => document.createTextNode(node.text),
  lines: (node, place) => h("p", { class: "words", dir: "auto" }, build(node.children, place)),
  heading: (node, place) => h("p", { class: `words heading heading-${node.level}`, role: "heading", "aria-level": node.level + 3, dir: "auto" }, build(node.children, place)),
  subtext: (node, place) => h("p", { class: "words subtext", dir: "auto" }, build(node.children, place)),
  quote: (node, place) => h("blockquote", { dir: "auto" }, build(node.children, place)),
  list: (node, place) =>
    h(node.ordered ? "ol" : "ul", { start: node.ordered && node.start !== 1 ? node.start : null, class: "words", dir: "auto" },
      node.items.map(item => h("li", null, build(item, place)))),
  block: node => h("pre", { class: "block", tabindex: "0", "aria-label": node.language ? `Code, ${node.language}` : "Code" }, h("code", null, node.text)),
  code: node => h("code", { class: "code" }, node.text),
  strong: inside("strong"),
  em: inside("em"),
  u: inside("u"),
  s: inside("s"),
  link,
  spoiler: (node, place) => spoiler(h("span", null, build(node.children, place))),
  user,
  role,
  channel,
  everyone: node => h("span", { class: "mention" }, node.text),
  command: node => h("span", { class: "mention" }, `/${node.name}`),
  emoji: node => customEmoji(node),
  time: node => timeElement(node.seconds * 1000, node.style),
};

/** A link to a place of ours stays in the client; all others open beside it, and learn nothing of where they were found. */
function link(node, { context, ...rest }) {
  const address = new URL(node.href);
  const here = address.origin === location.origin || address.origin === new URL(context.web).origin;
  const children = build(node.children, { context, ...rest });
  if (here && /^\/app(\/channels\/|$)/.test(address.pathname)) return messageLink(address, children, node, context);
  const shown = node.children.length === 1 && node.children[0].type === "text" ? node.children[0].text : "";
  return h("a", { href: node.href, target: "_blank", rel: "noopener noreferrer nofollow", title: shown === node.href ? null : node.href }, children);
}

function messageLink(address, children, node, { state }) {
  const [, guildId, channelId, messageId] = /^\/app\/channels\/(@me|\d+)\/(\d+)(?:\/(\d+))?$/.exec(address.pathname) ?? [];
  const channel = state.channels.get(channelId);
  const bare = node.children.length === 1 && node.children[0].text?.startsWith("http");
  if (!bare || channel === undefined || guildId === undefined) return h("a", { href: address.pathname }, children);
  return h("a", { href: address.pathname, class: "mention" }, `#${channel.name ?? "conversation"}`, messageId ? " › message" : null);
}

function user(node, { context, message }) {
  const { state } = context;
  const known = message?.mentions?.find(each => each.id === node.id) ?? state.user(node.id);
  const guildId = message ? state.channels.get(message.channel_id)?.guild_id : context.guildId;
  const mine = node.id === state.me?.id;
  if (known === undefined) return h("span", { class: "mention" }, "@unknown");
  return h("button", { type: "button", class: mine ? "mention mine" : "mention", dataset: { userId: node.id } }, `@${state.nameOf(known, guildId)}`);
}

function role(node, { context, message }) {
  const guildId = message ? context.state.channels.get(message.channel_id)?.guild_id : context.guildId;
  const found = context.state.guilds.get(guildId)?.roles.find(each => each.id === node.id);
  return h("span", { class: "mention" }, `@${found?.name ?? "unknown role"}`);
}

function channel(node, { context }) {
  const found = context.state.channels.get(node.id);
  if (found === undefined) return h("span", { class: "mention" }, "#unknown");
  return h("a", { class: "mention", href: pathOf(found) }, `#${found.name ?? "conversation"}`);
}

/** An emoji of a guild or an application. */
export function customEmoji({ id, name, animated }, size = 48) {
  return h("img", { class: "emoji", src: emojiPath(id, animated, size), alt: `:${name}:`, title: `:${name}:`, loading: "lazy", draggable: "false" });
}

/** Something that is shown once it is asked for. */
export function spoiler(node) {
  const open = event => {
    if (wrapped.classList.contains("open")) return;
    event.preventDefault();
    event.stopPropagation();
    wrapped.classList.add("open");
    for (const name of ["role", "tabindex", "aria-label"]) wrapped.removeAttribute(name);
    node.inert = false;
  };
  node.inert = true;
  const wrapped = h(
    "span",
    {
      class: "spoiler", role: "button", tabindex: "0", "aria-label": "Spoiler: press to show", onclick: open,
      onkeydown: event => (event.key === "Enter" || event.key === " ") && open(event),
    },
    node,
  );
  return wrapped;
}
