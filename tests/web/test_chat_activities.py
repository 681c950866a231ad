"""Activities in the chat client: the frame, the RPC host, and the unmodified public SDK inside (spec/activities.md#4 to 7)."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest
import pytest_asyncio

from hubbub.protocol.enums import ChannelType, InteractionCallbackType, SkuType
from hubbub.protocol.intents import Intents
from hubbub.protocol.permissions import Permissions
from hubbub.server.identity import oauth2
from tests.clients.client_setup import ONE_PIXEL_PNG
from tests.web.activity import (
    PROTOCOL_PAGE,
    SCOPES,
    SDK_FOLDER,
    SampleActivity,
    play_activity,
    run_activity,
    start_activity,
    wait_for_activity_frame,
)
from tests.web.conftest import PHONE_WIDTH, OpenPage
from tests.web.polling import wait_until
from tests.world import Actor


@pytest_asyncio.fixture(loop_scope="session")
async def activity(open_page: OpenPage) -> AsyncIterator[SampleActivity]:
    """A platform that serves activities, and one activity."""
    async with run_activity(open_page) as activity:
        yield activity


def is_only_participant(data: dict[str, Any], user: Actor) -> bool:
    return [participant["user_id"] for participant in data["participants"]] == [str(user.id)]


@pytest.mark.skipif(not SDK_FOLDER.is_dir(), reason="the public SDK is not installed: make client-deps")
async def test_the_public_sdk_runs_an_activity(activity: SampleActivity) -> None:
    app_guild = activity.app_guild
    world, guild = app_guild.world, app_guild.guild
    # Presence and activity events arrive in any order, so the test waits for them in separate sessions.
    alice_session, other_alice_session = await app_guild.alice.connect(), await app_guild.alice.connect()
    async with app_guild.open_window(app_guild.bob) as window:
        page = window.page
        frame = await start_activity(window)
        # The user is asked for consent in a dialog of the client.
        consent = page.get_by_role("dialog", name="Chess wants to access your account")
        await consent.get_by_text("See your username, avatar and banner").wait_for()
        await consent.get_by_role("button", name="Authorize").click()
        await wait_until(frame, "results.done || results.failed")
        received_results = await frame.evaluate("results")
        assert "failed" not in received_results, received_results["failed"]

        instance_id, channel_id, guild_id, custom_id, referrer_id = received_results["ready"]
        assert (channel_id, guild_id, custom_id, referrer_id) == (str(guild.general), str(guild.id), None, None)
        assert received_results["authenticated"] == ["bob", sorted(SCOPES), "Chess"]
        assert (received_results["activity"]["details"], received_results["activity"]["name"]) == ("Opening", "Chess")
        assert (received_results["channel"]["name"], received_results["connected"]["participants"][0]["id"]) == (
            "general",
            str(app_guild.bob.id),
        )
        assert int(received_results["permissions"]) & Permissions.USE_EMBEDDED_ACTIVITIES
        assert (
            received_results["friends"],
            received_results["quest"],
            received_results["invalid"],
            received_results["ticket"],
        ) == (
            4006,
            4002,
            4000,
            True,
        )

        # Other users see what Bob plays, the app's server sees him, and he sees participants join.
        presence = await alice_session.next("PRESENCE_UPDATE", lambda data: data["activities"])
        assert (presence["user"]["id"], presence["activities"][0]["state"]) == (str(app_guild.bob.id), "Move 3")
        path = f"/applications/{activity.client.id}/activity-instances/{instance_id}"
        assert (await app_guild.bot.get(path)).ok()["users"] == [str(app_guild.bob.id)]
        await wait_until(frame, "'participants:bob' in results && 'layout:0' in results")
        body = {"session_id": alice_session.ready["session_id"]}
        (await app_guild.alice.post(f"/activities/{guild.general}/{activity.client.id}", json=body)).ok()
        await wait_until(frame, "'participants:alice+bob' in results")
        await page.get_by_role("button", name="Minimize").click()
        await wait_until(frame, "'layout:1' in results")

        # Bob leaves, the activity continues without him, and his presence is cleared.
        await page.get_by_role("button", name="Leave activity").click()
        await page.locator("iframe").wait_for(state="detached")
        await alice_session.next("PRESENCE_UPDATE", lambda data: not data["activities"])
        await other_alice_session.next(
            "EMBEDDED_ACTIVITY_UPDATE_V2", lambda data: is_only_participant(data, app_guild.alice)
        )
        assert (await app_guild.bot.get(path)).ok()["users"] == [str(app_guild.alice.id)]
        assert world.url not in str(received_results)


async def test_the_host_follows_the_protocol(activity: SampleActivity) -> None:
    activity.page_html = PROTOCOL_PAGE
    app_guild = activity.app_guild
    async with app_guild.open_window(app_guild.bob) as window:
        frame = await start_activity(window)
        await wait_until(frame, "typeof request === 'function'")

        # Messages before the handshake, or with another frame ID, are ignored.
        await frame.evaluate(
            "send(1, {cmd: 'GET_USER', args: {id: '1'}, nonce: 'early'}); sendHandshake({frame_id: 'other'}); sendHandshake()"
        )
        await wait_until(frame, "received.length > 0")
        [[op, ready]] = await frame.evaluate("received")
        assert (op, ready["evt"], ready["nonce"], ready["data"]["v"]) == (1, "READY", None, 1)
        assert "user" not in ready["data"]

        async def request(cmd: str, args: Any = None, **fields: Any) -> Any:
            return await frame.evaluate("([cmd, args, fields]) => request(cmd, args, fields)", [cmd, args, fields])

        assert (await request("GET_USER", {"id": str(app_guild.alice.id)}))["username"] == "alice"
        assert await request("GET_USER", {"id": "123"}) is None
        assert await request("NO_SUCH_COMMAND") == 4002
        assert await request("constructor") == 4002
        assert await request("GET_CHANNEL", {"channel_id": str(app_guild.guild.general)}) == 4006
        assert await request("SUBSCRIBE", {}, evt="NO_SUCH_EVENT") == 4004
        assert await request("SUBSCRIBE", {"channel_id": "1"}, evt="VOICE_STATE_UPDATE") == 4005
        assert await request("SUBSCRIBE", {}, evt="THERMAL_STATE_UPDATE") == {"evt": "THERMAL_STATE_UPDATE"}
        await wait_until(
            frame, "received.some(([, {evt, data}]) => evt === 'THERMAL_STATE_UPDATE' && data.thermal_state === 0)"
        )
        assert await request("AUTHENTICATE", {"access_token": app_guild.bob.token}) == 4009
        assert await request("AUTHENTICATE", {"access_token": "invalid"}) == 4009
        assert await request("AUTHORIZE", {"client_id": "1", "scope": ["identify"]}) == 4007
        assert await request("AUTHORIZE", {"client_id": str(activity.client.id), "scope": ["bot"]}) == 5000
        assert await request("SHARE_LINK", {"message": "x"}) == 4006
        assert await request("OPEN_EXTERNAL_LINK", {"url": "javascript:alert(1)"}) == 4000
        assert await request("GET_USER", {"id": "x" * 70_000}) == 4000

        # A denied consent is an OAuth2 error.
        authorization = request("AUTHORIZE", {"client_id": str(activity.client.id), "scope": ["identify"]})
        cancellation = window.page.get_by_role("button", name="Cancel").click()
        assert (await asyncio.gather(authorization, cancellation))[0] == 5000

        # Requests above the rate limit are rejected.
        codes = await frame.evaluate("Promise.all(Array.from({length: 80}, () => request('GET_PLATFORM_BEHAVIORS')))")
        assert codes.count(5011) >= 20
        assert codes[0] == {}

        # A close with a reason shows the reason and ends the activity.
        await frame.evaluate("send(2, {code: 1006, message: 'The board fell over'})")
        await window.page.get_by_text("Chess: The board fell over").wait_for()
        await window.page.locator("iframe").wait_for(state="detached")


@pytest.mark.parametrize(("scopes", "premium_type"), [("identify", 0), ("identify identify.premium", 2)])
async def test_an_activity_reads_premium_type_with_its_scope(
    activity: SampleActivity, scopes: str, premium_type: int
) -> None:
    app_guild = activity.app_guild
    await app_guild.world.give_premium(app_guild.bob)
    await app_guild.world.write(lambda call: oauth2.approve_scopes(call, activity.client.id, ["identify.premium"]))
    async with play_activity(activity, app_guild.bob, scopes) as (window, request):
        frame = await wait_for_activity_frame(window)
        await frame.evaluate("request('SUBSCRIBE', {}, { evt: 'CURRENT_USER_UPDATE' })")
        await wait_until(frame, "received.some(([, message]) => message?.evt === 'CURRENT_USER_UPDATE')")
        user = await frame.evaluate("received.find(([, message]) => message?.evt === 'CURRENT_USER_UPDATE')[1].data")
        assert (user["id"], user["premium_type"]) == (str(app_guild.bob.id), premium_type)
        assert (await request("GET_USER", {"id": str(app_guild.bob.id)}))["premium_type"] == 0


async def test_a_wrong_client_id_is_rejected(activity: SampleActivity) -> None:
    activity.page_html = PROTOCOL_PAGE
    async with activity.app_guild.open_window(activity.app_guild.bob, width=PHONE_WIDTH) as window:
        frame = await start_activity(window)
        await wait_until(frame, "typeof request === 'function'")
        assert await window.page.evaluate("document.documentElement.scrollWidth") <= PHONE_WIDTH
        # Messages from outside of the frame are ignored.
        await window.page.evaluate("postMessage([2, {code: 1006, message: 'from elsewhere'}], '*')")
        await frame.evaluate("sendHandshake({client_id: '1'})")
        await window.page.get_by_text("Chess: Invalid Client ID").wait_for()
        assert await window.page.get_by_text("from elsewhere").count() == 0
        await window.page.locator("iframe").wait_for(state="detached")


async def test_a_link_opens_the_activity_with_its_parameters(activity: SampleActivity) -> None:
    activity.page_html = PROTOCOL_PAGE
    app_guild = activity.app_guild
    link = f"{app_guild.world.url}/activities/{activity.client.id}?custom_id=round-7"
    await app_guild.guild.send_message(app_guild.alice, f"come and play {link}")
    async with app_guild.open_window(app_guild.bob) as window:
        row = await window.wait_message("come and play")
        await row.get_by_role("link", name="/activities/").click()
        frame = await wait_for_activity_frame(window)
        await wait_until(frame, "typeof request === 'function'")
        query = await frame.evaluate("Object.fromEntries(new URLSearchParams(location.search))")
        assert (query["custom_id"], query["referrer_id"]) == ("round-7", str(app_guild.alice.id))
        assert query["platform"] == "desktop"
        # The activity runs in this channel, and ends when the application no longer has activities.
        path = f"/activities/{activity.client.id}/instances/{app_guild.guild.general}"
        [instance] = (await app_guild.bob.get(path)).ok()["instances"]
        assert instance["composite_instance_id"] == query["instance_id"]
        (await app_guild.alice.patch(f"/applications/{activity.client.id}", json={"activities": False})).ok()
        await window.page.locator("iframe").wait_for(state="detached")


async def test_an_app_responds_by_launching_its_activity(activity: SampleActivity) -> None:
    activity.page_html = PROTOCOL_PAGE
    app_guild = activity.app_guild
    bot_session = await app_guild.bot.connect(Intents.GUILDS | Intents.GUILD_EMBEDDED_ACTIVITIES)
    commands_path = f"/applications/{activity.client.id}/guilds/{app_guild.guild.id}/commands"
    (await app_guild.bot.post(commands_path, json={"name": "chess", "description": "Opens a board"})).ok()
    async with app_guild.open_window(app_guild.bob) as window, app_guild.open_window(app_guild.alice) as other_window:
        await window.open_command_form("chess")
        await window.page.keyboard.press("Enter")
        interaction = await bot_session.next("INTERACTION_CREATE")
        callback_path = f"/interactions/{interaction['id']}/{interaction['token']}/callback?with_response=true"
        launch = {"type": InteractionCallbackType.LAUNCH_ACTIVITY}
        response = (await app_guild.world.request("POST", callback_path, json=launch)).ok()
        frame = await wait_for_activity_frame(window)
        await wait_until(frame, "typeof request === 'function'")
        query = await frame.evaluate("Object.fromEntries(new URLSearchParams(location.search))")
        assert query["instance_id"] == response["interaction"]["activity_instance_id"]

        # The activity opens only for the invoking user; other users see that it runs, and can join the same instance.
        await other_window.page.get_by_role("button", name="Activities").click()
        await other_window.page.get_by_text("1 playing now").wait_for()
        assert await other_window.page.locator("iframe").count() == 0
        await other_window.page.get_by_role("button", name="Join", exact=True).click()
        other_frame = await wait_for_activity_frame(other_window)
        await wait_until(other_frame, "typeof request === 'function'")
        assert (
            await other_frame.evaluate("new URLSearchParams(location.search).get('instance_id')")
            == query["instance_id"]
        )
        await window.page.locator(".activity-participants", has_text="alice").wait_for()

        # A lost gateway session is replaced, and the activity continues.
        fault = {"transport": "gateway", "effect": "close", "code": 4009, "user_id": str(app_guild.bob.id)}
        headers = {"Authorization": f"Bearer {activity.control.token}"}
        (
            await app_guild.world.request("POST", f"{app_guild.world.url}/control/faults", json=fault, headers=headers)
        ).ok()
        await bot_session.next("EMBEDDED_ACTIVITY_UPDATE_V2", lambda data: len(data["participants"]) == 3)
        assert await frame.evaluate("typeof request") == "function"


INVALID_ACTIVITIES: list[Any] = [
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


async def test_an_activity_in_a_voice_channel_invites_people_and_can_be_minimized(activity: SampleActivity) -> None:
    app_guild = activity.app_guild
    async with play_activity(activity, app_guild.bob, "identify", channel="General") as (window, request):
        page = window.page
        invite_dialog = asyncio.create_task(request("OPEN_INVITE_DIALOG"))
        dialog = page.get_by_role("dialog", name="Invite people to Chess")
        invite_url = await dialog.locator(".dialog-address").inner_text()
        await dialog.get_by_role("button", name="Done").click()
        assert await invite_dialog is None
        invite = (await app_guild.bob.get(f"/invites/{invite_url.rpartition('/')[2]}")).ok()
        assert invite["target_application"]["id"] == str(activity.client.id)
        # The activity stays in a small corner window while the user opens another channel.
        await page.get_by_role("button", name="Minimize").click()
        await page.get_by_role("link", name="general", exact=True).first.click()
        await page.get_by_label("Message #general", exact=True).wait_for()
        assert await request("GET_PLATFORM_BEHAVIORS") == {}


async def test_an_activity_can_set_the_users_presence(activity: SampleActivity) -> None:
    app_guild = activity.app_guild
    alice_session = await app_guild.alice.connect()
    async with play_activity(activity, app_guild.bob, "identify rpc.activities.write") as (_, request):
        for invalid in INVALID_ACTIVITIES:
            assert await request("SET_ACTIVITY", {"activity": invalid}) == 4000, invalid
        rich_presence = {
            "state": "Move 3",
            "timestamps": {"start": 1_700_000_000},
            "party": {"id": "table", "size": [1, 2]},
            "unknown": {"left": "out"},
        }
        stored_activity = await request("SET_ACTIVITY", {"activity": rich_presence})
        assert (stored_activity["name"], stored_activity["timestamps"]) == ("Chess", {"start": 1_700_000_000_000})
        assert "unknown" not in stored_activity
        presence = await alice_session.next("PRESENCE_UPDATE", lambda data: data["activities"])
        assert (presence["status"], presence["activities"][0]["party"]["size"]) == ("online", [1, 2])
        assert presence["activities"][0]["application_id"] == str(activity.client.id)
        assert (await request("SET_ACTIVITY", {}))["name"] == "Chess"
        await alice_session.next("PRESENCE_UPDATE", lambda data: not data["activities"])


async def test_an_activity_sells_skus_and_shares_images(activity: SampleActivity) -> None:
    app_guild = activity.app_guild
    body = {"type": SkuType.DURABLE, "name": "Crown", "price": 499, "published": True}
    sku = (await app_guild.bot.post(f"/applications/{activity.client.id}/skus", json=body)).ok()
    async with play_activity(activity, app_guild.bob, "identify") as (window, request):
        page = window.page
        [listed_sku] = (await request("GET_SKUS_EMBEDDED"))["skus"]
        assert (listed_sku["name"], listed_sku["price"]) == ("Crown", {"amount": 499, "currency": "usd"})
        assert (await request("GET_ENTITLEMENTS_EMBEDDED"))["entitlements"] == []
        assert await request("START_PURCHASE", {"sku_id": "1"}) == 5009

        purchase = asyncio.create_task(request("START_PURCHASE", {"sku_id": sku["id"]}))
        await page.get_by_role("button", name="Cancel").click()
        assert await purchase == 5008
        purchase = asyncio.create_task(request("START_PURCHASE", {"sku_id": sku["id"]}))
        async with page.context.expect_page() as opened_page:
            await page.get_by_role("button", name="Open link").click()
        store_page = await opened_page.value
        await store_page.get_by_role("heading", name="Crown").wait_for()
        (await app_guild.bob.post("/users/@me/purchases", json={"sku_id": sku["id"]})).ok()
        assert [entitlement["sku_id"] for entitlement in await purchase] == [sku["id"]]

        upload = asyncio.create_task(request("INITIATE_IMAGE_UPLOAD"))
        dialog = page.get_by_role("dialog", name="Chess requests an image")
        file = {"name": "board.png", "mimeType": "image/png", "buffer": ONE_PIXEL_PNG}
        await dialog.get_by_label("Image").set_input_files(file)
        await dialog.get_by_role("button", name="Upload image").click()
        image_url = (await upload)["image_url"]
        assert (await app_guild.world.request("GET", image_url)).body == ONE_PIXEL_PNG

        # The image is shared with others if Bob agrees.
        share = asyncio.create_task(request("OPEN_SHARE_MOMENT_DIALOG", {"mediaUrl": image_url}))
        await page.get_by_role("button", name="Share in this channel").click()
        assert await share is None
        message = (await app_guild.bob.get(f"/channels/{app_guild.guild.general}/messages")).ok()[0]
        assert message["content"] == image_url


async def test_messages_shared_by_an_activity_are_confirmed_by_the_user(activity: SampleActivity) -> None:
    app_guild = activity.app_guild
    async with play_activity(activity, app_guild.bob, "identify") as (window, request):
        page = window.page
        not_shared = {"success": False, "didCopyLink": False, "didSendMessage": False}
        assert await request("SHARE_LINK", {"message": "come", "referrer_id": str(app_guild.alice.id)}) == not_shared
        assert await request("OPEN_SHARE_MOMENT_DIALOG", {"mediaUrl": "https://elsewhere.example/cat.png"}) == 4000

        # The text can be changed before it is sent, and every member sees the message.
        share = asyncio.create_task(request("SHARE_LINK", {"message": "come", "custom_id": "round-7"}))
        dialog = page.get_by_role("dialog", name="Share Chess")
        await dialog.get_by_label("Message").fill("come, all of you")
        # Only one dialog can be open at a time.
        assert await request("OPEN_EXTERNAL_LINK", {"url": "https://elsewhere.example/"}) == 5011
        await dialog.get_by_role("button", name="Send", exact=True).click()
        assert await share == {"success": True, "didCopyLink": False, "didSendMessage": True}
        message = (await app_guild.bob.get(f"/channels/{app_guild.guild.general}/messages")).ok()[0]
        assert message["content"].startswith("come, all of you\n")
        assert f"custom_id=round-7&referrer_id={app_guild.bob.id}" in message["content"]

        # An invite leads to the activity's channel.
        invite_dialog = asyncio.create_task(request("OPEN_INVITE_DIALOG"))
        dialog = page.get_by_role("dialog", name="Invite people to Chess")
        invite_url = await dialog.locator(".dialog-address").inner_text()
        await dialog.get_by_role("button", name="Done").click()
        assert await invite_dialog is None
        invite = (await app_guild.bob.get(f"/invites/{invite_url.rpartition('/')[2]}")).ok()
        assert invite["channel"]["id"] == str(app_guild.guild.general)

        # An external link opens only after the user's click.
        other_origin = app_guild.world.url.replace("127.0.0.1", "localhost")
        navigation = asyncio.create_task(request("OPEN_EXTERNAL_LINK", {"url": f"{other_origin}/login"}))
        async with page.context.expect_page() as opened_page:
            await page.get_by_role("button", name="Open link").click()
        assert (await navigation)["opened"] is True
        assert (await opened_page.value).url.startswith(other_origin)

        # The activity ends when the user revokes its access.
        [authorization] = (await app_guild.bob.get("/oauth2/tokens")).ok()
        (await app_guild.bob.delete(f"/oauth2/tokens/{authorization['id']}")).ok()
        await page.get_by_text("You revoked the access of Chess.").wait_for()
        await page.locator("iframe").wait_for(state="detached")


async def test_an_invite_that_opens_a_screen_or_an_activity_is_created(activity: SampleActivity) -> None:
    guild, alice, bob = activity.app_guild.guild, activity.app_guild.alice, activity.app_guild.bob
    lounge_id = await guild.channel("lounge", type=ChannelType.GUILD_VOICE)
    session = await bob.connect()
    await session.send_voice_state(guild, lounge_id, self_stream=True)
    await session.next("VOICE_STATE_UPDATE", lambda state: state["self_stream"])
    async with activity.app_guild.open_window(alice) as window:
        page = window.page
        await page.get_by_role("button", name="Menu of Town Square").click()
        await page.get_by_role("menuitem", name="Guild settings").click()
        settings = page.get_by_role("dialog", name="Guild settings")
        await settings.get_by_role("button", name="Invites", exact=True).click()
        for target, details in (
            ("Screen of bob", "Leads to the stream of bob"),
            ("Activity: Chess", "Leads to Chess"),
            ("Only the channel", None),
        ):
            await settings.get_by_role("button", name="Create invite").click()
            dialog = page.get_by_role("dialog", name="Create invite")
            target_field = dialog.get_by_label("Opens")
            # A text channel has neither.
            await dialog.get_by_label("Channel").select_option(label="#general")
            await target_field.wait_for(state="hidden")
            await dialog.get_by_label("Channel").select_option(label="lounge (voice)")
            await target_field.select_option(label=target)
            await dialog.get_by_role("button", name="Create and copy link").click()
            await dialog.wait_for(state="hidden")
            if details is not None:
                await settings.get_by_text(details, exact=True).wait_for()
        await settings.get_by_role("button", name="Revoke").nth(2).wait_for()
        invites = (await alice.get(f"/guilds/{guild.id}/invites")).ok()
        assert sum("target_type" in invite for invite in invites) == 2
