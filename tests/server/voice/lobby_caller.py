"""A voice client for lobby calls, and a function that creates a lobby."""

import ssl
from typing import Any

from hubbub.protocol.enums import GatewayOpcode
from tests.server.voice.caller import Caller
from tests.world import Actor, Session, World


class LobbyCaller(Caller):
    """A voice client of a player in lobby calls."""

    def __init__(self, world: World, session: Session, tls_context: ssl.SSLContext | None = None) -> None:
        # A lobby call has no guild.
        super().__init__(world, session, None, tls_context)  # type: ignore[arg-type]

    async def update_voice_state(self, *lobby_ids: int | None, **fields: Any) -> None:
        """Send opcode 17 with all lobby calls that the session takes part in."""
        states = [
            {"lobby_id": str(lobby_id), "self_mute": False, "self_deaf": False, **fields}
            for lobby_id in lobby_ids
            if lobby_id
        ]
        await self.session.send(GatewayOpcode.LOBBY_VOICE_STATES, states)

    async def receive_ticket(self) -> None:
        """Wait for the voice state and voice server events of a join."""
        user_id = str(self.actor.id)
        self.voice_state = await self.session.next(
            "LOBBY_VOICE_STATE_UPDATE", lambda state: state["user_id"] == user_id
        )
        self.voice_server = await self.session.next("LOBBY_VOICE_SERVER_UPDATE")

    @property
    def server_id(self) -> int:
        """The ID of the lobby."""
        return int(self.voice_server["lobby_id"])


async def create_lobby_of_players(*players: Actor, secret: str = "xyzzy") -> int:
    """Create a lobby with these players and return its ID."""
    for player in players:
        lobby_id = int((await player.put("/lobbies", json={"secret": secret})).ok()["id"])
    return lobby_id
