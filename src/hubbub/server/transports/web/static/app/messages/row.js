/** Rows of the timeline: messages, and messages that are being sent. */

import { MessageFlags, MessageType, RelationshipType } from "../network/enums.js";
import { discardPending, sendPending } from "../state/outbox.js";
import { h, icon } from "../ui/dom.js";
import { formatBytes } from "../ui/byte_sizes.js";
import { loadModule } from "../ui/lazy_modules.js";
import { createPart } from "../ui/layout_part.js";
import { channelPath } from "../ui/router.js";
import { formatTimeOfDay, sentTimeElement } from "../ui/times.js";
import { t, tNodes } from "../ui/translation.js";
import { channelTitle, userAvatar } from "../content/avatars.js";
import { isOnlyEmoji, renderMarkdown } from "../content/markdown.js";
import { isUserMessage, systemMessageText, summarizeMessage } from "../content/message_text.js";
import { renderComponents } from "../components/message_components.js";
import "../games/invite_card.js";
import { gameMessageTag } from "../games/linked_channels.js";
import { renderAttachments, renderStickers } from "./attachments.js";
import { renderEmbeds } from "./embeds.js";
import { renderPoll } from "./polls.js";
import { renderReactions } from "./reactions.js";

/** Maximum time between two messages of an author that are grouped under one header. */
const GROUPING_INTERVAL_MS = 7 * 60_000;
/** Flags that separate a message from the previous one of its author. */
const DISTINGUISHING_FLAGS = MessageFlags.EPHEMERAL | MessageFlags.SENT_BY_SOCIAL_LAYER_INTEGRATION;

/** Return whether a message is grouped with the previous one, without its own header. */
export function isGroupedWithPrevious(message, previous) {
  return (
    message.author.id === previous.author.id &&
    message.author.username === previous.author.username &&
    isUserMessage(message) &&
    isUserMessage(previous) &&
    message.type === MessageType.DEFAULT &&
    !((message.flags ^ previous.flags) & DISTINGUISHING_FLAGS) &&
    Date.parse(message.timestamp) - Date.parse(previous.timestamp) < GROUPING_INTERVAL_MS
  );
}

const revisions = new WeakMap();
let revisionCount = 0;

/** Return a number that identifies an object. State changes replace objects, so the number identifies a revision. */
function revisionOf(object) {
  if (!object) return 0;
  if (!revisions.has(object)) revisions.set(object, (revisionCount += 1));
  return revisions.get(object);
}

/**
 * Return a version of a row, which changes with the message, its author's membership, the guild's roles, a block of the
 * author and `details`, the display options of the row.
 */
export function messageRowVersion(message, { state, guildId }, details) {
  const isBlocked = state.relationships.get(message.author.id)?.type === RelationshipType.BLOCKED;
  const objects = [message, state.member(guildId, message.author.id), state.guilds.get(guildId)?.roles];
  return `${objects.map(revisionOf).join(" ")} ${isBlocked} ${details}`;
}

/** Return the color of the user's highest colored role, or null. */
function roleColor(userId, { state, guildId }) {
  const roles = state.member(guildId, userId)?.roles ?? [];
  const coloredRoles = (state.guilds.get(guildId)?.roles ?? []).filter(role => role.color && roles.includes(role.id));
  const topRole = coloredRoles.sort((a, b) => b.position - a.position)[0];
  return topRole ? `#${topRole.color.toString(16).padStart(6, "0")}` : null;
}

/** Return the row of a user message or system message, or of the message that a thread was started from. */
export function buildMessageRow(message, context, { isGrouped, isHighlighted, isEditing, timeline }) {
  const starter = threadStarter(message);
  if (starter !== null) return buildStarterRow(message, starter, context, { isHighlighted, timeline });
  const { state, guildId, me } = context;
  const isEphemeral = message.flags & MessageFlags.EPHEMERAL;
  const name = message.webhook_id ? message.author.username : state.displayName(message.author, guildId);
  const classes = ["message"];
  if (isGrouped) classes.push("joined");
  if (isHighlighted) classes.push("marked");
  if (isEphemeral) classes.push("ephemeral");
  if (message.author.id !== me.id && state.mentionsMe(message)) classes.push("mentions-user");
  const row = h("li", {
    class: classes.join(" "),
    id: `message-${message.id}`,
    tabindex: "-1",
    dataset: { messageId: message.id },
    "aria-current": isHighlighted ? "true" : null,
    "aria-label": `${name}, ${formatTimeOfDay(message.timestamp)}: ${summarizeMessage(message, context)}`,
  });
  if (!isUserMessage(message)) {
    row.classList.add("system");
    row.append(
      h("span", { class: "gutter" }, icon("dot")),
      h(
        "div",
        { class: "message-body" },
        h(
          "p",
          { class: "muted" },
          h("em", { dir: "auto" }, systemMessageText(message, context)),
          " ",
          h("span", { class: "when" }, sentTimeElement(message.timestamp)),
        ),
      ),
    );
    return row;
  }
  const isBlocked = state.relationships.get(message.author.id)?.type === RelationshipType.BLOCKED;
  row.append(
    isGrouped
      ? h("span", { class: "gutter when" }, formatTimeOfDay(message.timestamp))
      : h(
          "button",
          {
            type: "button",
            class: "gutter avatar-button",
            tabindex: "-1",
            "aria-hidden": "true",
            dataset: { userId: message.webhook_id ? "" : message.author.id },
          },
          userAvatar(message.author, name),
        ),
    h(
      "div",
      { class: "message-body" },
      replyLine(message, context),
      isGrouped ? null : messageHeader(message, context, name),
      isBlocked ? blockedNotice(message, context, timeline) : messageBody(message, context, isEditing, timeline),
      isEphemeral ? ephemeralLine(message, context) : null,
    ),
  );
  return row;
}

/** Return the message that a thread was started from, without its controls, if `message` refers to it; otherwise null. */
function threadStarter(message) {
  if (message.type !== MessageType.THREAD_STARTER_MESSAGE || !message.referenced_message) return null;
  return { ...message.referenced_message, thread: null, reactions: [], components: [], poll: null };
}

/** Return the first row of a thread, which shows the message that the thread was started from. */
function buildStarterRow(message, starter, context, { isHighlighted, timeline }) {
  const { state, guildId } = context;
  const shownStarter = isUserMessage(starter) ? starter : { ...starter, type: MessageType.DEFAULT };
  const row = buildMessageRow(shownStarter, context, { isGrouped: false, isHighlighted, isEditing: false, timeline });
  const parent = state.channels.get(shownStarter.channel_id) ?? { id: shownStarter.channel_id, guild_id: guildId };
  // The actions of the row are those of the message in the thread.
  row.id = `message-${message.id}`;
  row.dataset.messageId = message.id;
  row.classList.add("thread-starter");
  row
    .querySelector(".message-body")
    .append(
      h("p", { class: "small" }, h("a", { href: channelPath(parent, shownStarter.id) }, t("Show in the channel"))),
    );
  return row;
}

/** Return the line with the author and time of a message. */
function messageHeader(message, context, name) {
  const color = message.webhook_id ? null : roleColor(message.author.id, context);
  return h(
    "p",
    { class: "message-head" },
    message.webhook_id
      ? h("span", { class: "author-name", dir: "auto" }, name)
      : h(
          "button",
          { type: "button", class: "author-name", tabindex: "-1", dir: "auto", dataset: { userId: message.author.id } },
          color ? h("span", { class: "role-dot", style: { "background-color": color }, "aria-hidden": "true" }) : null,
          name,
        ),
    message.author.bot || message.webhook_id ? h("span", { class: "tag" }, t("App")) : null,
    gameMessageTag(context, message),
    h("span", { class: "when" }, sentTimeElement(message.timestamp)),
    message.pinned ? h("span", { class: "when", title: t("Pinned") }, icon("pin")) : null,
  );
}

/** Return the line above a message that names the command it responds to, or links to the message it replies to; or null. */
function replyLine(message, context) {
  const command = commandLine(message, context);
  if (command !== null) return command;
  if (message.type !== MessageType.REPLY) return null;
  const referencedMessage = message.referenced_message;
  if (!referencedMessage) return h("p", { class: "reply-line" }, icon("reply"), t("Reply to a deleted message"));
  const channel = context.state.channels.get(message.channel_id) ?? {
    id: message.channel_id,
    guild_id: context.guildId,
  };
  const name = context.state.displayName(referencedMessage.author, context.guildId);
  return h(
    "p",
    { class: "reply-line" },
    icon("reply"),
    h(
      "a",
      { href: channelPath(channel, referencedMessage.id), dir: "auto" },
      h("strong", null, name),
      ` ${summarizeMessage(referencedMessage, context)}`,
    ),
  );
}

/** Return the line that names the command a message responds to, or null. */
function commandLine(message, { state, guildId }) {
  const interaction = message.interaction_metadata ?? message.interaction;
  if (
    (message.type !== MessageType.CHAT_INPUT_COMMAND && message.type !== MessageType.CONTEXT_MENU_COMMAND) ||
    !interaction?.user
  )
    return null;
  const name = message.interaction?.name ?? interaction.name;
  const command = name && message.type === MessageType.CHAT_INPUT_COMMAND ? `/${name}` : (name ?? t("a command"));
  return h(
    "p",
    { class: "reply-line" },
    icon("reply"),
    tNodes("{name} used {command}", {
      name: h("strong", { dir: "auto" }, state.displayName(interaction.user, guildId)),
      command,
    }),
  );
}

/** Return a placeholder for a message of a blocked user. */
function blockedNotice(message, context, timeline) {
  const show = () => node.replaceWith(...[messageBody(message, context, false, timeline)].flat(9).filter(Boolean));
  const button = h("button", { type: "button", class: "link", onclick: show }, t("Show message"));
  const node = h("p", { class: "muted small" }, tNodes("Message from a blocked user. {button}", { button }));
  return node;
}

function messageBody(message, context, isEditing, timeline) {
  if (message.flags & MessageFlags.LOADING && !message.content) return loadingIndicator();
  const content = message.content ?? "";
  const body = content
    ? h(
        "div",
        { class: isOnlyEmoji(content) ? "content jumbo" : "content" },
        renderMarkdown(content, { context, message }),
      )
    : null;
  if (body !== null && message.edited_timestamp) {
    // The classes take the place of :has() and :nth-last-child(), with which each new message restyles all others.
    body.lastElementChild?.classList.add("before-edited");
    body.classList.add("has-edited");
    body.append(h("span", { class: "edited" }, ` ${t("(edited)")}`));
  }
  return [
    forwardedMessages(message, context),
    isEditing ? editForm(message, context, timeline) : body,
    renderStickers(message),
    // Messages with components v2 show their files only inside the components.
    message.flags & MessageFlags.IS_COMPONENTS_V2 ? null : renderAttachments(message, context),
    renderEmbeds(message, context),
    renderPoll(message, context),
    message.activity ? createPart("hubbub-game-invite", context, { message }) : null,
    renderComponents(message, context),
    message.thread
      ? h(
          "p",
          { class: "thread-line" },
          h(
            "a",
            { href: channelPath({ ...message.thread, guild_id: context.guildId }) },
            icon("thread"),
            message.thread.name,
            h("span", { class: "muted small" }, ` ${message.thread.message_count ?? 0}`),
          ),
        )
      : null,
    renderReactions(message, context),
  ];
}

/** Return the form that edits a message, which is loaded on first use. */
function editForm(message, context, timeline) {
  const node = h("div", { class: "edit-form" });
  loadModule(() => import("./edit_form.js")).then(module => module?.showEditForm(node, message, context, timeline));
  return node;
}

/** Return the indicator of a deferred app response. */
function loadingIndicator() {
  return h(
    "p",
    { class: "answer-loading", role: "status" },
    h("span", { class: "answer-dots", "aria-hidden": "true" }, h("i"), h("i"), h("i")),
    t("Thinking…"),
  );
}

function forwardedMessages(message, context) {
  return (message.message_snapshots ?? []).map(({ message: snapshot }) =>
    h(
      "blockquote",
      { class: "forwarded" },
      h("p", { class: "forwarded-line" }, icon("forward"), forwardSource(message, context)),
      h(
        "div",
        { class: "content" },
        renderMarkdown(snapshot.content ?? "", { context, message: { ...snapshot, channel_id: message.channel_id } }),
      ),
      renderStickers(snapshot),
      renderAttachments(snapshot, context),
      renderEmbeds(snapshot, context),
    ),
  );
}

/** Return the label of a forwarded message; it links to the original if the user knows its channel. */
function forwardSource({ message_reference: reference }, { state }) {
  const channel = state.channels.get(reference?.channel_id);
  if (channel === undefined) return t("Forwarded");
  const title = `${channel.guild_id ? "#" : ""}${channelTitle(channel, state)}`;
  return h(
    "a",
    { href: channelPath(channel, reference.message_id), dir: "auto" },
    t("Forwarded from {channel}", { channel: title }),
  );
}

function ephemeralLine(message, context) {
  const dismiss = () => {
    context.state.logs.get(message.channel_id)?.remove(message.id);
    context.state.emitChange("messages", message.channel_id);
  };
  return h(
    "p",
    { class: "ephemeral-line" },
    tNodes("Only you can see this · {button}", {
      button: h("button", { type: "button", class: "link", onclick: dismiss }, t("Dismiss")),
    }),
  );
}

/** Return a row for a message that is being sent or could not be sent. */
export function buildPendingRow(pending, context) {
  const { me, state, guildId } = context;
  const hasFailed = pending.state === "failed";
  return h(
    "li",
    { class: hasFailed ? "message pending failed" : "message pending", "aria-busy": hasFailed ? null : "true" },
    h("span", { class: "gutter" }, userAvatar(me, state.displayName(me, guildId))),
    h(
      "div",
      { class: "message-body" },
      h(
        "p",
        { class: "message-head" },
        h("span", { class: "author-name" }, state.displayName(me, guildId)),
        h("span", { class: "when" }, hasFailed ? t("Not sent") : t("Sending…")),
      ),
      pending.content
        ? h(
            "div",
            { class: "content" },
            renderMarkdown(pending.content, { context, message: { channel_id: context.channelId, mentions: [] } }),
          )
        : null,
      (pending.files ?? []).map(file =>
        h("p", { class: "file" }, icon("file"), file.name, h("span", { class: "muted small" }, formatBytes(file.size))),
      ),
      pending.files?.length && !hasFailed
        ? h("progress", { max: "1", value: pending.uploadProgress ?? 0, "aria-label": t("Upload progress") })
        : null,
      hasFailed
        ? h(
            "p",
            { class: "error", role: "alert" },
            h("span", null, pending.error),
            " ",
            h(
              "button",
              { type: "button", class: "link", onclick: () => sendPending(pending, context) },
              t("Try again"),
            ),
            " ",
            h(
              "button",
              { type: "button", class: "link", onclick: () => discardPending(pending, context) },
              t("Discard"),
            ),
          )
        : null,
    ),
  );
}
