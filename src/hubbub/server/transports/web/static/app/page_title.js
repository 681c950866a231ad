/** The title of the page: number of mentions, channel and guild. */

import { showBadge } from "./ui/badge.js";
import { t } from "./ui/translation.js";
import { channelTitle } from "./content/avatars.js";
import { countsAsUnread } from "./guilds/guild_list.js";

/** Set the title of the page, and the number of mentions on its icon. */
export function drawPageTitle({ state, channelId, guildId }) {
  const channel = state.channels.get(channelId),
    guild = state.guilds.get(guildId);
  let mentionCount = 0;
  for (const otherChannel of state.channels.values())
    if (countsAsUnread(otherChannel, state)) mentionCount += state.mentionCountIn(otherChannel.id);
  const name = channel
    ? `${channel.guild_id ? "#" : ""}${channelTitle(channel, state)}${guild ? ` · ${guild.name}` : ""}`
    : (guild?.name ?? t("Friends"));
  document.title = `${mentionCount ? `(${mentionCount}) ` : ""}${name} · Hubbub`;
  showBadge(mentionCount);
}
