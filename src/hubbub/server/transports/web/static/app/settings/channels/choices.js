/** Channels of a guild as options of a choice. */

import { ChannelType, isThread, isVoice } from "../../network/enums.js";
import { t } from "../../ui/translation.js";

/** Return the label of a channel: its name with “(voice)” for voice and stage channels, and with `#` for other channels. */
export const channelLabel = channel =>
  isVoice(channel) ? t("{name} (voice)", { name: channel.name }) : `#${channel.name}`;

/**
 * Return the channels in which the user has all of the permission bits, as pairs of ID and label, by their position.
 * Categories, threads and channels for which `isPossible` returns false are left out.
 */
export function channelOptions({ context: { state }, guildId }, bits, isPossible = () => true) {
  return state
    .channelsOf(guildId)
    .filter(
      channel =>
        !isThread(channel) &&
        channel.type !== ChannelType.GUILD_CATEGORY &&
        isPossible(channel) &&
        state.can(channel.id, bits),
    )
    .sort((one, other) => one.position - other.position)
    .map(channel => [channel.id, channelLabel(channel)]);
}
