/** Messages on the main gateway with which this client joins, changes and leaves the calls of channels and lobbies. */

import { Opcode } from "../network/enums.js";

/**
 * Channel or lobby whose call this client joins.
 *
 * @typedef {{id: string, guildId: string | null, isLobby: boolean}} CallTarget
 */

/** Send the user's voice state in a call: `flags` are `self_mute`, `self_deaf` and `self_video`. */
export function sendVoiceState(gateway, /** @type {CallTarget} */ { id, guildId, isLobby }, flags) {
  if (isLobby) gateway.send(Opcode.LOBBY_VOICE_STATES, [{ lobby_id: id, ...flags }]);
  else gateway.send(Opcode.VOICE_STATE_UPDATE, { guild_id: guildId, channel_id: id, ...flags });
}

/** Leave the call of a guild, of a private channel (`guildId` null) or of a lobby. */
export function sendLeave(gateway, { guildId, isLobby }) {
  // A session leaves every lobby call that is not in the list.
  if (isLobby) gateway.send(Opcode.LOBBY_VOICE_STATES, []);
  else
    gateway.send(Opcode.VOICE_STATE_UPDATE, {
      guild_id: guildId,
      channel_id: null,
      self_mute: false,
      self_deaf: false,
    });
}
