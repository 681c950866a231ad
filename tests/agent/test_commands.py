"""Local RPC commands: their scopes, responses and errors (spec/rpc.md#6, spec/rpc.md#8, spec/rpc.md#10)."""

import asyncio
from typing import Any

import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer

from hubbub.agent.commands import HANDLERS
from hubbub.agent.commands.directory import fetch_image
from hubbub.protocol import rpc_scopes
from hubbub.protocol.enums import ChannelType, OverwriteType, RelationshipType, SkuType
from hubbub.protocol.permissions import Permissions
from hubbub.protocol.rpc import RpcErrorCode
from tests import oauth
from tests.agent.setups import AgentSetup
from tests.pages import Browser
from tests.world import WAIT_TIMEOUT_SECONDS, World

pytestmark = pytest.mark.parametrize("store_config", ["sqlite"], indirect=True)


def test_every_command_has_a_handler(store_config: object) -> None:
    assert set(HANDLERS) == set(rpc_scopes.COMMAND_SCOPES)


# Scopes

COMMANDS_WITHOUT_SCOPES = {"AUTHORIZE", "AUTHENTICATE", "SUBSCRIBE", "UNSUBSCRIBE"}
LOCAL_COMMANDS = {
    name for name, required_scopes in rpc_scopes.COMMAND_SCOPES.items() if frozenset({"rpc.local"}) in required_scopes
}


async def test_a_local_program_without_a_token_may_use_only_local_commands(agent_setup: AgentSetup) -> None:
    program = await agent_setup.connect_program()

    for name in sorted(set(rpc_scopes.COMMAND_SCOPES) - COMMANDS_WITHOUT_SCOPES - LOCAL_COMMANDS):
        assert await program.call_error(name, {}) == (
            RpcErrorCode.INVALID_PERMISSIONS,
            "Not authenticated or invalid scope",
        ), name
    for name in sorted(set(rpc_scopes.EVENT_SCOPES)):
        required_scopes = rpc_scopes.EVENT_SCOPES[name]
        if required_scopes and frozenset({"rpc.local"}) not in required_scopes:
            args = {"guild_id": str(agent_setup.guild.id), "channel_id": str(agent_setup.guild.general)}
            assert (await program.call_error("SUBSCRIBE", args, evt=name))[0] == RpcErrorCode.INVALID_PERMISSIONS, name


@pytest.mark.parametrize(
    ("command", "scopes", "is_allowed"),
    [
        ("GET_GUILDS", "guilds", False),
        ("GET_CHANNEL", "guilds", True),
        ("GET_CHANNEL", "guilds.channels.read", True),
        ("GET_RELATIONSHIPS", "rpc", False),
        ("GET_RELATIONSHIPS", "relationships.read", True),
        ("GET_RELATIONSHIPS", "sdk.social_layer", True),
        ("GET_VOICE_SETTINGS", "rpc.voice.read", True),
        ("SET_VOICE_SETTINGS", "rpc.voice.read", False),
        ("SET_VOICE_SETTINGS", "rpc.voice.write", True),
        ("PUSH_TO_TALK", "rpc", False),
        ("PUSH_TO_TALK", "rpc rpc.voice.write", True),
        ("TOGGLE_VIDEO", "rpc rpc.video.write", True),
    ],
)
async def test_a_token_allows_the_commands_of_its_scopes(
    agent_setup: AgentSetup, command: str, scopes: str, is_allowed: bool
) -> None:
    program = await agent_setup.connect_program(scopes)

    reply = await program.request(
        command, {"channel_id": str(agent_setup.guild.general), "active": True, "mute": False}
    )

    assert (reply["evt"] != "ERROR" or reply["data"]["code"] != RpcErrorCode.INVALID_PERMISSIONS) is is_allowed


# Errors

LONG_TEXT = "x" * 129


@pytest.mark.parametrize(
    ("activity", "problem"),
    [
        ([], '"activity" must be an object'),
        ({"state": "x"}, 'child "state" fails because ["state" length must be at least 2 characters long]'),
        (
            {"details": LONG_TEXT},
            'child "details" fails because ["details" length must be less than or equal to 128 characters long]',
        ),
        ({"state": ""}, 'child "state" fails because ["state" is not allowed to be empty]'),
        ({"state": 5}, 'child "state" fails because ["state" must be a string]'),
        ({"name": LONG_TEXT}, "128 characters"),
        ({"type": 1}, 'child "type" fails because ["type" must be one of [0, 2, 3, 5]]'),
        ({"type": "0"}, "must be one of [0, 2, 3, 5]"),
        ({"state_url": "ftp://e.example"}, 'child "state_url" fails because ["state_url" must be a valid uri]'),
        ({"details_url": "https://e.example/" + "x" * 256}, "256 characters"),
        ({"timestamps": {"start": "now"}}, 'child "timestamps" fails because [child "start" fails because ['),
        ({"timestamps": {"start": -1}}, '"start" must be larger than or equal to 0'),
        ({"timestamps": {"start": 1.5}}, '"start" must be an integer'),
        ({"assets": {"large_image": "x" * 301}}, "300 characters"),
        ({"assets": {"small_url": "x"}}, '"small_url" must be a valid uri'),
        ({"party": {"id": "x"}}, "at least 2 characters"),
        ({"party": {"size": [1]}}, '"size" must contain at least 2 items'),
        ({"party": {"size": [0, 4]}}, '"size" at position 0 fails because ["0" must be larger than or equal to 1]'),
        ({"party": {"size": [5, 4]}}, "greater than its maximum size"),
        ({"party": {"privacy": 2}}, "must be one of [0, 1]"),
        ({"secrets": {"join": LONG_TEXT}}, "128 characters"),
        ({"secrets": {"join": "same", "match": "same"}}, "must all be different"),
        (
            {"secrets": {"join": "in"}, "buttons": [{"label": "a", "url": "https://e.example"}]},
            "cannot be sent together with buttons",
        ),
        ({"buttons": []}, '"buttons" must contain at least 1 items'),
        ({"buttons": [{"label": "a", "url": "https://e.example"}] * 3}, "less than or equal to 2 items"),
        (
            {"buttons": [{"label": "a"}]},
            '"buttons" at position 0 fails because [child "url" fails because ["url" is required]]',
        ),
        ({"buttons": [{"label": "x" * 33, "url": "https://e.example"}]}, "32 characters"),
        ({"instance": "yes"}, '"instance" must be a boolean'),
        ({"supported_platforms": ["desktop"] * 11}, "less than or equal to 10 items"),
        ({"status_display_type": 3}, "must be one of [0, 1, 2]"),
    ],
)
async def test_an_invalid_activity_is_rejected_with_a_message(
    agent_setup: AgentSetup, activity: Any, problem: str
) -> None:
    program = await agent_setup.connect_program()

    code, message = await program.call_error("SET_ACTIVITY", {"pid": 1, "activity": activity})

    assert code == RpcErrorCode.INVALID_PAYLOAD
    assert message.startswith('child "activity" fails because [')
    assert problem in message


@pytest.mark.parametrize(
    ("command", "args", "code"),
    [
        ("SET_ACTIVITY", {"pid": "one"}, RpcErrorCode.INVALID_PAYLOAD),
        ("SET_ACTIVITY", {"pid": -1}, RpcErrorCode.INVALID_PAYLOAD),
        ("GET_USER", {}, RpcErrorCode.INVALID_PAYLOAD),
        ("GET_USER", {"id": "zoe"}, RpcErrorCode.INVALID_PAYLOAD),
        ("GET_USER", {"id": "5"}, RpcErrorCode.INVALID_USER),
        ("GET_IMAGE", {"type": "user", "id": "5"}, RpcErrorCode.INVALID_USER),
        ("GET_IMAGE", {"type": "guild", "id": "5"}, RpcErrorCode.INVALID_PAYLOAD),
        ("GET_GUILD", {"guild_id": "5"}, RpcErrorCode.INVALID_GUILD),
        ("GET_CHANNELS", {"guild_id": "5"}, RpcErrorCode.INVALID_GUILD),
        ("GET_CHANNEL", {"channel_id": "5"}, RpcErrorCode.INVALID_CHANNEL),
        ("GET_CHANNEL_PERMISSIONS", {"channel_id": "5"}, RpcErrorCode.INVALID_CHANNEL),
        ("CREATE_CHANNEL_INVITE", {"channel_id": "5"}, RpcErrorCode.INVALID_CHANNEL),
        ("CREATE_CHANNEL_INVITE", {"channel_id": "GENERAL", "max_age": -1}, RpcErrorCode.INVALID_PAYLOAD),
        ("SELECT_VOICE_CHANNEL", {"channel_id": "5"}, RpcErrorCode.INVALID_CHANNEL),
        ("SELECT_VOICE_CHANNEL", {"channel_id": "GENERAL"}, RpcErrorCode.INVALID_CHANNEL),
        ("SELECT_VOICE_CHANNEL", {"channel_id": "GENERAL", "timeout": 61}, RpcErrorCode.INVALID_PAYLOAD),
        ("SELECT_TEXT_CHANNEL", {"channel_id": "5"}, RpcErrorCode.INVALID_CHANNEL),
        ("OPEN_MESSAGE", {"channel_id": "5", "message_id": "5"}, RpcErrorCode.INVALID_CHANNEL),
        ("OPEN_MESSAGE", {"channel_id": "5"}, RpcErrorCode.INVALID_PAYLOAD),
        ("DEEP_LINK", {"type": "MOON"}, RpcErrorCode.INVALID_PAYLOAD),
        ("DEEP_LINK", {"type": "INVITE"}, RpcErrorCode.INVALID_PAYLOAD),
        ("ACTIVITY_INVITE_USER", {"user_id": "5", "type": 1}, RpcErrorCode.NO_ELIGIBLE_ACTIVITY),
        ("ACTIVITY_INVITE_USER", {"user_id": "5", "type": 5}, RpcErrorCode.INVALID_PAYLOAD),
        ("ACTIVITY_INVITE_USER", {"type": 1}, RpcErrorCode.INVALID_PAYLOAD),
        ("SEND_ACTIVITY_JOIN_INVITE", {"user_id": "5"}, RpcErrorCode.INVALID_ACTIVITY_JOIN_REQUEST),
        ("CLOSE_ACTIVITY_REQUEST", {"user_id": "5"}, RpcErrorCode.INVALID_ACTIVITY_JOIN_REQUEST),
        ("CLOSE_ACTIVITY_JOIN_REQUEST", {}, RpcErrorCode.INVALID_PAYLOAD),
        ("ACCEPT_ACTIVITY_INVITE", {"user_id": "5"}, RpcErrorCode.NO_ELIGIBLE_ACTIVITY),
        ("ACCEPT_ACTIVITY_INVITE", {"user_id": "5", "session_id": "s"}, RpcErrorCode.INVALID_ACTIVITY_SECRET),
        ("SET_VOICE_SETTINGS", {}, RpcErrorCode.INVALID_PAYLOAD),
        ("SET_VOICE_SETTINGS", {"input": {"volume": 101}}, RpcErrorCode.INVALID_PAYLOAD),
        ("SET_VOICE_SETTINGS", {"output": {"volume": 201}}, RpcErrorCode.INVALID_PAYLOAD),
        ("SET_VOICE_SETTINGS", {"mode": {"threshold": 1}}, RpcErrorCode.INVALID_PAYLOAD),
        ("SET_VOICE_SETTINGS", {"mode": {"delay": 2001}}, RpcErrorCode.INVALID_PAYLOAD),
        ("SET_USER_VOICE_SETTINGS", {"user_id": "5", "volume": 50}, RpcErrorCode.INVALID_USER),
        ("SET_USER_VOICE_SETTINGS", {"user_id": "5", "pan": {"left": 2}}, RpcErrorCode.INVALID_PAYLOAD),
        ("PUSH_TO_TALK", {}, RpcErrorCode.INVALID_PAYLOAD),
        ("PLAY_SOUNDBOARD_SOUND", {"sound_id": "1"}, RpcErrorCode.INVALID_CHANNEL),
        ("SET_CERTIFIED_DEVICES", {"devices": [{"type": "spoon", "id": "1"}]}, RpcErrorCode.INVALID_PAYLOAD),
        ("START_PURCHASE", {"sku_id": "5"}, RpcErrorCode.PURCHASE_ERROR),
        ("OVERLAY", {}, RpcErrorCode.SERVICE_UNAVAILABLE),
        ("TOGGLE_VIDEO", {}, RpcErrorCode.SERVICE_UNAVAILABLE),
        ("TOGGLE_SCREENSHARE", {}, RpcErrorCode.SERVICE_UNAVAILABLE),
        ("INITIATE_IMAGE_UPLOAD", {}, RpcErrorCode.SERVICE_UNAVAILABLE),
        ("GET_APPLICATION_TICKET", {}, RpcErrorCode.SERVICE_UNAVAILABLE),
        ("OPEN_INVITE_DIALOG", {}, RpcErrorCode.NO_ELIGIBLE_ACTIVITY),
        ("SUBSCRIBE", {}, RpcErrorCode.INVALID_EVENT),
        ("UNSUBSCRIBE", {}, RpcErrorCode.INVALID_EVENT),
    ],
)
async def test_invalid_arguments_are_rejected_with_a_code(
    agent_setup: AgentSetup, command: str, args: dict[str, Any], code: int
) -> None:
    scopes = "rpc rpc.voice.write rpc.video.write rpc.screenshare.write guilds.members.read"
    program = await agent_setup.connect_program(scopes)
    if args.get("channel_id") == "GENERAL":
        args = args | {"channel_id": str(agent_setup.guild.general)}

    error = await program.call_error(command, args)

    assert error[0] == code, error


@pytest.mark.parametrize(
    ("event", "args", "code"),
    [
        ("READY", {}, RpcErrorCode.INVALID_EVENT),
        ("ERROR", {}, RpcErrorCode.INVALID_EVENT),
        ("MOON_RISE", {}, RpcErrorCode.INVALID_EVENT),
        ("GUILD_STATUS", {}, RpcErrorCode.INVALID_PAYLOAD),
        ("GUILD_STATUS", {"guild_id": "5"}, RpcErrorCode.INVALID_GUILD),
        ("VOICE_STATE_CREATE", {"channel_id": "5"}, RpcErrorCode.INVALID_CHANNEL),
        ("MESSAGE_CREATE", {"channel_id": "GENERAL"}, RpcErrorCode.INVALID_PERMISSIONS),
        ("MESSAGE_CREATE", {"channel_id": "GENERAL", "lobby_id": "5"}, RpcErrorCode.INVALID_PERMISSIONS),
        ("SPEAKING_START", {"channel_id": "5", "lobby_id": None}, RpcErrorCode.INVALID_CHANNEL),
        ("RELATIONSHIP_UPDATE", {}, RpcErrorCode.INVALID_PERMISSIONS),
    ],
)
async def test_invalid_subscriptions_are_rejected(
    agent_setup: AgentSetup, event: str, args: dict[str, Any], code: int
) -> None:
    program = await agent_setup.connect_program("rpc")
    if args.get("channel_id") == "GENERAL":
        args = args | {"channel_id": str(agent_setup.guild.general)}

    assert (await program.call_error("SUBSCRIBE", args, evt=event))[0] == code


# Responses


async def test_guilds_and_channels_are_returned(agent_setup: AgentSetup) -> None:
    program = await agent_setup.connect_program("rpc guilds.members.read messages.read")
    guild_id = str(agent_setup.guild.id)
    await agent_setup.guild.send_message(agent_setup.zoe, "hello")

    guild_view = {"id": guild_id, "name": "Town Square", "icon_url": None}
    assert await program.call("GET_GUILDS") == {"guilds": [guild_view]}
    assert await program.call("GET_GUILD", {"guild_id": guild_id}) == guild_view | {"members": []}
    channels = (await program.call("GET_CHANNELS", {"guild_id": guild_id}))["channels"]
    assert {"id": str(agent_setup.guild.general), "name": "general", "type": ChannelType.GUILD_TEXT} in channels
    general = await program.call("GET_CHANNEL", {"channel_id": str(agent_setup.guild.general)})
    assert (general["name"], general["guild_id"], general["voice_states"]) == ("general", guild_id, [])
    assert [(message["content"], message["author"]["username"]) for message in general["messages"]] == [
        ("hello", "zoe")
    ]
    permissions = (await program.call("GET_CHANNEL_PERMISSIONS", {"channel_id": str(agent_setup.guild.general)}))[
        "permissions"
    ]
    assert int(permissions) == Permissions.ALL
    invite = await program.call("CREATE_CHANNEL_INVITE", {"channel_id": str(agent_setup.guild.general), "max_age": 60})
    assert (invite["channel"]["id"], invite["max_age"]) == (str(agent_setup.guild.general), 60)


async def test_private_channels_need_a_further_scope(agent_setup: AgentSetup) -> None:
    channel_id = (
        await agent_setup.mary.post("/users/@me/channels", json={"recipients": [str(agent_setup.zoe.id)]})
    ).ok()["id"]
    account = agent_setup.machine.agent.account
    assert await account.wait_until(lambda: channel_id in account.state.channels, 10)

    assert (await (await agent_setup.connect_program("guilds")).call_error("GET_CHANNEL", {"channel_id": channel_id}))[
        0
    ] == RpcErrorCode.INVALID_PERMISSIONS
    channel = await (await agent_setup.connect_program("rpc")).call("GET_CHANNEL", {"channel_id": channel_id})
    assert (channel["type"], channel["name"], channel["messages"]) == (ChannelType.DM, "zoe", [])


async def test_get_guild_respects_its_timeout(agent_setup: AgentSetup) -> None:
    program = await agent_setup.connect_program("rpc")
    agent_setup.machine.agent.account.state.pending_guilds.add("77")

    assert (await program.call_error("GET_GUILD", {"guild_id": "77", "timeout": 0.05}))[
        0
    ] == RpcErrorCode.GET_GUILD_TIMED_OUT


async def test_users_and_relationships_are_returned(world: World, agent_setup: AgentSetup) -> None:
    stranger, local_program = await world.user("stranger"), await agent_setup.connect_program()

    assert (await local_program.call("GET_USER", {"id": str(agent_setup.zoe.id)}))["username"] == "zoe"
    assert (await local_program.call("GET_USER", {"id": str(stranger.id)}))["username"] == "stranger"
    image = await local_program.call("GET_IMAGE", {"type": "user", "id": str(stranger.id), "format": "png", "size": 64})
    assert image["data_url"].startswith("data:image/png;base64,")

    program = await agent_setup.connect_program("relationships.read")
    (friend,) = (await program.call("GET_RELATIONSHIPS"))["relationships"]
    assert (friend["type"], friend["user"]["username"]) == (RelationshipType.FRIEND, "zoe")
    assert friend["presence"] == {"status": "offline", "activity": None}


async def test_an_image_that_arrives_in_parts_is_returned_whole(store_config: object) -> None:
    async def send_in_parts(request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse(headers={"Content-Type": "image/png"})
        await response.prepare(request)
        await response.write(b"first")
        # The second part is sent in a later iteration of the loop, after the client received the first one.
        await asyncio.sleep(0.05)
        await response.write(b"second")
        return response

    application = web.Application()
    application.router.add_get("/image", send_in_parts)
    async with TestServer(application) as server:
        assert await fetch_image(str(server.make_url("/image"))) == ("image/png", b"firstsecond")


async def test_browser_commands_open_the_right_pages(agent_setup: AgentSetup) -> None:
    program, web_url = await agent_setup.connect_program("rpc"), agent_setup.machine.world.url
    channel_id, guild_id = str(agent_setup.guild.general), str(agent_setup.guild.id)
    opened_urls = agent_setup.machine.opened_urls

    await program.call("OPEN_MESSAGE", {"channel_id": channel_id, "message_id": "7"})
    await program.call("SELECT_TEXT_CHANNEL", {"channel_id": channel_id})
    assert await program.call("SELECT_TEXT_CHANNEL", {}) is None
    for link_type, params in (
        ("USER_SETTINGS", {"section": "connected-games"}),
        ("USER_SETTINGS", {}),
        ("INVITE", {"code": "a/b"}),
        ("CHANNEL", {"channelId": channel_id, "guildId": guild_id}),
        ("STORE", {"skuId": "8"}),
        ("ACTIVATE_DEVICE", {}),
    ):
        assert await program.call("DEEP_LINK", {"type": link_type, "params": params}) is True

    assert [url.removeprefix(web_url) for url in opened_urls] == [
        f"/app/channels/{guild_id}/{channel_id}/7",
        f"/app/channels/{guild_id}/{channel_id}",
        "/app",
        "/settings/apps",
        "/settings/account",
        "/invite/a%2Fb",
        f"/app/channels/{guild_id}/{channel_id}",
        f"/application-directory/{agent_setup.game.id}/store/8",
        "/activate",
    ]
    browser = Browser(agent_setup.machine.world)
    browser.sign_in_as(agent_setup.machine.owner)
    for url in opened_urls:
        page = await browser.open(url)
        assert page.headers["Content-Type"] == "text/html; charset=utf-8", url
        assert "This page does not exist. Check the URL." not in page.text, url


async def test_skus_and_entitlements_are_returned(agent_setup: AgentSetup, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("hubbub.agent.commands.store.PURCHASE_POLL_INTERVAL_SECONDS", 0.01)
    program, game = await agent_setup.connect_program(), agent_setup.game
    sku_fields = {"type": SkuType.DURABLE, "name": "Boots", "price": 100, "published": True}
    sku_id = (await game.owner.post(f"/applications/{game.id}/skus", json=sku_fields)).ok()["id"]

    (sku,) = await program.call("GET_SKUS")
    assert (sku["id"], sku["name"]) == (sku_id, "Boots")
    assert await program.call("GET_SKUS_EMBEDDED") == {"skus": [sku]}
    assert await program.call("GET_ENTITLEMENTS") == []
    assert await program.call("VALIDATE_APPLICATION") is None
    purchase = asyncio.create_task(program.call("START_PURCHASE", {"sku_id": sku_id}))
    async with asyncio.timeout(WAIT_TIMEOUT_SECONDS):
        while not agent_setup.machine.opened_urls:
            await asyncio.sleep(0.01)
    (await agent_setup.mary.post("/users/@me/purchases", json={"sku_id": sku_id})).ok()

    (entitlement,) = await purchase
    assert (entitlement["sku_id"], entitlement["user_id"]) == (sku_id, str(agent_setup.mary.id))
    assert await program.call("GET_ENTITLEMENTS_EMBEDDED") == {"entitlements": [entitlement]}
    assert agent_setup.machine.opened_urls == [
        f"{agent_setup.machine.world.url}/application-directory/{game.id}/store/{sku_id}"
    ]


async def test_a_purchase_that_is_not_completed_times_out(
    agent_setup: AgentSetup, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("hubbub.agent.commands.store.PURCHASE_POLL_INTERVAL_SECONDS", 0.01)
    monkeypatch.setattr("hubbub.agent.commands.store.PURCHASE_TIMEOUT_SECONDS", 0.1)
    sku_fields = {"type": SkuType.DURABLE, "name": "Boots", "price": 100, "published": True}
    sku_id = (await agent_setup.game.owner.post(f"/applications/{agent_setup.game.id}/skus", json=sku_fields)).ok()[
        "id"
    ]

    assert (await (await agent_setup.connect_program()).call_error("START_PURCHASE", {"sku_id": sku_id}))[
        0
    ] == RpcErrorCode.PURCHASE_CANCELLED


# Voice


async def test_selecting_a_voice_channel_joins_and_leaves_it(agent_setup: AgentSetup) -> None:
    program, channel_id = await agent_setup.connect_program("rpc"), str(agent_setup.voice_channel_id)
    await program.subscribe("VOICE_CHANNEL_SELECT")
    await program.subscribe("VOICE_CONNECTION_STATUS")
    assert await program.call("GET_SELECTED_VOICE_CHANNEL") is None

    selected_channel = await program.call("SELECT_VOICE_CHANNEL", {"channel_id": channel_id})

    assert [voice_state["user"]["username"] for voice_state in selected_channel["voice_states"]] == ["mary"]
    assert await program.next("VOICE_CHANNEL_SELECT") == {
        "channel_id": channel_id,
        "guild_id": str(agent_setup.guild.id),
    }
    assert (await program.next("VOICE_CONNECTION_STATUS"))["state"] == "AWAITING_ENDPOINT"
    assert (await program.call("GET_SELECTED_VOICE_CHANNEL"))["id"] == channel_id
    other_channel_id = str(await agent_setup.guild.channel("Attic", type=ChannelType.GUILD_VOICE))
    account = agent_setup.machine.agent.account
    assert await account.wait_until(lambda: other_channel_id in account.state.channels, 10)
    assert (await program.call_error("SELECT_VOICE_CHANNEL", {"channel_id": other_channel_id}))[
        0
    ] == RpcErrorCode.SELECT_VOICE_FORCE_REQUIRED
    assert (await program.call("SELECT_VOICE_CHANNEL", {"channel_id": other_channel_id, "force": True}))[
        "name"
    ] == "Attic"
    assert await program.call("SELECT_VOICE_CHANNEL", {}) is None
    await program.next("VOICE_CHANNEL_SELECT", lambda data: data == {"channel_id": None, "guild_id": None})
    assert await program.call("GET_SELECTED_VOICE_CHANNEL") is None


async def test_joining_a_voice_channel_without_permission_times_out(agent_setup: AgentSetup, world: World) -> None:
    other_guild = await world.guild(agent_setup.zoe, agent_setup.mary)
    channel_id = other_guild.channels["General"]
    await other_guild.overwrite(channel_id, other_guild.id, deny=Permissions.CONNECT, target_type=OverwriteType.ROLE)
    account = agent_setup.machine.agent.account
    assert await account.wait_until(lambda: str(channel_id) in account.state.channels, 10)
    program = await agent_setup.connect_program("rpc")

    assert (await program.call_error("SELECT_VOICE_CHANNEL", {"channel_id": str(channel_id), "timeout": 0.3}))[
        0
    ] == RpcErrorCode.SELECT_CHANNEL_TIMED_OUT


async def test_voice_settings_are_locked_to_one_application(world: World, agent_setup: AgentSetup) -> None:
    listener = await agent_setup.connect_program("rpc.voice.read")
    await listener.subscribe("VOICE_SETTINGS_UPDATE")
    program = await agent_setup.connect_program("rpc rpc.voice.write")
    other_program = await agent_setup.machine.connect_authenticated((await oauth.create_application(world)).id, "rpc")
    initial_settings = await program.call("GET_VOICE_SETTINGS")

    changed_settings = await program.call(
        "SET_VOICE_SETTINGS", {"input": {"volume": 40}, "mode": {"type": "PUSH_TO_TALK"}}
    )

    assert (changed_settings["input"]["volume"], changed_settings["mode"]["type"]) == (40, "PUSH_TO_TALK")
    assert changed_settings["output"] == initial_settings["output"]
    assert await listener.next("VOICE_SETTINGS_UPDATE") == changed_settings
    assert (await other_program.call_error("SET_VOICE_SETTINGS", {"mute": True}))[0] == RpcErrorCode.INVALID_PERMISSIONS
    assert await program.call("PUSH_TO_TALK", {"active": True}) is None
    program.close()
    assert await listener.next("VOICE_SETTINGS_UPDATE") == initial_settings
    assert (await other_program.call("SET_VOICE_SETTINGS", {"qos": True}))["qos"] is True
    other_program.close()
    await listener.next("VOICE_SETTINGS_UPDATE", lambda data: data == initial_settings)

    later_program = await agent_setup.connect_program("rpc.voice.read")

    assert await later_program.call("GET_VOICE_SETTINGS") == changed_settings


async def test_muting_updates_the_voice_state(agent_setup: AgentSetup) -> None:
    program = await agent_setup.connect_program("rpc rpc.voice.write")
    await program.call("SELECT_VOICE_CHANNEL", {"channel_id": str(agent_setup.voice_channel_id)})
    await program.subscribe("VOICE_STATE_UPDATE", channel_id=agent_setup.voice_channel_id)

    await program.call("SET_VOICE_SETTINGS", {"mute": True})

    event = await program.next("VOICE_STATE_UPDATE")
    assert event["voice_state"]["self_mute"] is True
    user_settings = await program.call(
        "SET_USER_VOICE_SETTINGS", {"user_id": str(agent_setup.mary.id), "volume": 120, "mute": True}
    )
    assert user_settings == {
        "user_id": str(agent_setup.mary.id),
        "volume": 120,
        "mute": True,
        "pan": {"left": 1.0, "right": 1.0},
    }


async def test_soundboard_sounds_are_returned_and_devices_stored(agent_setup: AgentSetup) -> None:
    program = await agent_setup.connect_program("rpc rpc.voice.write")

    assert isinstance(await program.call("GET_SOUNDBOARD_SOUNDS"), list)
    device = {"type": "audioinput", "id": "1", "vendor": {"name": "Maker", "url": "https://maker.example"}}
    assert await program.call("SET_CERTIFIED_DEVICES", {"devices": [device]}) is None
    assert agent_setup.machine.agent.context.voice.devices == [device]
    await program.call("SELECT_VOICE_CHANNEL", {"channel_id": str(agent_setup.voice_channel_id)})
    assert (await program.call_error("PLAY_SOUNDBOARD_SOUND", {"sound_id": "99999"}))[0] == RpcErrorCode.INVALID_SOUND
