"""An activity in a real browser: behind the proxy, in the relay's frame, with the start sequence of the public SDK."""

import asyncio
import html
import json
from collections.abc import AsyncIterator
from typing import Any
from urllib.parse import urlencode

import aiohttp
import pytest
from aiohttp import web

from hubbub.server.app import App
from hubbub.server.core.clock import ControlledClock
from hubbub.server.core.config import ActivitiesConfig
from hubbub.server.places import activity_instances
from tests.server.activities.upstream import PROXY_HOST, ProxiedActivity, Upstream
from tests.server.activities.upstream import create_proxied_activity as make_stage
from tests.web.conftest import Opener
from tests.web.polling import wait_until
from tests.world import NOW_MS, World, small_config

# The behavior of the public SDK: it posts to its parent, and accepts messages from its own origin only (spec/activities.md#5).
ACTIVITY = """<!doctype html><title>Game</title><script type="module">
const query = new URLSearchParams(location.search);
const to = window.parent.opener ?? window.parent;
const log = (name, value) => to.postMessage([1, {cmd: "LOG", args: {name, value}, nonce: "1"}], document.referrer || "*");
window.addEventListener("message", async ({data, origin}) => {
  if (origin !== location.origin || data[1].evt !== "READY") return;
  log("ready", data[1].data.v);
  log("token", await (await fetch("/.proxy/api/token", {method: "POST", body: "code"})).json());
  const socket = new WebSocket(`ws://${location.host}/socket`);
  socket.onopen = () => socket.send("move");
  socket.onmessage = ({data}) => log("socket", data);
  try { await fetch("http://127.0.0.1:1/steal"); } catch { log("outside", "blocked"); }
});
to.postMessage([0, {v: 1, encoding: "json", client_id: "1", frame_id: query.get("frame_id")}], document.referrer || "*");
</script>"""

HOSTING = """<!doctype html><title>Host</title><iframe id="frame" src="%s"></iframe><script>
window.received = [];
const frame = document.getElementById("frame");
window.addEventListener("message", ({data, origin, source}) => {
  if (source !== frame.contentWindow) return;
  received.push({origin, data});
  if (data[0] === 0) source.postMessage([1, {cmd: "DISPATCH", evt: "READY", nonce: null, data: {v: 1}}], origin);
});
</script>"""


@pytest.fixture
async def played() -> AsyncIterator[ProxiedActivity]:
    """A served activity with its own web server."""
    upstream = Upstream()
    await upstream.open()
    config = small_config(private_targets=True, activities=ActivitiesConfig(proxy_host=PROXY_HOST))
    app = App(config, clock=ControlledClock(NOW_MS, running=False))

    async def host(request: web.Request) -> web.Response:
        return web.Response(text=HOSTING % html.escape(request.query["frame"]), content_type="text/html")

    app.routes.append(web.get("/hosting", host))
    await app.start()
    async with aiohttp.ClientSession() as client:
        world = World(app, client)
        yield await make_stage(world, upstream)
        await world.close()
    await app.stop()
    await upstream.close()


async def test_an_activity_runs_in_the_frame_of_another_site(played: ProxiedActivity, chromium: Opener) -> None:
    world, upstream = played.world, played.upstream
    upstream.response = web.Response(text=ACTIVITY, content_type="text/html", headers={"X-Frame-Options": "DENY"})
    await played.set_url_map(
        ("/api", f"{upstream.target}/server"),
        ("/socket", f"{upstream.target}/socket"),
        ("/", f"{upstream.target}/response"),
    )
    alice = await world.user()
    guild = await world.guild(alice)
    await world.write(
        lambda call: activity_instances.launch(call, played.bot.application_id, alice.id, guild.general, guild.id)
    )
    ticket = (await alice.post(f"/applications/{played.bot.application_id}/proxy-tickets")).ok()["ticket"]
    port = world.url.rpartition(":")[2]
    origin = f"http://{played.host}:{port}"
    frame = f"{origin}/.platform/frame.html?frame_id=f-1&platform=desktop&discord_proxy_ticket={ticket}"

    async with chromium() as page:
        await page.goto(f"{world.url}/hosting?{urlencode({'frame': frame})}")
        await wait_until(page, "received.filter(({data}) => data[0] === 1).length >= 4")
        received = await page.evaluate("received")

    assert {each["origin"] for each in received} == {origin}
    assert received[0]["data"] == [0, {"v": 1, "encoding": "json", "client_id": "1", "frame_id": "f-1"}]
    received_event = {each["data"][1]["args"]["name"]: each["data"][1]["args"]["value"] for each in received[1:]}
    assert (received_event["ready"], received_event["socket"], received_event["outside"]) == (1, "move", "blocked")
    assert (received_event["token"]["method"], received_event["token"]["path"], received_event["token"]["body"]) == (
        "POST",
        "/server/token",
        "code",
    )
    # Further requests carried the ticket's cookie and identified the user.
    signed = dict(received_event["token"]["headers"])
    assert "X-Discord-Proxy-Payload" in signed
    assert "hubbub_proxy_ticket" not in json.dumps(signed)
    assert all(
        "X-Discord-Proxy-Payload" in request.headers for request in upstream.requests if "socket" in request.path
    )


async def test_other_sites_cannot_frame_an_activity(played: ProxiedActivity, chromium: Opener) -> None:
    world, elsewhere = played.world, played.upstream
    frame = f"http://{played.host}:{world.url.rpartition(':')[2]}/.platform/frame.html"
    elsewhere.response = web.Response(text=HOSTING % frame, content_type="text/html")
    refused: asyncio.Future[str] = asyncio.get_running_loop().create_future()

    async with chromium() as page:

        def note(message: Any) -> None:
            if "frame-ancestors" in message.text and not refused.done():
                refused.set_result(message.text)

        page.on("console", note)
        await page.goto(f"http://{elsewhere.target}/response")
        assert world.url in await asyncio.wait_for(refused, 20)
    assert [request.path for request in elsewhere.requests if request.path != "/favicon.ico"] == ["/response"]
