"""The description of a session with which another node continues it."""

import msgspec

from hubbub.protocol import codec
from hubbub.server.core.call import Actor
from hubbub.server.transports.gateway.identification import SessionParameters
from hubbub.server.transports.gateway.session import GatewaySession


class HandoverDelayed(Exception):
    """A session cannot be taken yet; the client must reconnect and resume again."""


class SessionDescription(msgspec.Struct, kw_only=True):
    """The part of a session that does not change, and its guilds."""

    actor: Actor
    parameters: SessionParameters
    version: int
    device: str
    application_name: str
    guild_ids: list[int]


def describe(session: GatewaySession) -> bytes:
    """Return the encoded description of a session."""
    return codec.encode(
        SessionDescription(
            actor=session.actor,
            parameters=session.parameters,
            version=session.version,
            device=session.device,
            application_name=session.application_name,
            guild_ids=sorted(session.subscriptions),
        )
    )
