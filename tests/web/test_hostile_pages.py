"""Hostile pages of other origins that frame, open, script and post to the pages of the platform, in a browser with a session.

The other site has two names: on the same host with another port, browsers send the cookies of the platform with its
requests (same-site); as `localhost` it is another site.
"""

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
from aiohttp import web

from tests.oauth import create_application
from tests.server.activities.upstream import Upstream
from tests.web.chat import ChatPlatform
from tests.web.polling import wait_until
from tests.world import Actor

both_sites = pytest.mark.parametrize("site_host", ["127.0.0.1", "localhost"], ids=["same-site", "cross-site"])

MESSAGES = [
    None,
    "open",
    {"type": "open", "path": "/app/settings"},
    {"kind": "loaded"},
    {"kind": "send", "op": 1, "data": {}},
    [0, {"v": 1, "encoding": "json", "client_id": "1", "frame_id": "1"}],
    [1, {"cmd": "AUTHORIZE", "args": {"client_id": "1", "scope": ["identify"]}, "nonce": "1"}],
    [1, {"cmd": "DISPATCH", "evt": "READY", "data": {}, "nonce": None}],
    [2, {"code": 4000, "message": "forged"}],
]
"""Messages of the kinds that scripts of the platform send or receive."""

FORBIDDEN_REQUESTS = {
    "token": "fetch(`${platform}/app/token`, {method: 'POST', credentials: 'include'})",
    "page": "fetch(`${platform}/app`, {credentials: 'include'})",
    "account export": "fetch(`${platform}/settings/account/export`, {credentials: 'include'})",
    "API with the cookie": "fetch(`${platform}/api/v10/users/@me`, {credentials: 'include'})",
    "control API": "fetch(`${platform}/control/state`, {credentials: 'include'})",
    "control API with the console's header": (
        "fetch(`${platform}/control/state`, {credentials: 'include', headers: {'X-Hubbub-Console': '1'}})"
    ),
}
"""Requests whose responses a page of another origin must not read, as scripts."""

BLIND_POSTS = ("/app/token", "/logout", "/settings/account/delete", "/console", "/oauth2/authorize?client_id=CLIENT")
"""Paths of forms that a page of another origin submits without seeing the response."""


@asynccontextmanager
async def open_hostile_page(
    platform: ChatPlatform, user: Actor, site: Upstream, site_host: str, html: str
) -> AsyncIterator[Any]:
    """Open a page of the hostile site in a browser with a session of the user and access to the console."""
    site.response = web.Response(text=f"<!doctype html><title>Hostile</title>{html}", content_type="text/html")
    async with platform.open_page() as page:
        await page.context.add_cookies([{"name": "hubbub_session", "value": user.token, "url": platform.url}])
        headers = {"Authorization": f"Bearer {platform.control.token}"}
        link = (await platform.world.request("POST", f"{platform.url}/control/console-links", headers=headers)).ok()
        await page.goto(link["url"])
        await page.goto(f"http://{site_host}:{site.port}/response")
        yield page


@both_sites
async def test_no_page_can_be_framed(platform: ChatPlatform, other_site: Upstream, site_host: str) -> None:
    world = platform.world
    mary, client = await world.user("mary"), await create_application(world)
    guild = await world.guild(mary)
    paths = [
        "/app",
        f"/app/channels/{guild.id}/{guild.general}",
        "/login",
        "/register",
        "/settings/account",
        "/console",
    ]
    paths += [client.authorize_path(), "/developers", f"/developers/{client.id}", "/docs", "/activate"]
    paths += ["/console/side-by-side", "/admin", "/missing", "/mail", f"/application-directory/{client.id}/store"]
    paths += ["/api/v10/users/@me", "/control/state", "/app/token"]
    frames = "".join(f'<iframe src="{platform.url}{path}"></iframe>' for path in paths)
    frames += f'<object data="{platform.url}/app"></object><embed src="{platform.url}/app">'

    async with open_hostile_page(platform, mary, other_site, site_host, frames) as page:
        await page.wait_for_load_state()
        child_frames = page.main_frame.child_frames
        framed_urls = [frame.url for frame in child_frames if frame.url.startswith("http")]
        pages_with_content = [
            frame.url
            for frame in child_frames
            if frame.url.startswith("http") and await frame.evaluate("document.contentType") == "text/html"
        ]

    assert len(child_frames) >= len(paths)
    assert pages_with_content == []
    # Responses of the API contain no data of the user, because a frame sends no token.
    assert set(framed_urls) <= {
        f"{platform.url}{path}" for path in ("/api/v10/users/@me", "/control/state", "/app/token")
    }


@both_sites
async def test_an_opened_window_is_isolated(platform: ChatPlatform, other_site: Upstream, site_host: str) -> None:
    mary, client = await platform.world.user("mary"), await create_application(platform.world)
    paths = [
        "/app",
        "/login?next=/app",
        "/developers",
        "/console",
        "/docs",
        client.authorize_path(),
        "/settings/account",
    ]
    html = "<button onclick='opened = window.open(url)'>Open</button>"

    async with open_hostile_page(platform, mary, other_site, site_host, html) as page:
        for path in paths:
            await page.evaluate("url => { window.url = url; window.opened = null }", platform.url + path)
            async with page.context.expect_page() as page_event:
                await page.get_by_role("button", name="Open").click()
            opened_page, errors = await page_event.value, list[str]()
            opened_page.on("pageerror", lambda error, errors=errors: errors.append(str(error)))
            opened_page.on("dialog", lambda dialog, errors=errors: errors.append(dialog.message))
            await opened_page.wait_for_load_state()
            url = opened_page.url
            # The opener policy separates both windows: each sees the other one as closed.
            await wait_until(page, "opened === null || opened.closed")
            assert await opened_page.evaluate("window.opener") is None, path
            await page.evaluate("messages => messages.forEach(message => opened?.postMessage(message, '*'))", MESSAGES)
            # Where a browser ignores the opener policy, the messages arrive.
            await opened_page.evaluate(
                "messages => messages.forEach(message => window.postMessage(message, '*'))", MESSAGES
            )
            await opened_page.evaluate("new Promise(done => setTimeout(done))")
            assert (opened_page.url.partition("#")[0], errors) == (url.partition("#")[0], []), path
            assert await opened_page.get_by_text("forged").count() == 0
            await opened_page.close()


@both_sites
async def test_a_hostile_page_reads_and_changes_nothing(
    platform: ChatPlatform, other_site: Upstream, site_host: str
) -> None:
    mary, client = await platform.world.user("mary"), await create_application(platform.world)
    outcomes: dict[str, Any] = {}

    async with open_hostile_page(platform, mary, other_site, site_host, "") as page:
        for name, script in FORBIDDEN_REQUESTS.items():
            outcomes[name] = await page.evaluate(
                f"async platform => {{ try {{ return await (await {script}).text() }} catch {{ return '' }} }}",
                platform.url,
            )
        for path in ("/app/token", "/control/state", "/api/v10/users/@me", "/static/../app/token"):
            outcomes[f"script {path}"] = await page.evaluate(
                """url => new Promise(done => {
                  const before = Object.keys(window).length;
                  const script = document.createElement("script");
                  script.onload = () => done(Object.keys(window).length === before ? "" : "defined something");
                  script.onerror = () => done("");
                  script.src = url;
                  document.head.append(script);
                })""",
                platform.url + path,
            )
        for path in BLIND_POSTS:
            url = platform.url + path.replace("CLIENT", str(client.id))
            await page.evaluate("url => fetch(url, {method: 'POST', mode: 'no-cors', credentials: 'include'})", url)
            await page.evaluate(
                """url => {
                  const form = document.createElement("form");
                  Object.assign(form, { action: url, method: "post", target: "result" });
                  form.append(Object.assign(document.createElement("input"), { name: "answer", value: "allow" }));
                  document.body.append(form);
                  form.submit();
                }""",
                url,
            )
        # A form as a navigation of the window, whose response the user would see.
        await page.evaluate(
            """url => {
              document.body.innerHTML = `<form method="post" action="${url}"></form>`;
              document.forms[0].submit();
            }""",
            f"{platform.url}/app/token",
        )
        await page.wait_for_url(f"{platform.url}/app/token")
        assert mary.token not in await page.content()

    assert {name: outcome for name, outcome in outcomes.items() if mary.token in outcome or "mary" in outcome} == {}
    assert {name: outcome for name, outcome in outcomes.items() if outcome and "code" not in json.loads(outcome)} == {}
    assert (await mary.get("/users/@me")).ok()["username"] == "mary"
    assert (await mary.get("/oauth2/tokens")).ok() == []
