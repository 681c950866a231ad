"""A voice client for lobby calls."""

import ssl
from typing import Any

from tests.server.voice.caller import Caller
from tests.world import Actor, Session, World


class LobbyCaller(Caller):
    """A voice client of a player in lobby calls."""

    def __init__(self, world: World, session: Session, trust: ssl.SSLContext | None = None) -> None:
        super().__init__(world, session, None, trust)  # type: ignore[arg-type]

    async def update_voice_state(self, *lobbies: int | None, **more: Any) -> None:
        """Send opcode 17 with all lobby calls that the session wants to be in."""
        wanted = [
            {"lobby_id": str(lobby), "self_mute": False, "self_deaf": False, **more} for lobby in lobbies if lobby
        ]
        await self.session.send(17, wanted)

    async def receive_ticket(self) -> None:
        """Wait for the voice state and voice server events of a join."""
        own = str(self.actor.id)
        self.state = await self.session.next("LOBBY_VOICE_STATE_UPDATE", lambda state: state["user_id"] == own)
        self.server = await self.session.next("LOBBY_VOICE_SERVER_UPDATE")

    @property
    def server_id(self) -> int:
        """The id of the lobby."""
        return int(self.server["lobby_id"])


async def create_lobby(*players: Actor, secret: str = "xyzzy") -> int:
    """Create a lobby with these players and return its id."""
    for player in players:
        lobby_id = int((await player.put("/lobbies", json={"secret": secret})).ok()["id"])
    return lobby_id
