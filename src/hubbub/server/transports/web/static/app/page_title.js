/** The title of the page: number of mentions, channel and guild. */

import { showBadge } from "./ui/badge.js";
import { t } from "./ui/translation.js";
import { channelTitle } from "./content/avatars.js";
import { countsAsUnread } from "./guilds/list.js";

/** Set the title of the page, and the number of mentions on its icon. */
export function drawPageTitle({ state, channelId, guildId }) {
  const channel = state.channels.get(channelId),
    guild = state.guilds.get(guildId);
  let mentionCount = 0;
  for (const [id, readState] of state.readStates)
    if (readState.mention_count && state.channels.has(id) && countsAsUnread(state.channels.get(id), state))
      mentionCount += state.mentionCountIn(id);
  const name = channel
    ? `${channel.guild_id ? "#" : ""}${channelTitle(channel, state)}${guild ? ` · ${guild.name}` : ""}`
    : (guild?.name ?? t("Friends"));
  const title = `${mentionCount ? `(${mentionCount}) ` : ""}${name} · Hubbub`;
  if (document.title !== title) document.title = title;
  showBadge(mentionCount);
}
