"""Everything that answers without credentials has a limit per IP address, and per account if the request names one."""

import asyncio
import itertools
import re
from collections.abc import AsyncIterator, Iterator
from types import NoneType
from typing import Any, Final, get_args

import msgspec
import pytest

from hubbub.protocol.enums import CloseCode, VoiceCloseCode
from hubbub.server.composition import SLICES
from hubbub.server.core import rate_limits
from hubbub.server.core.config import ActivitiesConfig, HttpConfig, MailConfig, VoiceConfig
from hubbub.server.core.endpoints import Endpoint, EndpointTable
from hubbub.server.core.rate_limits import address_key
from hubbub.server.transports.http.example_values import example
from hubbub.server.transports.web.forms import CSRF_FIELD
from hubbub.server.transports.web.page_requests import Page, find_pages
from hubbub.server.transports.web.server import PAGE_MODULES
from tests.pages import Browser
from tests.server.identity.accounts import create_user_with_password, enable_totp, log_in
from tests.world import Actor, World, run_with_settings, small_config

FAILURES_MAX: Final = 3
"""Maximum number of failed lookups in these tests."""
PAGE_ATTEMPTS_MAX: Final = 12
"""Maximum number of requests to a page until a limit rejects one."""

ENDPOINTS: Final = {endpoint.name: endpoint for endpoint in EndpointTable(SLICES) if endpoint.allows_anonymous}
"""Operations without a caller, by name."""

PATH_VALUES: Final = {"document_kind": "terms"}
"""Values of path parameters that are not guessed."""

OTHER_ACCOUNT_FIELDS: Final = {
    "auth_register.username": "A registration names an account that does not exist yet.",
    "auth_register.email": "Other accounts may have the address; tests/server/identity/test_account_emails.py limits its mail.",
    "auth_register_with_provider.username": "A registration names an account that does not exist yet.",
    "auth_register_with_provider.ticket": "The ticket is a secret of 32 bytes and names an identity, not an account.",
    "auth_login_with_passkey.ticket": "The ticket is a secret of 32 bytes; the signature of a passkey cannot be guessed.",
    "auth_login_with_provider.ticket": "The ticket is a secret of 32 bytes; the provider limits attempts to log in.",
    "execute_webhook.username": "The name under which the webhook writes.",
    "execute_slack_compatible_webhook.username": "The name under which the webhook writes.",
}
"""Fields with a name in `ACCOUNT_FIELD_NAMES` whose values do not name an account that could be attacked."""

ACCOUNT_FIELD_NAMES: Final = frozenset({"login", "username", "email", "ticket", "user_id"})
"""Names of fields of request bodies that name an account."""

PAGES: Final = {
    f"{page.method} {page.path}": page for module in PAGE_MODULES for page, _ in find_pages(module) if page.is_public
}
"""Pages for visitors, by route."""

PAGES_WITHOUT_LOOKUP: Final = {
    "GET /": "Static page.",
    "GET /activate/done": "Static page.",
    "GET /appeal": "Form without data.",
    "GET /confirm-email": "Form that contains the token of the link; only POST looks it up.",
    "GET /forgot-password": "Form without data.",
    "GET /invite": "Redirects to the page of the invite, which looks it up.",
    "GET /login": "Form with settings of the server.",
    "GET /mailbox": "Exists on `hubbub dev` only, for requests of the same machine.",
    r"GET /mailbox/{mail_id:\d{1,9}}": "Exists on `hubbub dev` only, for requests of the same machine.",
    "GET /oauth2/authorized": "Static page.",
    "GET /register": "Form with settings of the server; only POST looks up an invite.",
    "GET /reset-password": "Form that contains the token of the link; only POST looks it up.",
    "GET /robots.txt": "Static file.",
    "GET /settings": "Redirects to a page that needs a login.",
    "POST /logout": "Ends the session of the cookie, whose lookup is limited for all pages.",
}
"""Pages for visitors that look nothing up, with the reason."""

PROVIDER_PAGES: Final = {
    "GET /login/with/{provider_id:[a-z0-9-]{1,32}}/logout": "The providers are public: the login page lists them.",
}
"""Pages that look up a login provider of the configuration, with the reason why they need no limit of failures."""


@pytest.fixture
async def limited_world(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[World]:
    """A server that enforces rate limits, with low limits of failed lookups, behind a proxy that reports addresses."""
    monkeypatch.setattr(rate_limits, "FAILED_LOOKUPS_MAX", FAILURES_MAX)
    monkeypatch.setattr(rate_limits, "FAILED_FILE_LOOKUPS_MAX", FAILURES_MAX)
    config = small_config(
        rate_limits="real",
        http=HttpConfig(trusted_proxies=1),
        mail=MailConfig(keep_in_memory=True),
        activities=ActivitiesConfig(proxy_host="activities.test"),
        voice=VoiceConfig(endpoint="voice.test:443"),
    )
    async with run_with_settings(config) as world:
        yield world


def from_address(address: str) -> dict[str, str]:
    """Return the header with which the proxy reports the address of a client."""
    return {"X-Forwarded-For": address}


def addresses() -> Iterator[str]:
    """Yield different addresses."""
    return (f"198.51.{number // 250}.{number % 250}" for number in itertools.count())


def guess_path(endpoint: Endpoint, number: int) -> str:
    """Return the path of an operation with guessed values."""
    values = {
        name: PATH_VALUES.get(name) or (f"{10**17 + number}" if name.endswith("_id") else f"guess-{number}")
        for name in endpoint.operation.parameters
    }
    return endpoint.operation.url(**values)


async def send_guess(world: World, endpoint: Endpoint, number: int, address: str) -> Any:
    """Send a request with a guess to an operation."""
    operation = endpoint.operation
    options: dict[str, Any] = {"headers": from_address(address)}
    if operation.is_form:
        options["data"] = {"client_id": str(10**17 + number), "token": "guess"}
    elif operation.body is not NoneType:
        options["json"] = example(operation.body, is_in_request=True)
    return await world.request(operation.method, guess_path(endpoint, number), **options)


@pytest.mark.parametrize("name", ENDPOINTS)
async def test_an_operation_without_caller_is_limited_by_address(limited_world: World, name: str) -> None:
    endpoint = ENDPOINTS[name]
    rule = endpoint.rule
    if rule is None or (endpoint.ignores_tokens and rule.major_positions):
        # The path contains the credentials, so the bucket does not limit guesses. Failed lookups are counted.
        for number in range(FAILURES_MAX):
            assert (await send_guess(limited_world, endpoint, number, "203.0.113.1")).status == 404
        assert (await send_guess(limited_world, endpoint, FAILURES_MAX, "203.0.113.1")).status == 429
        assert (await send_guess(limited_world, endpoint, FAILURES_MAX, "203.0.113.2")).status == 404
        return

    remaining_counts = [
        int((await send_guess(limited_world, endpoint, number, address)).headers["X-RateLimit-Remaining"])
        for number, address in enumerate(("203.0.113.1", "203.0.113.1", "203.0.113.2"))
    ]

    first_count = rule.calls - 1
    is_limited_by_target = bool(rule.major_positions)
    assert remaining_counts == [first_count, first_count if is_limited_by_target else first_count - 1, first_count]


@pytest.mark.parametrize("name", ["get_guild_widget", "get_guild_widget_png"])
async def test_failed_lookups_of_objects_with_buckets_of_their_own_are_limited(limited_world: World, name: str) -> None:
    responses = [await send_guess(limited_world, ENDPOINTS[name], number, "203.0.113.1") for number in range(4)]

    assert [response.status for response in responses] == [404, 404, 404, 429]


def test_operations_whose_limit_depends_on_the_target_are_tested_for_failed_lookups() -> None:
    assert {
        endpoint.name
        for endpoint in ENDPOINTS.values()
        if endpoint.rule is not None and endpoint.rule.major_positions and not endpoint.ignores_tokens
    } == {"get_guild_widget", "get_guild_widget_png"}


# Accounts


async def guess_password(world: World, account: Actor, number: int, address: str) -> Any:
    body = {"login": account.name, "password": f"guess {number}"}
    return await world.request("POST", "/auth/login", json=body, headers=from_address(address))


async def guess_password_of_appeal(world: World, account: Actor, number: int, address: str) -> Any:
    body = {"login": account.name, "password": f"guess {number}", "text": "Sorry"}
    return await world.request("POST", "/auth/appeal", json=body, headers=from_address(address))


async def request_reset(world: World, account: Actor, number: int, address: str) -> Any:
    body = {"email": "mary@example.org"}
    return await world.request("POST", "/auth/forgot", json=body, headers=from_address(address))


async def guess_code(world: World, account: Actor, number: int, address: str) -> Any:
    if not hasattr(account, "ticket"):
        response = await log_in(world, account.name)
        vars(account)["ticket"] = response.ok()["ticket"]
    body = {"ticket": vars(account)["ticket"], "code": f"{number:06d}"}
    return await world.request("POST", "/auth/mfa/totp", json=body, headers=from_address(address))


ACCOUNT_ATTEMPTS: Final = {
    "auth_login.login": guess_password,
    "auth_appeal.login": guess_password_of_appeal,
    "forgot_password.email": request_reset,
    "auth_login_with_totp.ticket": guess_code,
}
"""Attempts at an account, by operation and the field that names the account."""


def test_every_field_that_names_an_account_has_an_attempt_or_a_reason() -> None:
    fields = {
        f"{endpoint.name}.{field.encode_name}"
        for endpoint in ENDPOINTS.values()
        for kind in get_args(endpoint.operation.body) or (endpoint.operation.body,)
        if issubclass(kind, msgspec.Struct)
        for field in msgspec.structs.fields(kind)
        if field.encode_name in ACCOUNT_FIELD_NAMES
    }

    assert fields == set(ACCOUNT_ATTEMPTS) | set(OTHER_ACCOUNT_FIELDS)


@pytest.mark.parametrize("name", ACCOUNT_ATTEMPTS)
async def test_attempts_at_an_account_from_many_addresses_are_limited(limited_world: World, name: str) -> None:
    account = await create_user_with_password(limited_world, "mary")
    if name == "auth_login_with_totp.ticket":
        await enable_totp(limited_world, account)

    statuses = [
        (await ACCOUNT_ATTEMPTS[name](limited_world, account, number, address)).status
        for number, address in zip(range(12), addresses(), strict=False)
    ]

    assert statuses[0] != 429
    assert statuses[-1] == 429


# Pages


def guess_page(page: Page, number: int) -> str:
    """Return the path of a page with guessed values."""

    def guess_value(match: re.Match[str]) -> str:
        return str(10**17 + number) if r"\d" in match[0] else f"guess-{number}"

    return re.sub(r"\{\w+(?::(?:[^{}]|\{[^}]*\})*)?\}", guess_value, page.path)


def test_every_page_for_visitors_has_a_test_or_a_reason() -> None:
    reasons = PAGES_WITHOUT_LOOKUP.keys() | PROVIDER_PAGES.keys()

    assert reasons - PAGES.keys() == set()
    assert [route for route in PAGES_WITHOUT_LOOKUP if "{" in route and "/mailbox" not in route] == []


@pytest.mark.parametrize("route", sorted(PAGES.keys() - PAGES_WITHOUT_LOOKUP.keys() - PROVIDER_PAGES.keys()))
async def test_a_page_with_a_lookup_is_limited_by_address(limited_world: World, route: str) -> None:
    page, browser = PAGES[route], Browser(limited_world)
    form_page = await browser.open("/login")
    token = dict(form_page.form("Log in").values)[CSRF_FIELD]

    async def send(number: int, address: str) -> int:
        data = None
        if page.method == "POST":
            fields = ("login", "username", "email", "token", "ticket", "code", "text")
            password = {"password": "correct horse battery", "repeated": "correct horse battery"}
            data = {CSRF_FIELD: token, **password, **dict.fromkeys(fields, f"guess{number}@example.org")}
        return (
            await browser.request(page.method, guess_page(page, number), headers=from_address(address), data=data)
        ).status

    statuses: list[int] = []
    while 429 not in statuses and len(statuses) < PAGE_ATTEMPTS_MAX:
        statuses.append(await send(len(statuses), "203.0.113.1"))

    assert statuses[-1] == 429, statuses
    assert await send(len(statuses), "203.0.113.2") != 429


@pytest.mark.parametrize("route", sorted(PAGES_WITHOUT_LOOKUP))
async def test_a_page_without_lookup_accepts_more_requests(limited_world: World, route: str) -> None:
    page = PAGES[route]
    if page.method == "POST":
        return

    for number in range(PAGE_ATTEMPTS_MAX):
        url = limited_world.url + guess_page(page, number)
        async with limited_world.client.get(
            url, headers=from_address("203.0.113.1"), allow_redirects=False
        ) as response:
            assert response.status in (200, 302, 303, 403, 404), "the page has a limit, so it needs no reason here"


async def test_guessing_cookies_of_sessions_is_limited_by_address(limited_world: World) -> None:
    async def send(number: int, address: str = "203.0.113.1") -> int:
        headers = {**from_address(address), "Cookie": f"hubbub_session=guess-{number}"}
        url = f"{limited_world.url}/settings/account"
        async with limited_world.client.get(url, headers=headers, allow_redirects=False) as response:
            return response.status

    assert [await send(number) for number in range(FAILURES_MAX + 1)] == [303, 303, 303, 429]
    assert await send(9, "203.0.113.2") == 303


# Files, activities and connections


@pytest.mark.parametrize(
    "path",
    [
        "/cdn/emojis/{id}.png",
        "/cdn/stickers/{id}.png",
        "/cdn/avatars/{id}/{id:032x}.png",
        "/cdn/app-assets/1/{id}.png",
        "/cdn/soundboard-sounds/{id}",
        "/cdn/attachments/1/{id}/a.png?ex=1&is=1&hm=1",
        "/cdn/{id}",
    ],
)
async def test_guessing_files_is_limited_by_address(limited_world: World, path: str) -> None:
    async def send(number: int, address: str = "203.0.113.1") -> int:
        url = limited_world.url + path.format(id=10**17 + number)
        async with limited_world.client.get(url, headers=from_address(address)) as response:
            assert response.status != 429 or response.headers["Retry-After"] == "60"
            return response.status

    assert [await send(number) for number in range(FAILURES_MAX + 1)] == [404, 404, 404, 429]
    assert await send(9, "203.0.113.2") == 404
    assert (await limited_world.request("GET", "/gateway", headers=from_address("203.0.113.1"))).status == 200


async def test_guessing_hosts_of_activities_is_limited_by_address(limited_world: World) -> None:
    async def send(number: int, address: str = "203.0.113.1") -> int:
        headers = {**from_address(address), "Host": f"{10**17 + number}.activities.test"}
        async with limited_world.client.get(limited_world.url, headers=headers) as response:
            return response.status

    assert [await send(number) for number in range(FAILURES_MAX + 1)] == [404, 404, 404, 429]
    assert await send(9, "203.0.113.2") == 404


async def test_guessing_tokens_on_the_gateway_is_limited_by_address(limited_world: World) -> None:
    async def identify(token: str, address: str = "203.0.113.1") -> int | None:
        async with limited_world.client.ws_connect(limited_world.gateway, headers=from_address(address)) as socket:
            await socket.receive_json()
            data = {"token": token, "intents": 0, "properties": {}}
            await socket.send_json({"op": 2, "d": data})
            message = await socket.receive()
            return socket.close_code if message.data is None or isinstance(message.data, int) else None

    alice = await limited_world.user("alice")
    codes = [await identify(f"guess {number}") for number in range(FAILURES_MAX)]
    assert codes == [CloseCode.AUTHENTICATION_FAILED] * FAILURES_MAX
    assert await identify(alice.token) == CloseCode.RATE_LIMITED
    assert await identify(alice.token, "203.0.113.2") is None


async def test_guessing_tokens_on_the_voice_gateway_is_limited_by_address(limited_world: World) -> None:
    async def identify(number: int, address: str = "203.0.113.1") -> int | None:
        url = f"{limited_world.gateway.removesuffix('gateway')}voice?v=8"
        async with limited_world.client.ws_connect(url, headers=from_address(address)) as socket:
            await socket.receive_json()
            data = {"server_id": "1", "user_id": "1", "session_id": "guess", "token": f"guess {number}"}
            await socket.send_json({"op": 0, "d": data})
            await socket.receive()
            return socket.close_code

    codes = [await identify(number) for number in range(FAILURES_MAX + 1)]

    assert codes == [VoiceCloseCode.AUTHENTICATION_FAILED] * FAILURES_MAX + [VoiceCloseCode.RATE_LIMITED]
    assert await identify(9, "203.0.113.2") == VoiceCloseCode.AUTHENTICATION_FAILED


async def test_the_addresses_of_an_ipv6_network_share_their_limits(limited_world: World) -> None:
    statuses = await asyncio.gather(
        *(
            limited_world.request("GET", f"/invites/guess-{number}", headers=from_address(f"2001:db8:1:2::{number:x}"))
            for number in range(6)
        )
    )

    assert 429 in {response.status for response in statuses}
    assert (await limited_world.request("GET", "/invites/guess", headers=from_address("2001:db8:1:3::1"))).status == 404


@pytest.mark.parametrize(
    ("ip", "key"),
    [
        ("198.51.100.7", "198.51.100.7"),
        ("2001:db8:1:2:3:4:5:6", "2001:db8:1:2::/64"),
        ("::ffff:198.51.100.7", "198.51.100.7"),
        ("fe80::1%eth0", "fe80::/64"),
        ("unknown", "unknown"),
    ],
)
def test_limits_count_addresses_and_ipv6_networks(ip: str, key: str) -> None:
    assert address_key(ip) == key
