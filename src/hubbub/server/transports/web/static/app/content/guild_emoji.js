/** Custom emoji of guilds that the user can use. */

import { Permissions } from "../network/enums.js";

/**
 * Return the guilds with the custom emoji that the user can use in the channel in view, the guild in view first. Without a
 * channel, for example in settings, emoji of all guilds are returned.
 *
 * @param {import("../state/context.js").Context} context
 * @returns {{guild: any, emojis: any[]}[]}
 */
export function listGuildEmoji({ state, guildId, channelId }) {
  const allowsOtherGuilds = !channelId || state.can(channelId, Permissions.USE_EXTERNAL_EMOJIS);
  return [...state.guilds.values()]
    .filter(guild => guild.id === guildId || allowsOtherGuilds)
    .sort((a, b) => Number(b.id === guildId) - Number(a.id === guildId))
    .map(guild => ({ guild, emojis: (guild.emojis ?? []).filter(emoji => isUsable(emoji, guild, state)) }))
    .filter(({ emojis }) => emojis.length > 0);
}

function isUsable(emoji, guild, state) {
  if (emoji.available === false) return false;
  const roleIds = state.member(guild.id, state.me.id)?.roles ?? [];
  return !emoji.roles?.length || emoji.roles.some(id => roleIds.includes(id));
}

/** Return the text that shows a custom emoji in a message. */
export const emojiMention = ({ id, name, animated }) => `<${animated ? "a" : ""}:${name}:${id}>`;
