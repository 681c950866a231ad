"""The store pages of an application, without JavaScript, and the format of prices."""

import pytest

from hubbub.protocol.enums import SkuType
from hubbub.protocol.flags import SkuFlags
from hubbub.server.transports.web.prices import InvalidPriceError, format_amount, format_price, parse_price
from tests.pages import Browser
from tests.server.identity.accounts import PASSWORD, register_user
from tests.server.play.purchases import publish_sku
from tests.world import Actor, World

pytestmark = pytest.mark.usefixtures("accented_pages")


def store_path(bot: Actor) -> str:
    """Return the path of the store page of a bot's application."""
    return f"/application-directory/{bot.application_id}/store"


async def sign_in_browser(world: World, user: Actor) -> Browser:
    """Sign in as a user in a new browser, and return the browser."""
    browser = Browser(world)
    browser.sign_in_as(user)
    return browser


async def list_owned_skus(user: Actor, bot: Actor) -> list[str]:
    """Return the SKU IDs of a user's entitlements for the application of a bot."""
    entitlements = (await user.get(f"/users/@me/applications/{bot.application_id}/entitlements")).ok()
    return [entitlement["sku_id"] for entitlement in entitlements]


async def test_the_store_is_public_and_shows_listed_skus(world: World) -> None:
    bot = await world.bot(name="Orchard")
    gold_sku_id = await publish_sku(bot, name="Gold <b>", description="All the apples.", price=499, currency="eur")
    await publish_sku(bot, SkuType.DURABLE, name="Hat", price=500, currency="jpy")
    hidden_sku_id = await publish_sku(bot, SkuType.DURABLE, name="Secret", listed=False, price=0)
    draft_sku_id = await publish_sku(bot, SkuType.DURABLE, name="Draft", published=False)
    browser = Browser(world)

    page = await browser.open(store_path(bot))

    assert (page.status, page.headers["Content-Type"]) == (200, "text/html; charset=utf-8")
    assert "Gold <b> All the apples. 4.99 EUR per month until canceled" in page.text
    assert "Hat 500 JPY" in page.text
    assert "Secret" not in page.text
    assert "Draft" not in page.text
    assert "<script" not in page.body
    assert "style=" not in page.body
    assert page.forms == []
    assert f"{store_path(bot)}/{gold_sku_id}" in [url for _, url in page.links]
    # An unlisted SKU is sold on its own page.
    sku_page = await browser.open(f"{store_path(bot)}/{hidden_sku_id}")
    assert (sku_page.status, "Secret Free" in sku_page.text) == (200, True)
    assert (await browser.open(f"{store_path(bot)}/{draft_sku_id}")).status == 404
    assert (await browser.open(f"{store_path(await world.bot())}/{gold_sku_id}")).status == 404
    assert (await browser.open("/application-directory/1/store")).status == 404
    assert "No items for sale." in (await browser.open(store_path(await world.bot()))).text


async def test_the_login_returns_to_the_sku(world: World) -> None:
    bot, mary = await world.bot(), await register_user(world)
    sku_id = await publish_sku(bot, name="Gold")
    browser = Browser(world)
    path = f"{store_path(bot)}/{sku_id}"

    page = await browser.open(path)
    (login_url,) = [url for text, url in page.links if text == "Log in to buy"]
    page = await browser.log_in("mary", PASSWORD, path=login_url)
    assert browser.history[-1].url == path
    page = await browser.submit(page, "Subscribe to Gold")

    assert browser.history[-1].url == path
    assert "You now own Gold." in page.text
    assert "Owned" in page.text
    assert all(label != "Subscribe to Gold" for form in page.forms for label, _, _ in form.buttons)
    assert await list_owned_skus(mary, bot) == [str(sku_id)]


async def test_a_bought_sku_cannot_be_bought_again_from_the_list(world: World) -> None:
    bot, alice = await world.bot(), await world.user()
    coins_sku_id, hat_sku_id = (
        await publish_sku(bot, SkuType.CONSUMABLE, name="Coins"),
        await publish_sku(bot, SkuType.DURABLE, name="Hat"),
    )
    browser = await sign_in_browser(world, alice)

    page = await browser.submit(await browser.open(store_path(bot)), "Buy Coins")
    assert (page.status, await list_owned_skus(alice, bot)) == (200, [str(coins_sku_id)])
    list_page = await browser.open(store_path(bot))

    assert [form.action for form in list_page.forms if "/store/" in form.action] == [f"{store_path(bot)}/{hat_sku_id}"]


async def test_an_outdated_page_cannot_buy_a_sku_twice(world: World) -> None:
    bot, alice = await world.bot(), await world.user()
    hat_sku_id = await publish_sku(bot, SkuType.DURABLE, name="Hat")
    browser = await sign_in_browser(world, alice)
    old_page = await browser.open(f"{store_path(bot)}/{hat_sku_id}")
    await browser.submit(old_page, "Buy Hat")

    page = await browser.submit(old_page, "Buy Hat")

    assert page.status == 400
    assert "already have a subscription" in page.text
    assert await list_owned_skus(alice, bot) == [str(hat_sku_id)]


async def test_a_guild_subscription_asks_for_the_guild(world: World) -> None:
    bot, alice = await world.bot(), await world.user()
    sku_id = await publish_sku(bot, name="Crown", flags=SkuFlags.GUILD_SUBSCRIPTION)
    browser = await sign_in_browser(world, alice)
    path = f"{store_path(bot)}/{sku_id}"
    assert "Join a guild first" in (await browser.open(path)).text
    guild = await world.guild(alice, name="Town Square")

    page = await browser.open(store_path(bot))
    assert path in [url for text, url in page.links if text.startswith("Choose a guild")]
    page = await browser.submit(await browser.open(path), "Subscribe to Crown", guild_id="")
    assert (page.status, 'id="error-guild_id"' in page.body) == (400, True)
    page = await browser.submit(page, "Subscribe to Crown", guild_id=guild.id)

    assert "You now own Crown." in page.text
    entitlements = (await bot.get(f"/applications/{bot.application_id}/entitlements?guild_id={guild.id}")).ok()
    assert [entitlement["sku_id"] for entitlement in entitlements] == [str(sku_id)]


async def test_a_forged_form_buys_nothing(world: World) -> None:
    bot, alice = await world.bot(), await world.user()
    hat_sku_id = await publish_sku(bot, SkuType.DURABLE, name="Hat")
    browser = await sign_in_browser(world, alice)
    headers = {"Content-Type": "application/x-www-form-urlencoded"}

    for origin in ("https://evil.example", world.url):
        response = await browser.request(
            "POST", f"{store_path(bot)}/{hat_sku_id}", headers=headers | {"Origin": origin}, data=""
        )
        assert response.status == 403
    response = await Browser(world).request("POST", f"{store_path(bot)}/{hat_sku_id}", headers=headers, data="")

    assert response.location == f"/login?next={store_path(bot)}/{hat_sku_id}"
    assert await list_owned_skus(alice, bot) == []


async def test_a_sku_can_only_be_bought_in_its_own_store(world: World) -> None:
    bot, other_bot, alice = await world.bot(), await world.bot(), await world.user()
    hat_sku_id, cap_sku_id = (
        await publish_sku(bot, SkuType.DURABLE, name="Hat"),
        await publish_sku(other_bot, SkuType.DURABLE, name="Cap"),
    )
    browser = await sign_in_browser(world, alice)
    page = await browser.open(f"{store_path(bot)}/{hat_sku_id}")
    page.form("Buy Hat").action = f"{store_path(bot)}/{cap_sku_id}"

    assert (await browser.submit(page, "Buy Hat")).status == 404
    assert await list_owned_skus(alice, other_bot) == []


@pytest.mark.parametrize(
    ("amount", "currency", "expected"),
    [
        (0, "eur", "Free"),
        (5, "usd", "0.05 USD"),
        (499, "eur", "4.99 EUR"),
        (1_234_500, "usd", "12,345.00 USD"),
        (500, "jpy", "500 JPY"),
        (1500, "kwd", "1.500 KWD"),
    ],
)
def test_a_price_is_formatted_for_its_currency(amount: int, currency: str, expected: str) -> None:
    assert format_price(amount, currency) == expected
    assert parse_price(format_amount(amount, currency), currency) == amount


@pytest.mark.parametrize(
    ("text", "currency", "amount"),
    [
        ("4.99", "eur", 499),
        ("4,9", "eur", 490),
        ("5", "usd", 500),
        ("0", "usd", 0),
        ("500", "jpy", 500),
        ("1.5", "kwd", 1500),
        ("100000", "eur", 10_000_000),
    ],
)
def test_a_price_is_read_in_units_of_its_currency(text: str, currency: str, amount: int) -> None:
    assert parse_price(text, currency) == amount


@pytest.mark.parametrize(
    ("text", "currency", "problem"),
    [
        ("", "eur", "such as 4.99"),
        ("free", "eur", "such as 4.99"),
        ("-1", "eur", "such as 4.99"),
        ("4.99 EUR", "eur", "such as 4.99"),
        ("٤", "eur", "such as 4.99"),
        ("1,000.00", "eur", "such as 4.99"),
        ("1,000", "eur", "no thousands separators"),
        ("4.99", "jpy", "no decimal places"),
        ("100000.01", "eur", "at most 100,000.00 EUR"),
    ],
)
def test_a_text_that_is_not_a_price_is_rejected(text: str, currency: str, problem: str) -> None:
    with pytest.raises(InvalidPriceError, match=problem):
        parse_price(text, currency)
