"""A person who calls others: the voice client of the neighbour, with the main gateway's side of private channels."""

import ssl
from typing import Any

from tests.server.voice.caller import Caller
from tests.world import Actor, Session, World


class PrivateCaller(Caller):
    """Somebody in the call of a private channel, or on the way there."""

    def __init__(self, world: World, session: Session, trust: ssl.SSLContext | None = None) -> None:
        super().__init__(world, session, None, trust)  # type: ignore[arg-type]

    @property
    def server_id(self) -> int:
        """The channel."""
        return int(self.server["channel_id"])

    async def ask(self, channel: int | None, **more: Any) -> None:
        """Opcode 4 without a guild."""
        where = None if channel is None else str(channel)
        state = {"guild_id": None, "channel_id": where, "self_mute": False, "self_deaf": False, **more}
        await self.session.send(4, state)


async def direct(one: Actor, other: Actor) -> int:
    """Their direct message channel."""
    return int((await one.post("/users/@me/channels", json={"recipient_id": str(other.id)})).ok()["id"])
