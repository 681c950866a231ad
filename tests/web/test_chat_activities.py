"""Activities in the chat client: the frame, the RPC host, and the unmodified public SDK inside (spec/activities.md#4 to 7)."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import aiohttp
import pytest

from hubbub.protocol.flags import ApplicationFlags
from hubbub.protocol.intents import Intents
from hubbub.server.app import App as Platform
from hubbub.server.control import ControlApi
from hubbub.server.core.clock import ControlledClock
from hubbub.server.core.config import ActivitiesConfig
from hubbub.server.identity import oauth2
from hubbub.server.places import members
from tests.clients.scene import ONE_PIXEL_PNG
from tests.oauth import create_application
from tests.web.activity import HOST, PROBE, SCOPES, SDK, SampleActivity, inside, launch, playing
from tests.web.app_guild import AppGuild
from tests.web.conftest import PHONE, Opener
from tests.web.polling import wait_until
from tests.world import NOW_MS, Actor, World, small_config


@pytest.fixture
async def stage(chromium: Opener) -> AsyncIterator[SampleActivity]:
    """A platform that serves activities, and one activity."""
    config = small_config(private_targets=True, activities=ActivitiesConfig(proxy_host=HOST))
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
        await world.write(lambda call: members.add(call, guild.id, bot.id), actor=alice.id)
        await world.write(lambda call: oauth2.approve_scopes(call, client.id, ["rpc.activities.write"]))
        made = SampleActivity(AppGuild(world, alice, bob, guild, bot, chromium), client, control)
        target = await made.open()
        mapped = {"url_map": [{"prefix": "/", "target": target}]}
        (await bot.post(f"/applications/{client.id}/proxy-config", json=mapped)).ok()
        command = {"name": "launch", "type": 4, "handler": 2, "description": "Play chess"}
        (await bot.post(f"/applications/{client.id}/commands", json=command)).ok()
        yield made
        await made.close()
        await world.close()
    await control.close()
    await app.stop()


def stays(data: dict[str, Any], person: Actor) -> bool:
    """Return whether a user is the only participant."""
    return [each["user_id"] for each in data["participants"]] == [str(person.id)]


@pytest.mark.skipif(not SDK.is_dir(), reason="the public SDK is not installed (make test installs it where Node is)")
async def test_the_public_sdk_runs_an_activity(stage: SampleActivity) -> None:
    square = stage.square
    world, guild = square.world, square.guild
    # Presence and activity events arrive in any order.
    alice_session, ears = await square.alice.connect(), await square.alice.connect()
    async with square.visit(square.bob) as window:
        page = window.page
        frame = await launch(window)
        # The user is asked for consent in a dialog of the client.
        consent = page.get_by_role("dialog", name="Chess wants to access your account")
        await consent.get_by_text("See your username, avatar and banner").wait_for()
        await consent.get_by_role("button", name="Authorize").click()
        await wait_until(frame, "notes.done || notes.failed")
        received = await frame.evaluate("notes")
        assert "failed" not in received, received["failed"]

        instance, channel, place, custom, referrer = received["ready"]
        assert (channel, place, custom, referrer) == (str(guild.general), str(guild.id), None, None)
        assert received["authenticated"] == ["bob", sorted(SCOPES), "Chess"]
        assert (received["activity"]["details"], received["activity"]["name"]) == ("Opening", "Chess")
        assert (received["channel"]["name"], received["connected"]["participants"][0]["id"]) == (
            "general",
            str(square.bob.id),
        )
        assert int(received["permissions"]) & 1 << 39
        assert (received["friends"], received["quest"], received["wrong"], received["ticket"]) == (
            4006,
            4002,
            4000,
            True,
        )

        # Other users see what Bob plays, the app's server sees him, and he sees participants join.
        seen = await alice_session.next("PRESENCE_UPDATE", lambda data: data["activities"])
        assert (seen["user"]["id"], seen["activities"][0]["state"]) == (str(square.bob.id), "Move 3")
        path = f"/applications/{stage.client.id}/activity-instances/{instance}"
        assert (await square.bot.get(path)).ok()["users"] == [str(square.bob.id)]
        await wait_until(frame, "'participants:bob' in notes && 'layout:0' in notes")
        body = {"session_id": alice_session.ready["session_id"]}
        (await square.alice.post(f"/activities/{guild.general}/{stage.client.id}", json=body)).ok()
        await wait_until(frame, "'participants:alice+bob' in notes")
        await page.get_by_role("button", name="Minimize").click()
        await wait_until(frame, "'layout:1' in notes")

        # Bob leaves, the activity continues without him, and his presence is cleared.
        await page.get_by_role("button", name="Leave activity").click()
        await page.locator("iframe").wait_for(state="detached")
        await alice_session.next("PRESENCE_UPDATE", lambda data: not data["activities"])
        await ears.next("EMBEDDED_ACTIVITY_UPDATE_V2", lambda data: stays(data, square.alice))
        assert (await square.bot.get(path)).ok()["users"] == [str(square.alice.id)]
        assert world.url not in str(received)


async def test_the_host_follows_the_protocol(stage: SampleActivity) -> None:
    stage.page = PROBE
    square = stage.square
    async with square.visit(square.bob) as window:
        frame = await launch(window)
        await wait_until(frame, "typeof ask === 'function'")

        # Messages before the handshake, or with another frame id, are ignored.
        await frame.evaluate(
            "say(1, {cmd: 'GET_USER', args: {id: '1'}, nonce: 'early'}); greet({frame_id: 'other'}); greet()"
        )
        await wait_until(frame, "received.length > 0")
        [[op, ready]] = await frame.evaluate("received")
        assert (op, ready["evt"], ready["nonce"], ready["data"]["v"]) == (1, "READY", None, 1)
        assert "user" not in ready["data"]

        async def ask(cmd: str, args: Any = None, **more: Any) -> Any:
            return await frame.evaluate("([cmd, args, more]) => ask(cmd, args, more)", [cmd, args, more])

        assert (await ask("GET_USER", {"id": str(square.alice.id)}))["username"] == "alice"
        assert await ask("GET_USER", {"id": "123"}) is None
        assert await ask("NO_SUCH_COMMAND") == 4002
        assert await ask("constructor") == 4002
        assert await ask("GET_CHANNEL", {"channel_id": str(square.guild.general)}) == 4006
        assert await ask("SUBSCRIBE", {}, evt="NO_SUCH_EVENT") == 4004
        assert await ask("SUBSCRIBE", {"channel_id": "1"}, evt="VOICE_STATE_UPDATE") == 4005
        assert await ask("SUBSCRIBE", {}, evt="THERMAL_STATE_UPDATE") == {"evt": "THERMAL_STATE_UPDATE"}
        await wait_until(
            frame, "received.some(([, {evt, data}]) => evt === 'THERMAL_STATE_UPDATE' && data.thermal_state === 0)"
        )
        assert await ask("AUTHENTICATE", {"access_token": square.bob.token}) == 4009
        assert await ask("AUTHENTICATE", {"access_token": "nobody's"}) == 4009
        assert await ask("AUTHORIZE", {"client_id": "1", "scope": ["identify"]}) == 4007
        assert await ask("AUTHORIZE", {"client_id": str(stage.client.id), "scope": ["bot"]}) == 5000
        assert await ask("SHARE_LINK", {"message": "x"}) == 4006
        assert await ask("OPEN_EXTERNAL_LINK", {"url": "javascript:alert(1)"}) == 4000
        assert await ask("GET_USER", {"id": "x" * 70_000}) == 4000

        # A denied consent is an OAuth2 error.
        asked = ask("AUTHORIZE", {"client_id": str(stage.client.id), "scope": ["identify"]})
        pressed = window.page.get_by_role("button", name="Cancel").click()
        assert (await asyncio.gather(asked, pressed))[0] == 5000

        # Requests above the rate limit are ignored.
        codes = await frame.evaluate("Promise.all(Array.from({length: 80}, () => ask('GET_PLATFORM_BEHAVIORS')))")
        assert codes.count(5011) >= 20
        assert codes[0] == {}

        # A close with a reason shows the reason and ends the activity.
        await frame.evaluate("say(2, {code: 1006, message: 'The board fell over'})")
        await window.page.get_by_text("Chess: The board fell over").wait_for()
        await window.page.locator("iframe").wait_for(state="detached")


async def test_a_wrong_client_id_is_rejected(stage: SampleActivity) -> None:
    stage.page = PROBE
    async with stage.square.visit(stage.square.bob, width=PHONE) as window:
        frame = await launch(window)
        await wait_until(frame, "typeof ask === 'function'")
        assert await window.page.evaluate("document.documentElement.scrollWidth") <= PHONE
        # Messages from outside of the frame are ignored.
        await window.page.evaluate("postMessage([2, {code: 1006, message: 'from elsewhere'}], '*')")
        await frame.evaluate("greet({client_id: '1'})")
        await window.page.get_by_text("Chess: Invalid Client ID").wait_for()
        assert await window.page.get_by_text("from elsewhere").count() == 0
        await window.page.locator("iframe").wait_for(state="detached")


async def test_a_link_opens_the_activity_with_its_parameters(stage: SampleActivity) -> None:
    stage.page = PROBE
    square = stage.square
    link = f"{square.world.url}/activities/{stage.client.id}?custom_id=round-7"
    await square.guild.send_message(square.alice, f"come and play {link}")
    async with square.visit(square.bob) as window:
        row = await window.sees("come and play")
        await row.get_by_role("link", name="/activities/").click()
        frame = await inside(window)
        await wait_until(frame, "typeof ask === 'function'")
        query = await frame.evaluate("Object.fromEntries(new URLSearchParams(location.search))")
        assert (query["custom_id"], query["referrer_id"]) == ("round-7", str(square.alice.id))
        assert query["platform"] == "desktop"
        # It runs in this channel, and ends when the application no longer has activities.
        where = f"/activities/{stage.client.id}/instances/{square.guild.general}"
        [running] = (await square.bob.get(where)).ok()["instances"]
        assert running["composite_instance_id"] == query["instance_id"]
        (await square.alice.patch(f"/applications/{stage.client.id}", json={"activities": False})).ok()
        await window.page.locator("iframe").wait_for(state="detached")


async def test_an_app_responds_by_launching_its_activity(stage: SampleActivity) -> None:
    stage.page = PROBE
    square = stage.square
    events = await square.bot.connect(Intents.GUILDS | Intents.GUILD_EMBEDDED_ACTIVITIES)
    commands = f"/applications/{stage.client.id}/guilds/{square.guild.id}/commands"
    (await square.bot.post(commands, json={"name": "chess", "description": "Opens a board"})).ok()
    async with square.visit(square.bob) as window, square.visit(square.alice) as other:
        await window.open_command_form("chess")
        await window.page.keyboard.press("Enter")
        asked = await events.next("INTERACTION_CREATE")
        callback = f"/interactions/{asked['id']}/{asked['token']}/callback?with_response=true"
        answer = (await square.world.request("POST", callback, json={"type": 12})).ok()
        frame = await inside(window)
        await wait_until(frame, "typeof ask === 'function'")
        query = await frame.evaluate("Object.fromEntries(new URLSearchParams(location.search))")
        assert query["instance_id"] == answer["interaction"]["activity_instance_id"]

        # Only the invoking user gets it opened; others see that it runs, and join the same instance.
        await other.page.get_by_role("button", name="Activities").click()
        await other.page.get_by_text("1 playing now").wait_for()
        assert await other.page.locator("iframe").count() == 0
        await other.page.get_by_role("button", name="Join", exact=True).click()
        joined = await inside(other)
        await wait_until(joined, "typeof ask === 'function'")
        assert await joined.evaluate("new URLSearchParams(location.search).get('instance_id')") == query["instance_id"]
        await window.page.locator(".activity-people", has_text="alice").wait_for()

        # A lost gateway session is replaced, and the activity continues.
        fault = {"door": "gateway", "effect": "close", "code": 4009, "user_id": str(square.bob.id)}
        headers = {"Authorization": f"Bearer {stage.control.token}"}
        (await square.world.request("POST", f"{square.world.url}/control/faults", json=fault, headers=headers)).ok()
        await events.next("EMBEDDED_ACTIVITY_UPDATE_V2", lambda data: len(data["participants"]) == 3)
        assert await frame.evaluate("typeof ask") == "function"


MISFITS: list[Any] = [
    7,
    [],
    {"type": 1},
    {"type": "0"},
    {"state": "x"},
    {"details": "x" * 129},
    {"details_url": "javascript:alert(1)"},
    {"timestamps": {"start": -1}},
    {"timestamps": {"start": 1.5}},
    {"party": {"size": [2, 1]}},
    {"party": {"size": [1]}},
    {"assets": {"large_image": 7}},
    {"secrets": {"join": ["x"]}},
    {"instance": 1},
]


async def test_an_activity_in_a_voice_channel(stage: SampleActivity) -> None:
    square = stage.square
    async with playing(stage, square.bob, "identify", channel="General") as (window, ask):
        page = window.page
        inviting = asyncio.create_task(ask("OPEN_INVITE_DIALOG"))
        dialog = page.get_by_role("dialog", name="Invite people to Chess")
        address = await dialog.locator(".dialog-address").inner_text()
        await dialog.get_by_role("button", name="Done").click()
        assert await inviting is None
        invite = (await square.bob.get(f"/invites/{address.rpartition('/')[2]}")).ok()
        assert invite["target_application"]["id"] == str(stage.client.id)
        # It stays in a small corner window while the user looks at another channel.
        await page.get_by_role("button", name="Minimize").click()
        await page.get_by_role("link", name="general", exact=True).first.click()
        await page.get_by_label("Message #general", exact=True).wait_for()
        assert await ask("GET_PLATFORM_BEHAVIORS") == {}


async def test_an_activity_can_set_the_users_presence(stage: SampleActivity) -> None:
    square = stage.square
    alice_session = await square.alice.connect()
    async with playing(stage, square.bob, "identify rpc.activities.write") as (_, ask):
        for each in MISFITS:
            assert await ask("SET_ACTIVITY", {"activity": each}) == 4000, each
        activity = {
            "state": "Move 3",
            "timestamps": {"start": 1_700_000_000},
            "party": {"id": "table", "size": [1, 2]},
            "unknown": {"left": "out"},
        }
        kept = await ask("SET_ACTIVITY", {"activity": activity})
        assert (kept["name"], kept["timestamps"]) == ("Chess", {"start": 1_700_000_000_000})
        assert "unknown" not in kept
        seen = await alice_session.next("PRESENCE_UPDATE", lambda data: data["activities"])
        assert (seen["status"], seen["activities"][0]["party"]["size"]) == ("online", [1, 2])
        assert seen["activities"][0]["application_id"] == str(stage.client.id)
        assert (await ask("SET_ACTIVITY", {}))["name"] == "Chess"
        await alice_session.next("PRESENCE_UPDATE", lambda data: not data["activities"])


async def test_an_activity_sells_skus_and_shares_images(stage: SampleActivity) -> None:
    square = stage.square
    body = {"type": 2, "name": "Crown", "price": 499, "published": True}
    sku = (await square.bot.post(f"/applications/{stage.client.id}/skus", json=body)).ok()
    async with playing(stage, square.bob, "identify") as (window, ask):
        page = window.page
        [offered] = (await ask("GET_SKUS_EMBEDDED"))["skus"]
        assert (offered["name"], offered["price"]) == ("Crown", {"amount": 499, "currency": "usd"})
        assert (await ask("GET_ENTITLEMENTS_EMBEDDED"))["entitlements"] == []
        assert await ask("START_PURCHASE", {"sku_id": "1"}) == 5009

        buying = asyncio.create_task(ask("START_PURCHASE", {"sku_id": sku["id"]}))
        await page.get_by_role("button", name="Cancel").click()
        assert await buying == 5008
        buying = asyncio.create_task(ask("START_PURCHASE", {"sku_id": sku["id"]}))
        async with page.context.expect_page() as opened:
            await page.get_by_role("button", name="Open link").click()
        shop = await opened.value
        await shop.get_by_role("heading", name="Crown").wait_for()
        (await square.bob.post("/users/@me/purchases", json={"sku_id": sku["id"]})).ok()
        assert [each["sku_id"] for each in await buying] == [sku["id"]]

        asking = asyncio.create_task(ask("INITIATE_IMAGE_UPLOAD"))
        dialog = page.get_by_role("dialog", name="Chess requests an image")
        file = {"name": "board.png", "mimeType": "image/png", "buffer": ONE_PIXEL_PNG}
        await dialog.get_by_label("Image").set_input_files(file)
        await dialog.get_by_role("button", name="Upload image").click()
        address = (await asking)["image_url"]
        assert (await square.world.request("GET", address)).body == ONE_PIXEL_PNG

        # The image is shared with others if Bob agrees.
        sharing = asyncio.create_task(ask("OPEN_SHARE_MOMENT_DIALOG", {"mediaUrl": address}))
        await page.get_by_role("button", name="Share in this channel").click()
        assert await sharing is None
        message = (await square.bob.get(f"/channels/{square.guild.general}/messages")).ok()[0]
        assert message["content"] == address


async def test_messages_shared_by_an_activity_are_confirmed_by_the_user(stage: SampleActivity) -> None:
    square = stage.square
    async with playing(stage, square.bob, "identify") as (window, ask):
        page = window.page
        nothing = {"success": False, "didCopyLink": False, "didSendMessage": False}
        assert await ask("SHARE_LINK", {"message": "come", "referrer_id": str(square.alice.id)}) == nothing
        assert await ask("OPEN_SHARE_MOMENT_DIALOG", {"mediaUrl": "https://elsewhere.example/cat.png"}) == 4000

        # The text can be changed before it is sent, and every member sees the message.
        sharing = asyncio.create_task(ask("SHARE_LINK", {"message": "come", "custom_id": "round-7"}))
        dialog = page.get_by_role("dialog", name="Share Chess")
        await dialog.get_by_label("Message").fill("come, all of you")
        # Only one dialog at a time.
        assert await ask("OPEN_EXTERNAL_LINK", {"url": "https://elsewhere.example/"}) == 5011
        await dialog.get_by_role("button", name="Send", exact=True).click()
        assert await sharing == {"success": True, "didCopyLink": False, "didSendMessage": True}
        message = (await square.bob.get(f"/channels/{square.guild.general}/messages")).ok()[0]
        assert message["content"].startswith("come, all of you\n")
        assert f"custom_id=round-7&referrer_id={square.bob.id}" in message["content"]

        # An invite leads to the activity's channel.
        inviting = asyncio.create_task(ask("OPEN_INVITE_DIALOG"))
        dialog = page.get_by_role("dialog", name="Invite people to Chess")
        address = await dialog.locator(".dialog-address").inner_text()
        await dialog.get_by_role("button", name="Done").click()
        assert await inviting is None
        invite = (await square.bob.get(f"/invites/{address.rpartition('/')[2]}")).ok()
        assert invite["channel"]["id"] == str(square.guild.general)

        # An external link opens only after the user's click.
        elsewhere = square.world.url.replace("127.0.0.1", "localhost")
        leaving = asyncio.create_task(ask("OPEN_EXTERNAL_LINK", {"url": f"{elsewhere}/login"}))
        async with page.context.expect_page() as opened:
            await page.get_by_role("button", name="Open link").click()
        assert (await leaving)["opened"] is True
        assert (await opened.value).url.startswith(elsewhere)

        # The user ends the activity.
        [granted] = (await square.bob.get("/oauth2/tokens")).ok()
        (await square.bob.delete(f"/oauth2/tokens/{granted['id']}")).ok()
        await page.get_by_text("You revoked the access of Chess.").wait_for()
        await page.locator("iframe").wait_for(state="detached")
