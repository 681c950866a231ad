/** The place of a call: a channel, or a lobby of a game, which has a channel if it is linked to one that the user can view. */

import { h, icon } from "../ui/dom.js";
import { t, tNodes } from "../ui/translation.js";
import { applicationName } from "../games/game_images.js";
import { getCalls } from "../voice/calls.js";

/** Return the ID of the call of a channel: that of the linked lobby if the user is in it, else the ID of the channel. */
export function callIdOf({ state }, channel) {
  const lobbyId = channel?.linked_lobby?.lobby_id;
  return state.lobbies.has(lobbyId) ? lobbyId : (channel?.id ?? null);
}

/** Return the channel that shows a call, or null: the call of a lobby may have none. */
export function findCallChannel({ state }, callId) {
  if (callId === null) return null;
  if (!state.lobbies.has(callId)) return state.channels.get(callId) ?? null;
  return [...state.channels.values()].find(({ linked_lobby: linked }) => linked?.lobby_id === callId) ?? null;
}

/** Return the lobbies whose call is running and has no channel. */
export function lobbyCalls(context) {
  const { state } = context;
  return [...state.lobbies.values()].filter(
    ({ id }) => state.voiceStatesIn(id).length > 0 && findCallChannel(context, id) === null,
  );
}

/** Join the call of a lobby. Must be called from a click or key press, as `Calls.join`. */
export function joinLobbyCall(context, lobbyId) {
  return getCalls(context).join({ id: lobbyId, isLobby: true });
}

/** Return the entry of a list with the button that joins the call of a lobby. */
export function lobbyCallEntry(context, lobby) {
  const hasJoined = getCalls(context).channelId === lobby.id;
  return {
    key: `lobby-${lobby.id}`,
    version: String(hasJoined),
    build: () => h("li", null, lobbyCallButton(context, lobby, hasJoined)),
  };
}

/** Return the button that joins the call of a lobby, with the name of the game. */
function lobbyCallButton(context, lobby, hasJoined) {
  return h(
    "button",
    {
      type: "button",
      class: "entry",
      title: hasJoined ? null : t("Join the call"),
      disabled: hasJoined,
      dataset: { focus: "lobby" },
      onclick: () => joinLobbyCall(context, lobby.id),
    },
    icon("voice"),
    h(
      "span",
      { class: "entry-name" },
      tNodes("Call in {game}", { game: applicationName(context, lobby.application_id) }),
    ),
  );
}
