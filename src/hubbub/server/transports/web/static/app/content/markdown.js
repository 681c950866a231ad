/** Rendering of parsed Markdown (markdown_parser.js) to DOM nodes, with mentions resolved to names; custom emoji and spoilers. */

import { h } from "../ui/dom.js";
import { channelPath } from "../ui/router.js";
import { timeElement } from "../ui/times.js";
import { t } from "../ui/translation.js";
import { emojiPath } from "./cdn_paths.js";
import { highlightCode } from "./code_highlight.js";
import { parseMarkdown } from "./markdown_parser.js";

const PICTOGRAPH = "\\p{Extended_Pictographic}[\\uFE0F\\u{1F3FB}-\\u{1F3FF}]?";
const ONE_EMOJI = `(?:<a?:\\w{1,64}:\\d{1,19}>|\\p{Regional_Indicator}{2}|${PICTOGRAPH}(?:\\u200D${PICTOGRAPH})*)`;
const ONLY_EMOJI_PATTERN = new RegExp(`^(?:\\s*${ONE_EMOJI}){1,20}\\s*$`, "u");

/**
 * Render the markdown of a message or another text of a user or app.
 *
 * @param {string} text
 * @param {{context: import("../state/context.js").Context, message?: any}} scope `message` provides the mentioned users
 * @returns {DocumentFragment}
 */
export function renderMarkdown(text, scope) {
  const fragment = document.createDocumentFragment();
  fragment.append(...buildNodes(parseMarkdown(text), scope).flat());
  return fragment;
}

/** Texts of this length or longer are not matched with `ONLY_EMOJI_PATTERN`, to bound its time. */
const ONLY_EMOJI_LENGTH_LIMIT = 600;

/** Return whether a message contains only a few emoji, which are shown large. */
export const isOnlyEmoji = text => text.length < ONLY_EMOJI_LENGTH_LIMIT && ONLY_EMOJI_PATTERN.test(text);

function buildNodes(nodes, scope) {
  return nodes.map(node => BUILDERS[node.type]?.(node, scope) ?? document.createTextNode(node.text ?? ""));
}

const elementBuilder = tag => (node, scope) => h(tag, null, buildNodes(node.children, scope));

/** A digit or sign in a keycap, which is an emoji although its first character is text. */
const KEYCAP_PATTERN = /([0-9#*]\ufe0f?\u20e3)/;

const BUILDERS = {
  text: node =>
    node.text.split(KEYCAP_PATTERN).map((part, index) => (index % 2 ? h("span", { class: "emoji-text" }, part) : part)),
  lines: (node, scope) => h("p", { class: "message-text", dir: "auto" }, buildNodes(node.children, scope)),
  heading: (node, scope) =>
    h(
      "p",
      {
        class: `message-text heading heading-${node.level}`,
        role: "heading",
        // Below the title of the view, which is at level 2. Deeper levels would leave gaps in the outline of the page.
        "aria-level": 3,
        dir: "auto",
      },
      buildNodes(node.children, scope),
    ),
  subtext: (node, scope) => h("p", { class: "message-text subtext", dir: "auto" }, buildNodes(node.children, scope)),
  quote: (node, scope) => h("blockquote", { dir: "auto" }, buildNodes(node.children, scope)),
  list: (node, scope) =>
    h(
      node.ordered ? "ol" : "ul",
      { start: node.ordered && node.start !== 1 ? node.start : null, class: "message-text", dir: "auto" },
      node.items.map(item => h("li", null, buildNodes(item, scope))),
    ),
  block: buildCodeBlock,
  code: node => h("code", { class: "code" }, node.text),
  strong: elementBuilder("strong"),
  em: elementBuilder("em"),
  u: elementBuilder("u"),
  s: elementBuilder("s"),
  link: buildLink,
  spoiler: (node, scope) => inlineSpoiler(h("span", null, buildNodes(node.children, scope))),
  user: buildUserMention,
  role: buildRoleMention,
  channel: buildChannelMention,
  everyone: node => h("span", { class: "mention" }, node.text),
  command: node => h("span", { class: "mention" }, `/${node.name}`),
  emoji: node => customEmojiImage(node),
  time: node => timeElement(node.seconds * 1000, node.style),
};

function buildCodeBlock(node) {
  const code = h("code", null, node.text);
  if (node.language) highlightCode(code, node.language);
  return h(
    "pre",
    {
      class: "block",
      tabindex: "0",
      "aria-label": node.language ? t("Code, {language}", { language: node.language }) : t("Code"),
    },
    code,
  );
}

/** Return a link. Links to the client stay in the client; all others open in a new tab without a referrer. */
function buildLink(node, { context, ...otherScope }) {
  const url = new URL(node.href);
  const isOwnOrigin = url.origin === location.origin || url.origin === new URL(context.webUrl).origin;
  const children = buildNodes(node.children, { context, ...otherScope });
  if (isOwnOrigin && /^\/app(\/channels\/|$)/.test(url.pathname)) return clientLink(url, children, node, context);
  const label = node.children.length === 1 && node.children[0].type === "text" ? node.children[0].text : "";
  return h(
    "a",
    {
      href: node.href,
      target: "_blank",
      rel: "noopener noreferrer nofollow",
      title: label === node.href ? null : node.href,
    },
    children,
  );
}

/** Return a link within the client. A bare URL of a known channel or message shows the channel's name. */
function clientLink(url, children, node, { state }) {
  const [, guildId, channelId, messageId] = /^\/app\/channels\/(@me|\d+)\/(\d+)(?:\/(\d+))?$/.exec(url.pathname) ?? [];
  const channel = state.channels.get(channelId);
  const isBareUrl = node.children.length === 1 && node.children[0].text?.startsWith("http");
  if (!isBareUrl || channel === undefined || guildId === undefined) return h("a", { href: url.pathname }, children);
  return h(
    "a",
    { href: url.pathname, class: "mention" },
    `#${channel.name ?? t("conversation")}`,
    messageId ? ` › ${t("message")}` : null,
  );
}

function buildUserMention(node, { context, message }) {
  const { state } = context;
  const mentionedUser = message?.mentions?.find(user => user.id === node.id) ?? state.user(node.id);
  const guildId = message ? state.channels.get(message.channel_id)?.guild_id : context.guildId;
  const isMe = node.id === state.me?.id;
  if (mentionedUser === undefined) return h("span", { class: "mention" }, t("@unknown"));
  return h(
    "button",
    { type: "button", class: isMe ? "mention own" : "mention", dataset: { userId: node.id } },
    `@${state.displayName(mentionedUser, guildId)}`,
  );
}

function buildRoleMention(node, { context, message }) {
  const guildId = message ? context.state.channels.get(message.channel_id)?.guild_id : context.guildId;
  const mentionedRole = context.state.guilds.get(guildId)?.roles.find(role => role.id === node.id);
  return h("span", { class: "mention" }, `@${mentionedRole?.name ?? t("unknown role")}`);
}

function buildChannelMention(node, { context }) {
  const mentionedChannel = context.state.channels.get(node.id);
  if (mentionedChannel === undefined) return h("span", { class: "mention" }, t("#unknown"));
  return h(
    "a",
    { class: "mention", href: channelPath(mentionedChannel) },
    `#${mentionedChannel.name ?? t("conversation")}`,
  );
}

export function customEmojiImage({ id, name, animated }, size = 48) {
  return h("img", {
    class: "emoji",
    src: emojiPath(id, animated, size),
    alt: `:${name}:`,
    title: `:${name}:`,
    loading: "lazy",
    draggable: "false",
  });
}

/** Return content that is hidden until the user reveals it. */
export function inlineSpoiler(node) {
  const reveal = event => {
    if (wrapper.classList.contains("open")) return;
    event.preventDefault();
    event.stopPropagation();
    wrapper.classList.add("open");
    for (const name of ["role", "tabindex", "aria-label"]) wrapper.removeAttribute(name);
    node.inert = false;
  };
  node.inert = true;
  const wrapper = h(
    "span",
    {
      class: "spoiler",
      role: "button",
      tabindex: "0",
      "aria-label": t("Spoiler: press to reveal"),
      onclick: reveal,
      onkeydown: event => (event.key === "Enter" || event.key === " ") && reveal(event),
    },
    node,
  );
  return wrapper;
}
