/** Handlers `(state, payload)` of gateway events about the lobbies of games and their calls (spec/voice.md#1, decisions/0161). */

/** @type {Record<string, (state: any, payload: any) => void>} */
export const LOBBY_HANDLERS = {
  LOBBY_CREATE: storeLobby,
  LOBBY_UPDATE: storeLobby,

  LOBBY_DELETE(state, { id }) {
    state.lobbies.delete(id);
    state.voiceStates.delete(id);
    state.emitChange("voiceStates", id);
  },

  LOBBY_MEMBER_ADD(state, { member }) {
    // The state has no members of lobbies; only their users are needed for names.
    state.storeUser(member.user);
  },

  LOBBY_VOICE_STATE_UPDATE(state, payload) {
    // The server also sends this event if it rejects a request to join a call; without the lobby there is nothing to update.
    const voiceStates = state.lobbies.has(payload.lobby_id) ? state.voiceStates.get(payload.lobby_id) : undefined;
    if (voiceStates === undefined) return;
    if (payload.channel_id === null) voiceStates.delete(payload.user_id);
    else voiceStates.set(payload.user_id, payload);
    state.emitChange("voiceStates", payload.lobby_id);
  },
};

/** Store a lobby, its members and the participants of its call. */
export function storeLobby(state, { members, voice_states: voiceStates, linked_channel: _, ...lobby }) {
  state.lobbies.set(lobby.id, lobby);
  for (const { user } of members) state.storeUser(user);
  state.voiceStates.set(lobby.id, new Map(voiceStates.map(voiceState => [voiceState.user_id, voiceState])));
  state.emitChange("voiceStates", lobby.id);
}
