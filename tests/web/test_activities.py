"""An activity in a real browser: behind the proxy, in the relay's frame, with the start sequence of the public SDK."""

import asyncio
import html
import json
from collections.abc import AsyncIterator
from typing import Any
from urllib.parse import urlencode

import aiohttp
import pytest_asyncio
from aiohttp import web

from hubbub.server.app import App
from hubbub.server.core.clock import ControlledClock
from hubbub.server.core.config import ActivitiesConfig
from hubbub.server.places import activity_instances
from tests.server.activities.upstream import PROXY_HOST, ProxiedActivity, Upstream, create_proxied_activity
from tests.web.conftest import OpenPage
from tests.web.polling import wait_until
from tests.world import NOW_MS, World, small_config

ACTIVITY_PAGE = """<!doctype html><title>Game</title><script type="module">
const query = new URLSearchParams(location.search);
const host = window.parent.opener ?? window.parent;
const log = (name, value) => host.postMessage([1, {cmd: "LOG", args: {name, value}, nonce: "1"}], document.referrer || "*");
window.addEventListener("message", async ({data, origin}) => {
  if (origin !== location.origin || data[1].evt !== "READY") return;
  log("ready", data[1].data.v);
  log("token", await (await fetch("/.proxy/api/token", {method: "POST", body: "code"})).json());
  const socket = new WebSocket(`ws://${location.host}/socket`);
  socket.onopen = () => socket.send("move");
  socket.onmessage = ({data}) => log("socket", data);
  try { await fetch("http://127.0.0.1:1/steal"); } catch { log("outside", "blocked"); }
});
host.postMessage([0, {v: 1, encoding: "json", client_id: "1", frame_id: query.get("frame_id")}], document.referrer || "*");
</script>"""
"""A page that behaves like the SDK: it accepts messages only from its own origin (spec/activities.md#5)."""

HOST_PAGE = """<!doctype html><title>Host</title><iframe id="frame" src="%s"></iframe><script>
window.received = [];
const frame = document.getElementById("frame");
window.addEventListener("message", ({data, origin, source}) => {
  if (source !== frame.contentWindow) return;
  received.push({origin, data});
  if (data[0] === 0) source.postMessage([1, {cmd: "DISPATCH", evt: "READY", nonce: null, data: {v: 1}}], origin);
});
</script>"""
"""A page that frames an activity and responds to its handshake. %s stands for the URL of the activity."""


@pytest_asyncio.fixture(loop_scope="session")
async def activity() -> AsyncIterator[ProxiedActivity]:
    """A served activity with its own web server."""
    upstream = Upstream()
    await upstream.open()
    config = small_config(allow_private_targets=True, activities=ActivitiesConfig(proxy_host=PROXY_HOST))
    app = App(config, clock=ControlledClock(NOW_MS, running=False))

    async def handle_host_page(request: web.Request) -> web.Response:
        return web.Response(text=HOST_PAGE % html.escape(request.query["frame"]), content_type="text/html")

    app.routes.append(web.get("/host", handle_host_page))
    await app.start()
    async with aiohttp.ClientSession() as client:
        world = World(app, client)
        yield await create_proxied_activity(world, upstream)
        await world.close()
    await app.stop()
    await upstream.close()


async def test_an_activity_runs_in_the_frame_of_another_site(activity: ProxiedActivity, open_page: OpenPage) -> None:
    world, upstream = activity.world, activity.upstream
    upstream.response = web.Response(text=ACTIVITY_PAGE, content_type="text/html", headers={"X-Frame-Options": "DENY"})
    await activity.set_url_map(
        ("/api", f"{upstream.target}/server"),
        ("/socket", f"{upstream.target}/socket"),
        ("/", f"{upstream.target}/response"),
    )
    alice = await world.user()
    guild = await world.guild(alice)
    await world.write(
        lambda call: activity_instances.launch(call, activity.bot.application_id, alice.id, guild.general, guild.id)
    )
    ticket = (await alice.post(f"/applications/{activity.bot.application_id}/proxy-tickets")).ok()["ticket"]
    port = world.url.rpartition(":")[2]
    origin = f"http://{activity.host}:{port}"
    frame_url = f"{origin}/.platform/frame.html?frame_id=f-1&platform=desktop&discord_proxy_ticket={ticket}"

    async with open_page() as page:
        await page.goto(f"{world.url}/host?{urlencode({'frame': frame_url})}")
        await wait_until(page, "received.filter(({data}) => data[0] === 1).length >= 4")
        received_messages = await page.evaluate("received")

    assert {message["origin"] for message in received_messages} == {origin}
    assert received_messages[0]["data"] == [0, {"v": 1, "encoding": "json", "client_id": "1", "frame_id": "f-1"}]
    log_arguments = [message["data"][1]["args"] for message in received_messages[1:]]
    values = {entry["name"]: entry["value"] for entry in log_arguments}
    assert (values["ready"], values["socket"], values["outside"]) == (1, "move", "blocked")
    assert (values["token"]["method"], values["token"]["path"], values["token"]["body"]) == (
        "POST",
        "/server/token",
        "code",
    )
    # Requests of the page carried the ticket's cookie and identified the user.
    token_headers = dict(values["token"]["headers"])
    assert "X-Discord-Proxy-Payload" in token_headers
    assert "hubbub_proxy_ticket" not in json.dumps(token_headers)
    assert all(
        "X-Discord-Proxy-Payload" in request.headers for request in upstream.requests if "socket" in request.path
    )


async def test_other_sites_cannot_frame_an_activity(activity: ProxiedActivity, open_page: OpenPage) -> None:
    world, other_site = activity.world, activity.upstream
    frame_url = f"http://{activity.host}:{world.url.rpartition(':')[2]}/.platform/frame.html"
    other_site.response = web.Response(text=HOST_PAGE % frame_url, content_type="text/html")
    console_error: asyncio.Future[str] = asyncio.get_running_loop().create_future()

    async with open_page() as page:

        def record_error(message: Any) -> None:
            if "frame-ancestors" in message.text and not console_error.done():
                console_error.set_result(message.text)

        page.on("console", record_error)
        await page.goto(f"http://{other_site.target}/response")
        assert world.url in await asyncio.wait_for(console_error, 20)
    assert [request.path for request in other_site.requests if request.path != "/favicon.ico"] == ["/response"]
