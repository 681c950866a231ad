"""READY for one session: the slices' parts, split and reduced by the client's capabilities (spec/sdk.md#5.3)."""

from typing import Any, Final

import msgspec

from hubbub.protocol import changes, codec
from hubbub.protocol.intents import Capabilities, Intents
from hubbub.protocol.resources.applications import ReadyApplication, wire_flags
from hubbub.protocol.resources.gateway import READY, READY_SUPPLEMENTAL, FeatureFlags
from hubbub.server.core.config import GatewayConfig
from hubbub.server.core.store import Snapshot
from hubbub.server.transports.gateway.session import GatewaySession

# Parts of READY, and the events that contain them for some clients.
LOBBIES: Final = "lobbies"
LOBBY_CREATE: Final = "LOBBY_CREATE"
CALLS: Final = "calls"
CALL_CREATE: Final = "CALL_CREATE"


class SessionOpening(msgspec.Struct, kw_only=True):
    """The data that a session starts with."""

    events: list[tuple[str, bytes]]
    """Names and payloads of READY and of the events that follow it immediately."""
    guild_ids: list[int]
    """IDs of the guilds of the session's shard; empty for an OAuth2 session."""
    snapshot: Snapshot
    application_name: str = ""
    """Name of the application of an OAuth2 session, otherwise empty."""


def own_fields(
    session: GatewaySession,
    guild_entries: list[Any],
    *,
    resume_url: str,
    shard: list[int] | None,
    settings: GatewayConfig,
    now_ms: int,
) -> dict[str, Any]:
    """Return the keys of READY that the gateway provides; slices may replace them.

    `guild_entries` are the objects of the key `guilds`: unavailable guilds, or IDs and names."""
    ready_fields: dict[str, Any] = {
        "v": session.version,
        "guilds": guild_entries,
        "session_id": session.id,
        "resume_gateway_url": resume_url,
    }
    if shard is not None:
        # discord.py's sharded client requires this key (spec/gateway.md#4.2).
        ready_fields["shard"] = shard
    actor = session.actor
    if actor.application_id is not None:
        flags, flags_new = wire_flags(actor.application_flags, now_ms)
        ready_fields["application"] = ReadyApplication(id=actor.application_id, flags=flags, flags_new=flags_new)
    if session.is_oauth2:
        ready_fields["user_application_profiles"] = {}
        ready_fields["feature_flags"] = FeatureFlags(
            disabled_functions=list(settings.disabled_functions),
            disabled_gateway_events=list(settings.disabled_gateway_events),
        )
        ready_fields["av_sf_protocol_floor"] = int(changes.E2EE_VOICE_ONLY.is_active(now_ms))
    return ready_fields


def ready_events(fields: dict[str, Any], session: GatewaySession) -> list[tuple[str, bytes]]:
    """Return names and payloads of READY and of the events with the parts that READY does not contain.

    `fields` are the keys that the gateway and the slices provide; they are changed in place.
    """
    later_events: list[tuple[str, Any]] = []
    if not session.actor.is_bot:
        supplemental_fields = {
            "merged_presences": fields.pop("merged_presences", {"guilds": [], "friends": []}),
            "lazy_private_channels": fields.pop("lazy_private_channels", []),
            "game_invites": fields.pop("game_invites", []),
        }
        if session.capabilities & Capabilities.PRIORITIZED_READY_PAYLOAD:
            later_events.append((READY_SUPPLEMENTAL.name, supplemental_fields))
        else:
            fields["presences"] = supplemental_fields["merged_presences"]["friends"]
            fields["game_invites"] = supplemental_fields["game_invites"]
        if LOBBIES in fields and not session.capabilities & Capabilities.AUTO_LOBBY_CONNECT:
            lobbies = fields.pop(LOBBIES)
            # Users' own clients receive lobbies only if they declare the capability (decisions/0161).
            if session.is_oauth2 and session.intents & Intents.LOBBIES:
                later_events += [(LOBBY_CREATE, lobby) for lobby in lobbies]
        calls = fields.pop(CALLS, [])
        if session.capabilities & Capabilities.AUTO_CALL_CONNECT and session.intents & Intents.CALLS:
            # Clients without this capability request each call with CALL_CONNECT (opcode 13).
            later_events += [(CALL_CREATE, call) for call in calls]
        if session.capabilities & Capabilities.DEDUPE_USER_OBJECTS:
            _deduplicate_users(fields)
    return [(READY.name, codec.encode(fields)), *((event, codec.encode(body)) for event, body in later_events)]


def _deduplicate_users(fields: dict[str, Any]) -> None:
    """Move the users of relationships and private channels to `users`, and leave only their IDs in these parts."""
    users: dict[str, Any] = {}
    for key in ("relationships", "game_relationships"):
        relationships = _to_dicts(fields.get(key, []))
        for relationship in relationships:
            if (user := relationship.pop("user", None)) is not None:
                users[user["id"]] = user
        fields[key] = relationships
    channels = _to_dicts(fields.get("private_channels", []))
    for channel in channels:
        recipients = channel.pop("recipients", [])
        users |= {user["id"]: user for user in recipients}
        channel["recipient_ids"] = [user["id"] for user in recipients]
    fields["private_channels"] = channels
    fields["users"] = list(users.values())


def _to_dicts(models: list[Any]) -> list[dict[str, Any]]:
    dicts: list[dict[str, Any]] = msgspec.json.decode(codec.encode(models))
    return dicts
