"""READY as one session gets it: the parts of the slices, split and thinned as the client said it can take them (sdk.md 5.3)."""

from typing import Any, Final

import msgspec

from hubbub.protocol import wire
from hubbub.protocol.intents import Capabilities, Intents
from hubbub.protocol.resources.gateway import READY, READY_SUPPLEMENTAL
from hubbub.server.core.store import Snapshot
from hubbub.server.transports.gateway.session import Session

LOBBIES: Final = "lobbies"
LOBBY_CREATE: Final = "LOBBY_CREATE"
CALLS: Final = "calls"
CALL_CREATE: Final = "CALL_CREATE"


class Opening(msgspec.Struct, kw_only=True):
    """How a session begins."""

    packets: list[tuple[str, bytes]]
    """READY, and what follows it at once: names and bodies."""
    guilds: list[int]
    snapshot: Snapshot
    application_name: str = ""
    """Of the game, where the session is one's."""


def packets(parts: dict[str, Any], session: Session) -> list[tuple[str, bytes]]:
    """READY for a session, and the events that carry what it does not."""
    after: list[tuple[str, Any]] = []
    if not session.actor.is_bot:
        supplement = {
            "merged_presences": parts.pop("merged_presences", {"guilds": [], "friends": []}),
            "lazy_private_channels": parts.pop("lazy_private_channels", []),
            "game_invites": parts.pop("game_invites", []),
        }
        if session.capabilities & Capabilities.PRIORITIZED_READY_PAYLOAD:
            after.append((READY_SUPPLEMENTAL.name, supplement))
        else:
            parts["presences"] = supplement["merged_presences"]["friends"]
            parts["game_invites"] = supplement["game_invites"]
        if LOBBIES in parts and not session.capabilities & Capabilities.AUTO_LOBBY_CONNECT:
            lobbies = parts.pop(LOBBIES)
            if session.intents & Intents.LOBBIES:
                after += [(LOBBY_CREATE, lobby) for lobby in lobbies]
        calls = parts.pop(CALLS, [])
        if session.capabilities & Capabilities.AUTO_CALL_CONNECT and session.intents & Intents.CALLS:
            # Others ask for each (opcode 13).
            after += [(CALL_CREATE, call) for call in calls]
        if session.capabilities & Capabilities.DEDUPE_USER_OBJECTS:
            _name_users_once(parts)
    return [(READY.name, wire.encode(parts)), *((event, wire.encode(body)) for event, body in after)]


def _name_users_once(parts: dict[str, Any]) -> None:
    """Put every user into `users`, and leave ids where they were."""
    users: dict[str, Any] = {}
    for key in ("relationships", "game_relationships"):
        told = _plain(parts.get(key, []))
        for one in told:
            if (user := one.pop("user", None)) is not None:
                users[user["id"]] = user
        parts[key] = told
    channels = _plain(parts.get("private_channels", []))
    for channel in channels:
        recipients = channel.pop("recipients", [])
        users |= {user["id"]: user for user in recipients}
        channel["recipient_ids"] = [user["id"] for user in recipients]
    parts["private_channels"] = channels
    parts["users"] = list(users.values())


def _plain(values: list[Any]) -> list[dict[str, Any]]:
    plain: list[dict[str, Any]] = msgspec.json.decode(wire.encode(values))
    return plain
