"""Attacks on purchases: forged prices and buyers, repeated and concurrent requests, and changes while a payment runs.

The payment provider has no way to call the server (docs/payments.md), so the requests of users and owners are all that can
be forged, repeated or reordered."""

import asyncio
from typing import Any

import pytest

from hubbub.protocol.enums import SkuType
from hubbub.protocol.flags import SkuFlags
from tests.server.play.application_owners import sign_in_owner
from tests.server.play.purchases import buy, event_names, publish_sku, received_events
from tests.server.play.test_purchases import FakePaymentProvider, paid_world, provider
from tests.world import ApiResponse, World, wait_until

__all__ = ["paid_world", "provider"]

PURCHASES_PATH = "/users/@me/purchases"
ATTEMPT_COUNT = 8


def count_by_status(responses: list[ApiResponse]) -> dict[int, int]:
    """Return the number of responses with each status."""
    statuses = [response.status for response in responses]
    return {status: statuses.count(status) for status in set(statuses)}


async def test_a_buyer_cannot_forge_price_buyer_and_result(paid_world: World, provider: FakePaymentProvider) -> None:
    bot, alice, bob = await paid_world.bot(), await paid_world.user(), await paid_world.user()
    sku_id = await publish_sku(bot, SkuType.DURABLE, price=499, currency="eur")
    forged_fields = {
        "price": 0,
        "amount": 1,
        "currency": "jpy",
        "user_id": str(bob.id),
        "key": "purchase/1",
        "status": "paid",
        "paid": True,
        "application_id": "1",
    }

    purchase = await buy(alice, sku_id, **forged_fields)

    [charge] = provider.charges
    assert (charge.user_id, charge.amount, charge.currency, charge.application_id) == (
        alice.id,
        499,
        "eur",
        bot.application_id,
    )
    assert purchase["entitlement"]["user_id"] == str(alice.id)
    bob_path = f"/users/@me/applications/{bot.application_id}/entitlements"
    assert (await bob.get(bob_path)).ok() == []


async def test_requests_that_may_not_buy_charge_nothing(paid_world: World, provider: FakePaymentProvider) -> None:
    bot, alice = await paid_world.bot(), await paid_world.user()
    guild = await paid_world.guild()
    sku_id = await publish_sku(bot, SkuType.DURABLE)
    other_bot = await paid_world.bot()
    guild_sku_id = await publish_sku(other_bot, flags=SkuFlags.GUILD_SUBSCRIPTION)
    unpublished_sku_id = await publish_sku(bot, SkuType.DURABLE, published=False)
    access_token = await paid_world.access_token(alice, bot.application_id, "identify", "applications.entitlements")
    bodies: list[Any] = [
        {"sku_id": str(unpublished_sku_id)},
        {"sku_id": "1"},
        {"sku_id": str(guild_sku_id)},
        {"sku_id": str(guild_sku_id), "guild_id": str(guild.id)},
        {"sku_id": str(sku_id), "guild_id": "1"},
        {},
        [],
    ]

    responses = [await alice.post(PURCHASES_PATH, json=body) for body in bodies]
    body = {"sku_id": str(sku_id)}
    responses += [
        await paid_world.request("POST", PURCHASES_PATH, json=body, headers=headers)
        for headers in ({}, {"Authorization": bot.header}, {"Authorization": f"Bearer {access_token}"})
    ]

    assert [response.status for response in responses if not 400 <= response.status < 500] == []
    assert provider.charges == []


async def test_concurrent_purchases_refunds_and_uses_count_once(
    paid_world: World, provider: FakePaymentProvider
) -> None:
    bot, alice = await paid_world.bot(), await paid_world.user()
    sku_id = await publish_sku(bot, SkuType.CONSUMABLE)
    entitlements_path = f"/applications/{bot.application_id}/entitlements"

    async def repeat(request: Any) -> dict[int, int]:
        return count_by_status(await asyncio.gather(*(request() for _ in range(ATTEMPT_COUNT))))

    purchases = await repeat(lambda: alice.post(PURCHASES_PATH, json={"sku_id": str(sku_id)}))
    assert purchases == {201: 1, 400: ATTEMPT_COUNT - 1}
    assert (len(provider.charges), len(provider.held_amounts)) == (1, 1)
    [entitlement] = (await bot.get(entitlements_path)).ok()
    entitlement_path = f"{entitlements_path}/{entitlement['id']}"
    session = await bot.connect(intents=0)
    await repeat(lambda: bot.post(f"{entitlement_path}/consume"))
    assert event_names(await received_events(session)) == ["ENTITLEMENT_UPDATE"]
    (await alice.post(f"{entitlement_path}/refund")).rejected(403, 20012)
    owner = await sign_in_owner(paid_world, bot)
    refunds = await repeat(lambda: owner.post(f"{entitlement_path}/refund"))
    assert sum(count for status, count in refunds.items() if status < 300) == 1
    await paid_world.run_due_jobs()
    assert event_names(await received_events(session)) == ["ENTITLEMENT_DELETE"]
    assert [charge.key for charge in provider.refunds] == [provider.charges[0].key]
    assert provider.held_amounts == {}


async def test_a_price_change_during_a_payment_has_no_effect(paid_world: World, provider: FakePaymentProvider) -> None:
    bot, alice = await paid_world.bot(), await paid_world.user()
    sku_id = await publish_sku(bot, SkuType.DURABLE, price=100)
    provider.response_gate = asyncio.Event()
    purchase = asyncio.create_task(buy(alice, sku_id))
    await wait_until(lambda: provider.charges)

    sku_path = f"/applications/{bot.application_id}/skus/{sku_id}"
    (await bot.patch(sku_path, json={"price": 99_999, "published": False})).ok()
    provider.response_gate.set()

    entitlement = (await purchase)["entitlement"]
    assert list(provider.held_amounts.values()) == [100]
    owner = await sign_in_owner(paid_world, bot)
    (await owner.post(f"/applications/{bot.application_id}/entitlements/{entitlement['id']}/refund")).ok()
    await paid_world.run_due_jobs()
    assert [charge.amount for charge in provider.refunds] == [100]


@pytest.mark.parametrize("path", ["/payments", "/payments/callback", "/purchases/callback", "/payments/webhook"])
async def test_there_is_no_endpoint_for_results_of_payments(paid_world: World, path: str) -> None:
    for url in (f"{paid_world.url}{path}", f"{paid_world.url}/api/v10{path}"):
        response = await paid_world.request("POST", url, json={"key": "purchase/1", "status": "paid"})
        assert response.status == 404
