"""The page of a user's subscriptions, without JavaScript."""

from typing import Any

import pytest

from hubbub.protocol.enums import SubscriptionStatus
from hubbub.protocol.flags import SkuFlags
from tests.pages import Browser
from tests.server.play.application_owners import DAY_MS, sign_in_owner
from tests.server.play.purchases import buy, publish_sku, received_events
from tests.world import Actor, World

pytestmark = pytest.mark.usefixtures("accented_pages")

SUBSCRIPTIONS_PATH = "/settings/subscriptions"


async def create_subscriber(world: World, bot: Actor, **sku: Any) -> tuple[Actor, Browser, str]:
    """Create a user with a subscription; return the user, a signed-in browser, and the subscription ID."""
    alice = await world.user()
    browser = Browser(world)
    browser.sign_in_as(alice)
    return alice, browser, (await buy(alice, await publish_sku(bot, **sku)))["subscription"]["id"]


async def fetch_status(user: Actor) -> int:
    """Return the status of a user's only subscription."""
    (subscription,) = (await user.get("/users/@me/subscriptions")).ok()
    subscription_status: int = subscription["status"]
    return subscription_status


async def test_a_subscription_is_canceled_after_confirmation_and_resumed(private_targets_world: World) -> None:
    world = private_targets_world
    bot = await world.bot(name="Orchard")
    alice, browser, subscription_id = await create_subscriber(world, bot, name="Gold <b>", price=499, currency="eur")
    session = await bot.connect(intents=0)

    page = await browser.open(SUBSCRIPTIONS_PATH)
    assert "Gold <b> Orchard Paid until " in page.text
    assert "then 4.99 EUR per month." in page.text
    (cancel_url,) = [url for text, url in page.links if text == "Cancel Gold <b>"]
    page = await browser.open(cancel_url)
    assert "Cancel Gold <b>?" in page.text
    # Opening the confirmation page cancels nothing.
    assert await fetch_status(alice) == SubscriptionStatus.ACTIVE
    page = await browser.submit(page, "Cancel subscription")

    assert browser.history[-1].url == SUBSCRIPTIONS_PATH
    assert "Gold <b> was canceled." in page.text
    assert "will not be charged again." in page.text
    ((name, ending_event),) = await received_events(session)
    assert (name, ending_event["id"], ending_event["status"]) == (
        "SUBSCRIPTION_UPDATE",
        subscription_id,
        SubscriptionStatus.ENDING,
    )
    # The user keeps the entitlement, and the page only offers to resume.
    assert len((await alice.get(f"/users/@me/applications/{bot.application_id}/entitlements")).ok()) == 1
    assert "Cancel Gold <b>" not in [text for text, _ in page.links]
    page = await browser.submit(page, "Resume Gold <b>")
    assert "Gold <b> was resumed." in page.text
    ((_, resumed_event),) = await received_events(session)
    assert resumed_event["status"] == SubscriptionStatus.ACTIVE

    page = await browser.submit(await browser.open(cancel_url), "Cancel subscription")
    await world.run_due_jobs()
    await world.clock.run_for(32 * DAY_MS)
    assert await fetch_status(alice) == SubscriptionStatus.INACTIVE
    assert (await alice.get(f"/users/@me/applications/{bot.application_id}/entitlements")).ok() == []
    late_page = await browser.submit(page, "Resume Gold <b>")
    assert "This subscription has already ended." in late_page.text
    assert "No subscriptions." in late_page.text
    assert "Ended Gold <b> Orchard Ended" in late_page.text
    assert browser.history[-1].url == (await browser.open(cancel_url)).url == SUBSCRIPTIONS_PATH


async def test_a_forged_form_cancels_nothing(world: World) -> None:
    alice, browser, subscription_id = await create_subscriber(world, await world.bot())
    headers = {"Content-Type": "application/x-www-form-urlencoded"}

    for step in ("cancel", "resume"):
        for origin in ("https://evil.example", world.url):
            path = f"{SUBSCRIPTIONS_PATH}/{subscription_id}/{step}"
            assert (await browser.request("POST", path, headers=headers | {"Origin": origin}, data="")).status == 403
    assert await fetch_status(alice) == SubscriptionStatus.ACTIVE


async def test_subscriptions_of_other_users_are_not_visible(world: World) -> None:
    alice, browser, subscription_id = await create_subscriber(world, await world.bot())
    other_browser = Browser(world)
    other_browser.sign_in_as(await world.user())
    page = await browser.open(f"{SUBSCRIPTIONS_PATH}/{subscription_id}/cancel")

    assert "No subscriptions." in (await other_browser.open(SUBSCRIPTIONS_PATH)).text
    assert (await other_browser.open(f"{SUBSCRIPTIONS_PATH}/{subscription_id}/cancel")).status == 404
    browser.jar.clear()
    assert (await browser.submit(page, "Cancel subscription", follows_redirects=False)).location.startswith(
        "/login?next="
    )
    assert await fetch_status(alice) == SubscriptionStatus.ACTIVE


async def test_subscriptions_show_their_guild_and_renewal(world: World) -> None:
    bot, realm, alice = await world.bot(), await world.bot(name="Realm"), await world.user()
    guild = await world.guild(alice, name="Town Square")
    gold_sku_id, silver_sku_id = (
        await publish_sku(bot, name="Gold", price=999),
        await publish_sku(bot, name="Silver", price=499),
    )
    bought_subscription = await buy(alice, gold_sku_id)
    (
        await alice.patch(
            f"/users/@me/subscriptions/{bought_subscription['subscription']['id']}", json={"sku_id": str(silver_sku_id)}
        )
    ).ok()
    crown_sku_id = await publish_sku(realm, name="Crown", flags=SkuFlags.GUILD_SUBSCRIPTION)
    await buy(alice, crown_sku_id, guild_id=str(guild.id))
    browser = Browser(world)
    browser.sign_in_as(alice)

    page = await browser.open(SUBSCRIPTIONS_PATH)
    assert "then Silver for 4.99 USD per month." in page.text
    assert "Crown Realm, for Town Square Paid until" in page.text
    (await realm.patch(f"/applications/{realm.application_id}/skus/{crown_sku_id}", json={"published": False})).ok()
    (await alice.delete(f"/guilds/{guild.id}")).ok()

    page = await browser.open(SUBSCRIPTIONS_PATH)
    assert "Crown Realm, for a guild that you left No longer sold. You keep access until" in page.text


async def test_an_ended_subscription_of_a_deleted_application_is_shown(world: World) -> None:
    bot = await world.bot(name="Orchard")
    owner = await sign_in_owner(world, bot)
    alice, browser, _ = await create_subscriber(world, bot, name="Gold")
    (entitlement,) = (await alice.get(f"/users/@me/applications/{bot.application_id}/entitlements")).ok()
    (await owner.post(f"/applications/{bot.application_id}/entitlements/{entitlement['id']}/refund")).ok()
    (await owner.delete(f"/applications/{bot.application_id}")).ok()

    page = await browser.open(SUBSCRIPTIONS_PATH)

    assert "Ended Gold Deleted application Ended" in page.text
    (subscription,) = (await alice.get("/users/@me/subscriptions")).ok()
    assert (subscription["application"], subscription["sku"]["name"], subscription["renewal_sku"]) == (
        None,
        "Gold",
        None,
    )


@pytest.mark.parametrize("path", ["1", "0", "9" * 19])
async def test_an_unknown_subscription_responds_with_404(world: World, path: str) -> None:
    browser = Browser(world)
    browser.sign_in_as(await world.user())

    assert (await browser.open(f"{SUBSCRIPTIONS_PATH}/{path}/cancel")).status == 404


async def test_the_store_links_to_the_subscriptions_page(world: World) -> None:
    bot = await world.bot()
    alice, browser, _ = await create_subscriber(world, bot)
    (subscription,) = (await alice.get("/users/@me/subscriptions")).ok()

    page = await browser.open(f"/application-directory/{bot.application_id}/store/{subscription['sku_ids'][0]}")

    assert SUBSCRIPTIONS_PATH in [url for text, url in page.links if text == "Your subscriptions"]
