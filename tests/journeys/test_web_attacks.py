"""Known attacks on the web pages, such as CSRF, clickjacking, open redirects, enumeration, brute force, XSS and token theft."""

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
from hubbub.server.core.config_sections import LogConfig
from hubbub.server.transports.web.page_requests import find_pages
from hubbub.server.transports.web.portal.common import SECTIONS
from hubbub.server.transports.web.server import PAGE_MODULES
from tests.oauth import REDIRECT, Client, create_application, set_application_columns, url_parameters
from tests.pages import PASSWORD, Browser, Page
from tests.world import NOW_MS, Actor, World, small_config

FORM_HEADERS = {"Content-Type": "application/x-www-form-urlencoded"}
INJECTED_HTML = "\"><script>alert(1)</script><img src=x onerror=alert(1)>'"


async def sign_in_for_consent(world: World) -> tuple[Browser, Client, Actor]:
    """Create an application and a user, and sign the user in; return the browser, the application and the user."""
    client, mary = await create_application(world, name="Orchard"), await world.user("mary")
    browser = Browser(world)
    browser.sign_in_as(mary)
    return browser, client, mary


def read_form_token(page: Page) -> str:
    return dict(page.forms[-1].values)["form_token"]


@pytest.mark.one_postgres_case
@pytest.mark.parametrize(
    ("headers", "token_kind"),
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
async def test_csrf_on_the_consent_page_is_rejected(
    world: World, headers: dict[str, str], token_kind: str | None
) -> None:
    browser, client, mary = await sign_in_for_consent(world)
    other_browser = Browser(world)
    other_browser.sign_in_as(await world.user("eve"))
    consent_path = client.authorize_path()
    tokens = {
        "right": read_form_token(await browser.open(consent_path)),
        "of another": read_form_token(await other_browser.open(consent_path)),
        "wrong": "x" * 43,
        None: "",
    }

    body = urlencode({"answer": "allow", "form_token": tokens[token_kind]})
    page = await browser.request("POST", consent_path, headers=FORM_HEADERS | headers, data=body)

    assert (page.status, "Location" in page.headers) == (403, False)
    assert (await mary.get("/oauth2/tokens")).ok() == []


@pytest.mark.parametrize("path", ["/login", "/register", "/logout", "/activate/answer", "/settings/account/delete"])
async def test_csrf_on_other_forms_is_rejected(world: World, path: str) -> None:
    """Forms of signed-out pages are rejected too, because a forged login would use the attacker's account."""
    browser = Browser(world)
    if path not in ("/login", "/register"):
        await browser.register("mary")
    session_cookie = browser.cookies.get("hubbub_session")

    body = urlencode({"login": "eve", "username": "eve", "password": PASSWORD, "user_code": "X", "answer": "allow"})
    page = await browser.request("POST", path, headers=FORM_HEADERS, data=body)

    assert page.status == 403
    assert browser.cookies.get("hubbub_session") == session_cookie


async def test_clickjacking_is_prevented_by_headers(world: World) -> None:
    browser, client, _ = await sign_in_for_consent(world)
    signed_out_browser = Browser(world)
    pages = [await signed_out_browser.open(path) for path in ("/login", "/register", "/oauth2/authorized")]
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


async def test_every_page_forbids_frames_and_scripts_of_other_origins(world: World) -> None:
    mary = await world.user("mary")
    browser, signed_out_browser = Browser(world), Browser(world)
    browser.sign_in_as(mary)
    paths = {
        re.sub(r"\{\w+(?::(?:[^{}]|\{[^{}]*\})*)?\}", "1", page.path)
        for module in PAGE_MODULES
        for page, _ in find_pages(module)
        if page.method == "GET"
    }
    # The pages of an existing application: the paths above have the ID 1.
    application_path = f"/developers/{(await create_application(world, owner=mary)).id}"
    paths |= {f"{application_path}{section}" for section, _ in SECTIONS}
    pages = [await visitor.open(path) for path in sorted(paths) for visitor in (browser, signed_out_browser)]
    pages = [page for page in pages if page.headers.get("Content-Type", "").startswith("text/html")]

    assert len(pages) > 60
    for page in pages:
        policy = dict(part.split(" ", 1) for part in page.headers["Content-Security-Policy"].split("; ") if " " in part)
        assert (policy["default-src"], policy["frame-ancestors"], policy["base-uri"]) == ("'none'", "'none'", "'none'")
        assert policy.get("script-src", "'self'") == "'self'"
        assert "unsafe" not in policy.get("style-src", "")
        if "<script" in page.body:
            assert (policy["require-trusted-types-for"], "trusted-types" in policy) == ("'script'", True), page.url
        assert page.headers["X-Frame-Options"] == "DENY"
        assert page.headers["Cross-Origin-Opener-Policy"] == "same-origin"
        assert page.headers["X-Content-Type-Options"] == "nosniff"


@pytest.mark.parametrize("planted_kind", ["nonsense", "eve's"])
async def test_session_fixation_is_prevented(world: World, planted_kind: str) -> None:
    await Browser(world).register("mary")
    eve_browser = Browser(world)
    await eve_browser.register("eve")
    planted_token = eve_browser.cookies["hubbub_session"] if planted_kind == "eve's" else "c2Vzc2lvbg.nonsense.nonsense"
    victim_browser = Browser(world)
    victim_browser.jar.update_cookies({"hubbub_visitor": "planted-by-the-attacker-0123456789"}, URL(world.url))
    set_cookies = (await victim_browser.open("/login")).headers.getall("Set-Cookie", [])
    assert not any("planted" in cookie for cookie in set_cookies)
    if planted_kind == "nonsense":
        victim_browser.sign_in_as(Actor(world, 0, planted_token, "unknown"))

    page = await victim_browser.log_in("mary")

    assert page.url == "/app"
    session_token = victim_browser.cookies["hubbub_session"]
    assert session_token not in (planted_token, "")
    assert "hubbub_visitor" not in victim_browser.cookies
    response = await world.request("GET", "/users/@me", headers={"Authorization": planted_token})
    assert response.status == 401 or response.json["username"] == "eve"


@pytest.mark.one_postgres_case
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
async def test_the_login_cannot_be_an_open_redirect(world: World, target: str) -> None:
    await Browser(world).register("mary")
    browser = Browser(world)

    page = await browser.open(f"/login?next={quote(target, safe='')}")
    response = await browser.submit(page, "Log in", login="mary", password=PASSWORD, follows_redirects=False)

    assert response.status == 303
    split_location = urlsplit(response.location)
    assert (split_location.scheme, split_location.netloc) == ("", "")
    assert response.location.startswith("/")
    assert not response.location.startswith(("//", "/\\", "/\t"))
    assert "a=b" not in str(response.headers)
    # The form's own field is checked like the query parameter.
    second_browser = Browser(world)
    page = await second_browser.open("/login")
    form = {"login": "mary", "password": PASSWORD, "next": target, "form_token": read_form_token(page)}
    second_response = await second_browser.request("POST", "/login", headers=FORM_HEADERS, data=urlencode(form))
    assert urlsplit(second_response.location).netloc == ""


@pytest.mark.one_postgres_case
@pytest.mark.parametrize(
    "redirect_uri",
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
async def test_the_redirect_uri_cannot_be_an_open_redirect(world: World, redirect_uri: str) -> None:
    browser, client, _ = await sign_in_for_consent(world)

    for parameters in ({}, {"prompt": "none"}, {"scope": "nonsense"}, {"response_type": "token"}):
        consent_path = client.authorize_path(**({"redirect_uri": redirect_uri} | parameters))
        page = await browser.request("GET", consent_path)
        assert (page.status, "Location" in page.headers, page.refresh) == (400, False, None)
        assert not [url for _, url in page.links if not url.startswith(("/", "#"))]
        body = urlencode({"answer": "deny", "form_token": read_form_token(page)})
        response = await browser.request("POST", consent_path, headers=FORM_HEADERS, data=body)
        assert (response.status, "Location" in response.headers) == (400, False)


async def test_an_application_cannot_cause_an_open_redirect_by_an_error(world: World) -> None:
    """RFC 9700 4.11.2: a registered redirect URI is not enough to redirect a user who has not consented."""
    browser, client, _ = await sign_in_for_consent(world)

    page = await browser.request("GET", client.authorize_path("nonsense", prompt="none"))

    assert (page.status, "Location" in page.headers, page.refresh) == (400, False, None)


async def test_tokens_are_not_in_logs_and_urls(world: World, caplog: pytest.LogCaptureFixture) -> None:
    app = App(small_config(log=LogConfig(level="debug", requests=True)), clock=ControlledClock(NOW_MS, running=False))
    await app.start()
    caplog.set_level(logging.DEBUG)
    try:
        async with aiohttp.ClientSession() as client_session:
            logged_world = World(app, client_session)
            client = await create_application(logged_world)
            browser = Browser(logged_world)
            await browser.register("mary")
            session_token = browser.cookies["hubbub_session"]
            response = await browser.submit(
                await browser.open(client.authorize_path(state="st4te")), "Authorize", follows_redirects=False
            )
            code = url_parameters(response.location)["code"]
            device = (await client.post_form("/oauth2/device/authorize", scope="identify")).ok()
            page = await browser.open(device["verification_uri_complete"])
            page = await browser.submit(page, "Continue")
            await browser.submit(page, "Authorize")
            await browser.open("/settings/account")
    finally:
        await app.stop()

    log_text = "\n".join(f"{record.getMessage()} {record.__dict__}" for record in caplog.records)
    assert "GET /oauth2/authorize 200" in log_text
    for secret in (session_token, code, PASSWORD, device["user_code"], device["device_code"], "st4te"):
        assert secret not in log_text
    for history_page in browser.history:
        assert session_token not in history_page.url
        assert session_token not in history_page.headers.get("Location", "")
        assert session_token not in history_page.body


async def test_the_login_page_does_not_reveal_which_users_exist(world: World) -> None:
    await Browser(world).register("mary")

    known_user_page = await Browser(world).log_in("mary", "not this one")
    unknown_user_page = await Browser(world).log_in("unknown", "not this one")
    empty_password_page = await Browser(world).log_in("unknown", "")

    assert known_user_page.status == unknown_user_page.status == empty_password_page.status == 400
    assert known_user_page.text == unknown_user_page.text == empty_password_page.text
    assert _without_token_and_name(known_user_page.body, "mary") == _without_token_and_name(
        unknown_user_page.body, "unknown"
    )


async def test_signed_out_visitors_cannot_enumerate_devices_and_applications(world: World) -> None:
    """Only signed-in users learn whether an application or a code exists."""
    signed_out_browser = Browser(world)
    client = await create_application(world)

    for path in (client.authorize_path(), "/oauth2/authorize?client_id=1", "/activate?user_code=ABCDEFGH"):
        assert (await signed_out_browser.request("GET", path)).location.startswith("/login?next=")


async def test_brute_force_on_the_login_page_is_throttled(world: World) -> None:
    await Browser(world).register("mary")
    browser = Browser(world)
    page = await browser.open("/login")

    responses = [await browser.submit(page, "Log in", login="mary", password=f"guess {number}") for number in range(11)]

    assert [response.status for response in responses] == [400] * 10 + [429]
    assert "Try again in 15 minutes" in responses[-1].text
    assert (await browser.submit(page, "Log in", login="mary", password=PASSWORD)).status == 429


async def test_names_and_state_cannot_inject_html(world: World) -> None:
    client = await create_application(world, name=INJECTED_HTML[:32])
    mary = await world.user("mary")
    (await mary.patch("/users/@me", json={"global_name": INJECTED_HTML[:32]})).ok()
    (await client.owner.patch("/users/@me", json={"global_name": INJECTED_HTML[:32]})).ok()
    guild = await world.guild(mary, name=INJECTED_HTML)
    await client.request_tokens(mary)
    browser = Browser(world)
    browser.sign_in_as(mary)
    device = (await client.post_form("/oauth2/device/authorize", scope="identify")).ok()
    pages = [
        await browser.open(client.authorize_path("identify", state=INJECTED_HTML, nonce=INJECTED_HTML)),
        await browser.open(client.authorize_path(INJECTED_HTML, state=INJECTED_HTML)),
        await browser.open(f"/oauth2/authorize?client_id={client.id}&scope=bot&guild_id={guild.id}"),
        await browser.open(f"/oauth2/authorize?client_id={quote(INJECTED_HTML)}"),
        await browser.open(f"/activate?user_code={quote(INJECTED_HTML[:32])}"),
        await browser.submit(await browser.open("/activate"), "Continue", user_code=device["user_code"]),
        await browser.submit(await browser.open("/activate"), "Continue", user_code=INJECTED_HTML[:32]),
        await browser.open("/settings/apps"),
        await browser.open("/settings/account"),
        await Browser(world).open(f"/login?next=/{quote(INJECTED_HTML)}"),
        await Browser(world).log_in(INJECTED_HTML, INJECTED_HTML),
    ]

    for page in pages:
        elements = _Elements()
        elements.feed(page.body)
        assert "script" not in elements.tags
        assert not [name for name in elements.attributes if name.startswith("on") or name == "style"]
        assert "<img src=x" not in page.body
        policy = page.headers["Content-Security-Policy"]
        assert policy.startswith("default-src 'none'; style-src 'self'")
        assert "unsafe" not in policy


async def test_a_link_of_an_application_cannot_run_a_script(world: World) -> None:
    browser, client, _ = await sign_in_for_consent(world)
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


async def test_cookies_over_tls_are_hidden_from_scripts_and_plain_requests() -> None:
    """Over TLS, cookies are Secure and have the prefix __Host-, so that no other host and no plain request can set or read them."""
    sock = socket.create_server(("127.0.0.1", 0))
    port = sock.getsockname()[1]
    app = App(small_config(public_url="https://chat.example"), clock=ControlledClock(NOW_MS, running=False))
    await app.start(sock)
    try:
        async with aiohttp.ClientSession() as client:
            async with client.get(f"http://127.0.0.1:{port}/login") as login_page:
                cookie = login_page.headers["Set-Cookie"]
                visitor_token = login_page.cookies["__Host-hubbub_visitor"].value
                token = (await login_page.text()).partition('name="form_token" value="')[2].partition('"')[0]
            form = {"username": "mary", "password": PASSWORD, "form_token": token}
            headers = FORM_HEADERS | {
                "Origin": "https://chat.example",
                "Cookie": f"__Host-hubbub_visitor={visitor_token}",
            }
            async with client.post(
                f"http://127.0.0.1:{port}/register", data=urlencode(form), headers=headers, allow_redirects=False
            ) as response:
                cookies = [cookie, *response.headers.getall("Set-Cookie")]
    finally:
        await app.stop()

    assert any(cookie_text.startswith("__Host-hubbub_session=") for cookie_text in cookies)
    for cookie_text in cookies:
        flags = {flag.strip().lower() for flag in cookie_text.split(";")[1:]}
        assert {"httponly", "secure", "samesite=lax", "path=/"} <= flags
        assert not any(flag.startswith("domain") for flag in flags)


async def test_cookies_over_plain_http_are_hidden_from_scripts_and_other_sites(world: World) -> None:
    browser = Browser(world)
    await browser.register("mary")

    cookies = [cookie_text for page in browser.history for cookie_text in page.headers.getall("Set-Cookie", [])]

    assert any(cookie_text.startswith("hubbub_session=") for cookie_text in cookies)
    assert all(
        "HttpOnly" in cookie_text and "SameSite=Lax" in cookie_text and "Path=/" in cookie_text
        for cookie_text in cookies
    )


async def test_personal_pages_are_not_cached(world: World) -> None:
    browser, client, _ = await sign_in_for_consent(world)

    for path in (
        client.authorize_path(),
        "/settings/account",
        "/settings/apps",
        "/activate",
        "/settings/account/export",
    ):
        page = await browser.open(path)
        assert page.headers["Cache-Control"] == "no-store"
        assert page.headers["X-Content-Type-Options"] == "nosniff"


async def test_a_bot_token_or_an_access_token_in_the_cookie_is_rejected(world: World) -> None:
    """The pages accept only users' login tokens; a stolen token of another kind opens no page."""
    _, client, mary = await sign_in_for_consent(world)
    assert client.bot is not None
    access_token = (await client.request_tokens(mary))["access_token"]

    for token in (access_token, client.bot.token):
        attacker_browser = Browser(world)
        attacker_browser.sign_in_as(Actor(world, 0, token, "thief"))
        assert (await attacker_browser.open("/settings/account")).url.startswith("/login")


async def test_a_private_bot_cannot_be_installed_through_the_page(world: World) -> None:
    browser, client, mary = await sign_in_for_consent(world)
    guild = await world.guild(mary)
    await set_application_columns(world, client, bot_public=0)

    consent_path = f"/oauth2/authorize?client_id={client.id}&scope=bot&guild_id={guild.id}"
    page = await browser.open(consent_path)
    body = urlencode({"answer": "allow", "guild_id": guild.id, "form_token": read_form_token(page)})
    response = await browser.request("POST", consent_path, headers=FORM_HEADERS, data=body)

    assert (page.status, response.status) == (403, 403)
    assert REDIRECT not in response.body


class _Elements(HTMLParser):
    """The names of all tags and attributes of a page."""

    def __init__(self) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.attributes: set[str] = set()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.attributes |= {name for name, _ in attrs}


def _without_token_and_name(body: str, name: str) -> str:
    body = re.sub(r'name="form_token" value="[^"]*"', "", body)
    return body.replace(f'value="{name}"', 'value=""')
