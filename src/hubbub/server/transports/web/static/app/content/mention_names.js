/** Mentions and custom emoji as names in a text field: `@tom` instead of `<@1>`, and the conversion back. */

const TOKEN_PATTERN = /<(?:(@!?|@&|#)(\d{1,19})|a?:(\w{1,64}):\d{1,19})>/g;

/**
 * Return a text with names instead of IDs, and the mention of each name. IDs without a name, and names that would be
 * ambiguous in this text, stay as they are.
 *
 * @param {string} content
 * @param {{context: import("../state/context.js").Context, message?: any}} scope `message` provides the mentioned users
 * @returns {{text: string, mentions: Map<string, string>}}
 */
export function showMentionNames(content, scope) {
  const plainText = content.replace(TOKEN_PATTERN, "");
  const mentions = new Map();
  const text = content.replace(TOKEN_PATTERN, (token, prefix, id, emojiName) => {
    const name = emojiName === undefined ? nameOf(prefix, id, scope) : `:${emojiName}:`;
    if (name === null || plainText.includes(name) || (mentions.get(name) ?? token) !== token) return token;
    mentions.set(name, token);
    return name;
  });
  return { text, mentions };
}

/** Return the text with names replaced by their mentions. */
export function resolveMentionNames(text, mentions) {
  let resolvedText = text;
  // Replace longer names first, because a name can start with a shorter one.
  for (const [name, mention] of [...mentions].sort(([a], [b]) => b.length - a.length))
    resolvedText = resolvedText.replaceAll(name, (match, offset) =>
      continuesName(match, resolvedText, offset + match.length) ? match : mention,
    );
  return resolvedText;
}

/** Return whether the text after a name makes it a longer word, such as "@tommy" for "@tom". */
function continuesName(name, text, end) {
  return !name.endsWith(":") && /^[\p{L}\p{N}_]/u.test(text.slice(end));
}

/** Return the name of a channel (`prefix` "#"), role ("@&") or user ("@" or "@!") with its first character, or null. */
function nameOf(prefix, id, { context, message }) {
  const { state } = context;
  if (prefix === "#") {
    const channel = state.channels.get(id);
    return channel?.name ? `#${channel.name}` : null;
  }
  if (prefix === "@&") {
    const guildId = message ? state.channels.get(message.channel_id)?.guild_id : context.guildId;
    const role = state.guilds.get(guildId)?.roles.find(candidate => candidate.id === id);
    return role ? `@${role.name}` : null;
  }
  const user = message?.mentions?.find(mentioned => mentioned.id === id) ?? state.user(id);
  return user ? `@${user.username}` : null;
}
