/** Messages as plain text: the texts of system messages, and one-line summaries of all messages. */

import { ActivityActionType } from "../generated/enums.js";
import { MessageType } from "../network/enums.js";
import { formatTime } from "../ui/times.js";
import { t, tn } from "../ui/translation.js";
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

/** Functions that return the text of a system message, by type of the message. */
const SYSTEM_TEXT_BUILDERS = {
  [MessageType.RECIPIENT_ADD]: (name, message, names) => t("{name} added {names}.", { name, names }),
  [MessageType.RECIPIENT_REMOVE]: (name, message, names) =>
    message.mentions?.[0]?.id === message.author.id
      ? t("{name} left the group.", { name })
      : t("{name} removed {names}.", { name, names }),
  [MessageType.CALL]: (name, message) =>
    message.call?.ended_timestamp
      ? t("{name} started a call that has ended.", { name })
      : t("{name} started a call.", { name }),
  [MessageType.CHANNEL_NAME_CHANGE]: (name, message) =>
    t("{name} changed the name to “{title}”.", { name, title: message.content }),
  [MessageType.CHANNEL_ICON_CHANGE]: name => t("{name} changed the icon.", { name }),
  [MessageType.CHANNEL_PINNED_MESSAGE]: name => t("{name} pinned a message.", { name }),
  [MessageType.USER_JOIN]: name => t("{name} joined the guild.", { name }),
  [MessageType.GUILD_BOOST]: name => t("{name} boosted the guild.", { name }),
  [MessageType.CHANNEL_FOLLOW_ADD]: (name, message) =>
    t("{name} followed {channel}. Its announcements appear here.", { name, channel: message.content }),
  [MessageType.THREAD_CREATED]: (name, message) =>
    t("{name} started a thread: {thread}", { name, thread: message.content }),
  [MessageType.THREAD_STARTER_MESSAGE]: (name, message) =>
    message.referenced_message
      ? t("This thread was started from a message.")
      : t("The message that started this thread was deleted."),
  [MessageType.AUTO_MODERATION_ACTION]: () => t("A message was blocked by auto moderation."),
  [MessageType.STAGE_START]: (name, message) =>
    t("{name} started the stage: {topic}", { name, topic: message.content }),
  [MessageType.STAGE_END]: (name, message) => t("{name} ended the stage: {topic}", { name, topic: message.content }),
  [MessageType.STAGE_SPEAKER]: name => t("{name} is now a speaker.", { name }),
  [MessageType.STAGE_TOPIC]: (name, message) =>
    t("{name} changed the stage topic: {topic}", { name, topic: message.content }),
  [MessageType.POLL_RESULT]: () => t("A poll has ended."),
  [MessageType.CHANNEL_LINKED_TO_LOBBY]: () => t("This channel was linked to a game lobby."),
};

/** Return the text of a system message; the author and the content for an unknown type. */
export function systemMessageText(message, { state, guildId }) {
  const name = state.displayName(message.author, guildId);
  const names = (message.mentions ?? []).map(user => state.displayName(user, guildId)).join(", ") || t("a user");
  const buildText = SYSTEM_TEXT_BUILDERS[message.type];
  return buildText === undefined
    ? `${name}: ${message.content || t("unknown system message.")}`
    : buildText(name, message, names);
}

/** Return the functions with the texts of mentions in a message, by type of the node. */
function mentionTexts(message, { state, guildId }) {
  return {
    user: ({ id }) => {
      const user = message.mentions?.find(mentioned => mentioned.id === id) ?? state.user(id);
      return user ? `@${state.displayName(user, guildId)}` : "";
    },
    role: ({ id }) => `@${state.guilds.get(guildId)?.roles?.find(role => role.id === id)?.name ?? t("unknown role")}`,
    channel: ({ id }) => `#${state.channels.get(id)?.name ?? t("unknown")}`,
    time: ({ seconds }) => formatTime(seconds * 1000),
  };
}

/** Return a one-line summary of a message. */
export function summarizeMessage(message, context) {
  if (!isUserMessage(message)) return systemMessageText(message, context);
  const text = plainText(parseMarkdown(message.content ?? ""), mentionTexts(message, context))
    .replace(/\s+/g, " ")
    .trim();
  if (text) return text.slice(0, SUMMARY_LENGTH_MAX);
  if (message.activity) {
    const game = message.application?.name ?? t("a game");
    return message.activity.type === ActivityActionType.JOIN_REQUEST
      ? t("Asks to join {game}", { game })
      : t("Invites to {game}", { game });
  }
  if (message.attachments?.length)
    return message.attachments.length === 1
      ? message.attachments[0].filename
      : tn("{count} file", "{count} files", message.attachments.length);
  if (message.sticker_items?.length) return t("Sticker: {name}", { name: message.sticker_items[0].name });
  if (message.poll) return t("Poll: {question}", { question: message.poll.question?.text ?? "" });
  if (message.embeds?.length)
    return message.embeds[0].title ?? message.embeds[0].description?.slice(0, SUMMARY_LENGTH_MAX) ?? t("Embed");
  return message.components?.length ? t("App controls") : t("Empty message");
}
