"""A voice client for calls in private channels."""

import ssl
from typing import Any

from tests.server.voice.caller import Caller
from tests.world import Actor, Session, World


class PrivateCaller(Caller):
    """A voice client of a user in the call of a private channel."""

    def __init__(self, world: World, session: Session, trust: ssl.SSLContext | None = None) -> None:
        super().__init__(world, session, None, trust)  # type: ignore[arg-type]

    @property
    def server_id(self) -> int:
        """The id of the private channel."""
        return int(self.server["channel_id"])

    async def update_voice_state(self, channel: int | None, **more: Any) -> None:
        """Send a voice state update (opcode 4) without a guild."""
        channel_id = None if channel is None else str(channel)
        state = {"guild_id": None, "channel_id": channel_id, "self_mute": False, "self_deaf": False, **more}
        await self.session.send(4, state)


async def open_direct_channel(one: Actor, other: Actor) -> int:
    """Open the direct message channel of two users and return its id."""
    return int((await one.post("/users/@me/channels", json={"recipient_id": str(other.id)})).ok()["id"])
