"""Requests for scheduled events, shared by the tests of events and invites."""

from typing import Any

from hubbub.protocol import codec
from hubbub.protocol.enums import EventEntityType, EventPrivacyLevel
from tests.world import NOW_MS, Actor, Guild

HOUR_MS = 3_600_000


def timestamp(ms: int) -> str:
    """Return the wire form of a time in Unix milliseconds."""
    return codec.timestamp(ms)


def external_event(**overrides: Any) -> dict[str, Any]:
    """Return the body of an external event that starts one hour and ends two hours after NOW_MS."""
    return {
        "name": "picnic",
        "entity_type": EventEntityType.EXTERNAL,
        "privacy_level": EventPrivacyLevel.GUILD_ONLY,
        "scheduled_start_time": timestamp(NOW_MS + HOUR_MS),
        "scheduled_end_time": timestamp(NOW_MS + 2 * HOUR_MS),
        "entity_metadata": {"location": "the park"},
        **overrides,
    }


def channel_event(channel_id: int, entity_type: int = EventEntityType.VOICE, **overrides: Any) -> dict[str, Any]:
    """Return the body of an event in a channel that starts one hour after NOW_MS."""
    return {
        "name": "talk",
        "entity_type": entity_type,
        "privacy_level": EventPrivacyLevel.GUILD_ONLY,
        "channel_id": str(channel_id),
        "scheduled_start_time": timestamp(NOW_MS + HOUR_MS),
        **overrides,
    }


async def create_event(actor: Actor, guild: Guild, body: dict[str, Any]) -> Any:
    return (await actor.post(f"/guilds/{guild.id}/scheduled-events", json=body)).ok()
