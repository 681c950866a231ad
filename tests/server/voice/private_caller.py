"""A voice client for calls in private channels, and a function that opens a direct message channel."""

import ssl
from typing import Any

from hubbub.protocol.enums import GatewayOpcode
from tests.server.voice.caller import Caller
from tests.world import Actor, Session, World


class PrivateCaller(Caller):
    """A voice client of a user in the call of a private channel."""

    def __init__(self, world: World, session: Session, tls_context: ssl.SSLContext | None = None) -> None:
        # A private call has no guild.
        super().__init__(world, session, None, tls_context)  # type: ignore[arg-type]

    @property
    def server_id(self) -> int:
        """The ID of the private channel."""
        return int(self.voice_server["channel_id"])

    async def update_voice_state(self, channel_id: int | None, **fields: Any) -> None:
        """Send a voice state update (opcode 4) without a guild."""
        state = {
            "guild_id": None,
            "channel_id": None if channel_id is None else str(channel_id),
            "self_mute": False,
            "self_deaf": False,
        }
        await self.session.send(GatewayOpcode.VOICE_STATE_UPDATE, state | fields)


async def open_direct_channel(actor: Actor, other: Actor) -> int:
    """Open the direct message channel of two users and return its ID."""
    return int((await actor.post("/users/@me/channels", json={"recipient_id": str(other.id)})).ok()["id"])
