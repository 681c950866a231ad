"""kill -9 during webhook deliveries: no event is lost, the order of each subject is preserved, and retries end."""

from itertools import groupby
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from hubbub.protocol.enums import EntitlementOwnerType, EventWebhooksStatus, SkuType
from hubbub.protocol.flags import SkuFlags
from tests.journeys.processes import ApiUser, Server, demo_users
from tests.receiver import NO_RESPONSE, Receiver

pytestmark = [pytest.mark.crash, pytest.mark.xdist_group("crash")]

ROUND_COUNT = 4


class EntitlementApplication:
    """An application that creates and deletes test entitlements."""

    def __init__(self, bot: ApiUser, receiver: Receiver) -> None:
        self.bot, self.receiver = bot, receiver
        self.application_path = ""
        self.sku_id = ""
        self.expected_events: dict[str, list[tuple[str, str]]] = {}
        """Type and entitlement ID of the expected events, in order, by user ID."""

    async def set_up(self) -> None:
        """Create a SKU and set the webhook URL."""
        application = (await self.bot.get("/applications/@me")).ok()
        self.receiver.use_verify_key_of(application)
        self.application_path = f"/applications/{application['id']}"
        types = ["ENTITLEMENT_CREATE", "ENTITLEMENT_DELETE"]
        settings = {
            "event_webhooks_url": self.receiver.events_url,
            "event_webhooks_status": EventWebhooksStatus.ENABLED,
            "event_webhooks_types": types,
        }
        (await self.bot.request("PATCH", "/applications/@me", json=settings)).ok()
        sku_body = {"type": SkuType.SUBSCRIPTION, "name": "Gold", "flags": SkuFlags.USER_SUBSCRIPTION}
        self.sku_id = (await self.bot.post(f"{self.application_path}/skus", sku_body)).ok()["id"]

    async def create_and_delete_entitlement(self, user: ApiUser) -> None:
        """Create and delete an entitlement of a user, which causes two events."""
        body = {"sku_id": self.sku_id, "owner_id": user.id, "owner_type": EntitlementOwnerType.USER}
        entitlement_id = (await self.bot.post(f"{self.application_path}/entitlements", body)).ok()["id"]
        self.expected_events.setdefault(user.id, []).append(("ENTITLEMENT_CREATE", entitlement_id))
        (await self.bot.request("DELETE", f"{self.application_path}/entitlements/{entitlement_id}")).ok()
        self.expected_events[user.id].append(("ENTITLEMENT_DELETE", entitlement_id))

    def find_received_events(self) -> dict[str, list[tuple[str, str]]]:
        """Return the type and entitlement ID of the received events, by user ID; an immediate repetition counts once."""
        keys_by_user_id: dict[str, list[tuple[str, str]]] = {}
        for event in self.receiver.events:
            keys_by_user_id.setdefault(event["data"]["user_id"], []).append((event["type"], event["data"]["id"]))
        return {user_id: [event for event, _ in groupby(events)] for user_id, events in keys_by_user_id.items()}


async def advance_clock(server: Server, client: aiohttp.ClientSession, duration_ms: int) -> None:
    """Advance the server's clock through the control API."""
    headers = {"Authorization": f"Bearer {server.document['control_token']}"}
    url = f"{server.document['control']}/clock/advance"
    async with client.post(url, json={"ms": duration_ms}, headers=headers) as response:
        assert response.status == 200, await response.text()


@pytest.mark.parametrize("store", ["sqlite", "postgres"])
async def test_a_killed_process_loses_no_event(
    tmp_path: Path, receiver: Receiver, store: str, request: pytest.FixtureRequest
) -> None:
    flags = ["--data", str(tmp_path / "data"), "--rate-limits", "off"]
    if store == "postgres":
        flags += ["--database-url", request.getfixturevalue("durable_postgres_url")]
    server = Server(tmp_path, "dev", *flags)
    try:
        async with aiohttp.ClientSession() as client:
            await server.start()
            users_by_name: dict[str, Any] = demo_users(client, server)
            entitlement_application = EntitlementApplication(users_by_name["demo-bot"], receiver)
            await entitlement_application.set_up()
            alice, bob = users_by_name["alice"], users_by_name["bob"]
            for _ in range(2):
                await entitlement_application.create_and_delete_entitlement(alice)
            await receiver.wait_for_events(4)

            # From now on the receiver does not acknowledge, and more events wait behind the first.
            receiver.default_status = NO_RESPONSE
            for _ in range(ROUND_COUNT):
                await entitlement_application.create_and_delete_entitlement(alice)
                await entitlement_application.create_and_delete_entitlement(bob)
            await receiver.wait_for_events(6)
            server.kill()
            await receiver.wait_disconnected()
            event_count, receiver.default_status = len(receiver.events), 204
            await server.start()
            entitlement_application.bot = demo_users(client, server)["demo-bot"]
            # No other worker uses the database, so the restarted server releases the job leases of the killed one at its start.
            # After the restart, every event except the four that were acknowledged is delivered.
            expected_count = event_count - 4 + sum(map(len, entitlement_application.expected_events.values()))
            await receiver.wait_for_events(expected_count)

            assert entitlement_application.find_received_events() == entitlement_application.expected_events
            assert len(receiver.events) == expected_count
            assert (
                await entitlement_application.bot.get(
                    f"{entitlement_application.application_path}/webhook-events/failed"
                )
            ).ok() == []
            await entitlement_application.create_and_delete_entitlement(bob)
            await receiver.wait_for_events(expected_count + 2)
            await advance_clock(server, client, 3_600_000)
            await entitlement_application.create_and_delete_entitlement(alice)
            await receiver.wait_for_events(expected_count + 4)
            assert entitlement_application.find_received_events() == entitlement_application.expected_events
            assert len(receiver.events) == expected_count + 4
    finally:
        server.stop()
