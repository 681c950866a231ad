/** Messages as plain text: system messages, and one-line summaries of all others. */

import { ActivityActionType } from "../generated/enums.js";
import { MessageType } from "../network/enums.js";
import { parseMarkdown, plainText } from "./markdown_parser.js";

const SUMMARY_LENGTH_MAX = 200;
const USER_MESSAGE_TYPES = new Set([
  MessageType.DEFAULT,
  MessageType.REPLY,
  MessageType.CHAT_INPUT_COMMAND,
  MessageType.CONTEXT_MENU_COMMAND,
]);

/** Return whether a user or app wrote the message; all other types are system messages. */
export const isUserMessage = message => USER_MESSAGE_TYPES.has(message.type);

const SYSTEM_TEXTS = {
  [MessageType.RECIPIENT_ADD]: (name, message, names) => `${name} added ${names}.`,
  [MessageType.RECIPIENT_REMOVE]: (name, message, names) =>
    message.mentions?.[0]?.id === message.author.id ? `${name} left the group.` : `${name} removed ${names}.`,
  [MessageType.CALL]: (name, message) =>
    message.call?.ended_timestamp ? `${name} started a call that has ended.` : `${name} started a call.`,
  [MessageType.CHANNEL_NAME_CHANGE]: (name, message) => `${name} changed the name to “${message.content}”.`,
  [MessageType.CHANNEL_ICON_CHANGE]: name => `${name} changed the icon.`,
  [MessageType.CHANNEL_PINNED_MESSAGE]: name => `${name} pinned a message.`,
  [MessageType.USER_JOIN]: name => `${name} joined the guild.`,
  [MessageType.GUILD_BOOST]: name => `${name} boosted the guild.`,
  [MessageType.CHANNEL_FOLLOW_ADD]: (name, message) =>
    `${name} followed ${message.content}. Its announcements appear here.`,
  [MessageType.THREAD_CREATED]: (name, message) => `${name} started a thread: ${message.content}`,
  [MessageType.THREAD_STARTER_MESSAGE]: (name, message) =>
    message.referenced_message
      ? "This thread was started from a message."
      : "The message that started this thread was deleted.",
  [MessageType.AUTO_MODERATION_ACTION]: () => "A message was blocked by auto moderation.",
  [MessageType.STAGE_START]: (name, message) => `${name} started the stage: ${message.content}`,
  [MessageType.STAGE_END]: (name, message) => `${name} ended the stage: ${message.content}`,
  [MessageType.STAGE_SPEAKER]: name => `${name} is now a speaker.`,
  [MessageType.STAGE_TOPIC]: (name, message) => `${name} changed the stage topic: ${message.content}`,
  [MessageType.POLL_RESULT]: () => "A poll has ended.",
  [MessageType.CHANNEL_LINKED_TO_LOBBY]: () => "This channel was linked to a game lobby.",
};

/** Return the text of a system message. */
export function systemMessageText(message, { state, guildId }) {
  const name = state.displayName(message.author, guildId);
  const names = (message.mentions ?? []).map(user => state.displayName(user, guildId)).join(", ") || "a user";
  const text = SYSTEM_TEXTS[message.type];
  return text === undefined ? `${name}: ${message.content || "unknown system message."}` : text(name, message, names);
}

/** Return a one-line summary of a message. */
export function summarizeMessage(message, context) {
  if (!isUserMessage(message)) return systemMessageText(message, context);
  const mentionText = (match, id) => {
    const user = message.mentions?.find(mentioned => mentioned.id === id) ?? context.state.user(id);
    return user ? `@${context.state.displayName(user, context.guildId)}` : match;
  };
  const text = plainText(parseMarkdown((message.content ?? "").replace(/<@!?(\d{1,19})>/g, mentionText)))
    .replace(/\s+/g, " ")
    .trim();
  if (text) return text.slice(0, SUMMARY_LENGTH_MAX);
  if (message.activity) {
    const game = message.application?.name ?? "a game";
    return message.activity.type === ActivityActionType.JOIN_REQUEST ? `Asks to join ${game}` : `Invites to ${game}`;
  }
  if (message.attachments?.length)
    return message.attachments.length === 1 ? message.attachments[0].filename : `${message.attachments.length} files`;
  if (message.sticker_items?.length) return `Sticker: ${message.sticker_items[0].name}`;
  if (message.poll) return `Poll: ${message.poll.question?.text ?? ""}`;
  if (message.embeds?.length)
    return message.embeds[0].title ?? message.embeds[0].description?.slice(0, SUMMARY_LENGTH_MAX) ?? "Embed";
  return message.components?.length ? "App controls" : "Empty message";
}
