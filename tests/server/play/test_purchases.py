"""Purchases and payments: charges, renewals, declines, outages of the provider, refunds, currencies, the store page.

One test is about subscriptions of a deleted account."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any, NamedTuple

import aiohttp
import pytest

from hubbub.protocol.enums import SkuType, SubscriptionStatus
from hubbub.protocol.flags import SkuFlags
from hubbub.server.app import App
from hubbub.server.core.clock import ControlledClock
from hubbub.server.core.config import Config
from hubbub.server.core.payments import Charge, PaymentDeclined
from hubbub.server.play.subscriptions.actions import RENEWAL_JOB
from hubbub.server.play.subscriptions.payments import ledger
from tests.fixtures.validator import ResponseMonitor
from tests.pages import Browser
from tests.server.identity.accounts import delete_account, register_user
from tests.server.play.application_owners import DAY_MS, sign_in_owner
from tests.server.play.purchases import buy, event_names, parse_timestamp_ms, publish_sku, received_events
from tests.world import NOW_MS, WAIT_TIMEOUT_SECONDS, Actor, ApiResponse, Session, World


class FakePaymentProvider:
    """A payment provider whose behavior the test controls."""

    enabled = True

    def __init__(self) -> None:
        self.charges: list[Charge] = []
        self.refunds: list[Charge] = []
        self.held_amounts: dict[str, int] = {}
        """Amounts charged and not refunded, by charge key."""
        self.is_declining = False
        """Whether charges and refunds are declined."""
        self.is_down = False
        """Whether charges and refunds fail without an effect."""
        self.loses_response = False
        """Whether a charge succeeds but its response is lost."""
        self.response_gate: asyncio.Event | None = None
        """If not None, a charge waits until this event is set."""
        self.refund_gate: asyncio.Event | None = None
        """If not None, the response to a refund waits until this event is set."""
        self.charge_by_key: dict[str, Charge] = {}
        """The first charge or refund with each key."""
        self.reused_keys: set[str] = set()
        """Keys of two different charges."""

    async def charge(self, charge: Charge) -> None:
        """Record the charge, then accept, decline or fail."""
        self.charges.append(charge)
        self._check_key(charge)
        if self.response_gate is not None:
            await self.response_gate.wait()
        if self.is_down:
            raise ConnectionError("the provider is unreachable")
        if self.is_declining:
            raise PaymentDeclined("insufficient funds")
        self.held_amounts[charge.key] = charge.amount
        if self.loses_response:
            raise ConnectionError("the connection was lost")

    async def refund(self, charge: Charge) -> None:
        """Record the refund, then accept, decline or fail."""
        self.refunds.append(charge)
        self._check_key(charge)
        if self.is_down:
            raise ConnectionError("the provider is unreachable")
        if self.is_declining:
            raise PaymentDeclined("too late")
        self.held_amounts.pop(charge.key, None)
        if self.refund_gate is not None:
            await self.refund_gate.wait()

    def _check_key(self, charge: Charge) -> None:
        """Record the key if it was used for another charge."""
        if self.charge_by_key.setdefault(charge.key, charge) != charge:
            self.reused_keys.add(charge.key)


@pytest.fixture
def provider() -> FakePaymentProvider:
    """The payment provider of `paid_world`."""
    return FakePaymentProvider()


@pytest.fixture
async def paid_world(
    store_config: Config, response_monitor: ResponseMonitor, provider: FakePaymentProvider
) -> AsyncIterator[World]:
    """A world with a payment provider."""
    app = App(store_config, clock=ControlledClock(NOW_MS, running=False), payments=provider)
    await app.start()
    async with aiohttp.ClientSession() as client:
        world = World(app, client)
        yield world
        await world.close()
    await app.stop()
    assert provider.reused_keys == set()


class PaidSubscription(NamedTuple):
    """A paid monthly subscription, and a session of the application's bot."""

    bot: Actor
    sku_id: int
    purchase: Any
    session: Session
    end_ms: int


async def create_subscription(world: World, **sku_fields: Any) -> PaidSubscription:
    """Subscribe a user and run the jobs that the purchase scheduled."""
    bot, alice = await world.bot(), await world.user()
    sku_id = await publish_sku(bot, **sku_fields)
    purchase = await buy(alice, sku_id)
    session = await bot.connect(intents=0)
    await world.run_due_jobs()
    return PaidSubscription(
        bot, sku_id, purchase, session, parse_timestamp_ms(purchase["subscription"]["current_period_end"][:19])
    )


async def test_the_provider_is_charged_once_per_payment(paid_world: World, provider: FakePaymentProvider) -> None:
    bot, alice = await paid_world.bot(), await paid_world.user()
    sku_id = await publish_sku(bot, price=499, currency="eur")
    purchase = await buy(alice, sku_id)
    await paid_world.run_due_jobs()
    await paid_world.clock.run_for(62 * DAY_MS)

    first_charge, second_charge, third_charge = provider.charges
    assert (first_charge.user_id, first_charge.sku_id, first_charge.amount, first_charge.currency) == (
        alice.id,
        sku_id,
        499,
        "eur",
    )
    assert second_charge.subscription_id == third_charge.subscription_id == int(purchase["subscription"]["id"])
    assert len({charge.key for charge in provider.charges}) == 3


async def test_a_declined_purchase_has_no_effect(paid_world: World, provider: FakePaymentProvider) -> None:
    bot, alice = await paid_world.bot(), await paid_world.user()
    sku_id = await publish_sku(bot)
    session = await bot.connect(intents=0)
    provider.is_declining = True

    response = await alice.post("/users/@me/purchases", json={"sku_id": str(sku_id)})

    response.rejected(400, 50070)
    assert response.json["message"] == "The payment was declined. Nothing was bought."

    assert await received_events(session) == []
    provider.is_declining = False
    await buy(alice, sku_id)
    await paid_world.run_due_jobs()
    await paid_world.clock.run_for(DAY_MS)
    assert len(provider.charges) == 2


async def test_an_interrupted_purchase_is_settled_by_a_job(paid_world: World, provider: FakePaymentProvider) -> None:
    bot, alice = await paid_world.bot(), await paid_world.user()
    sku_id = await publish_sku(bot)
    session = await bot.connect(intents=0)
    provider.is_down = True

    (await alice.post("/users/@me/purchases", json={"sku_id": str(sku_id)})).rejected(503, 0)
    assert await received_events(session) == []
    # The outcome is unknown, so a second purchase is rejected.
    (await alice.post("/users/@me/purchases", json={"sku_id": str(sku_id)})).rejected(400, 40074)
    provider.is_down = False
    await paid_world.run_due_jobs()
    await paid_world.clock.run_for(60_000)

    assert event_names(await received_events(session)) == [
        "SUBSCRIPTION_CREATE",
        "ENTITLEMENT_CREATE",
        "SUBSCRIPTION_UPDATE",
    ]
    assert len({charge.key for charge in provider.charges}) == 1


async def test_concurrent_purchases_charge_once(paid_world: World, provider: FakePaymentProvider) -> None:
    bot, alice = await paid_world.bot(), await paid_world.user()
    hat_sku_id = await publish_sku(bot, SkuType.DURABLE)
    provider.response_gate = asyncio.Event()

    async def try_to_buy() -> ApiResponse:
        return await alice.post("/users/@me/purchases", json={"sku_id": str(hat_sku_id)})

    first_task = asyncio.create_task(try_to_buy())
    async with asyncio.timeout(WAIT_TIMEOUT_SECONDS):
        while not provider.charges:
            await asyncio.sleep(0.001)
    (await try_to_buy()).rejected(400, 40074)
    provider.response_gate.set()

    (await first_task).ok()
    assert len(provider.charges) == 1


async def test_a_declined_renewal_is_retried_for_three_days(paid_world: World, provider: FakePaymentProvider) -> None:
    _, _, purchase, session, end_ms = await create_subscription(paid_world)
    provider.is_declining = True
    await paid_world.clock.run_until(end_ms + 3 * DAY_MS - 1)

    # The charge is retried daily, and the subscription stays active.
    assert len(provider.charges) == 4
    assert await received_events(session) == []
    assert len({charge.key for charge in provider.charges[1:]}) == 1
    await paid_world.clock.run_until(end_ms + 3 * DAY_MS)

    (name, ended_entitlement), (_, ended_subscription) = await received_events(session)
    assert (name, ended_entitlement["ends_at"]) == (
        "ENTITLEMENT_UPDATE",
        purchase["subscription"]["current_period_end"],
    )
    assert ended_subscription["status"] == SubscriptionStatus.INACTIVE
    await paid_world.clock.run_for(60 * DAY_MS)
    assert len(provider.charges) == 5


async def test_a_declined_renewal_has_one_key_per_price_and_sku(
    paid_world: World, provider: FakePaymentProvider
) -> None:
    bot, alice = await paid_world.bot(), await paid_world.user()
    gold_sku_id = await publish_sku(bot, price=999)
    silver_sku_id = await publish_sku(bot, price=499, name="Silver")
    purchase = await buy(alice, gold_sku_id)
    await paid_world.run_due_jobs()
    end_ms = parse_timestamp_ms(purchase["subscription"]["current_period_end"][:19])
    sku_path = f"/applications/{bot.application_id}/skus/{gold_sku_id}"

    provider.is_declining = True
    await paid_world.clock.run_until(end_ms)
    (await bot.patch(sku_path, json={"price": 1299})).ok()
    await paid_world.clock.run_until(end_ms + DAY_MS)
    (await bot.patch(sku_path, json={"price": 999})).ok()
    await paid_world.clock.run_until(end_ms + 2 * DAY_MS)
    subscription_path = f"/users/@me/subscriptions/{purchase['subscription']['id']}"
    (await alice.patch(subscription_path, json={"sku_id": str(silver_sku_id)})).ok()
    provider.is_declining = False
    await paid_world.clock.run_until(end_ms + 3 * DAY_MS)

    first_charge, higher_charge, repeated_charge, lower_charge = provider.charges[1:]
    assert [charge.amount for charge in (first_charge, higher_charge, repeated_charge, lower_charge)] == [
        999,
        1299,
        999,
        499,
    ]
    # A retry of the same charge has the same key, and every other charge has its own.
    assert first_charge == repeated_charge
    assert len({first_charge.key, higher_charge.key, lower_charge.key}) == 3
    assert list(provider.held_amounts.values()) == [999, 499]


async def test_a_late_renewal_keeps_its_billing_day(paid_world: World, provider: FakePaymentProvider) -> None:
    _, _, purchase, session, end_ms = await create_subscription(paid_world)
    provider.is_declining = True
    await paid_world.clock.run_until(end_ms + DAY_MS - 1)
    provider.is_declining = False
    await paid_world.clock.run_until(end_ms + DAY_MS)

    ((_, renewed_subscription),) = await received_events(session)
    assert renewed_subscription["current_period_start"] == purchase["subscription"]["current_period_end"]


async def test_a_server_without_a_provider_sells_nothing(paid_world: World, provider: FakePaymentProvider) -> None:
    bot, alice = await paid_world.bot(), await paid_world.user()
    sku_id = await publish_sku(bot)
    provider.enabled = False

    (await alice.post("/users/@me/purchases", json={"sku_id": str(sku_id)})).rejected(400, 50097)
    assert provider.charges == []


# A provider that does not respond


async def test_a_renewal_is_charged_once_after_a_two_day_outage(
    paid_world: World, provider: FakePaymentProvider
) -> None:
    bot, sku_id, purchase, session, end_ms = await create_subscription(paid_world, price=499)
    provider.is_down = True
    await paid_world.clock.run_until(end_ms + 1)
    # A price change does not affect the charge whose outcome is unknown.
    path = f"/applications/{bot.application_id}/skus/{sku_id}"
    (await bot.patch(path, json={"price": 999})).ok()
    await paid_world.clock.run_until(end_ms + 2 * DAY_MS)

    assert await received_events(session) == []
    assert len(provider.charges) > 40
    provider.is_down = False
    await paid_world.clock.run_for(DAY_MS // 24)

    ((name, renewed_subscription),) = await received_events(session)
    assert (name, renewed_subscription["status"]) == ("SUBSCRIPTION_UPDATE", SubscriptionStatus.ACTIVE)
    assert renewed_subscription["current_period_start"] == purchase["subscription"]["current_period_end"]
    assert len({(charge.key, charge.amount) for charge in provider.charges[1:]}) == 1
    assert list(provider.held_amounts.values()) == [499, 499]
    assert provider.refunds == []
    await paid_world.clock.run_until(parse_timestamp_ms(renewed_subscription["current_period_end"][:19]))
    assert list(provider.held_amounts.values()) == [499, 499, 999]


async def test_an_unconfirmed_renewal_ends_after_three_days(paid_world: World, provider: FakePaymentProvider) -> None:
    _, _, purchase, session, end_ms = await create_subscription(paid_world)
    # The provider took the payment, its response was lost, and the provider is unreachable from then on.
    provider.loses_response = True
    await paid_world.clock.run_until(end_ms + 1)
    provider.is_down = True
    await paid_world.clock.run_until(end_ms + 3 * DAY_MS - 1)
    assert await received_events(session) == []
    await paid_world.clock.run_until(end_ms + 3 * DAY_MS)

    (name, ended_entitlement), (_, ended_subscription) = await received_events(session)
    assert (name, ended_entitlement["ends_at"]) == (
        "ENTITLEMENT_UPDATE",
        purchase["subscription"]["current_period_end"],
    )
    assert ended_subscription["status"] == SubscriptionStatus.INACTIVE
    charge_count = len(provider.charges)

    # A payment without effect is refunded, however late.
    await paid_world.clock.run_for(5 * DAY_MS)
    assert len(provider.held_amounts) == 2
    provider.is_down = provider.loses_response = False
    await paid_world.clock.run_for(DAY_MS)
    assert list(provider.held_amounts) == [provider.charges[0].key]
    assert len(provider.charges) == charge_count
    assert {charge.key for charge in provider.refunds} == {provider.charges[1].key}
    refund_count = len(provider.refunds)
    await paid_world.clock.run_for(60 * DAY_MS)
    assert len(provider.refunds) == refund_count
    assert await received_events(session) == []


async def test_days_of_outage_and_of_declines_are_counted_together(
    paid_world: World, provider: FakePaymentProvider
) -> None:
    _, _, _, session, end_ms = await create_subscription(paid_world)
    provider.is_down = True
    await paid_world.clock.run_until(end_ms + 5 * DAY_MS // 2)
    provider.is_down, provider.is_declining = False, True
    await paid_world.clock.run_until(end_ms + 3 * DAY_MS)

    assert event_names(await received_events(session)) == ["ENTITLEMENT_UPDATE", "SUBSCRIPTION_UPDATE"]
    await paid_world.clock.run_for(DAY_MS)
    # The provider confirmed that it took nothing, so there is nothing to refund.
    assert provider.refunds == []


async def test_a_provider_timeout_counts_as_no_response(
    paid_world: World, provider: FakePaymentProvider, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ledger, "PROVIDER_TIMEOUT_SECONDS", 0.01)
    bot, alice = await paid_world.bot(), await paid_world.user()
    sku_id = await publish_sku(bot)
    provider.response_gate = asyncio.Event()

    (await alice.post("/users/@me/purchases", json={"sku_id": str(sku_id)})).rejected(503, 0)

    provider.response_gate = None
    await paid_world.run_due_jobs()
    await paid_world.clock.run_for(60_000)
    assert len((await alice.get("/users/@me/subscriptions")).ok()) == 1
    assert len(provider.held_amounts) == 1


async def test_an_unconfirmed_purchase_can_be_retried_after_a_day(
    paid_world: World, provider: FakePaymentProvider
) -> None:
    bot, alice = await paid_world.bot(), await paid_world.user()
    body = {"sku_id": str(await publish_sku(bot))}
    session = await bot.connect(intents=0)
    provider.loses_response = True
    (await alice.post("/users/@me/purchases", json=body)).rejected(503, 0)
    provider.is_down = True
    await paid_world.run_due_jobs()
    await paid_world.clock.run_for(DAY_MS - 1)
    (await alice.post("/users/@me/purchases", json=body)).rejected(400, 40074)
    await paid_world.clock.run_for(DAY_MS // 24)
    assert await received_events(session) == []
    (first_key,) = provider.held_amounts

    provider.is_down = provider.loses_response = False
    (await alice.post("/users/@me/purchases", json=body)).ok()
    await paid_world.run_due_jobs()
    await paid_world.clock.run_for(DAY_MS)

    # The purchase is paid once.
    assert list(provider.held_amounts) == [provider.charges[-1].key] != [first_key]
    assert event_names(await received_events(session)) == [
        "SUBSCRIPTION_CREATE",
        "ENTITLEMENT_CREATE",
        "SUBSCRIPTION_UPDATE",
    ]


# Refunds


async def test_a_refund_returns_the_last_payment_once(paid_world: World, provider: FakePaymentProvider) -> None:
    bot, alice = await paid_world.bot(), await paid_world.user()
    purchase = await buy(alice, await publish_sku(bot, price=499, currency="eur"))
    await paid_world.run_due_jobs()
    await paid_world.clock.run_for(32 * DAY_MS)
    first_charge, second_charge = provider.charges
    path = f"/applications/{bot.application_id}/entitlements/{purchase['entitlement']['id']}/refund"
    owner = await sign_in_owner(paid_world, bot)

    # The outage lasts longer than the retry period of other jobs.
    provider.is_down = True
    (await owner.post(path)).ok()
    (await owner.post(path)).rejected(404, 10029)
    await paid_world.run_due_jobs()
    await paid_world.clock.run_for(3 * DAY_MS)
    assert list(provider.held_amounts) == [first_charge.key, second_charge.key]
    provider.is_down = False
    await paid_world.clock.run_for(DAY_MS)

    assert list(provider.held_amounts) == [first_charge.key]
    assert set(provider.refunds) == {second_charge}
    refund_count = len(provider.refunds)
    await paid_world.clock.run_for(40 * DAY_MS)
    assert (len(provider.charges), len(provider.refunds)) == (2, refund_count)


async def test_a_one_time_purchase_is_refunded_at_the_price_paid(
    paid_world: World, provider: FakePaymentProvider
) -> None:
    bot, alice = await paid_world.bot(), await paid_world.user()
    hat_sku_id = await publish_sku(bot, SkuType.DURABLE, price=300)
    purchase = await buy(alice, hat_sku_id)
    (await bot.patch(f"/applications/{bot.application_id}/skus/{hat_sku_id}", json={"price": 900})).ok()
    owner = await sign_in_owner(paid_world, bot)

    (await owner.post(f"/applications/{bot.application_id}/entitlements/{purchase['entitlement']['id']}/refund")).ok()
    await paid_world.run_due_jobs()

    assert [(refund.key, refund.amount) for refund in provider.refunds] == [(provider.charges[0].key, 300)]
    assert provider.held_amounts == {}
    await buy(alice, hat_sku_id)


async def test_a_declined_refund_is_not_retried(
    paid_world: World, provider: FakePaymentProvider, caplog: pytest.LogCaptureFixture
) -> None:
    bot, alice = await paid_world.bot(), await paid_world.user()
    purchase = await buy(alice, await publish_sku(bot, SkuType.DURABLE))
    owner = await sign_in_owner(paid_world, bot)
    provider.is_declining = True

    (await owner.post(f"/applications/{bot.application_id}/entitlements/{purchase['entitlement']['id']}/refund")).ok()
    await paid_world.run_due_jobs()
    await paid_world.clock.run_for(10 * DAY_MS)

    assert len(provider.refunds) == 1
    assert "was declined: too late" in caplog.text


async def count_jobs(world: World, kind: str) -> int:
    """Return the number of stored jobs of a kind."""
    count: int = await world.app.database.read(lambda tx: tx.value("SELECT count(*) FROM jobs WHERE kind = ?", kind))
    return count


@pytest.mark.parametrize("has_slow_refund", [False, True], ids=["fast_refund", "slow_refund"])
async def test_a_payment_completed_after_the_refund_is_refunded_too(
    paid_world: World, provider: FakePaymentProvider, has_slow_refund: bool
) -> None:
    provider.refund_gate = refund_gate = asyncio.Event() if has_slow_refund else None
    bot, alice = await paid_world.bot(), await paid_world.user()
    purchase = await buy(alice, await publish_sku(bot))
    owner = await sign_in_owner(paid_world, bot)
    end_ms = parse_timestamp_ms(purchase["subscription"]["current_period_end"][:19])
    await paid_world.run_due_jobs()
    # The renewal is being charged while the refund is requested.
    provider.response_gate = asyncio.Event()
    paid_world.clock.set(end_ms)
    async with asyncio.timeout(WAIT_TIMEOUT_SECONDS):
        while len(provider.charges) < 2:
            await asyncio.sleep(0.001)
    (await owner.post(f"/applications/{bot.application_id}/entitlements/{purchase['entitlement']['id']}/refund")).ok()
    async with asyncio.timeout(WAIT_TIMEOUT_SECONDS):
        while len(provider.refunds) < 2:
            await asyncio.sleep(0.001)
    provider.response_gate.set()
    if refund_gate is not None:
        # The charge succeeds after its refund and before the response to the refund.
        async with asyncio.timeout(WAIT_TIMEOUT_SECONDS):
            while await count_jobs(paid_world, RENEWAL_JOB):
                await asyncio.sleep(0.001)
        refund_gate.set()
    await paid_world.run_due_jobs()

    assert provider.held_amounts == {}
    (subscription,) = (await alice.get("/users/@me/subscriptions")).ok()
    assert subscription["status"] == SubscriptionStatus.INACTIVE


# Account deletion


async def test_subscriptions_end_when_the_account_is_deleted(paid_world: World, provider: FakePaymentProvider) -> None:
    mary, bot, other_bot, third_bot = await register_user(paid_world), *[await paid_world.bot() for _ in range(3)]
    guild = await paid_world.guild(None, mary)
    purchase = await buy(mary, await publish_sku(bot))
    guild_purchase = await buy(
        mary, await publish_sku(other_bot, flags=SkuFlags.GUILD_SUBSCRIPTION), guild_id=str(guild.id)
    )
    provider.loses_response = True
    (await mary.post("/users/@me/purchases", json={"sku_id": str(await publish_sku(third_bot))})).rejected(503, 0)
    provider.loses_response = False
    sessions = [await seller.connect(intents=0) for seller in (bot, other_bot, third_bot)]
    await paid_world.run_due_jobs()
    await paid_world.clock.run_for(1000)
    await delete_account(mary)

    (name, ended_entitlement), deleted_event, (last_name, deleted_entitlement) = await received_events(sessions[0])
    assert (name, last_name) == ("ENTITLEMENT_UPDATE", "ENTITLEMENT_DELETE")
    assert ended_entitlement["id"] == deleted_entitlement["id"] == purchase["entitlement"]["id"]
    assert parse_timestamp_ms(ended_entitlement["ends_at"][:19]) == paid_world.clock.now_ms() // 1000 * 1000
    assert deleted_event == ("SUBSCRIPTION_DELETE", purchase["subscription"])
    # The guild keeps its entitlement until the end of the paid period.
    (name, ended_entitlement), deleted_event = await received_events(sessions[1])
    assert name == "ENTITLEMENT_UPDATE"
    assert ended_entitlement == guild_purchase["entitlement"] | {
        "ends_at": guild_purchase["subscription"]["current_period_end"]
    }
    assert deleted_event == ("SUBSCRIPTION_DELETE", guild_purchase["subscription"])
    entitlements_path = f"/applications/{other_bot.application_id}/entitlements?guild_id={guild.id}&only_active=true"
    assert len((await other_bot.get(entitlements_path)).ok()) == 1

    await paid_world.run_due_jobs()
    await paid_world.clock.run_for(40 * DAY_MS)
    assert (await other_bot.get(entitlements_path)).ok() == []
    for session in sessions:
        assert await received_events(session) == []
    # No more charges are made, and the pending purchase is refunded.
    assert len(provider.charges) == 3
    assert list(provider.held_amounts) == [charge.key for charge in provider.charges[:2]]


# Currencies


async def test_prices_of_different_currencies_are_not_compared(
    paid_world: World, provider: FakePaymentProvider
) -> None:
    bot, alice = await paid_world.bot(), await paid_world.user()
    dollars_sku_id, yen_sku_id = (
        await publish_sku(bot, price=499, currency="usd"),
        await publish_sku(bot, price=500, currency="jpy"),
    )
    purchase = await buy(alice, dollars_sku_id)
    session = await bot.connect(intents=0)

    path = f"/users/@me/subscriptions/{purchase['subscription']['id']}"
    (await alice.patch(path, json={"sku_id": str(yen_sku_id)})).ok()

    ((_, changed_subscription),) = await received_events(session)
    assert (changed_subscription["sku_ids"], changed_subscription["renewal_sku_ids"]) == (
        [str(dollars_sku_id)],
        [str(yen_sku_id)],
    )
    assert len(provider.charges) == 1
    await paid_world.run_due_jobs()
    await paid_world.clock.run_for(32 * DAY_MS)
    assert [(charge.amount, charge.currency) for charge in provider.charges] == [(499, "usd"), (500, "jpy")]
    assert event_names(await received_events(session)) == [
        "ENTITLEMENT_UPDATE",
        "ENTITLEMENT_CREATE",
        "SUBSCRIPTION_UPDATE",
    ]


# Store page


async def test_the_store_page_explains_the_payment_result(paid_world: World, provider: FakePaymentProvider) -> None:
    bot, alice = await paid_world.bot(), await paid_world.user()
    hat_sku_id = await publish_sku(bot, SkuType.DURABLE, name="Hat")
    browser = Browser(paid_world)
    browser.sign_in_as(alice)
    page = await browser.open(f"/application-directory/{bot.application_id}/store/{hat_sku_id}")

    provider.is_declining = True
    declined_page = await browser.submit(page, "Buy Hat")
    assert (declined_page.status, "The payment was declined." in declined_page.text) == (400, True)
    provider.is_declining, provider.enabled = False, False
    disabled_page = await browser.submit(declined_page, "Buy Hat")
    assert (disabled_page.status, "Purchases are currently disabled" in disabled_page.text) == (400, True)
    provider.enabled, provider.loses_response = True, True
    unconfirmed_page = await browser.submit(disabled_page, "Buy Hat")
    assert (unconfirmed_page.status, "still being processed" in unconfirmed_page.text) == (503, True)
    pending_page = await browser.submit(page, "Buy Hat")
    assert (pending_page.status, "payment is pending" in pending_page.text) == (400, True)

    provider.loses_response = False
    await paid_world.run_due_jobs()
    await paid_world.clock.run_for(60_000)
    assert "Owned" in (await browser.open(page.url)).text
    assert len(provider.held_amounts) == 1
