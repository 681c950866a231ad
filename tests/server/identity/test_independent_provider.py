"""Tests of logins at `oidc-provider`, an OpenID Connect provider that is independent of this project."""

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack
from typing import Any
from urllib.parse import parse_qsl, urlencode, urlsplit, urlunsplit

import msgspec
import pytest

from hubbub.server.core.clock import ControlledClock, RealClock
from hubbub.server.core.config import Config
from hubbub.server.core.login_config import LoginConfig
from hubbub.server.core.outbound_cache import REFRESH_MIN_MS
from tests.fixtures.validator import ResponseMonitor
from tests.independent_provider import REQUIRES_INDEPENDENT_PROVIDER, IndependentProvider, ProviderBrowser
from tests.pages import PASSWORD, Browser, Page
from tests.server.identity.accounts import create_user_with_password
from tests.world import World, run_with_settings

pytestmark = REQUIRES_INDEPENDENT_PROVIDER

StartWorld = Callable[..., Awaitable[tuple[World, IndependentProvider]]]


@pytest.fixture
async def start_world(store_config: Config, response_monitor: ResponseMonitor) -> AsyncIterator[StartWorld]:
    """A function that starts the provider and a platform which uses it."""
    async with AsyncExitStack() as stack:

        async def start(
            *,
            settings: dict[str, Any] | None = None,
            client: dict[str, Any] | None = None,
            configuration: dict[str, Any] | None = None,
            key: str = "RSA",
        ) -> tuple[World, IndependentProvider]:
            provider = IndependentProvider()
            login = LoginConfig(providers=(provider.settings(**(settings or {})),))
            config = msgspec.structs.replace(store_config, login=login)
            # The tokens of the provider have the time of the machine.
            clock = ControlledClock(RealClock().now_ms())
            world = await stack.enter_async_context(run_with_settings(config, clock))
            provider.register(world.url, **(client or {}))
            provider.configuration = configuration or {}
            provider.add_key(key)
            await provider.start()
            stack.push_async_callback(provider.stop)
            return world, provider

        yield start


async def log_in_with_provider(browser: Browser, visitor: ProviderBrowser, name: str = "mary", **changes: str) -> Page:
    """Log in at the provider and return the next page of the platform; `changes` replace parameters of the request."""
    url = (await browser.request("GET", "/login/with/work")).location
    parts = urlsplit(url)
    query = urlencode(dict(parse_qsl(parts.query)) | changes)
    return await browser.open(await visitor.log_in(urlunsplit(parts._replace(query=query)), name))


async def register_with_provider(browser: Browser, visitor: ProviderBrowser) -> dict[str, Any]:
    """Register the user of the provider as mary, and return the user."""
    await browser.submit(await log_in_with_provider(browser, visitor), "Create account", username="mary")
    return await fetch_user(browser)


async def fetch_user(browser: Browser) -> dict[str, Any]:
    """Return the user that is logged in."""
    headers = {"Authorization": browser.cookies["hubbub_session"]}
    user: dict[str, Any] = (await browser.world.request("GET", "/users/@me", headers=headers)).ok()
    return user


async def test_a_user_registers_with_the_claims_of_the_userinfo_endpoint_and_logs_in_again(
    start_world: StartWorld,
) -> None:
    world, provider = await start_world(settings={"trust_email": True, "allowed_email_domains": ("example.org",)})
    browser, visitor = Browser(world), ProviderBrowser(provider)

    page = await log_in_with_provider(browser, visitor)
    assert 'value="mary.stone"' in page.body
    await browser.submit(page, "Create account", username="mary")
    user = await fetch_user(browser)
    # The user is still logged in at the provider.
    again = Browser(world)
    await log_in_with_provider(again, visitor)

    assert (user["username"], user["global_name"]) == ("mary", "Mary Stone")
    assert (user["email"], user["verified"]) == ("mary@example.org", True)
    assert (await fetch_user(again))["id"] == user["id"]
    assert provider.errors == []


@pytest.mark.one_postgres_case
@pytest.mark.parametrize(
    ("method", "secret"),
    [("client_secret_basic", {}), ("client_secret_post", {}), ("none", {"client_secret": None})],
    ids=["header", "form", "public"],
)
async def test_the_client_authenticates_with_the_method_of_its_registration(
    start_world: StartWorld, method: str, secret: dict[str, None]
) -> None:
    world, provider = await start_world(client={"token_endpoint_auth_method": method, **secret}, settings=secret)

    user = await register_with_provider(Browser(world), ProviderBrowser(provider))

    assert user["username"] == "mary"


@pytest.mark.one_postgres_case
@pytest.mark.parametrize("algorithm", ["RS256", "PS256", "ES256"])
async def test_id_tokens_of_every_algorithm_of_the_provider_are_verified(
    start_world: StartWorld, algorithm: str
) -> None:
    key = "EC" if algorithm == "ES256" else "RSA"
    world, provider = await start_world(key=key, client={"id_token_signed_response_alg": algorithm})

    user = await register_with_provider(Browser(world), ProviderBrowser(provider))

    assert user["global_name"] == "Mary Stone"


async def test_the_claims_of_a_signed_userinfo_response_are_used(start_world: StartWorld) -> None:
    world, provider = await start_world(
        client={"userinfo_signed_response_alg": "RS256"},
        configuration={"features": {"jwtUserinfo": {"enabled": True}}},
    )

    user = await register_with_provider(Browser(world), ProviderBrowser(provider))

    assert (user["global_name"], user["email"]) == ("Mary Stone", "mary@example.org")


async def test_claims_of_the_id_token_need_no_userinfo_endpoint(start_world: StartWorld) -> None:
    world, provider = await start_world(
        configuration={"conformIdTokenClaims": False, "features": {"userinfo": {"enabled": False}}}
    )

    user = await register_with_provider(Browser(world), ProviderBrowser(provider))

    assert (user["global_name"], user["email"]) == ("Mary Stone", "mary@example.org")


async def test_a_login_succeeds_after_the_provider_replaced_its_keys(start_world: StartWorld) -> None:
    world, provider = await start_world()
    user = await register_with_provider(Browser(world), ProviderBrowser(provider))

    await provider.stop()
    provider.keys.clear()
    provider.add_key("RSA")
    provider.keys[0]["kid"] = "replaced"
    await provider.start()
    world.clock.advance(REFRESH_MIN_MS)
    again = Browser(world)
    await log_in_with_provider(again, ProviderBrowser(provider))

    assert (await fetch_user(again))["id"] == user["id"]


@pytest.mark.one_postgres_case
@pytest.mark.parametrize(
    ("changes", "errors"),
    [({"nonce": "another"}, []), ({"code_challenge": "a" * 43}, ["invalid_grant"])],
    ids=["nonce", "PKCE"],
)
async def test_a_code_of_another_request_is_rejected(
    start_world: StartWorld, changes: dict[str, str], errors: list[str]
) -> None:
    world, provider = await start_world()
    browser = Browser(world)

    page = await log_in_with_provider(browser, ProviderBrowser(provider), **changes)
    await provider.stop()

    assert "The login provider did not confirm your login. Start again." in page.text
    assert "hubbub_session" not in browser.cookies
    assert [error["error"] for error in provider.errors] == errors


async def test_a_user_cancels_the_login_on_the_page_of_the_provider(start_world: StartWorld) -> None:
    world, provider = await start_world()
    browser, visitor = Browser(world), ProviderBrowser(provider)
    login_page = await visitor.open((await browser.request("GET", "/login/with/work")).location)
    [cancel_url] = [url for label, url in login_page.links if "Cancel" in label]

    redirect = await visitor.open(cancel_url)
    page = await browser.open(redirect.location)

    assert "error=access_denied" in redirect.location
    assert "The login was canceled or rejected. Start again." in page.text


async def test_a_user_who_is_logged_in_at_the_provider_logs_in_again_to_link_the_login(
    start_world: StartWorld,
) -> None:
    world, provider = await start_world()
    visitor = ProviderBrowser(provider)
    await register_with_provider(Browser(world), visitor)
    alice = await create_user_with_password(world)
    browser = Browser(world)
    browser.sign_in_as(alice)

    form = await browser.open("/settings/account/logins/add/work")
    redirect = await browser.submit(form, "Continue", password=PASSWORD, follows_redirects=False)
    page = await browser.open(await visitor.log_in(redirect.location, "alice"))
    other_browser = Browser(world)
    await log_in_with_provider(other_browser, ProviderBrowser(provider), "alice")

    assert "Login linked." in page.text
    assert (await fetch_user(other_browser))["id"] == str(alice.id)


async def test_a_logout_ends_the_session_at_the_provider_and_returns_to_the_login_page(
    start_world: StartWorld,
) -> None:
    world, provider = await start_world()
    browser, visitor = Browser(world), ProviderBrowser(provider)
    await register_with_provider(browser, visitor)
    await browser.submit(await browser.open("/settings/account"), "Log out")

    question = await visitor.open((await browser.request("GET", "/login/with/work/logout")).location)
    redirect = await visitor.submit(question, logout="yes")
    next_login = await visitor.open((await browser.request("GET", "/login/with/work")).location)

    assert redirect.location == f"{world.url}/login"
    assert "login" in next_login.forms[0].names
