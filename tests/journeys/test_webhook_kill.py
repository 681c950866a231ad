"""kill -9 during webhook deliveries: no event is lost, the order of each subject is kept, repetition ends."""

from itertools import groupby
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from tests.journeys.processes import ApiUser, Server, demo_users
from tests.receiver import Receiver

pytestmark = [pytest.mark.crash, pytest.mark.xdist_group("crash")]

SUBSCRIPTION, FOR_USERS = 5, 1 << 8
ROUNDS = 4


class Shop:
    """An application that creates and deletes test entitlements."""

    def __init__(self, bot: ApiUser, receiver: Receiver) -> None:
        self.bot, self.receiver = bot, receiver
        self.base = ""
        self.sku = ""
        self.expected: dict[str, list[tuple[str, str]]] = {}
        """The expected events of each user, in order: types and entitlements."""

    async def open(self) -> None:
        """Create a SKU and set the webhook URL."""
        about = (await self.bot.get("/applications/@me")).ok()
        self.receiver.use_key_of(about)
        self.base = f"/applications/{about['id']}"
        types = ["ENTITLEMENT_CREATE", "ENTITLEMENT_DELETE"]
        settings = {"event_webhooks_url": self.receiver.url, "event_webhooks_status": 2, "event_webhooks_types": types}
        (await self.bot.request("PATCH", "/applications/@me", json=settings)).ok()
        sold = {"type": SUBSCRIPTION, "name": "Gold", "flags": FOR_USERS}
        self.sku = (await self.bot.post(f"{self.base}/skus", sold)).ok()["id"]

    async def give_and_take(self, person: ApiUser) -> None:
        """Cause two events about one user."""
        body = {"sku_id": self.sku, "owner_id": person.id, "owner_type": 2}
        given = (await self.bot.post(f"{self.base}/entitlements", body)).ok()["id"]
        self.expected.setdefault(person.id, []).append(("ENTITLEMENT_CREATE", given))
        (await self.bot.request("DELETE", f"{self.base}/entitlements/{given}")).ok()
        self.expected[person.id].append(("ENTITLEMENT_DELETE", given))

    def received(self) -> dict[str, list[tuple[str, str]]]:
        """Return the received events of each user, in order; an immediate repetition counts once."""
        found: dict[str, list[tuple[str, str]]] = {}
        for event in self.receiver.events:
            found.setdefault(event["data"]["user_id"], []).append((event["type"], event["data"]["id"]))
        return {person: [each for each, _ in groupby(events)] for person, events in found.items()}


async def advance(server: Server, client: aiohttp.ClientSession, ms: int) -> None:
    """Advance the server's clock."""
    headers = {"Authorization": f"Bearer {server.document['control_token']}"}
    url = f"{server.document['control']}/clock/advance"
    async with client.post(url, json={"ms": ms}, headers=headers) as response:
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
            town: dict[str, Any] = demo_users(client, server)
            shop = Shop(town["demo-bot"], receiver)
            await shop.open()
            alice, bob = town["alice"], town["bob"]
            for _ in range(2):
                await shop.give_and_take(alice)
            await receiver.wait_for_events(4)

            # From now on the receiver does not acknowledge, and more events wait behind the first.
            receiver.default_status = 0
            for _ in range(ROUNDS):
                await shop.give_and_take(alice)
                await shop.give_and_take(bob)
            await receiver.wait_for_events(6)
            server.kill()
            await receiver.wait_disconnected()
            before, receiver.default_status = len(receiver.events), 204
            await server.start()
            shop.bot = demo_users(client, server)["demo-bot"]
            # The dead process's jobs are free again after two minutes; events behind them wait for them.
            await advance(server, client, 121_000)
            # All but the first four, each once.
            expected = before - 4 + sum(map(len, shop.expected.values()))
            await receiver.wait_for_events(expected)

            assert shop.received() == shop.expected
            assert len(receiver.events) == expected
            assert (await shop.bot.get(f"{shop.base}/webhook-events/failed")).ok() == []
            await shop.give_and_take(bob)
            await receiver.wait_for_events(expected + 2)
            await advance(server, client, 3_600_000)
            await shop.give_and_take(alice)
            await receiver.wait_for_events(expected + 4)
            assert shop.received() == shop.expected
            assert len(receiver.events) == expected + 4
    finally:
        server.stop()
