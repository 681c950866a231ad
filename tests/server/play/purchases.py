"""Functions that create SKUs, entitlements and purchases of an application, and collect the resulting events."""

from datetime import UTC, datetime
from typing import Any

from hubbub.protocol.enums import EntitlementOwnerType, SkuType
from hubbub.protocol.flags import SkuFlags
from tests.world import Actor, Session, World


async def bearer_headers(world: World, user: Actor, bot: Actor, *scopes: str) -> dict[str, str]:
    """Return the header with an access token of a user for the bot's application."""
    return {"Authorization": f"Bearer {await world.access_token(user, bot.application_id, *scopes)}"}


async def publish_sku(bot: Actor, sku_type: int = SkuType.SUBSCRIPTION, **fields: Any) -> int:
    """Create a published SKU and return its ID."""
    flags = SkuFlags.USER_SUBSCRIPTION if sku_type == SkuType.SUBSCRIPTION else 0
    body = {"type": sku_type, "name": "Premium", "flags": flags, "price": 499, "published": True, **fields}
    return int((await bot.post(f"/applications/{bot.application_id}/skus", json=body)).ok()["id"])


async def create_test_entitlement(
    bot: Actor, sku_id: int, owner_id: int, owner_type: int = EntitlementOwnerType.USER
) -> Any:
    """Create a test entitlement of a user or a guild and return it."""
    body = {"sku_id": str(sku_id), "owner_id": str(owner_id), "owner_type": owner_type}
    return (await bot.post(f"/applications/{bot.application_id}/entitlements", json=body)).ok()


def parse_timestamp_ms(text: str) -> int:
    """Return the Unix time in milliseconds of a UTC timestamp without an offset."""
    return int(datetime.fromisoformat(text).replace(tzinfo=UTC).timestamp()) * 1000


async def buy(user: Actor, sku_id: int, **fields: Any) -> Any:
    """Buy a SKU and return the decoded response."""
    return (await user.post("/users/@me/purchases", json={"sku_id": str(sku_id), **fields})).ok()


async def received_events(session: Session) -> list[tuple[str, Any]]:
    """Wait for events in flight, return the unread events except PING in order, and mark them as read."""
    await session.wait_delivered()
    frames = [frame for frame in session.dispatches[session._position :] if frame["t"] != "PING"]
    session._position = len(session.dispatches)
    return [(frame["t"], frame["d"]) for frame in frames]


def event_names(events: list[tuple[str, Any]]) -> list[str]:
    """Return the names of events, in order."""
    return [name for name, _ in events]
