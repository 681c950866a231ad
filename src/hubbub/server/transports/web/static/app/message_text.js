/** Messages as plain text: system messages, and one-line summaries of all others. */

import { MessageType } from "./enums.js";
import { parse, plain } from "./markdown_parse.js";

const USER_MESSAGE_TYPES = new Set([MessageType.DEFAULT, MessageType.REPLY, MessageType.CHAT_INPUT_COMMAND, MessageType.CONTEXT_MENU_COMMAND]);

/** Return whether a user or app wrote the message; all other types are system messages. */
export const isUserMessage = message => USER_MESSAGE_TYPES.has(message.type);

const SYSTEM_TEXTS = {
  [MessageType.RECIPIENT_ADD]: (name, message, names) => `${name} added ${names}.`,
  [MessageType.RECIPIENT_REMOVE]: (name, message, names) => (message.mentions?.[0]?.id === message.author.id ? `${name} left.` : `${name} removed ${names}.`),
  [MessageType.CALL]: (name, message) => (message.call?.ended_timestamp ? `${name} called; the call is over.` : `${name} calls.`),
  [MessageType.CHANNEL_NAME_CHANGE]: (name, message) => `${name} named this “${message.content}”.`,
  [MessageType.CHANNEL_ICON_CHANGE]: name => `${name} changed the picture.`,
  [MessageType.CHANNEL_PINNED_MESSAGE]: name => `${name} pinned a message.`,
  [MessageType.USER_JOIN]: name => `${name} came in.`,
  [MessageType.GUILD_BOOST]: name => `${name} supports this guild.`,
  12: (name, message) => `${name} follows ${message.content} here.`,
  [MessageType.THREAD_CREATED]: (name, message) => `${name} began a thread: ${message.content}`,
  [MessageType.THREAD_STARTER_MESSAGE]: () => "The thread begins with the message above.",
  [MessageType.AUTO_MODERATION_ACTION]: () => "A message was held back by the guild's rules.",
  27: (name, message) => `${name} opened the stage: ${message.content}`,
  28: (name, message) => `${name} closed the stage: ${message.content}`,
  29: name => `${name} speaks on the stage now.`,
  31: (name, message) => `${name} changed the stage's topic: ${message.content}`,
  [MessageType.POLL_RESULT]: () => "A poll has closed.",
  49: () => "This channel is linked to a lobby.",
};

/** Return the text of a system message. */
export function systemText(message, { state, guildId }) {
  const name = state.nameOf(message.author, guildId);
  const names = (message.mentions ?? []).map(each => state.nameOf(each, guildId)).join(", ") || "somebody";
  const text = SYSTEM_TEXTS[message.type];
  return text === undefined ? `${name}: ${message.content || "something happened."}` : text(name, message, names);
}

/** Return a one-line summary of a message. */
export function summaryOf(message, context) {
  if (!isUserMessage(message)) return systemText(message, context);
  const mention = (whole, id) => {
    const user = message.mentions?.find(each => each.id === id) ?? context.state.user(id);
    return user ? `@${context.state.nameOf(user, context.guildId)}` : whole;
  };
  const text = plain(parse((message.content ?? "").replace(/<@!?(\d{1,19})>/g, mention))).replace(/\s+/g, " ").trim();
  if (text) return text.slice(0, 200);
  if (message.attachments?.length) return message.attachments.length === 1 ? message.attachments[0].filename : `${message.attachments.length} files`;
  if (message.sticker_items?.length) return `Sticker: ${message.sticker_items[0].name}`;
  if (message.poll) return `Poll: ${message.poll.question?.text ?? ""}`;
  if (message.embeds?.length) return message.embeds[0].title ?? message.embeds[0].description?.slice(0, 200) ?? "An embed";
  return message.components?.length ? "Controls of an app" : "No words";
}
