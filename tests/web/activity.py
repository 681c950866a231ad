"""An activity for tests of the chat client: its server, its pages, and helpers that start it."""

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from aiohttp import web

from hubbub.server.control import ControlApi
from tests.oauth import Client
from tests.web.app_guild import AppGuild, Window
from tests.web.polling import wait_until
from tests.world import Actor

HOST = "activities.localhost"
SDK = Path(__file__).parent.parent / "clients/js/node_modules/@discord/embedded-app-sdk/output"
SCOPES = ("identify", "guilds", "guilds.members.read", "rpc.activities.write")

# The page writes everything it receives into its title, so that a test can wait for it.
PLAY = """<!doctype html><title>Chess</title><h1>Chess</h1><script type="module">
import { DiscordSDK } from "/sdk/index.mjs";
const notes = window.notes = {};
const note = (name, value) => { notes[name] = value; document.title = Object.keys(notes).join(" "); };
try {
  const sdk = new DiscordSDK("CLIENT");
  await sdk.ready();
  note("ready", [sdk.instanceId, sdk.channelId, sdk.guildId, sdk.customId, sdk.referrerId]);
  const { code } = await sdk.commands.authorize({
    client_id: "CLIENT", response_type: "code", state: "", prompt: "none", scope: SCOPES,
  });
  const { access_token } = await (await fetch("/.proxy/api/token", { method: "POST", body: code })).json();
  const { user, scopes, application } = await sdk.commands.authenticate({ access_token });
  note("authenticated", [user.username, scopes, application.name]);
  await sdk.subscribe("ACTIVITY_INSTANCE_PARTICIPANTS_UPDATE", ({ participants }) =>
    note(`participants:${participants.map(each => each.username).sort().join("+")}`, participants));
  await sdk.subscribe("ACTIVITY_LAYOUT_MODE_UPDATE", ({ layout_mode }) => note(`layout:${layout_mode}`, layout_mode));
  note("activity", await sdk.commands.setActivity({ activity: { type: 0, details: "Opening", state: "Move 3" } }));
  note("channel", await sdk.commands.getChannel({ channel_id: sdk.channelId }));
  note("permissions", String((await sdk.commands.getChannelPermissions()).permissions));
  note("connected", await sdk.commands.getInstanceConnectedParticipants());
  note("locale", await sdk.commands.userSettingsGetLocale());
  note("ticket", Boolean((await sdk.commands.requestProxyTicketRefresh()).ticket));
  note("friends", await sdk.commands.getRelationships().catch(({ code }) => code));
  note("quest", await sdk.commands.getQuest().catch(({ code }) => code));
  note("wrong", await sdk.commands.setActivity({ activity: { type: 9 } }).catch(({ code }) => code));
  note("done", true);
} catch (error) {
  note("failed", [String(error), error.message ?? "", JSON.stringify(error)]);
}
</script>"""

# A page that implements the protocol by hand, including invalid messages.
PROBE = """<!doctype html><title>Probe</title><script type="module">
const received = window.received = [];
const query = new URLSearchParams(location.search);
const host = window.parent;
const say = (op, data) => host.postMessage([op, data], location.origin);
window.say = say;
window.addEventListener("message", ({ data, origin }) => {
  if (origin !== location.origin) return;
  received.push(data);
  document.title = `${received.length}`;
});
window.greet = (more = {}) => say(0, { v: 1, encoding: "json", client_id: "CLIENT", frame_id: query.get("frame_id"), ...more });
window.ask = (cmd, args, more = {}) => new Promise(resolve => {
  const nonce = crypto.randomUUID();
  window.addEventListener("message", function hear({ data }) {
    if (data[1]?.nonce !== nonce) return;
    window.removeEventListener("message", hear);
    resolve(data[1].evt === "ERROR" ? data[1].data.code : data[1].data);
  });
  say(1, { cmd, args, nonce, ...more });
});
document.title = "0";
</script>"""


class SampleActivity:
    """An application with an activity and a web server, in the test guild."""

    def __init__(self, square: AppGuild, client: Client, control: ControlApi) -> None:
        self.square, self.client = square, client
        self.control = control
        self.page = PLAY
        self._runner: web.AppRunner | None = None

    async def open(self) -> str:
        """Start the server; return its URL mapping target."""
        app = web.Application()
        app.router.add_get("/", self._show)
        app.router.add_post("/api/token", self._exchange)
        if SDK.is_dir():
            app.router.add_static("/sdk", SDK)
        self._runner = web.AppRunner(app, shutdown_timeout=0.1)
        await self._runner.setup()
        await web.TCPSite(self._runner, "127.0.0.1", 0).start()
        return f"127.0.0.1:{self._runner.addresses[0][1]}"

    async def close(self) -> None:
        """Stop the server."""
        if self._runner is not None:
            await self._runner.cleanup()

    async def _show(self, request: web.Request) -> web.Response:
        text = self.page.replace("CLIENT", str(self.client.id)).replace("SCOPES", json.dumps(SCOPES))
        return web.Response(text=text, content_type="text/html")

    async def _exchange(self, request: web.Request) -> web.Response:
        answer = await self.client.exchange(await request.text(), redirect_uri=None)
        return web.json_response({"access_token": answer.ok()["access_token"]})


async def launch(window: Window) -> Any:
    """Start the activity from the activity list; return the page inside its frame."""
    await window.page.get_by_role("button", name="Activities").click()
    await window.page.get_by_role("button", name="Start").click()
    return await inside(window)


async def inside(window: Window) -> Any:
    """Return the activity's own page: in the relay's frame, in the client's page."""
    outer = await (await window.page.wait_for_selector("iframe.activity-frame")).content_frame()
    inner = await (await outer.wait_for_selector("iframe", state="attached")).content_frame()
    assert inner is not None
    return inner


@asynccontextmanager
async def playing(
    stage: SampleActivity, person: Actor, scopes: str, channel: str = "general"
) -> AsyncIterator[tuple[Window, Any]]:
    """Play the activity as a user with a token of these scopes; yield a function that sends RPC commands."""
    stage.page = PROBE
    token = (await stage.client.request_tokens(person, scopes))["access_token"]
    async with stage.square.visit(person, channel) as window:
        frame = await launch(window)
        await wait_until(frame, "typeof ask === 'function'")
        await frame.evaluate("greet()")
        await wait_until(frame, "received.length > 0")

        async def ask(cmd: str, args: Any = None) -> Any:
            return await frame.evaluate("([cmd, args]) => ask(cmd, args)", [cmd, args])

        assert (await ask("AUTHENTICATE", {"access_token": token}))["user"]["username"] == person.name
        yield window, ask
