"""An activity for tests of the chat client: its web server, its pages, and functions that start it."""

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import aiohttp
from aiohttp import web

from hubbub.protocol.enums import CommandHandlerType, CommandType
from hubbub.protocol.flags import ApplicationFlags
from hubbub.server.app import App as Platform
from hubbub.server.control import ControlApi
from hubbub.server.core.clock import ControlledClock
from hubbub.server.core.config import ActivitiesConfig
from hubbub.server.identity import oauth2
from hubbub.server.places import members
from tests.oauth import Client, create_application
from tests.web.app_guild import AppGuild, ChannelWindow
from tests.web.conftest import OpenPage
from tests.web.polling import wait_until
from tests.world import NOW_MS, Actor, World, small_config

PROXY_HOST = "activities.localhost"
SDK_FOLDER = Path(__file__).parent.parent / "clients/js/node_modules/@discord/embedded-app-sdk/output"
SCOPES = ("identify", "guilds", "guilds.members.read", "rpc.activities.write")

SDK_PAGE = """<!doctype html><title>Chess</title><h1>Chess</h1><script type="module">
import { DiscordSDK } from "/sdk/index.mjs";
const results = window.results = {};
const record = (name, value) => { results[name] = value; };
try {
  const sdk = new DiscordSDK("CLIENT");
  await sdk.ready();
  record("ready", [sdk.instanceId, sdk.channelId, sdk.guildId, sdk.customId, sdk.referrerId]);
  const { code } = await sdk.commands.authorize({
    client_id: "CLIENT", response_type: "code", state: "", prompt: "none", scope: SCOPES,
  });
  const { access_token } = await (await fetch("/.proxy/api/token", { method: "POST", body: code })).json();
  const { user, scopes, application } = await sdk.commands.authenticate({ access_token });
  record("authenticated", [user.username, scopes, application.name]);
  await sdk.subscribe("ACTIVITY_INSTANCE_PARTICIPANTS_UPDATE", ({ participants }) =>
    record(`participants:${participants.map(participant => participant.username).sort().join("+")}`, participants));
  await sdk.subscribe("ACTIVITY_LAYOUT_MODE_UPDATE", ({ layout_mode }) => record(`layout:${layout_mode}`, layout_mode));
  record("activity", await sdk.commands.setActivity({ activity: { type: 0, details: "Opening", state: "Move 3" } }));
  record("channel", await sdk.commands.getChannel({ channel_id: sdk.channelId }));
  record("permissions", String((await sdk.commands.getChannelPermissions()).permissions));
  record("connected", await sdk.commands.getInstanceConnectedParticipants());
  record("locale", await sdk.commands.userSettingsGetLocale());
  record("ticket", Boolean((await sdk.commands.requestProxyTicketRefresh()).ticket));
  record("friends", await sdk.commands.getRelationships().catch(({ code }) => code));
  record("quest", await sdk.commands.getQuest().catch(({ code }) => code));
  record("invalid", await sdk.commands.setActivity({ activity: { type: 9 } }).catch(({ code }) => code));
  record("done", true);
} catch (error) {
  record("failed", [String(error), error.message ?? "", JSON.stringify(error)]);
}
</script>"""
"""A page that uses the public SDK and records the results in `results`."""

PROTOCOL_PAGE = """<!doctype html><title>Probe</title><script type="module">
const received = window.received = [];
const query = new URLSearchParams(location.search);
const host = window.parent;
const send = (op, data) => host.postMessage([op, data], location.origin);
window.send = send;
window.addEventListener("message", ({ data, origin }) => {
  if (origin !== location.origin) return;
  received.push(data);
  document.title = `${received.length}`;
});
window.sendHandshake = (fields = {}) =>
  send(0, { v: 1, encoding: "json", client_id: "CLIENT", frame_id: query.get("frame_id"), ...fields });
window.request = (cmd, args, fields = {}) => new Promise(resolve => {
  const nonce = crypto.randomUUID();
  window.addEventListener("message", function onResponse({ data }) {
    if (data[1]?.nonce !== nonce) return;
    window.removeEventListener("message", onResponse);
    resolve(data[1].evt === "ERROR" ? data[1].data.code : data[1].data);
  });
  send(1, { cmd, args, nonce, ...fields });
});
document.title = "0";
</script>"""
"""A page that implements the protocol without the SDK, so that tests can also send invalid messages."""


class SampleActivity:
    """An application with an activity and a web server, in the test guild."""

    def __init__(self, app_guild: AppGuild, client: Client, control: ControlApi) -> None:
        self.app_guild, self.client = app_guild, client
        self.control = control
        self.page_html = SDK_PAGE
        self.page_headers: dict[str, str] = {}
        """Headers of the activity's page."""
        self.files: dict[str, tuple[str, str]] = {}
        """Further files of the activity: content type and text by path."""
        self.redirects: dict[str, str] = {}
        """Redirects of the activity's server: URL by path."""
        self._runner: web.AppRunner | None = None

    async def open(self) -> str:
        """Start the server; return its URL mapping target."""
        app = web.Application()
        app.router.add_get("/", self._handle_page)
        app.router.add_post("/api/token", self._handle_token)
        if SDK_FOLDER.is_dir():
            app.router.add_static("/sdk", SDK_FOLDER)
        app.router.add_get("/{path:.*}", self._handle_file)
        self._runner = web.AppRunner(app, shutdown_timeout=0.1)
        await self._runner.setup()
        await web.TCPSite(self._runner, "127.0.0.1", 0).start()
        return f"127.0.0.1:{self._runner.addresses[0][1]}"

    async def close(self) -> None:
        """Stop the server."""
        if self._runner is not None:
            await self._runner.cleanup()

    async def _handle_page(self, request: web.Request) -> web.Response:
        text = self.page_html.replace("CLIENT", str(self.client.id)).replace("SCOPES", json.dumps(SCOPES))
        return web.Response(text=text, content_type="text/html", headers=self.page_headers)

    async def _handle_file(self, request: web.Request) -> web.Response:
        if request.path in self.redirects:
            raise web.HTTPFound(self.redirects[request.path])
        if request.path not in self.files:
            raise web.HTTPNotFound
        content_type, text = self.files[request.path]
        return web.Response(text=text, content_type=content_type)

    async def _handle_token(self, request: web.Request) -> web.Response:
        response = await self.client.exchange(await request.text(), redirect_uri=None)
        return web.json_response({"access_token": response.ok()["access_token"]})


@asynccontextmanager
async def run_activity(open_page: OpenPage) -> AsyncIterator[SampleActivity]:
    """Run a platform that serves activities, and one activity."""
    config = small_config(allow_private_targets=True, activities=ActivitiesConfig(proxy_host=PROXY_HOST))
    app = Platform(config, clock=ControlledClock(NOW_MS, running=False))
    control = ControlApi(app)
    await app.start()
    async with aiohttp.ClientSession() as http:
        world = World(app, http)
        alice, bob = await world.user("alice"), await world.user("bob")
        guild = await world.guild(alice, bob, name="Town Square")
        client = await create_application(world, alice, name="Chess", flags=ApplicationFlags.EMBEDDED)
        assert client.bot is not None
        bot: Actor = client.bot
        await world.write(lambda call: members.membership.add(call, guild.id, bot.id), actor=alice.id)
        await world.write(lambda call: oauth2.approve_scopes(call, client.id, ["rpc.activities.write"]))
        activity = SampleActivity(AppGuild(world, alice, bob, guild, bot, open_page), client, control)
        target = await activity.open()
        proxy_config = {"url_map": [{"prefix": "/", "target": target}]}
        (await bot.post(f"/applications/{client.id}/proxy-config", json=proxy_config)).ok()
        command = {
            "name": "launch",
            "type": CommandType.PRIMARY_ENTRY_POINT,
            "handler": CommandHandlerType.PLATFORM_LAUNCH_ACTIVITY,
            "description": "Play chess",
        }
        (await bot.post(f"/applications/{client.id}/commands", json=command)).ok()
        yield activity
        await activity.close()
        await world.close()
    await control.close()
    await app.stop()


async def start_activity(window: ChannelWindow) -> Any:
    """Start the activity from the activity list; return the frame of its page."""
    await window.page.get_by_role("button", name="Activities").click()
    await window.page.get_by_role("button", name="Start").click()
    return await wait_for_activity_frame(window)


async def wait_for_activity_frame(window: ChannelWindow) -> Any:
    """Return the frame of the activity's page, which is inside the frame of the relay page."""
    relay_frame = await (await window.page.wait_for_selector("iframe.activity-frame")).content_frame()
    frame = await (await relay_frame.wait_for_selector("iframe", state="attached")).content_frame()
    assert frame is not None
    return frame


@asynccontextmanager
async def play_activity(
    activity: SampleActivity, user: Actor, scopes: str, channel: str = "general"
) -> AsyncIterator[tuple[ChannelWindow, Any]]:
    """Start the activity as a user with a token of these scopes; yield the window and a function that sends RPC commands."""
    activity.page_html = PROTOCOL_PAGE
    token = (await activity.client.request_tokens(user, scopes))["access_token"]
    async with activity.app_guild.open_window(user, channel) as window:
        frame = await start_activity(window)
        await wait_until(frame, "typeof request === 'function'")
        await frame.evaluate("sendHandshake()")
        await wait_until(frame, "received.length > 0")

        async def request(cmd: str, args: Any = None) -> Any:
            return await frame.evaluate("([cmd, args]) => request(cmd, args)", [cmd, args])

        assert (await request("AUTHENTICATE", {"access_token": token}))["user"]["username"] == user.name
        yield window, request
