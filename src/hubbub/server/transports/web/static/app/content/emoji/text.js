/** Names of emoji in text: `:tada:` becomes the emoji when a message is sent. */

import { emojiMention, listGuildEmoji } from "../guild_emoji.js";
import { loadEmojiSet } from "./set.js";

/** Code, mentions and links, which stay as they are, or one or more names in a row. */
const TOKENS =
  /```[\s\S]*?```|(`+)(?!`)[\s\S]*?[^`]\1(?!`)|<[^\s>]*>|https?:\/\/\S+|(?<![\w:\\])(?::[\w+-]+:)+(?![\w:])/g;

/** Return a text in which the names of known emoji are replaced by the emoji. Emoji of guilds come first. */
export async function replaceEmojiNames(text, context) {
  const { byName } = await loadEmojiSet();
  const custom = listGuildEmoji(context).flatMap(({ emojis }) => emojis);
  const replaceName = (match, name) => {
    const emoji = custom.find(candidate => candidate.name === name);
    return emoji === undefined ? (byName.get(name) ?? match) : emojiMention(emoji);
  };
  return text.replace(TOKENS, match => (match.startsWith(":") ? match.replace(/:([\w+-]+):/g, replaceName) : match));
}
