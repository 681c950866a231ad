"""May this application ...? The page, and the answers it gives."""

from urllib.parse import urlsplit

import pytest

from hubbub.protocol.permissions import Permissions
from tests.oauth import REDIRECT, create_application, pkce, set_application_columns, url_fields
from tests.pages import PASSWORD, Browser
from tests.world import World


async def asked(world: World, scope: str = "identify", **more: object) -> tuple[Browser, object, str]:
    """A browser of a signed-in person, the application, and the address it sends them to."""
    client = await create_application(world, name="Orchard")
    browser = Browser(world)
    browser.sign_in_as(await world.user("mary"))
    return browser, client, client.authorize_path(scope, state="xyz", **more)


async def test_the_page_says_who_asks_for_what_and_as_whom(world: World) -> None:
    browser, client, address = await asked(world, "identify guilds")

    page = await browser.open(address)

    assert page.status == 200
    for words in ("Orchard wants to access your account", client.owner.name, "mary", "game.example"):
        assert words in page.text
    preview = (await client.owner.get(address)).ok()
    for scope in preview["scopes"]:
        assert scope["description"] in page.text


async def test_yes_brings_the_application_a_code_that_works(world: World) -> None:
    browser, client, address = await asked(world)

    done = await browser.submit(await browser.open(address), "Authorize", follow=False)

    assert done.status == 303
    assert done.location.startswith(REDIRECT + "?")
    answer = url_fields(done.location)
    assert (answer["state"], answer["iss"]) == ("xyz", world.url)
    tokens = (await client.exchange(answer["code"])).ok()
    assert tokens["scope"] == "identify"


async def test_no_is_told_and_nothing_is_granted(world: World) -> None:
    browser, _, address = await asked(world)

    done = await browser.submit(await browser.open(address), "Cancel", follow=False)

    answer = url_fields(done.location)
    assert (answer["error"], answer["state"]) == ("access_denied", "xyz")
    assert "No connected apps" in (await browser.open("/settings/apps")).text


async def test_who_is_not_signed_in_logs_in_first_and_comes_back(world: World) -> None:
    client = await create_application(world)
    browser = Browser(world)
    await browser.register("mary")
    other = Browser(world)
    address = client.authorize_path(state="a b&c=d")

    page = await other.log_in("mary", path=address)

    assert page.status == 200
    done = await other.submit(page, "Authorize", follow=False)
    assert url_fields(done.location)["state"] == "a b&c=d"


async def test_somebody_else_can_take_over_the_chair(world: World) -> None:
    browser, _, address = await asked(world)
    other = Browser(world)
    await other.register("nora")

    page = await browser.submit(await browser.open(address), "Not you? Switch account")
    assert page.url.startswith("/login?next=")
    page = await browser.submit(page, "Log in", login="nora", password=PASSWORD)

    assert "Logged in as nora" in page.text


async def test_a_known_application_is_let_through_when_it_asks_for_no_prompt(world: World) -> None:
    browser, _, address = await asked(world)
    quiet = f"{address}&prompt=none"

    first = await browser.open(quiet)
    assert first.status == 200
    await browser.submit(first, "Authorize", follow=False)
    second = await browser.request("GET", quiet)

    assert (second.status, "code" in url_fields(second.location)) == (303, True)
    assert (await browser.request("GET", address)).status == 200


@pytest.mark.parametrize(
    ("change", "word"),
    [
        ({"client_id": "1"}, "Unknown client_id"),
        ({"client_id": "one"}, "client_id"),
        ({"redirect_uri": "https://evil.example/callback"}, "redirect_uri is not registered"),
        ({"redirect_uri": REDIRECT + "/../x"}, "redirect_uri is not registered"),
    ],
)
async def test_an_unknown_client_or_redirect_is_an_error_page_and_no_way_out(
    world: World, change: dict[str, str], word: str
) -> None:
    browser, client, _ = await asked(world)

    page = await browser.request("GET", client.address(**change))

    assert page.status == 400
    assert word in page.text
    assert "Location" not in page.headers
    assert not [url for _, url in page.links if "example" in url]


@pytest.mark.parametrize(
    ("change", "word"),
    [
        ({"scope": "identify nonsense"}, "invalid_scope"),
        ({"response_type": "id_token"}, "unsupported_response_type"),
        ({"code_challenge": "short", "code_challenge_method": "S256"}, "invalid_request"),
        ({"code_challenge": "short"}, "invalid_request"),
    ],
)
async def test_a_bad_request_offers_the_way_back_and_does_not_take_it(
    world: World, change: dict[str, str], word: str
) -> None:
    browser, client, _ = await asked(world)

    page = await browser.request("GET", client.address(**({"scope": "identify", "state": "s"} | change)))

    assert page.status == 400
    back = dict(page.links)["Return to the application"]
    assert back.startswith(REDIRECT)
    assert (url_fields(back)["error"], url_fields(back)["state"]) == (word, "s")


async def test_a_parameter_that_comes_twice_is_refused_and_an_empty_one_is_none(world: World) -> None:
    browser, client, address = await asked(world)

    twice = await browser.request("GET", f"{address}&scope=guilds")
    empty = await browser.request("GET", f"{client.address(state='')}&nonce=&prompt=")

    assert (twice.status, "scope: This parameter must not be repeated." in twice.text) == (400, True)
    assert empty.status == 200


async def test_an_app_on_the_device_is_opened_from_a_page(world: World) -> None:
    browser, client, _ = await asked(world)
    redirect = f"hubbub-{client.id}:/authorize/callback"
    _, challenge = pkce()
    address = client.address(redirect_uri=redirect, code_challenge=challenge, code_challenge_method="S256")

    done = await browser.submit(await browser.open(address), "Authorize")

    assert done.status == 200
    assert done.refresh is not None
    assert done.refresh.startswith(f"{redirect}?code=")
    assert dict(done.links)["Open Orchard"] == done.refresh


async def test_any_port_of_a_program_on_this_computer_gets_its_answer(world: World) -> None:
    client = await create_application(world, redirect_uris=("http://127.0.0.1/callback",))
    browser = Browser(world)
    browser.sign_in_as(await world.user())

    page = await browser.open(client.authorize_path(redirect_uri="http://127.0.0.1:49152/callback"))
    done = await browser.submit(page, "Authorize", follow=False)

    assert "an app on this computer" in page.text
    assert urlsplit(done.location).netloc == "127.0.0.1:49152"


async def test_a_bot_is_added_to_the_guild_that_was_chosen_with_what_was_left_ticked(world: World) -> None:
    client = await create_application(world, name="Orchard")
    mary = await world.user("mary")
    guild, other = await world.guild(mary, name="Here"), await world.guild(mary, name="There")
    browser = Browser(world)
    browser.sign_in_as(mary)
    wanted = Permissions.KICK_MEMBERS | Permissions.SEND_MESSAGES
    path = f"/oauth2/authorize?client_id={client.id}&scope=bot&permissions={wanted}"

    page = await browser.open(path)
    assert "Powerful" in page.text
    empty = await browser.submit(page, "Authorize", guild_id="")
    assert (empty.status, 'id="error-guild_id"' in empty.body) == (400, True)
    done = await browser.submit(page, "Authorize", guild_id=guild.id, permission=[11])

    assert "App added" in done.text
    roles = (await mary.get(f"/guilds/{guild.id}/roles")).ok()
    made = next(role for role in roles if role["name"] == "Orchard")
    assert int(made["permissions"]) == Permissions.SEND_MESSAGES
    assert "Orchard" not in [role["name"] for role in (await mary.get(f"/guilds/{other.id}/roles")).ok()]


async def test_an_installation_that_was_declined_ends_with_us(world: World) -> None:
    client = await create_application(world)
    mary = await world.user("mary")
    await world.guild(mary)
    browser = Browser(world)
    browser.sign_in_as(mary)

    page = await browser.open(f"/oauth2/authorize?client_id={client.id}&scope=bot")
    done = await browser.submit(page, "Cancel")

    assert "App not added" in done.text


async def test_who_manages_no_guild_can_only_decline(world: World) -> None:
    client = await create_application(world)
    browser = Browser(world)
    browser.sign_in_as(await world.user())

    page = await browser.open(f"/oauth2/authorize?client_id={client.id}&scope=bot")

    assert "cannot add this app" in page.text
    assert [label for form in page.forms for label, _, _ in form.buttons] == ["Not you? Switch account", "Cancel"]


async def test_a_private_application_is_for_its_owner(world: World) -> None:
    client = await create_application(world)
    await set_application_columns(world, client, bot_public=0)
    browser = Browser(world)
    browser.sign_in_as(await world.user())

    page = await browser.open(f"/oauth2/authorize?client_id={client.id}&scope=bot")

    assert (page.status, "not authorized" in page.text) == (403, True)


async def test_a_webhook_goes_to_the_channel_that_was_chosen(world: World) -> None:
    browser, client, address = await asked(world, "webhook.incoming")
    nora = await world.user("nora")
    guild, _ = await world.guild(nora, name="Here"), await world.guild(nora, name="There")
    browser.sign_in_as(nora)

    first = await browser.open(address)
    page = await browser.submit(first, "Show channels", guild_id=guild.id)
    done = await browser.submit(page, "Authorize", webhook_channel_id=guild.general, follow=False)

    tokens = (await client.exchange(url_fields(done.location)["code"])).ok()
    assert tokens["webhook"]["channel_id"] == str(guild.general)
