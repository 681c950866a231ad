"""Attacks on the web pages, named after the attack."""

import logging
import re
import socket
from html.parser import HTMLParser
from urllib.parse import quote, urlencode, urlsplit

import aiohttp
import pytest
from yarl import URL

from hubbub.server.app import App
from hubbub.server.core.clock import ControlledClock
from hubbub.server.core.config import LogConfig
from tests.oauth import REDIRECT, Client, create_application, set_application_columns, url_fields
from tests.pages import PASSWORD, Browser, Page
from tests.world import NOW_MS, Actor, World, small_config

FORM = {"Content-Type": "application/x-www-form-urlencoded"}
SMUGGLED = "\"><script>alert(1)</script><img src=x onerror=alert(1)>'"


async def consenting(world: World) -> tuple[Browser, Client, Actor]:
    """Create a user in front of a consent page."""
    client, mary = await create_application(world, name="Orchard"), await world.user("mary")
    browser = Browser(world)
    browser.sign_in_as(mary)
    return browser, client, mary


def token_of(shown: Page) -> str:
    """Return the form token of a page."""
    return dict(shown.forms[-1].values)["form_token"]


@pytest.mark.parametrize(
    ("headers", "with_token"),
    [
        ({}, None),
        ({}, "wrong"),
        ({}, "of another"),
        ({"Origin": "https://evil.example"}, "right"),
        ({"Origin": "null"}, "right"),
        ({"Sec-Fetch-Site": "cross-site"}, "right"),
        ({"Sec-Fetch-Site": "same-site"}, "right"),
    ],
)
async def test_csrf_on_consent(world: World, headers: dict[str, str], with_token: str | None) -> None:
    browser, client, mary = await consenting(world)
    other = Browser(world)
    other.sign_in_as(await world.user("eve"))
    address = client.authorize_path()
    tokens = {
        "right": token_of(await browser.open(address)),
        "of another": token_of(await other.open(address)),
        "wrong": "x" * 43,
        None: "",
    }

    body = urlencode({"answer": "allow", "form_token": tokens[with_token]})
    shown = await browser.request("POST", address, headers=FORM | headers, data=body)

    assert (shown.status, "Location" in shown.headers) == (403, False)
    assert (await mary.get("/oauth2/tokens")).ok() == []


@pytest.mark.parametrize("path", ["/login", "/register", "/logout", "/activate/answer", "/settings/account/delete"])
async def test_csrf_on_other_forms(world: World, path: str) -> None:
    """Also without a login: being signed in to the attacker's account is an attack too."""
    browser = Browser(world)
    if path not in ("/login", "/register"):
        await browser.register("mary")
    before = browser.cookies.get("hubbub_session")

    body = urlencode({"login": "eve", "username": "eve", "password": PASSWORD, "user_code": "X", "answer": "allow"})
    shown = await browser.request("POST", path, headers=FORM, data=body)

    assert shown.status == 403
    assert browser.cookies.get("hubbub_session") == before


async def test_clickjacking(world: World) -> None:
    browser, client, _ = await consenting(world)
    stranger = Browser(world)
    pages = [await stranger.open(path) for path in ("/login", "/register", "/oauth2/authorized")]
    pages += [
        await browser.open(path)
        for path in (
            client.authorize_path(),
            "/oauth2/authorize?client_id=1",
            "/activate",
            "/settings/apps",
            "/settings/account",
        )
    ]

    for page in pages:
        policy = page.headers["Content-Security-Policy"]
        assert "frame-ancestors 'none'" in policy
        assert page.headers["X-Frame-Options"] == "DENY"


@pytest.mark.parametrize("planted", ["nonsense", "eve's"])
async def test_session_fixation(world: World, planted: str) -> None:
    await Browser(world).register("mary")
    eve = Browser(world)
    await eve.register("eve")
    fixed = eve.cookies["hubbub_session"] if planted == "eve's" else "c2Vzc2lvbg.nonsense.nonsense"
    victim = Browser(world)
    victim.jar.update_cookies({"hubbub_visitor": "planted-by-the-attacker-0123456789"}, URL(world.url))
    visitor = (await victim.open("/login")).headers.getall("Set-Cookie", [])
    assert not any("planted" in cookie for cookie in visitor)
    if planted == "nonsense":
        victim.sign_in_as(Actor(world, 0, fixed, "nobody"))

    done = await victim.log_in("mary")

    assert done.url == "/settings/account"
    fresh = victim.cookies["hubbub_session"]
    assert fresh not in (fixed, "")
    assert "hubbub_visitor" not in victim.cookies
    seen = await world.request("GET", "/users/@me", headers={"Authorization": fixed})
    assert seen.status == 401 or seen.json["username"] == "eve"


@pytest.mark.parametrize(
    "target",
    [
        "https://evil.example/",
        "//evil.example/",
        "/\\evil.example/",
        "\\\\evil.example",
        "/%09/evil.example",
        "/\t/evil.example",
        "/\n//evil.example",
        "javascript:alert(1)",
        "data:text/html,x",
        "evil.example",
        "/ok\r\nSet-Cookie: a=b",
        "///evil.example",
        "",
    ],
)
async def test_open_redirect_after_the_login(world: World, target: str) -> None:
    await Browser(world).register("mary")
    browser = Browser(world)

    page = await browser.open(f"/login?next={quote(target, safe='')}")
    done = await browser.submit(page, "Log in", login="mary", password=PASSWORD, follow=False)

    assert done.status == 303
    parts = urlsplit(done.location)
    assert (parts.scheme, parts.netloc) == ("", "")
    assert done.location.startswith("/")
    assert not done.location.startswith(("//", "/\\", "/\t"))
    assert "a=b" not in str(done.headers)
    # The form's own field is checked like the query parameter.
    again = Browser(world)
    page = await again.open("/login")
    form = {"login": "mary", "password": PASSWORD, "next": target, "form_token": token_of(page)}
    sent = await again.request("POST", "/login", headers=FORM, data=urlencode(form))
    assert urlsplit(sent.location).netloc == ""


@pytest.mark.parametrize(
    "redirect",
    [
        "https://evil.example/callback",
        "https://game.example.evil.example/callback",
        "https://game.example@evil.example/callback",
        "https://game.example/callback/../../x",
        "https://game.example/callback?x=1",
        "https://game.example\\@evil.example/callback",
        "http://game.example/callback",
        "https://GAME.example/callback",
        "//game.example/callback",
        "javascript:alert(1)//callback",
        "data:text/html,<script>alert(1)</script>",
        "https://game.example/callback#x",
        "hubbub-1:/authorize/callback",
    ],
)
async def test_open_redirect_through_redirect_uri(world: World, redirect: str) -> None:
    browser, client, _ = await consenting(world)

    for more in ({}, {"prompt": "none"}, {"scope": "nonsense"}, {"response_type": "token"}):
        address = client.authorize_path(**({"redirect_uri": redirect} | more))
        shown = await browser.request("GET", address)
        assert (shown.status, "Location" in shown.headers, shown.refresh) == (400, False, None)
        assert not [url for _, url in shown.links if not url.startswith(("/", "#"))]
        body = urlencode({"answer": "deny", "form_token": token_of(shown)})
        sent = await browser.request("POST", address, headers=FORM, data=body)
        assert (sent.status, "Location" in sent.headers) == (400, False)


async def test_open_redirect_by_an_application_that_causes_an_error(world: World) -> None:
    """RFC 9700 4.11.2: a registered redirect URI is not enough to redirect a user who has not consented."""
    browser, client, _ = await consenting(world)

    shown = await browser.request("GET", client.authorize_path("nonsense", prompt="none"))

    assert (shown.status, "Location" in shown.headers, shown.refresh) == (400, False, None)


async def test_token_in_log_or_url(world: World, caplog: pytest.LogCaptureFixture) -> None:
    app = App(small_config(log=LogConfig(level="debug", requests=True)), clock=ControlledClock(NOW_MS, running=False))
    await app.start()
    caplog.set_level(logging.DEBUG)
    try:
        async with aiohttp.ClientSession() as client_session:
            here = World(app, client_session)
            client = await create_application(here)
            browser = Browser(here)
            await browser.register("mary")
            session = browser.cookies["hubbub_session"]
            done = await browser.submit(
                await browser.open(client.authorize_path(state="st4te")), "Authorize", follow=False
            )
            code = url_fields(done.location)["code"]
            device = (await client.post("/oauth2/device/authorize", scope="identify")).ok()
            page = await browser.open(device["verification_uri_complete"])
            page = await browser.submit(page, "Continue")
            await browser.submit(page, "Authorize")
            await browser.open("/settings/account")
    finally:
        await app.stop()

    written = "\n".join(f"{record.getMessage()} {record.__dict__}" for record in caplog.records)
    assert "GET /oauth2/authorize 200" in written
    for secret in (session, code, PASSWORD, device["user_code"], device["device_code"], "st4te"):
        assert secret not in written
    for shown in browser.history:
        assert session not in shown.url
        assert session not in shown.headers.get("Location", "")
        assert session not in shown.body


async def test_user_enumeration_on_the_login_page(world: World) -> None:
    await Browser(world).register("mary")

    known = await Browser(world).log_in("mary", "not this one")
    unknown = await Browser(world).log_in("nobody", "not this one")
    empty = await Browser(world).log_in("nobody", "")

    assert known.status == unknown.status == empty.status == 400
    assert known.text == unknown.text == empty.text
    assert _without(known.body, "mary") == _without(unknown.body, "nobody")


async def test_user_enumeration_on_the_page_for_devices_and_applications(world: World) -> None:
    """Only signed-in users learn whether an application or a code exists."""
    stranger = Browser(world)
    client = await create_application(world)

    for path in (client.authorize_path(), "/oauth2/authorize?client_id=1", "/activate?user_code=ABCDEFGH"):
        assert (await stranger.request("GET", path)).location.startswith("/login?next=")


async def test_brute_force_on_the_login_page(world: World) -> None:
    await Browser(world).register("mary")
    browser = Browser(world)
    page = await browser.open("/login")

    answers = [await browser.submit(page, "Log in", login="mary", password=f"guess {n}") for n in range(11)]

    assert [answer.status for answer in answers] == [400] * 10 + [429]
    assert "Try again in 15 minutes" in answers[-1].text
    assert (await browser.submit(page, "Log in", login="mary", password=PASSWORD)).status == 429


async def test_xss_through_names_and_state(world: World) -> None:
    client = await create_application(world, name=SMUGGLED[:32])
    mary = await world.user("mary")
    (await mary.patch("/users/@me", json={"global_name": SMUGGLED[:32]})).ok()
    (await client.owner.patch("/users/@me", json={"global_name": SMUGGLED[:32]})).ok()
    guild = await world.guild(mary, name=SMUGGLED)
    await client.tokens(mary)
    browser = Browser(world)
    browser.sign_in_as(mary)
    device = (await client.post("/oauth2/device/authorize", scope="identify")).ok()
    pages = [
        await browser.open(client.authorize_path("identify", state=SMUGGLED, nonce=SMUGGLED)),
        await browser.open(client.authorize_path(SMUGGLED, state=SMUGGLED)),
        await browser.open(f"/oauth2/authorize?client_id={client.id}&scope=bot&guild_id={guild.id}"),
        await browser.open(f"/oauth2/authorize?client_id={quote(SMUGGLED)}"),
        await browser.open(f"/activate?user_code={quote(SMUGGLED[:32])}"),
        await browser.submit(await browser.open("/activate"), "Continue", user_code=device["user_code"]),
        await browser.submit(await browser.open("/activate"), "Continue", user_code=SMUGGLED[:32]),
        await browser.open("/settings/apps"),
        await browser.open("/settings/account"),
        await Browser(world).open(f"/login?next=/{quote(SMUGGLED)}"),
        await Browser(world).log_in(SMUGGLED, SMUGGLED),
    ]

    for page in pages:
        found = _Elements()
        found.feed(page.body)
        assert "script" not in found.tags
        assert not [name for name in found.attributes if name.startswith("on") or name == "style"]
        assert "<img src=x" not in page.body
        policy = page.headers["Content-Security-Policy"]
        assert policy.startswith("default-src 'none'; style-src 'self'")
        assert "unsafe" not in policy


async def test_xss_through_a_link_of_the_application(world: World) -> None:
    browser, client, _ = await consenting(world)
    await world.write(
        lambda call: call.tx.run(
            "UPDATE applications SET settings = ? WHERE id = ?",
            '{"privacy_policy_url": "javascript:alert(1)", "terms_of_service_url": "https://game.example/terms"}',
            client.id,
        )
    )

    page = await browser.open(client.authorize_path())

    assert "javascript:" not in page.body
    assert dict(page.links)["Terms of service"] == "https://game.example/terms"


async def test_cookie_theft_over_plain_http_or_by_script() -> None:
    """Over TLS: Secure and __Host-, so that no other host and no plain request can set or read it."""
    sock = socket.create_server(("127.0.0.1", 0))
    port = sock.getsockname()[1]
    app = App(small_config(public_url="https://chat.example"), clock=ControlledClock(NOW_MS, running=False))
    await app.start(sock)
    try:
        async with aiohttp.ClientSession() as client:
            async with client.get(f"http://127.0.0.1:{port}/login") as page:
                cookie = page.headers["Set-Cookie"]
                visitor = page.cookies["__Host-hubbub_visitor"].value
                token = (await page.text()).partition('name="form_token" value="')[2].partition('"')[0]
            form = {"username": "mary", "password": PASSWORD, "form_token": token}
            headers = FORM | {"Origin": "https://chat.example", "Cookie": f"__Host-hubbub_visitor={visitor}"}
            async with client.post(
                f"http://127.0.0.1:{port}/register", data=urlencode(form), headers=headers, allow_redirects=False
            ) as done:
                cookies = [cookie, *done.headers.getall("Set-Cookie")]
    finally:
        await app.stop()

    assert any(each.startswith("__Host-hubbub_session=") for each in cookies)
    for each in cookies:
        flags = {flag.strip().lower() for flag in each.split(";")[1:]}
        assert {"httponly", "secure", "samesite=lax", "path=/"} <= flags
        assert not any(flag.startswith("domain") for flag in flags)


async def test_cookies_over_plain_http_are_hidden_from_scripts_and_other_sites(world: World) -> None:
    browser = Browser(world)
    await browser.register("mary")

    cookies = [each for shown in browser.history for each in shown.headers.getall("Set-Cookie", [])]

    assert any(each.startswith("hubbub_session=") for each in cookies)
    assert all("HttpOnly" in each and "SameSite=Lax" in each and "Path=/" in each for each in cookies)


async def test_pages_in_a_shared_cache(world: World) -> None:
    browser, client, _ = await consenting(world)

    for path in (
        client.authorize_path(),
        "/settings/account",
        "/settings/apps",
        "/activate",
        "/settings/account/export",
    ):
        shown = await browser.open(path)
        assert shown.headers["Cache-Control"] == "no-store"
        assert shown.headers["X-Content-Type-Options"] == "nosniff"


async def test_a_bot_token_or_an_access_token_in_the_cookie(world: World) -> None:
    """The pages accept only users' login tokens; a stolen token of another kind opens no page."""
    _, client, mary = await consenting(world)
    assert client.bot is not None
    stolen = (await client.tokens(mary))["access_token"]

    for token in (stolen, client.bot.token):
        thief = Browser(world)
        thief.sign_in_as(Actor(world, 0, token, "thief"))
        assert (await thief.open("/settings/account")).url.startswith("/login")


async def test_installing_a_private_bot_through_the_page(world: World) -> None:
    browser, client, mary = await consenting(world)
    guild = await world.guild(mary)
    await set_application_columns(world, client, bot_public=0)

    address = f"/oauth2/authorize?client_id={client.id}&scope=bot&guild_id={guild.id}"
    page = await browser.open(address)
    body = urlencode({"answer": "allow", "guild_id": guild.id, "form_token": token_of(page)})
    sent = await browser.request("POST", address, headers=FORM, data=body)

    assert (page.status, sent.status) == (403, 403)
    assert REDIRECT not in sent.body


class _Elements(HTMLParser):
    """The elements that a browser would create from a page."""

    def __init__(self) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.attributes: set[str] = set()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.attributes |= {name for name, _ in attrs}


def _without(body: str, name: str) -> str:
    body = re.sub(r'name="form_token" value="[^"]*"', "", body)
    return body.replace(f'value="{name}"', 'value=""')
