"""A person's own subscriptions, with a browser that runs no script."""

from typing import Any

import pytest

from hubbub.protocol.flags import SkuFlags
from tests.pages import Browser
from tests.server.resources.test_entitlements import owner_of, publish_sku
from tests.server.resources.test_subscriptions import (
    ACTIVE,
    DAY_MS,
    ENDING,
    INACTIVE,
    buy,
    received_events,
    run_due_jobs,
)
from tests.world import Actor, World

HERE = "/settings/subscriptions"


async def subscriber(world: World, bot: Actor, **sku: Any) -> tuple[Actor, Browser, str]:
    """Somebody who bought something, their browser, and the subscription."""
    alice = await world.user()
    browser = Browser(world)
    browser.sign_in_as(alice)
    return alice, browser, (await buy(alice, await publish_sku(bot, **sku)))["subscription"]["id"]


async def status(person: Actor) -> int:
    """Of the only one they have."""
    (mine,) = (await person.get("/users/@me/subscriptions")).ok()
    found: int = mine["status"]
    return found


async def test_a_subscription_is_canceled_after_a_question_and_resumed(near_world: World) -> None:
    world = near_world
    bot = await world.bot(name="Orchard")
    alice, browser, subscription_id = await subscriber(world, bot, name="Gold <b>", price=499, currency="eur")
    session = await bot.connect(intents=0)

    page = await browser.open(HERE)
    assert "Gold <b> Orchard Paid until " in page.text
    assert "then 4.99 EUR per month." in page.text
    (way,) = [url for text, url in page.links if text == "Cancel Gold <b>"]
    page = await browser.open(way)
    assert "Cancel Gold <b>?" in page.text
    # Asking is not doing.
    assert await status(alice) == ACTIVE
    page = await browser.submit(page, "Cancel subscription")

    assert browser.history[-1].url == HERE
    assert "Gold <b> was canceled." in page.text
    assert "will not be charged again." in page.text
    ((name, ending),) = await received_events(session)
    assert (name, ending["id"], ending["status"]) == ("SUBSCRIPTION_UPDATE", subscription_id, ENDING)
    # It stays theirs, and only the way back is offered.
    assert len((await alice.get(f"/users/@me/applications/{bot.application_id}/entitlements")).ok()) == 1
    assert "Cancel Gold <b>" not in [text for text, _ in page.links]
    page = await browser.submit(page, "Resume Gold <b>")
    assert "Gold <b> was resumed." in page.text
    ((_, resumed),) = await received_events(session)
    assert resumed["status"] == ACTIVE

    page = await browser.submit(await browser.open(way), "Cancel subscription")
    await run_due_jobs(world)
    await world.clock.run_for(32 * DAY_MS)
    assert await status(alice) == INACTIVE
    assert (await alice.get(f"/users/@me/applications/{bot.application_id}/entitlements")).ok() == []
    late = await browser.submit(page, "Resume Gold <b>")
    assert "This subscription has already ended." in late.text
    assert "No subscriptions." in late.text
    assert "Ended Gold <b> Orchard Ended" in late.text
    assert browser.history[-1].url == (await browser.open(way)).url == HERE


async def test_a_form_of_another_site_cancels_nothing(world: World) -> None:
    alice, browser, subscription_id = await subscriber(world, await world.bot())
    headers = {"Content-Type": "application/x-www-form-urlencoded"}

    for step in ("cancel", "resume"):
        for origin in ("https://evil.example", world.url):
            path = f"{HERE}/{subscription_id}/{step}"
            assert (await browser.request("POST", path, headers=headers | {"Origin": origin}, data="")).status == 403
    assert await status(alice) == ACTIVE


async def test_nobody_finds_the_subscriptions_of_others(world: World) -> None:
    alice, browser, subscription_id = await subscriber(world, await world.bot())
    other = Browser(world)
    other.sign_in_as(await world.user())
    page = await browser.open(f"{HERE}/{subscription_id}/cancel")

    assert "No subscriptions." in (await other.open(HERE)).text
    assert (await other.open(f"{HERE}/{subscription_id}/cancel")).status == 404
    browser.jar.clear()
    assert (await browser.submit(page, "Cancel subscription", follow=False)).location.startswith("/login?next=")
    assert await status(alice) == ACTIVE


async def test_each_says_whom_it_is_for_and_what_comes_next(world: World) -> None:
    bot, realm, alice = await world.bot(), await world.bot(name="Realm"), await world.user()
    guild = await world.guild(alice, name="Town Square")
    gold, silver = await publish_sku(bot, name="Gold", price=999), await publish_sku(bot, name="Silver", price=499)
    bought = await buy(alice, gold)
    (await alice.patch(f"/users/@me/subscriptions/{bought['subscription']['id']}", json={"sku_id": str(silver)})).ok()
    crown = await publish_sku(realm, name="Crown", flags=SkuFlags.GUILD_SUBSCRIPTION)
    await buy(alice, crown, guild_id=str(guild.id))
    browser = Browser(world)
    browser.sign_in_as(alice)

    page = await browser.open(HERE)
    assert "then Silver for 4.99 USD per month." in page.text
    assert "Crown Realm, for Town Square Paid until" in page.text
    (await realm.patch(f"/applications/{realm.application_id}/skus/{crown}", json={"published": False})).ok()
    (await alice.delete(f"/guilds/{guild.id}")).ok()

    page = await browser.open(HERE)
    assert "Crown Realm, for a guild that you left No longer sold. You keep access until" in page.text


async def test_what_is_over_is_shown_even_where_its_seller_is_gone(world: World) -> None:
    bot = await world.bot(name="Orchard")
    owner = await owner_of(world, bot)
    alice, browser, _ = await subscriber(world, bot, name="Gold")
    (found,) = (await alice.get(f"/users/@me/applications/{bot.application_id}/entitlements")).ok()
    (await owner.post(f"/applications/{bot.application_id}/entitlements/{found['id']}/refund")).ok()
    (await owner.delete(f"/applications/{bot.application_id}")).ok()

    page = await browser.open(HERE)

    assert "Ended Gold Deleted application Ended" in page.text
    (mine,) = (await alice.get("/users/@me/subscriptions")).ok()
    assert (mine["application"], mine["sku"]["name"], mine["renewal_sku"]) == (None, "Gold", None)


@pytest.mark.parametrize("path", ["1", "0", "9" * 19])
async def test_what_is_nobodys_is_not_here(world: World, path: str) -> None:
    browser = Browser(world)
    browser.sign_in_as(await world.user())

    assert (await browser.open(f"{HERE}/{path}/cancel")).status == 404


async def test_the_store_leads_from_what_is_ones_own_to_it(world: World) -> None:
    bot = await world.bot()
    alice, browser, _ = await subscriber(world, bot)
    (mine,) = (await alice.get("/users/@me/subscriptions")).ok()

    page = await browser.open(f"/application-directory/{bot.application_id}/store/{mine['sku_ids'][0]}")

    assert HERE in [url for text, url in page.links if text == "Your subscriptions"]
