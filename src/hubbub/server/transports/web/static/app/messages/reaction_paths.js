/** Paths of reactions in the API. */

/** Return the name of an emoji in paths: the emoji itself, or the name and ID of a custom emoji. */
export const emojiKey = emoji => (emoji.id ? `${emoji.name}:${emoji.id}` : emoji.name);

/** Return the API path of the reactions to a message with an emoji. */
export function reactionPath(message, emoji) {
  return `/channels/${message.channel_id}/messages/${message.id}/reactions/${encodeURIComponent(emojiKey(emoji))}`;
}
