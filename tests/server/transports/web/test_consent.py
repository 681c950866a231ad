"""The OAuth2 consent page and the responses it redirects to."""

from urllib.parse import urlsplit

import pytest

from hubbub.protocol.permissions import Permissions
from tests.oauth import REDIRECT, Client, create_application, create_pkce_pair, set_application_columns, url_parameters
from tests.pages import PASSWORD, Browser
from tests.world import World

pytestmark = pytest.mark.usefixtures("accented_pages")


async def create_consent_request(
    world: World, scope: str = "identify", **parameters: object
) -> tuple[Browser, Client, str]:
    """Return a signed-in browser, an application, and its authorization URL."""
    client = await create_application(world, name="Orchard")
    browser = Browser(world)
    browser.sign_in_as(await world.user("mary"))
    return browser, client, client.authorize_path(scope, state="xyz", **parameters)


async def test_the_page_names_the_application_the_scopes_and_the_account(world: World) -> None:
    browser, client, url = await create_consent_request(world, "identify guilds")

    page = await browser.open(url)

    assert page.status == 200
    for text in ("Orchard wants to access your account", client.owner.name, "mary", "game.example"):
        assert text in page.text
    preview = (await client.owner.get(url)).ok()
    for scope in preview["scopes"]:
        assert scope["description"] in page.text


async def test_approval_redirects_with_a_valid_code(world: World) -> None:
    browser, client, url = await create_consent_request(world)

    result_page = await browser.submit(await browser.open(url), "Authorize", follows_redirects=False)

    assert result_page.status == 303
    assert result_page.location.startswith(REDIRECT + "?")
    parameters = url_parameters(result_page.location)
    assert (parameters["state"], parameters["iss"]) == ("xyz", world.url)
    tokens = (await client.exchange(parameters["code"])).ok()
    assert tokens["scope"] == "identify"


async def test_denial_redirects_with_an_error_and_grants_nothing(world: World) -> None:
    browser, _, url = await create_consent_request(world)

    result_page = await browser.submit(await browser.open(url), "Cancel", follows_redirects=False)

    parameters = url_parameters(result_page.location)
    assert (parameters["error"], parameters["state"]) == ("access_denied", "xyz")
    assert "No connected apps" in (await browser.open("/settings/apps")).text


@pytest.mark.parametrize("button", ["Authorize", "Cancel"])
async def test_a_request_of_the_chat_client_returns_to_its_page(world: World, button: str) -> None:
    browser, _, url = await create_consent_request(world, next="/app/channels/1/2")

    page = await browser.open(url)
    result_page = await browser.submit(page, button, follows_redirects=False)

    assert "the chat" in page.text
    assert (result_page.status, result_page.location) == (303, "/app/channels/1/2")
    assert ("Orchard" in (await browser.open("/settings/apps")).text) is (button == "Authorize")


@pytest.mark.parametrize("next_path", ["https://elsewhere.example/", "//elsewhere.example/", "/\\elsewhere.example"])
async def test_a_return_path_on_another_server_is_ignored(world: World, next_path: str) -> None:
    browser, _, url = await create_consent_request(world, next=next_path)

    result_page = await browser.submit(await browser.open(url), "Authorize", follows_redirects=False)

    assert result_page.location.startswith(REDIRECT + "?")


async def test_the_login_returns_to_the_consent_page(world: World) -> None:
    client = await create_application(world)
    browser = Browser(world)
    await browser.register("mary")
    other_browser = Browser(world)
    url = client.authorize_path(state="a b&c=d")

    page = await other_browser.log_in("mary", path=url)

    assert page.status == 200
    result_page = await other_browser.submit(page, "Authorize", follows_redirects=False)
    assert url_parameters(result_page.location)["state"] == "a b&c=d"


async def test_the_account_can_be_switched(world: World) -> None:
    browser, _, url = await create_consent_request(world)
    other_browser = Browser(world)
    await other_browser.register("nora")

    page = await browser.submit(await browser.open(url), "Not you? Switch account")
    assert page.url.startswith("/login?next=")
    page = await browser.submit(page, "Log in", login="nora", password=PASSWORD)

    assert "Logged in as nora" in page.text


async def test_an_approved_application_is_redirected_without_a_prompt(world: World) -> None:
    browser, _, url = await create_consent_request(world)
    silent_url = f"{url}&prompt=none"

    first_page = await browser.open(silent_url)
    assert first_page.status == 200
    await browser.submit(first_page, "Authorize", follows_redirects=False)
    second_response = await browser.request("GET", silent_url)

    assert (second_response.status, "code" in url_parameters(second_response.location)) == (303, True)
    assert (await browser.request("GET", url)).status == 200


@pytest.mark.one_postgres_case
@pytest.mark.parametrize(
    ("change", "text"),
    [
        ({"client_id": "1"}, "Unknown client_id"),
        ({"client_id": "one"}, "client_id"),
        ({"redirect_uri": "https://evil.example/callback"}, "redirect_uri is not registered"),
        ({"redirect_uri": REDIRECT + "/../x"}, "redirect_uri is not registered"),
    ],
)
async def test_an_unknown_client_or_redirect_shows_an_error_page_without_a_link(
    world: World, change: dict[str, str], text: str
) -> None:
    browser, client, _ = await create_consent_request(world)

    page = await browser.request("GET", client.authorize_path(**change))

    assert page.status == 400
    assert text in page.text
    assert "Location" not in page.headers
    assert not [url for _, url in page.links if "example" in url]


@pytest.mark.one_postgres_case
@pytest.mark.parametrize(
    ("change", "error"),
    [
        ({"scope": "identify nonsense"}, "invalid_scope"),
        ({"response_type": "id_token"}, "unsupported_response_type"),
        ({"code_challenge": "short", "code_challenge_method": "S256"}, "invalid_request"),
        ({"code_challenge": "short"}, "invalid_request"),
    ],
)
async def test_an_invalid_request_offers_a_link_back_without_redirecting(
    world: World, change: dict[str, str], error: str
) -> None:
    browser, client, _ = await create_consent_request(world)

    page = await browser.request("GET", client.authorize_path(**({"scope": "identify", "state": "s"} | change)))

    assert page.status == 400
    back = dict(page.links)["Return to the application"]
    assert back.startswith(REDIRECT)
    assert (url_parameters(back)["error"], url_parameters(back)["state"]) == (error, "s")


async def test_a_repeated_parameter_is_rejected_and_an_empty_one_is_ignored(world: World) -> None:
    browser, client, url = await create_consent_request(world)

    twice = await browser.request("GET", f"{url}&scope=guilds")
    empty_page = await browser.request("GET", f"{client.authorize_path(state='')}&nonce=&prompt=")

    assert (twice.status, "scope: This parameter must not be repeated." in twice.text) == (400, True)
    assert empty_page.status == 200


async def test_a_custom_scheme_redirect_is_opened_from_a_page(world: World) -> None:
    browser, client, _ = await create_consent_request(world)
    redirect = f"hubbub-{client.id}:/authorize/callback"
    _, challenge = create_pkce_pair()
    url = client.authorize_path(redirect_uri=redirect, code_challenge=challenge, code_challenge_method="S256")

    result_page = await browser.submit(await browser.open(url), "Authorize")

    assert result_page.status == 200
    assert result_page.refresh is not None
    assert result_page.refresh.startswith(f"{redirect}?code=")
    assert dict(result_page.links)["Open Orchard"] == result_page.refresh


async def test_a_loopback_redirect_may_use_any_port(world: World) -> None:
    client = await create_application(world, redirect_uris=("http://127.0.0.1/callback",))
    browser = Browser(world)
    browser.sign_in_as(await world.user())

    page = await browser.open(client.authorize_path(redirect_uri="http://127.0.0.1:49152/callback"))
    result_page = await browser.submit(page, "Authorize", follows_redirects=False)

    assert "an app on this computer" in page.text
    assert urlsplit(result_page.location).netloc == "127.0.0.1:49152"


async def test_a_bot_is_added_to_the_chosen_guild_with_the_chosen_permissions(world: World) -> None:
    client = await create_application(world, name="Orchard")
    mary = await world.user("mary")
    guild, other_guild = await world.guild(mary, name="Here"), await world.guild(mary, name="There")
    browser = Browser(world)
    browser.sign_in_as(mary)
    permissions = Permissions.KICK_MEMBERS | Permissions.SEND_MESSAGES
    path = f"/oauth2/authorize?client_id={client.id}&scope=bot&permissions={permissions}"

    page = await browser.open(path)
    assert "Powerful" in page.text
    empty_page = await browser.submit(page, "Authorize", guild_id="")
    assert (empty_page.status, 'id="error-guild_id"' in empty_page.body) == (400, True)
    send_messages_bit = Permissions.SEND_MESSAGES.bit_length() - 1
    result_page = await browser.submit(page, "Authorize", guild_id=guild.id, permission=[send_messages_bit])

    assert "App added" in result_page.text
    roles = (await mary.get(f"/guilds/{guild.id}/roles")).ok()
    role_of_bot = next(role for role in roles if role["name"] == "Orchard")
    assert int(role_of_bot["permissions"]) == Permissions.SEND_MESSAGES
    assert "Orchard" not in [role["name"] for role in (await mary.get(f"/guilds/{other_guild.id}/roles")).ok()]


async def test_a_declined_installation_shows_a_page(world: World) -> None:
    client = await create_application(world)
    mary = await world.user("mary")
    await world.guild(mary)
    browser = Browser(world)
    browser.sign_in_as(mary)

    page = await browser.open(f"/oauth2/authorize?client_id={client.id}&scope=bot")
    result_page = await browser.submit(page, "Cancel")

    assert "App not added" in result_page.text


async def test_a_user_without_a_managed_guild_can_only_decline(world: World) -> None:
    client = await create_application(world)
    browser = Browser(world)
    browser.sign_in_as(await world.user())

    page = await browser.open(f"/oauth2/authorize?client_id={client.id}&scope=bot")

    assert "cannot add this app" in page.text
    assert [label for form in page.forms for label, _, _ in form.buttons] == ["Not you? Switch account", "Cancel"]


async def test_a_private_application_can_only_be_installed_by_its_owner(world: World) -> None:
    client = await create_application(world)
    await set_application_columns(world, client, bot_public=0)
    browser = Browser(world)
    browser.sign_in_as(await world.user())

    page = await browser.open(f"/oauth2/authorize?client_id={client.id}&scope=bot")

    assert (page.status, "not authorized" in page.text) == (403, True)


async def test_a_webhook_is_created_in_the_chosen_channel(world: World) -> None:
    browser, client, url = await create_consent_request(world, "webhook.incoming")
    nora = await world.user("nora")
    guild, _ = await world.guild(nora, name="Here"), await world.guild(nora, name="There")
    browser.sign_in_as(nora)

    first_page = await browser.open(url)
    page = await browser.submit(first_page, "Show channels", guild_id=guild.id)
    result_page = await browser.submit(page, "Authorize", webhook_channel_id=guild.general, follows_redirects=False)

    tokens = (await client.exchange(url_parameters(result_page.location)["code"])).ok()
    assert tokens["webhook"]["channel_id"] == str(guild.general)
