"""Events that the agent sends to programs, and activity invites through the agent (spec/rpc.md#9)."""

from typing import Any

import pytest

from hubbub.agent.terminal import Terminal
from hubbub.protocol import changes
from hubbub.protocol.enums import (
    ActivityActionType,
    ActivityType,
    ChannelType,
    GatewayOpcode,
    RelationshipType,
    SkuType,
)
from hubbub.protocol.rpc import RpcErrorCode
from hubbub.server.identity import oauth2
from tests.agent.setups import JOINABLE_ACTIVITY, AgentSetup, TwoMachines
from tests.machine import Machine, NewMachine, Program
from tests.sdk.players import create_game, create_player
from tests.world import WAIT_TIMEOUT_SECONDS, World, befriend

pytestmark = pytest.mark.parametrize("store_config", ["sqlite"], indirect=True)


async def test_user_and_relationship_changes_are_published(agent_setup: AgentSetup) -> None:
    program = await agent_setup.connect_program("relationships.read guilds.members.read")
    await program.subscribe("CURRENT_USER_UPDATE")
    await program.subscribe("RELATIONSHIP_UPDATE")
    await program.subscribe("CURRENT_GUILD_MEMBER_UPDATE", guild_id=agent_setup.guild.id)

    (await agent_setup.mary.patch("/users/@me", json={"global_name": "Mary the Great"})).ok()
    assert (await program.next("CURRENT_USER_UPDATE"))["global_name"] == "Mary the Great"
    (await agent_setup.mary.patch(f"/guilds/{agent_setup.guild.id}/members/@me", json={"nick": "M"})).ok()
    payload = await program.next("CURRENT_GUILD_MEMBER_UPDATE", lambda data: data["nick"])
    assert (payload["user_id"], payload["guild_id"], payload["nick"]) == (
        str(agent_setup.mary.id),
        str(agent_setup.guild.id),
        "M",
    )
    session = await agent_setup.zoe.connect()
    payload = await program.next("RELATIONSHIP_UPDATE", lambda data: data["presence"]["status"] == "online")
    assert (payload["type"], payload["user"]["id"]) == (RelationshipType.FRIEND, str(agent_setup.zoe.id))
    await session.send(
        GatewayOpcode.PRESENCE_UPDATE,
        {"status": "dnd", "since": None, "afk": False, "activities": [{"name": "Chess", "type": ActivityType.PLAYING}]},
    )
    payload = await program.next("RELATIONSHIP_UPDATE", lambda data: data["presence"]["status"] == "dnd")
    assert payload["presence"]["activity"]["name"] == "Chess"
    (await agent_setup.zoe.delete(f"/users/@me/relationships/{agent_setup.mary.id}")).ok()
    await program.next("RELATIONSHIP_UPDATE", lambda data: data["type"] == RelationshipType.NONE)


@pytest.mark.dated(changes.PREMIUM_TYPE_SCOPE)
async def test_premium_type_requires_its_scope(world: World, agent_setup: AgentSetup) -> None:
    setup = agent_setup
    await world.give_premium(setup.mary)
    await world.write(lambda call: oauth2.approve_scopes(call, setup.game.id, ["identify.premium"]))

    async def premium_types(scopes: str) -> list[int]:
        """Return the `premium_type` of READY, of a command, and of an event for a program with these scopes."""
        program = await setup.connect_program(scopes)
        await program.subscribe("CURRENT_USER_UPDATE")
        name = f"Mary {world.clock.now_ms()} {len(scopes)}"
        (await setup.mary.patch("/users/@me", json={"global_name": name})).ok()
        changed_user = await program.next("CURRENT_USER_UPDATE", lambda data: data["global_name"] == name)
        fetched_user = await program.call("GET_USER", {"id": str(setup.mary.id)})
        return [program.ready["user"]["premium_type"], fetched_user["premium_type"], changed_user["premium_type"]]

    assert await premium_types("rpc") == [0, 0, 0]
    assert await premium_types("rpc identify.premium") == [0, 0, 2]
    now_ms = world.clock.now_ms()
    world.clock.set(changes.PREMIUM_TYPE_SCOPE.at_ms - 1)
    assert await premium_types("rpc") == [0, 0, 2]
    world.clock.set(now_ms)


async def test_guild_and_channel_changes_are_published(agent_setup: AgentSetup) -> None:
    program = await agent_setup.connect_program("rpc")
    await program.subscribe("GUILD_STATUS", guild_id=agent_setup.guild.id)
    await program.subscribe("CHANNEL_CREATE")
    await program.subscribe("GUILD_CREATE")

    (await agent_setup.mary.patch(f"/guilds/{agent_setup.guild.id}", json={"name": "Old Town"})).ok()
    guild_view = {"id": str(agent_setup.guild.id), "name": "Old Town", "icon_url": None}
    assert await program.next("GUILD_STATUS") == {"guild": guild_view, "online": 0}
    channel_id = await agent_setup.guild.channel("attic")
    assert await program.next("CHANNEL_CREATE") == {
        "id": str(channel_id),
        "name": "attic",
        "type": ChannelType.GUILD_TEXT,
    }
    other_guild_id = (await agent_setup.mary.post("/guilds", json={"name": "Elsewhere"})).ok()["id"]
    assert await program.next("GUILD_CREATE") == {"id": other_guild_id, "name": "Elsewhere"}


async def test_messages_and_notifications_are_published(agent_setup: AgentSetup) -> None:
    program = await agent_setup.connect_program("rpc messages.read rpc.notifications.read")
    for event in ("MESSAGE_CREATE", "MESSAGE_UPDATE", "MESSAGE_DELETE"):
        await program.subscribe(event, channel_id=agent_setup.guild.general)
    await program.subscribe("NOTIFICATION_CREATE")

    message = await agent_setup.guild.send_message(agent_setup.zoe, f"hello <@{agent_setup.mary.id}>")
    payload = await program.next("MESSAGE_CREATE")
    assert (payload["channel_id"], payload["message"]["content"]) == (
        str(agent_setup.guild.general),
        f"hello <@{agent_setup.mary.id}>",
    )
    assert payload["message"]["author"]["username"] == "zoe"
    notification = await program.next("NOTIFICATION_CREATE")
    assert (notification["title"], notification["body"]) == ("zoe (#general)", f"hello <@{agent_setup.mary.id}>")
    path = f"/channels/{agent_setup.guild.general}/messages/{message['id']}"
    (await agent_setup.zoe.patch(path, json={"content": "hi"})).ok()
    assert (await program.next("MESSAGE_UPDATE"))["message"]["content"] == "hi"
    (await agent_setup.zoe.delete(path)).ok()
    assert (await program.next("MESSAGE_DELETE"))["message"] == {"id": message["id"]}
    await agent_setup.guild.send_message(agent_setup.zoe, "without a mention")
    channel_id = (
        await agent_setup.zoe.post("/users/@me/channels", json={"recipients": [str(agent_setup.mary.id)]})
    ).ok()["id"]
    (await agent_setup.zoe.post(f"/channels/{channel_id}/messages", json={"content": "psst"})).ok()
    assert (await program.next("NOTIFICATION_CREATE"))["body"] == "psst"


async def test_a_game_showing_chat_suppresses_notifications(world: World, new_machine: NewMachine) -> None:
    puddle = await create_game(world)
    mary = await create_player(world, puddle, "mary")
    zoe = await world.user("zoe")
    await befriend(mary.user, zoe)
    machine = await new_machine(mary.user)
    program = await machine.connect_authenticated(puddle.id, "rpc rpc.notifications.read")
    await program.subscribe("NOTIFICATION_CREATE")
    account = machine.agent.account
    channel_id = (await zoe.post("/users/@me/channels", json={"recipients": [str(mary.id)]})).ok()["id"]

    contents: list[str] = []
    account.listeners.append(
        lambda event, data: contents.append(data["content"]) if event == "MESSAGE_CREATE" else None
    )

    async def send_message(text: str) -> None:
        (await zoe.post(f"/channels/{channel_id}/messages", json={"content": text})).ok()
        assert await account.wait_until(lambda: text in contents, WAIT_TIMEOUT_SECONDS)

    await send_message("before")
    assert (await program.next("NOTIFICATION_CREATE"))["body"] == "before"
    mary.client.set_showing_chat(True)
    assert await account.wait_until(account.state.is_chat_visible, WAIT_TIMEOUT_SECONDS)
    await send_message("seen in the game")
    # A new session sends the state again.
    session_id = account.state.session_id
    await account._gateway.restart_session()
    assert await account.wait_until(lambda: account.state.session_id != session_id, WAIT_TIMEOUT_SECONDS)
    assert await account.wait_until(account.state.is_chat_visible, WAIT_TIMEOUT_SECONDS)
    await send_message("seen in the game again")
    mary.client.set_showing_chat(False)
    assert await account.wait_until(lambda: not account.state.is_chat_visible(), WAIT_TIMEOUT_SECONDS)
    await send_message("after")
    assert (await program.next("NOTIFICATION_CREATE"))["body"] == "after"

    # Notifications are no longer suppressed after the game has ended.
    mary.client.set_showing_chat(True)
    assert await account.wait_until(account.state.is_chat_visible, WAIT_TIMEOUT_SECONDS)
    await mary.client.close()
    assert await account.wait_until(lambda: not account.state.is_chat_visible(), WAIT_TIMEOUT_SECONDS)
    await send_message("alone")
    assert (await program.next("NOTIFICATION_CREATE"))["body"] == "alone"


async def test_voice_channel_joins_and_leaves_are_published(agent_setup: AgentSetup) -> None:
    program = await agent_setup.connect_program("rpc.voice.read")
    for event in ("VOICE_STATE_CREATE", "VOICE_STATE_UPDATE", "VOICE_STATE_DELETE"):
        await program.subscribe(event, channel_id=agent_setup.voice_channel_id)
    session = await agent_setup.zoe.connect()
    state = {
        "guild_id": str(agent_setup.guild.id),
        "channel_id": str(agent_setup.voice_channel_id),
        "self_mute": False,
        "self_deaf": False,
    }

    await session.send(GatewayOpcode.VOICE_STATE_UPDATE, state)
    payload = await program.next("VOICE_STATE_CREATE")
    assert (payload["user"]["username"], payload["nick"], payload["volume"], payload["mute"]) == (
        "zoe",
        "zoe",
        100,
        False,
    )
    await session.send(GatewayOpcode.VOICE_STATE_UPDATE, state | {"self_mute": True})
    assert (await program.next("VOICE_STATE_UPDATE"))["voice_state"]["self_mute"] is True
    await session.send(GatewayOpcode.VOICE_STATE_UPDATE, state | {"channel_id": None})
    assert (await program.next("VOICE_STATE_DELETE"))["user"]["id"] == str(agent_setup.zoe.id)


async def test_a_new_entitlement_is_published(agent_setup: AgentSetup) -> None:
    program, game = await agent_setup.connect_program(), agent_setup.game
    await program.subscribe("ENTITLEMENT_CREATE")
    await program.subscribe("ENTITLEMENT_DELETE")
    sku_fields = {"type": SkuType.DURABLE, "name": "Boots", "price": 100, "published": True}
    sku_id = (await game.owner.post(f"/applications/{game.id}/skus", json=sku_fields)).ok()["id"]

    entitlements = (await agent_setup.mary.post("/users/@me/purchases", json={"sku_id": sku_id})).ok()

    assert entitlements
    assert (await program.next("ENTITLEMENT_CREATE"))["entitlement"]["sku_id"] == sku_id


# Activity invites


async def connect_and_subscribe(machine: Machine, application_id: int) -> Program:
    program = await machine.connect_program(application_id)
    for event in ("ACTIVITY_JOIN", "ACTIVITY_INVITE", "ACTIVITY_JOIN_REQUEST"):
        await program.subscribe(event)
    return program


async def connect_host_and_guest(two_machines: TwoMachines) -> tuple[Program, Program]:
    """Connect the game on the machines of Mary, the host, and Zoe, the guest."""
    application_id = two_machines.game.id
    return (
        await connect_and_subscribe(two_machines.mary_machine, application_id),
        await connect_and_subscribe(two_machines.zoe_machine, application_id),
    )


async def send_invite(two_machines: TwoMachines, host: Program, guest: Program) -> Any:
    await host.call("SET_ACTIVITY", {"activity": JOINABLE_ACTIVITY})
    args = {"user_id": str(two_machines.zoe.id), "type": ActivityActionType.JOIN, "content": "come and play", "pid": 0}
    assert await host.call("ACTIVITY_INVITE_USER", args) is None
    return await guest.next("ACTIVITY_INVITE")


async def test_an_invite_is_sent_received_and_accepted(two_machines: TwoMachines) -> None:
    host, guest = await connect_host_and_guest(two_machines)

    invite = await send_invite(two_machines, host, guest)

    assert (invite["type"], invite["user"]["username"]) == (ActivityActionType.JOIN, "mary")
    assert invite["activity"]["party"]["id"] == "party-1"
    args = {
        "type": ActivityActionType.JOIN,
        "user_id": invite["user"]["id"],
        "session_id": invite["activity"]["session_id"],
        "channel_id": invite["channel_id"],
        "message_id": invite["message_id"],
    }
    assert await guest.call("ACCEPT_ACTIVITY_INVITE", args) is None
    assert await guest.next("ACTIVITY_JOIN") == {"secret": "come-in", "application_id": str(two_machines.game.id)}
    assert host.events == []


async def test_a_join_request_is_accepted_with_an_invite_or_ignored(world: World, two_machines: TwoMachines) -> None:
    host, guest = await connect_host_and_guest(two_machines)
    await host.call("SET_ACTIVITY", {"activity": JOINABLE_ACTIVITY})
    account = two_machines.zoe_machine.agent.account
    assert await account.wait_until(
        lambda: account.state.find_activity(str(two_machines.mary.id), str(two_machines.game.id)), 10
    )
    join_request = {
        "application_id": str(two_machines.game.id),
        "activity": {
            "type": ActivityActionType.JOIN_REQUEST,
            "session_id": account.state.session_id,
            "party_id": "party-1",
        },
    }

    (await two_machines.zoe.post(f"/users/{two_machines.mary.id}/messages", json=join_request)).ok()
    request = await host.next("ACTIVITY_JOIN_REQUEST")
    assert (request["type"], request["user"]["username"]) == (ActivityActionType.JOIN_REQUEST, "zoe")
    assert await host.call("SEND_ACTIVITY_JOIN_INVITE", {"user_id": str(two_machines.zoe.id), "pid": 0}) is None
    assert (await guest.next("ACTIVITY_INVITE"))["activity"]["party"]["id"] == "party-1"
    assert (await host.call_error("CLOSE_ACTIVITY_REQUEST", {"user_id": str(two_machines.zoe.id)}))[
        0
    ] == RpcErrorCode.INVALID_ACTIVITY_JOIN_REQUEST

    (await two_machines.zoe.post(f"/users/{two_machines.mary.id}/messages", json=join_request)).ok()
    await host.next("ACTIVITY_JOIN_REQUEST")
    assert await host.call("CLOSE_ACTIVITY_JOIN_REQUEST", {"user_id": str(two_machines.zoe.id)}) is None


async def test_invalid_invites_are_rejected(world: World, two_machines: TwoMachines) -> None:
    host = await connect_and_subscribe(two_machines.mary_machine, two_machines.game.id)
    stranger = await world.user("stranger")
    await host.call("SET_ACTIVITY", {"activity": JOINABLE_ACTIVITY})

    assert (
        await host.call_error("ACTIVITY_INVITE_USER", {"user_id": str(stranger.id), "type": ActivityActionType.JOIN})
    )[0] == RpcErrorCode.INVALID_USER
    await host.call(
        "SET_ACTIVITY", {"activity": {"party": {"id": "party-1", "size": [4, 4]}, "secrets": {"join": "in"}}}
    )
    assert (
        await host.call_error(
            "ACTIVITY_INVITE_USER", {"user_id": str(two_machines.zoe.id), "type": ActivityActionType.JOIN}
        )
    )[0] == RpcErrorCode.NO_ELIGIBLE_ACTIVITY


async def test_the_terminal_accepts_invites_and_sends_link_requests(two_machines: TwoMachines) -> None:
    host, guest = await connect_host_and_guest(two_machines)
    invite = await send_invite(two_machines, host, guest)
    output: list[str] = []
    terminal, context = Terminal(write_line=output.append), two_machines.zoe_machine.agent.context

    await terminal.run_command(context, "games", "")
    await terminal.run_command(context, "invites", "")
    await terminal.run_command(context, "accept", invite["message_id"])
    await terminal.run_command(context, "link", str(two_machines.game.id))
    await guest.subscribe("AUTHORIZE_REQUEST")
    await terminal.run_command(context, "link", str(two_machines.game.id))
    await terminal.run_command(context, "dance", "")

    assert output[:3] == [
        f"  Puddle ({two_machines.game.id})",
        f"  {invite['message_id']}: mary invites you to Puddle",
        "  The game is joining.",
    ]
    assert output[3:5] == [
        "  This game cannot be linked now. Type `games` to see which games can.",
        "  The game will ask for access in a moment.",
    ]
    assert (await guest.next("ACTIVITY_JOIN"))["secret"] == "come-in"
    await guest.next("AUTHORIZE_REQUEST")
    assert context.invites == {}
