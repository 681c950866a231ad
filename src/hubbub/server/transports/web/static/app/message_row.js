/** One message: who, when, what, and what hangs on it. */

import { MessageFlags, MessageType, RelationshipType } from "./enums.js";
import { h, icon } from "./dom.js";
import { renderComponents } from "./components.js";
import { editForm } from "./editing.js";
import { faceOf } from "./faces.js";
import { isOnlyEmoji, markdown } from "./markdown.js";
import { attachments, embeds, pollOf, reactions, stickers } from "./message_parts.js";
import { discard, retry } from "./sending.js";
import { isSpoken, systemWords, wordsOf } from "./system_words.js";
import { hourOf, sentAt } from "./times.js";
import { pathOf } from "./router.js";
import { bytes } from "./media.js";

const TOGETHER_MS = 7 * 60_000;

/** Whether a message stands under the same head as the one above it. */
export function joinsAbove(message, above) {
  return (
    message.author.id === above.author.id && message.author.username === above.author.username && isSpoken(message) && isSpoken(above) &&
    message.type === MessageType.DEFAULT && !((message.flags ^ above.flags) & MessageFlags.EPHEMERAL) &&
    Date.parse(message.timestamp) - Date.parse(above.timestamp) < TOGETHER_MS
  );
}

const numbers = new WeakMap();
let count = 0;

/** A number for an object: every change makes a new one. */
function number(object) {
  if (!object) return 0;
  if (!numbers.has(object)) numbers.set(object, (count += 1));
  return numbers.get(object);
}

/** Changes whenever the row would look different. */
export function rowStamp(message, { state, guildId }, more) {
  const relationship = state.relationships.get(message.author.id)?.type === RelationshipType.BLOCKED;
  return `${number(message)} ${number(state.member(guildId, message.author.id))} ${number(state.guilds.get(guildId)?.roles)} ${relationship} ${more}`;
}

/** The colour of somebody's highest role that has one. */
function colourOf(userId, { state, guildId }) {
  const roles = state.member(guildId, userId)?.roles ?? [];
  const coloured = (state.guilds.get(guildId)?.roles ?? []).filter(each => each.color && roles.includes(each.id));
  const top = coloured.sort((a, b) => b.position - a.position)[0];
  return top ? `#${top.color.toString(16).padStart(6, "0")}` : null;
}

/** A row of the timeline. */
export function buildRow(message, context, { joined, marked, editing, timeline }) {
  const { state, guildId, me } = context;
  const ephemeral = message.flags & MessageFlags.EPHEMERAL;
  const name = message.webhook_id ? message.author.username : state.nameOf(message.author, guildId);
  const classes = ["message"];
  if (joined) classes.push("joined");
  if (marked) classes.push("marked");
  if (ephemeral) classes.push("ephemeral");
  if (message.author.id !== me.id && state.isForMe(message)) classes.push("for-me");
  const row = h("li", {
    class: classes.join(" "), id: `message-${message.id}`, tabindex: "-1", dataset: { messageId: message.id },
    "aria-current": marked ? "true" : null, "aria-label": `${name}, ${hourOf(message.timestamp)}: ${wordsOf(message, context)}`,
  });
  if (!isSpoken(message)) {
    row.classList.add("system");
    row.append(h("span", { class: "gutter" }, icon("dot")), h("div", { class: "message-body" }, h("p", { class: "soft" }, h("em", { dir: "auto" }, systemWords(message, context)), " ", h("span", { class: "when" }, sentAt(message.timestamp)))));
    return row;
  }
  const quiet = state.relationships.get(message.author.id)?.type === RelationshipType.BLOCKED;
  row.append(
    joined
      ? h("span", { class: "gutter when" }, hourOf(message.timestamp))
      : h("button", { type: "button", class: "gutter face-button", tabindex: "-1", "aria-hidden": "true", dataset: { userId: message.webhook_id ? "" : message.author.id } }, faceOf(message.author, name)),
    h(
      "div",
      { class: "message-body" },
      replyLine(message, context),
      joined ? null : headLine(message, context, name),
      quiet ? blockedWords(message, context, timeline) : bodyOf(message, context, editing, timeline),
      ephemeral ? ephemeralLine(message, context) : null,
    ),
  );
  return row;
}

function headLine(message, context, name) {
  const colour = message.webhook_id ? null : colourOf(message.author.id, context);
  return h(
    "p",
    { class: "message-head" },
    message.webhook_id
      ? h("span", { class: "speaker", dir: "auto" }, name)
      : h("button", { type: "button", class: "speaker", tabindex: "-1", dir: "auto", dataset: { userId: message.author.id } }, colour ? h("span", { class: "role-dot", style: { "background-color": colour }, "aria-hidden": "true" }) : null, name),
    message.author.bot || message.webhook_id ? h("span", { class: "tag" }, "App") : null,
    h("span", { class: "when" }, sentAt(message.timestamp)),
    message.pinned ? h("span", { class: "when", title: "Pinned" }, icon("pin")) : null,
  );
}

function replyLine(message, context) {
  const command = commandLine(message, context);
  if (command !== null) return command;
  if (message.type !== MessageType.REPLY) return null;
  const answered = message.referenced_message;
  if (!answered) return h("p", { class: "reply-line" }, icon("reply"), "In answer to a message that is gone");
  const channel = context.state.channels.get(message.channel_id) ?? { id: message.channel_id, guild_id: context.guildId };
  const name = context.state.nameOf(answered.author, context.guildId);
  return h("p", { class: "reply-line" }, icon("reply"), h("a", { href: pathOf(channel, answered.id), dir: "auto" }, h("strong", null, name), ` ${wordsOf(answered, context)}`));
}

/** Whose command a message answers. */
function commandLine(message, { state, guildId }) {
  const asked = message.interaction_metadata ?? message.interaction;
  if ((message.type !== MessageType.CHAT_INPUT_COMMAND && message.type !== MessageType.CONTEXT_MENU_COMMAND) || !asked?.user) return null;
  const command = message.interaction?.name ?? asked.name ?? "a command";
  const shown = message.type === MessageType.CHAT_INPUT_COMMAND && command !== "a command" ? `/${command}` : command;
  return h("p", { class: "reply-line" }, icon("reply"), h("strong", { dir: "auto" }, state.nameOf(asked.user, guildId)), ` used ${shown}`);
}

/** What somebody said whom we do not want to hear. */
function blockedWords(message, context, timeline) {
  const node = h("p", { class: "soft small" }, "From somebody you blocked. ");
  node.append(h("button", { type: "button", class: "link", onclick: () => node.replaceWith(...[bodyOf(message, context, false, timeline)].flat(9).filter(Boolean)) }, "Show it"));
  return node;
}

function bodyOf(message, context, editing, timeline) {
  if (message.flags & MessageFlags.LOADING && !message.content) return thinking();
  const content = message.content ?? "";
  const words = content ? h("div", { class: isOnlyEmoji(content) ? "content jumbo" : "content" }, markdown(content, { context, message })) : null;
  if (words !== null && message.edited_timestamp) words.append(h("span", { class: "edited" }, " (edited)"));
  return [
    forwarded(message, context),
    editing ? editForm(message, context, timeline) : words,
    stickers(message),
    // Laid out by components, a message shows its files where they say, and nowhere else.
    message.flags & MessageFlags.IS_COMPONENTS_V2 ? null : attachments(message, context),
    embeds(message, context),
    pollOf(message, context),
    renderComponents(message, context),
    message.thread ? h("p", { class: "thread-line" }, h("a", { href: pathOf({ ...message.thread, guild_id: context.guildId }) }, icon("thread"), message.thread.name, h("span", { class: "soft small" }, ` ${message.thread.message_count ?? 0}`))) : null,
    reactions(message, context),
  ];
}

/** An app that promised an answer. */
function thinking() {
  return h("p", { class: "answer-loading", role: "status" }, h("span", { class: "answer-dots", "aria-hidden": "true" }, h("i"), h("i"), h("i")), "Thinking…");
}

function forwarded(message, context) {
  return (message.message_snapshots ?? []).map(({ message: inner }) =>
    h("blockquote", { class: "forwarded" }, h("p", { class: "soft small" }, "Forwarded"), h("div", { class: "content" }, markdown(inner.content ?? "", { context, message: { ...inner, channel_id: message.channel_id } })), attachments(inner, context), embeds(inner, context)),
  );
}

function ephemeralLine(message, context) {
  const dismiss = () => {
    context.state.logs.get(message.channel_id)?.remove(message.id);
    context.state.changed("messages", message.channel_id);
  };
  return h("p", { class: "ephemeral-line" }, "Only you see this · ", h("button", { type: "button", class: "link", onclick: dismiss }, "Dismiss"));
}

/** A message that is on its way, or did not get there. */
export function buildPending(pending, context) {
  const { me, state, guildId } = context;
  const failed = pending.state === "failed";
  return h(
    "li",
    { class: failed ? "message pending failed" : "message pending", "aria-busy": failed ? null : "true" },
    h("span", { class: "gutter" }, faceOf(me, state.nameOf(me, guildId))),
    h(
      "div",
      { class: "message-body" },
      h("p", { class: "message-head" }, h("span", { class: "speaker" }, state.nameOf(me, guildId)), h("span", { class: "when" }, failed ? "not sent" : "sending…")),
      pending.content ? h("div", { class: "content" }, markdown(pending.content, { context, message: { channel_id: context.channelId, mentions: [] } })) : null,
      (pending.files ?? []).map(file => h("p", { class: "file" }, icon("file"), file.name, h("span", { class: "soft small" }, bytes(file.size)))),
      pending.files?.length && !failed ? h("progress", { max: "1", value: pending.share ?? 0, "aria-label": "Upload" }) : null,
      failed
        ? h("p", { class: "error", role: "alert" }, h("span", null, pending.error), " ",
            h("button", { type: "button", class: "link", onclick: () => retry(pending, context) }, "Try again"), " ",
            h("button", { type: "button", class: "link", onclick: () => discard(pending, context) }, "Throw it away"))
        : null,
    ),
  );
}
