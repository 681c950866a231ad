"""READY for one session: the slices' parts, split and reduced by the client's capabilities (spec/sdk.md#5.3)."""

from typing import Any, Final

import msgspec

from hubbub.protocol import codec
from hubbub.protocol.intents import Capabilities, Intents
from hubbub.protocol.resources.gateway import READY, READY_SUPPLEMENTAL
from hubbub.server.core.store import Snapshot
from hubbub.server.transports.gateway.session import GatewaySession

# Parts of READY, and the events that contain them for some clients.
LOBBIES: Final = "lobbies"
LOBBY_CREATE: Final = "LOBBY_CREATE"
CALLS: Final = "calls"
CALL_CREATE: Final = "CALL_CREATE"


class SessionOpening(msgspec.Struct, kw_only=True):
    """The data that a session starts with."""

    packets: list[tuple[str, bytes]]
    """Names and payloads of READY and of the events that follow it immediately."""
    guilds: list[int]
    """IDs of the guilds of the session's shard; empty for an OAuth2 session."""
    snapshot: Snapshot
    application_name: str = ""
    """Name of the application of an OAuth2 session, otherwise empty."""


def ready_events(parts: dict[str, Any], session: GatewaySession) -> list[tuple[str, bytes]]:
    """Return names and payloads of READY and of the events with the parts that READY does not contain.

    `parts` are the keys that the gateway and the slices provide; they are changed in place.
    """
    following: list[tuple[str, Any]] = []
    if not session.actor.is_bot:
        supplement = {
            "merged_presences": parts.pop("merged_presences", {"guilds": [], "friends": []}),
            "lazy_private_channels": parts.pop("lazy_private_channels", []),
            "game_invites": parts.pop("game_invites", []),
        }
        if session.capabilities & Capabilities.PRIORITIZED_READY_PAYLOAD:
            following.append((READY_SUPPLEMENTAL.name, supplement))
        else:
            parts["presences"] = supplement["merged_presences"]["friends"]
            parts["game_invites"] = supplement["game_invites"]
        if LOBBIES in parts and not session.capabilities & Capabilities.AUTO_LOBBY_CONNECT:
            lobbies = parts.pop(LOBBIES)
            # Users' own clients receive lobbies only if they declare the capability (decisions/0161).
            if session.is_oauth2 and session.intents & Intents.LOBBIES:
                following += [(LOBBY_CREATE, lobby) for lobby in lobbies]
        calls = parts.pop(CALLS, [])
        if session.capabilities & Capabilities.AUTO_CALL_CONNECT and session.intents & Intents.CALLS:
            # Clients without this capability request each call with CALL_CONNECT (opcode 13).
            following += [(CALL_CREATE, call) for call in calls]
        if session.capabilities & Capabilities.DEDUPE_USER_OBJECTS:
            _deduplicate_users(parts)
    return [(READY.name, codec.encode(parts)), *((event, codec.encode(body)) for event, body in following)]


def _deduplicate_users(parts: dict[str, Any]) -> None:
    """Move the users of relationships and private channels to `users`, and leave only their IDs in these parts."""
    users: dict[str, Any] = {}
    for key in ("relationships", "game_relationships"):
        relationships = _to_dicts(parts.get(key, []))
        for relationship in relationships:
            if (user := relationship.pop("user", None)) is not None:
                users[user["id"]] = user
        parts[key] = relationships
    channels = _to_dicts(parts.get("private_channels", []))
    for channel in channels:
        recipients = channel.pop("recipients", [])
        users |= {user["id"]: user for user in recipients}
        channel["recipient_ids"] = [user["id"] for user in recipients]
    parts["private_channels"] = channels
    parts["users"] = list(users.values())


def _to_dicts(values: list[Any]) -> list[dict[str, Any]]:
    dicts: list[dict[str, Any]] = msgspec.json.decode(codec.encode(values))
    return dicts
