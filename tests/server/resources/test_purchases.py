"""Purchases and payments: what a provider is asked for, and what becomes of it when it says no, or nothing."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any, NamedTuple

import aiohttp
import pytest

from hubbub.protocol.flags import SkuFlags
from hubbub.server.app import App
from hubbub.server.core.clock import ControlledClock
from hubbub.server.core.config import Config
from hubbub.server.core.payments import Charge, PaymentDeclined
from hubbub.server.resources.subscriptions import ledger
from tests.fixtures.validator import Watch
from tests.pages import Browser
from tests.server.resources.test_account_deletion import gone, register
from tests.server.resources.test_entitlements import owner_of, sell
from tests.server.resources.test_subscriptions import DAY_MS, INACTIVE, at, buy, due, heard, names
from tests.world import NOW_MS, Actor, Answer, Session, World


class Bank:
    """A payment provider that does as it is told."""

    enabled = True

    def __init__(self) -> None:
        self.asked: list[Charge] = []
        self.asked_back: list[Charge] = []
        self.held: dict[str, int] = {}
        """What it took and did not give back, by key."""
        self.declines = False
        self.fails = False
        self.forgets = False
        """Whether it takes the money, and its answer is lost."""
        self.hangs: asyncio.Event | None = None

    async def charge(self, charge: Charge) -> None:
        """Take a payment, or not."""
        self.asked.append(charge)
        if self.hangs is not None:
            await self.hangs.wait()
        if self.fails:
            raise ConnectionError("the bank is closed")
        if self.declines:
            raise PaymentDeclined("no money")
        self.held[charge.key] = charge.amount
        if self.forgets:
            raise ConnectionError("the line went dead")

    async def refund(self, charge: Charge) -> None:
        """Give a payment back, or not."""
        self.asked_back.append(charge)
        if self.fails:
            raise ConnectionError("the bank is closed")
        if self.declines:
            raise PaymentDeclined("too late")
        self.held.pop(charge.key, None)


@pytest.fixture
def bank() -> Bank:
    """The bank of the paid world."""
    return Bank()


@pytest.fixture
async def paid_world(store_config: Config, watch: Watch, bank: Bank) -> AsyncIterator[World]:
    """A world in which things cost money."""
    app = App(store_config, clock=ControlledClock(NOW_MS, running=False), payments=bank)
    await app.start()
    async with aiohttp.ClientSession() as client:
        world = World(app, client)
        yield world
        await world.close()
    await app.stop()


class Subscribed(NamedTuple):
    """Somebody has paid for a month, and an application listens to what follows."""

    bot: Actor
    sku: int
    bought: Any
    session: Session
    end_ms: int


async def subscribed(world: World, **sku: Any) -> Subscribed:
    """Somebody subscribes; what their purchase left to do is done."""
    bot, alice = await world.bot(), await world.user()
    sold = await sell(bot, **sku)
    bought = await buy(alice, sold)
    session = await bot.connect(intents=0)
    await due(world)
    return Subscribed(bot, sold, bought, session, at(bought["subscription"]["current_period_end"][:19]))


async def test_a_provider_is_asked_for_each_payment_once(paid_world: World, bank: Bank) -> None:
    bot, alice = await paid_world.bot(), await paid_world.user()
    sku = await sell(bot, price=499, currency="eur")
    bought = await buy(alice, sku)
    await due(paid_world)
    await paid_world.clock.run_for(62 * DAY_MS)

    first, second, third = bank.asked
    assert (first.user_id, first.sku_id, first.amount, first.currency) == (alice.id, sku, 499, "eur")
    assert second.subscription_id == third.subscription_id == int(bought["subscription"]["id"])
    assert len({charge.key for charge in bank.asked}) == 3


async def test_a_declined_purchase_leaves_nothing(paid_world: World, bank: Bank) -> None:
    bot, alice = await paid_world.bot(), await paid_world.user()
    sku = await sell(bot)
    session = await bot.connect(intents=0)
    bank.declines = True

    answer = await alice.post("/users/@me/purchases", json={"sku_id": str(sku)})

    answer.refused(400, 50070)
    assert answer.json["message"] == "The payment was declined. Nothing was bought."

    assert await heard(session) == []
    bank.declines = False
    await buy(alice, sku)
    await due(paid_world)
    await paid_world.clock.run_for(DAY_MS)
    assert len(bank.asked) == 2


async def test_a_purchase_that_was_cut_off_is_settled_by_the_clock(paid_world: World, bank: Bank) -> None:
    bot, alice = await paid_world.bot(), await paid_world.user()
    sku = await sell(bot)
    session = await bot.connect(intents=0)
    bank.fails = True

    (await alice.post("/users/@me/purchases", json={"sku_id": str(sku)})).refused(503, 0)
    assert await heard(session) == []
    # Nobody knows yet, so it cannot be bought a second time.
    (await alice.post("/users/@me/purchases", json={"sku_id": str(sku)})).refused(400, 40074)
    bank.fails = False
    await due(paid_world)
    await paid_world.clock.run_for(60_000)

    assert names(await heard(session)) == ["SUBSCRIPTION_CREATE", "ENTITLEMENT_CREATE", "SUBSCRIPTION_UPDATE"]
    assert len({charge.key for charge in bank.asked}) == 1


async def test_two_purchases_at_once_are_one(paid_world: World, bank: Bank) -> None:
    bot, alice = await paid_world.bot(), await paid_world.user()
    hat = await sell(bot, 2)
    bank.hangs = asyncio.Event()

    async def try_to_buy() -> Answer:
        return await alice.post("/users/@me/purchases", json={"sku_id": str(hat)})

    first = asyncio.create_task(try_to_buy())
    while not bank.asked:
        await asyncio.sleep(0.001)
    (await try_to_buy()).refused(400, 40074)
    bank.hangs.set()

    (await first).ok()
    assert len(bank.asked) == 1


async def test_a_renewal_that_is_declined_is_tried_for_three_days(paid_world: World, bank: Bank) -> None:
    _, _, bought, session, end_ms = await subscribed(paid_world)
    bank.declines = True
    await paid_world.clock.run_until(end_ms + 3 * DAY_MS - 1)

    # It is tried each day, and stays active.
    assert len(bank.asked) == 4
    assert await heard(session) == []
    assert len({charge.key for charge in bank.asked[1:]}) == 1
    await paid_world.clock.run_until(end_ms + 3 * DAY_MS)

    (name, ended), (_, over) = await heard(session)
    assert (name, ended["ends_at"]) == ("ENTITLEMENT_UPDATE", bought["subscription"]["current_period_end"])
    assert over["status"] == INACTIVE
    await paid_world.clock.run_for(60 * DAY_MS)
    assert len(bank.asked) == 5


async def test_a_renewal_that_is_paid_late_keeps_its_day(paid_world: World, bank: Bank) -> None:
    _, _, bought, session, end_ms = await subscribed(paid_world)
    bank.declines = True
    await paid_world.clock.run_until(end_ms + DAY_MS - 1)
    bank.declines = False
    await paid_world.clock.run_until(end_ms + DAY_MS)

    ((_, renewed),) = await heard(session)
    assert renewed["current_period_start"] == bought["subscription"]["current_period_end"]


async def test_a_platform_without_a_provider_sells_nothing(paid_world: World, bank: Bank) -> None:
    bot, alice = await paid_world.bot(), await paid_world.user()
    sku = await sell(bot)
    bank.enabled = False

    (await alice.post("/users/@me/purchases", json={"sku_id": str(sku)})).refused(400, 50097)
    assert bank.asked == []


# A provider that does not answer


async def test_a_renewal_whose_provider_is_away_for_two_days_is_paid_once_it_is_back(
    paid_world: World, bank: Bank
) -> None:
    bot, sku, bought, session, end_ms = await subscribed(paid_world, price=499)
    bank.fails = True
    await paid_world.clock.run_until(end_ms + 1)
    # Whatever it costs by now, the payment that nobody knows of stays the same.
    path = f"/applications/{bot.application_id}/skus/{sku}"
    (await bot.patch(path, json={"price": 999})).ok()
    await paid_world.clock.run_until(end_ms + 2 * DAY_MS)

    assert await heard(session) == []
    assert len(bank.asked) > 40
    bank.fails = False
    await paid_world.clock.run_for(DAY_MS // 24)

    ((name, renewed),) = await heard(session)
    assert (name, renewed["status"]) == ("SUBSCRIPTION_UPDATE", 0)
    assert renewed["current_period_start"] == bought["subscription"]["current_period_end"]
    assert len({(charge.key, charge.amount) for charge in bank.asked[1:]}) == 1
    assert list(bank.held.values()) == [499, 499]
    assert bank.asked_back == []
    await paid_world.clock.run_until(at(renewed["current_period_end"][:19]))
    assert list(bank.held.values()) == [499, 499, 999]


async def test_a_renewal_that_nobody_answers_ends_after_three_days(paid_world: World, bank: Bank) -> None:
    _, _, bought, session, end_ms = await subscribed(paid_world)
    # It has taken the money before the line went dead, and is away since.
    bank.forgets = True
    await paid_world.clock.run_until(end_ms + 1)
    bank.fails = True
    await paid_world.clock.run_until(end_ms + 3 * DAY_MS - 1)
    assert await heard(session) == []
    await paid_world.clock.run_until(end_ms + 3 * DAY_MS)

    (name, ended), (_, over) = await heard(session)
    assert (name, ended["ends_at"]) == ("ENTITLEMENT_UPDATE", bought["subscription"]["current_period_end"])
    assert over["status"] == INACTIVE
    asked = len(bank.asked)

    # What gave nothing is given back, however late.
    await paid_world.clock.run_for(5 * DAY_MS)
    assert len(bank.held) == 2
    bank.fails = bank.forgets = False
    await paid_world.clock.run_for(DAY_MS)
    assert list(bank.held) == [bank.asked[0].key]
    assert len(bank.asked) == asked
    assert {charge.key for charge in bank.asked_back} == {bank.asked[1].key}
    given_back = len(bank.asked_back)
    await paid_world.clock.run_for(60 * DAY_MS)
    assert len(bank.asked_back) == given_back
    assert await heard(session) == []


async def test_days_of_no_answer_and_of_a_no_are_counted_together(paid_world: World, bank: Bank) -> None:
    _, _, _, session, end_ms = await subscribed(paid_world)
    bank.fails = True
    await paid_world.clock.run_until(end_ms + 5 * DAY_MS // 2)
    bank.fails, bank.declines = False, True
    await paid_world.clock.run_until(end_ms + 3 * DAY_MS)

    assert names(await heard(session)) == ["ENTITLEMENT_UPDATE", "SUBSCRIPTION_UPDATE"]
    await paid_world.clock.run_for(DAY_MS)
    # It said that it took nothing.
    assert bank.asked_back == []


async def test_a_provider_that_hangs_is_one_that_does_not_answer(
    paid_world: World, bank: Bank, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ledger, "PATIENCE_SECONDS", 0.01)
    bot, alice = await paid_world.bot(), await paid_world.user()
    sku = await sell(bot)
    bank.hangs = asyncio.Event()

    (await alice.post("/users/@me/purchases", json={"sku_id": str(sku)})).refused(503, 0)

    bank.hangs = None
    await due(paid_world)
    await paid_world.clock.run_for(60_000)
    assert len((await alice.get("/users/@me/subscriptions")).ok()) == 1
    assert len(bank.held) == 1


async def test_a_purchase_that_nobody_answers_for_a_day_is_free_to_be_tried_again(
    paid_world: World, bank: Bank
) -> None:
    bot, alice = await paid_world.bot(), await paid_world.user()
    body = {"sku_id": str(await sell(bot))}
    session = await bot.connect(intents=0)
    bank.forgets = True
    (await alice.post("/users/@me/purchases", json=body)).refused(503, 0)
    bank.fails = True
    await due(paid_world)
    await paid_world.clock.run_for(DAY_MS - 1)
    (await alice.post("/users/@me/purchases", json=body)).refused(400, 40074)
    await paid_world.clock.run_for(DAY_MS // 24)
    assert await heard(session) == []
    (first,) = bank.held

    bank.fails = bank.forgets = False
    (await alice.post("/users/@me/purchases", json=body)).ok()
    await due(paid_world)
    await paid_world.clock.run_for(DAY_MS)

    # It is paid once.
    assert list(bank.held) == [bank.asked[-1].key] != [first]
    assert names(await heard(session)) == ["SUBSCRIPTION_CREATE", "ENTITLEMENT_CREATE", "SUBSCRIPTION_UPDATE"]


# Refunds


async def test_a_refund_gives_the_last_payment_back_once(paid_world: World, bank: Bank) -> None:
    bot, alice = await paid_world.bot(), await paid_world.user()
    bought = await buy(alice, await sell(bot, price=499, currency="eur"))
    await due(paid_world)
    await paid_world.clock.run_for(32 * DAY_MS)
    first, second = bank.asked
    path = f"/applications/{bot.application_id}/entitlements/{bought['entitlement']['id']}/refund"
    owner = await owner_of(paid_world, bot)

    # The provider is away for longer than jobs are tried elsewhere.
    bank.fails = True
    (await owner.post(path)).ok()
    (await owner.post(path)).refused(404, 10029)
    await due(paid_world)
    await paid_world.clock.run_for(3 * DAY_MS)
    assert list(bank.held) == [first.key, second.key]
    bank.fails = False
    await paid_world.clock.run_for(DAY_MS)

    assert list(bank.held) == [first.key]
    assert set(bank.asked_back) == {second}
    asked_back = len(bank.asked_back)
    await paid_world.clock.run_for(40 * DAY_MS)
    assert (len(bank.asked), len(bank.asked_back)) == (2, asked_back)


async def test_what_was_bought_once_is_refunded_at_the_price_that_was_paid(paid_world: World, bank: Bank) -> None:
    bot, alice = await paid_world.bot(), await paid_world.user()
    hat = await sell(bot, 2, price=300)
    bought = await buy(alice, hat)
    (await bot.patch(f"/applications/{bot.application_id}/skus/{hat}", json={"price": 900})).ok()
    owner = await owner_of(paid_world, bot)

    (await owner.post(f"/applications/{bot.application_id}/entitlements/{bought['entitlement']['id']}/refund")).ok()
    await due(paid_world)

    assert [(back.key, back.amount) for back in bank.asked_back] == [(bank.asked[0].key, 300)]
    assert bank.held == {}
    await buy(alice, hat)


async def test_a_refund_that_the_provider_refuses_is_not_asked_for_for_ever(
    paid_world: World, bank: Bank, caplog: pytest.LogCaptureFixture
) -> None:
    bot, alice = await paid_world.bot(), await paid_world.user()
    bought = await buy(alice, await sell(bot, 2))
    owner = await owner_of(paid_world, bot)
    bank.declines = True

    (await owner.post(f"/applications/{bot.application_id}/entitlements/{bought['entitlement']['id']}/refund")).ok()
    await due(paid_world)
    await paid_world.clock.run_for(10 * DAY_MS)

    assert len(bank.asked_back) == 1
    assert "was refused: too late" in caplog.text


async def test_a_payment_that_comes_after_the_refund_is_given_back_too(paid_world: World, bank: Bank) -> None:
    bot, alice = await paid_world.bot(), await paid_world.user()
    bought = await buy(alice, await sell(bot))
    owner = await owner_of(paid_world, bot)
    end_ms = at(bought["subscription"]["current_period_end"][:19])
    await due(paid_world)
    # The renewal is under way while the refund is made.
    bank.hangs = asyncio.Event()
    paid_world.clock.set(end_ms)
    while len(bank.asked) < 2:
        await asyncio.sleep(0.001)
    (await owner.post(f"/applications/{bot.application_id}/entitlements/{bought['entitlement']['id']}/refund")).ok()
    while len(bank.asked_back) < 2:
        await asyncio.sleep(0.001)
    bank.hangs.set()
    await due(paid_world)

    assert bank.held == {}
    (mine,) = (await alice.get("/users/@me/subscriptions")).ok()
    assert mine["status"] == INACTIVE


# Somebody leaves for good


async def test_what_a_person_pays_for_ends_with_their_account(paid_world: World, bank: Bank) -> None:
    mary, bot, other, third = await register(paid_world), *[await paid_world.bot() for _ in range(3)]
    guild = await paid_world.guild(None, mary)
    own = await buy(mary, await sell(bot))
    of_guild = await buy(mary, await sell(other, flags=SkuFlags.GUILD_SUBSCRIPTION), guild_id=str(guild.id))
    bank.forgets = True
    (await mary.post("/users/@me/purchases", json={"sku_id": str(await sell(third))})).refused(503, 0)
    bank.forgets = False
    sessions = [await each.connect(intents=0) for each in (bot, other, third)]
    await due(paid_world)
    await paid_world.clock.run_for(1000)
    await gone(mary)

    (name, ended), deleted = await heard(sessions[0])
    assert name == "ENTITLEMENT_UPDATE"
    assert ended["id"] == own["entitlement"]["id"]
    assert at(ended["ends_at"][:19]) == paid_world.clock.now_ms() // 1000 * 1000
    assert deleted == ("SUBSCRIPTION_DELETE", own["subscription"])
    # It was paid for the guild until then.
    (name, ended), deleted = await heard(sessions[1])
    assert name == "ENTITLEMENT_UPDATE"
    assert ended == of_guild["entitlement"] | {"ends_at": of_guild["subscription"]["current_period_end"]}
    assert deleted == ("SUBSCRIPTION_DELETE", of_guild["subscription"])
    listed = f"/applications/{other.application_id}/entitlements?guild_id={guild.id}&only_active=true"
    assert len((await other.get(listed)).ok()) == 1

    await due(paid_world)
    await paid_world.clock.run_for(40 * DAY_MS)
    assert (await other.get(listed)).ok() == []
    for session in sessions:
        assert await heard(session) == []
    # Nothing is paid any more, and what was only being bought is given back.
    assert len(bank.asked) == 3
    assert list(bank.held) == [charge.key for charge in bank.asked[:2]]


# Currencies


async def test_prices_of_different_currencies_are_not_compared(paid_world: World, bank: Bank) -> None:
    bot, alice = await paid_world.bot(), await paid_world.user()
    dollars, yen = await sell(bot, price=499, currency="usd"), await sell(bot, price=500, currency="jpy")
    bought = await buy(alice, dollars)
    session = await bot.connect(intents=0)

    path = f"/users/@me/subscriptions/{bought['subscription']['id']}"
    (await alice.patch(path, json={"sku_id": str(yen)})).ok()

    ((_, changed),) = await heard(session)
    assert (changed["sku_ids"], changed["renewal_sku_ids"]) == ([str(dollars)], [str(yen)])
    assert len(bank.asked) == 1
    await due(paid_world)
    await paid_world.clock.run_for(32 * DAY_MS)
    assert [(charge.amount, charge.currency) for charge in bank.asked] == [(499, "usd"), (500, "jpy")]
    assert names(await heard(session)) == ["ENTITLEMENT_UPDATE", "ENTITLEMENT_CREATE", "SUBSCRIPTION_UPDATE"]


# The page of the store


async def test_the_store_says_in_words_what_became_of_a_payment(paid_world: World, bank: Bank) -> None:
    bot, alice = await paid_world.bot(), await paid_world.user()
    hat = await sell(bot, 2, name="Hat")
    browser = Browser(paid_world)
    browser.enter_as(alice)
    page = await browser.open(f"/application-directory/{bot.application_id}/store/{hat}")

    bank.declines = True
    declined = await browser.press(page, "Buy Hat")
    assert (declined.status, "The payment was declined." in declined.text) == (400, True)
    bank.declines, bank.enabled = False, False
    closed = await browser.press(declined, "Buy Hat")
    assert (closed.status, "Purchases are currently disabled" in closed.text) == (400, True)
    bank.enabled, bank.forgets = True, True
    unsure = await browser.press(closed, "Buy Hat")
    assert (unsure.status, "still being processed" in unsure.text) == (503, True)
    pending = await browser.press(page, "Buy Hat")
    assert (pending.status, "payment is pending" in pending.text) == (400, True)

    bank.forgets = False
    await due(paid_world)
    await paid_world.clock.run_for(60_000)
    assert "Owned" in (await browser.open(page.url)).text
    assert len(bank.held) == 1
