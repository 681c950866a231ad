"""Events that the agent sends to programs, and activity invites through the agent (spec/rpc.md#9)."""

from typing import Any

import pytest

from hubbub.agent.terminal import Terminal
from tests import oauth
from tests.agent.test_commands import AgentScene, town
from tests.machine import Machine, NewMachine, Program
from tests.sdk.players import game, player
from tests.world import WAIT_TIMEOUT_SECONDS, Actor, World, befriend

pytestmark = pytest.mark.parametrize("store_config", ["sqlite"], indirect=True)

__all__ = ["town"]

PARTY = {"party": {"id": "party-1", "size": [1, 4]}, "secrets": {"join": "come-in"}}


async def test_user_and_relationship_changes_are_published(town: AgentScene) -> None:
    program = await town.program("relationships.read guilds.members.read")
    await program.subscribe("CURRENT_USER_UPDATE")
    await program.subscribe("RELATIONSHIP_UPDATE")
    await program.subscribe("CURRENT_GUILD_MEMBER_UPDATE", guild_id=town.guild.id)

    (await town.mary.patch("/users/@me", json={"global_name": "Mary the Great"})).ok()
    assert (await program.next("CURRENT_USER_UPDATE"))["global_name"] == "Mary the Great"
    (await town.mary.patch(f"/guilds/{town.guild.id}/members/@me", json={"nick": "M"})).ok()
    payload = await program.next("CURRENT_GUILD_MEMBER_UPDATE", lambda data: data["nick"])
    assert (payload["user_id"], payload["guild_id"], payload["nick"]) == (str(town.mary.id), str(town.guild.id), "M")
    session = await town.zoe.connect()
    payload = await program.next("RELATIONSHIP_UPDATE", lambda data: data["presence"]["status"] == "online")
    assert (payload["type"], payload["user"]["id"]) == (1, str(town.zoe.id))
    await session.send(3, {"status": "dnd", "since": None, "afk": False, "activities": [{"name": "Chess", "type": 0}]})
    payload = await program.next("RELATIONSHIP_UPDATE", lambda data: data["presence"]["status"] == "dnd")
    assert payload["presence"]["activity"]["name"] == "Chess"
    (await town.zoe.delete(f"/users/@me/relationships/{town.mary.id}")).ok()
    await program.next("RELATIONSHIP_UPDATE", lambda data: data["type"] == 0)


async def test_guild_and_channel_changes_are_published(town: AgentScene) -> None:
    program = await town.program("rpc")
    await program.subscribe("GUILD_STATUS", guild_id=town.guild.id)
    await program.subscribe("CHANNEL_CREATE")
    await program.subscribe("GUILD_CREATE")

    (await town.mary.patch(f"/guilds/{town.guild.id}", json={"name": "Old Town"})).ok()
    shown = {"id": str(town.guild.id), "name": "Old Town", "icon_url": None}
    assert await program.next("GUILD_STATUS") == {"guild": shown, "online": 0}
    made = await town.guild.channel("attic")
    assert await program.next("CHANNEL_CREATE") == {"id": str(made), "name": "attic", "type": 0}
    other = (await town.mary.post("/guilds", json={"name": "Elsewhere"})).ok()["id"]
    assert await program.next("GUILD_CREATE") == {"id": other, "name": "Elsewhere"}


async def test_message_events_need_read_access(town: AgentScene) -> None:
    program = await town.program("rpc messages.read rpc.notifications.read")
    for event in ("MESSAGE_CREATE", "MESSAGE_UPDATE", "MESSAGE_DELETE"):
        await program.subscribe(event, channel_id=town.guild.general)
    await program.subscribe("NOTIFICATION_CREATE")

    posted = await town.guild.send_message(town.zoe, f"hello <@{town.mary.id}>")
    payload = await program.next("MESSAGE_CREATE")
    assert (payload["channel_id"], payload["message"]["content"]) == (
        str(town.guild.general),
        f"hello <@{town.mary.id}>",
    )
    assert payload["message"]["author"]["username"] == "zoe"
    noted = await program.next("NOTIFICATION_CREATE")
    assert (noted["title"], noted["body"]) == ("zoe (#general)", f"hello <@{town.mary.id}>")
    path = f"/channels/{town.guild.general}/messages/{posted['id']}"
    (await town.zoe.patch(path, json={"content": "hi"})).ok()
    assert (await program.next("MESSAGE_UPDATE"))["message"]["content"] == "hi"
    (await town.zoe.delete(path)).ok()
    assert (await program.next("MESSAGE_DELETE"))["message"] == {"id": posted["id"]}
    await town.guild.send_message(town.zoe, "without a mention")
    direct = (await town.zoe.post("/users/@me/channels", json={"recipients": [str(town.mary.id)]})).ok()["id"]
    (await town.zoe.post(f"/channels/{direct}/messages", json={"content": "psst"})).ok()
    assert (await program.next("NOTIFICATION_CREATE"))["body"] == "psst"


async def test_a_game_showing_chat_suppresses_notifications(world: World, new_machine: NewMachine) -> None:
    puddle = await game(world)
    mary = await player(world, puddle, "mary")
    zoe = await world.user("zoe")
    await befriend(mary.user, zoe)
    machine = await new_machine(mary.user)
    program = await machine.connect_authenticated(puddle.id, "rpc rpc.notifications.read")
    await program.subscribe("NOTIFICATION_CREATE")
    account = machine.agent.account
    direct = (await zoe.post("/users/@me/channels", json={"recipients": [str(mary.id)]})).ok()["id"]

    contents: list[str] = []
    account.listeners.append(
        lambda event, data: contents.append(data["content"]) if event == "MESSAGE_CREATE" else None
    )

    async def send_message(text: str) -> None:
        (await zoe.post(f"/channels/{direct}/messages", json={"content": text})).ok()
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
    await send_message("seen there, too")
    mary.client.set_showing_chat(False)
    assert await account.wait_until(lambda: not account.state.is_chat_visible(), WAIT_TIMEOUT_SECONDS)
    await send_message("after")
    assert (await program.next("NOTIFICATION_CREATE"))["body"] == "after"

    # The suppression ends with the game.
    mary.client.set_showing_chat(True)
    assert await account.wait_until(account.state.is_chat_visible, WAIT_TIMEOUT_SECONDS)
    await mary.client.close()
    assert await account.wait_until(lambda: not account.state.is_chat_visible(), WAIT_TIMEOUT_SECONDS)
    await send_message("alone")
    assert (await program.next("NOTIFICATION_CREATE"))["body"] == "alone"


async def test_voice_channel_joins_and_leaves_are_published(town: AgentScene) -> None:
    program = await town.program("rpc.voice.read")
    for event in ("VOICE_STATE_CREATE", "VOICE_STATE_UPDATE", "VOICE_STATE_DELETE"):
        await program.subscribe(event, channel_id=town.lounge)
    session = await town.zoe.connect()
    state = {"guild_id": str(town.guild.id), "channel_id": str(town.lounge), "self_mute": False, "self_deaf": False}

    await session.send(4, state)
    payload = await program.next("VOICE_STATE_CREATE")
    assert (payload["user"]["username"], payload["nick"], payload["volume"], payload["mute"]) == (
        "zoe",
        "zoe",
        100,
        False,
    )
    await session.send(4, state | {"self_mute": True})
    assert (await program.next("VOICE_STATE_UPDATE"))["voice_state"]["self_mute"] is True
    await session.send(4, state | {"channel_id": None})
    assert (await program.next("VOICE_STATE_DELETE"))["user"]["id"] == str(town.zoe.id)


async def test_a_new_entitlement_is_published(town: AgentScene) -> None:
    program, game = await town.program(), town.game
    await program.subscribe("ENTITLEMENT_CREATE")
    await program.subscribe("ENTITLEMENT_DELETE")
    made = {"type": 2, "name": "Boots", "price": 100, "published": True}
    sku = (await game.owner.post(f"/applications/{game.id}/skus", json=made)).ok()["id"]

    bought = (await town.mary.post("/users/@me/purchases", json={"sku_id": sku})).ok()

    assert bought
    assert (await program.next("ENTITLEMENT_CREATE"))["entitlement"]["sku_id"] == sku


# Activity invites


class TwoMachines:
    """Mary and Zoe, friends, each with a machine that runs the same game."""

    def __init__(self, mary: Actor, zoe: Actor, game: oauth.Client, one: Machine, other: Machine) -> None:
        self.mary, self.zoe, self.game = mary, zoe, game
        self.one, self.other = one, other


@pytest.fixture
async def two(world: World, new_machine: NewMachine) -> TwoMachines:
    """The initial state of most tests."""
    mary, zoe = await world.user("mary"), await world.user("zoe")
    await befriend(mary, zoe)
    game = await oauth.create_application(world, name="Puddle")
    return TwoMachines(mary, zoe, game, await new_machine(mary), await new_machine(zoe))


async def listening(machine: Machine, application_id: int) -> Program:
    program = await machine.connect_program(application_id)
    for event in ("ACTIVITY_JOIN", "ACTIVITY_INVITE", "ACTIVITY_JOIN_REQUEST"):
        await program.subscribe(event)
    return program


async def invited(two: TwoMachines, host: Program, guest: Program) -> Any:
    await host.call("SET_ACTIVITY", {"activity": PARTY})
    args = {"user_id": str(two.zoe.id), "type": 1, "content": "come and play", "pid": 0}
    assert await host.call("ACTIVITY_INVITE_USER", args) is None
    return await guest.next("ACTIVITY_INVITE")


async def test_an_invite_is_sent_received_and_accepted(two: TwoMachines) -> None:
    host, guest = await listening(two.one, two.game.id), await listening(two.other, two.game.id)

    invite = await invited(two, host, guest)

    assert (invite["type"], invite["user"]["username"]) == (1, "mary")
    assert invite["activity"]["party"]["id"] == "party-1"
    args = {
        "type": 1,
        "user_id": invite["user"]["id"],
        "session_id": invite["activity"]["session_id"],
        "channel_id": invite["channel_id"],
        "message_id": invite["message_id"],
    }
    assert await guest.call("ACCEPT_ACTIVITY_INVITE", args) is None
    assert await guest.next("ACTIVITY_JOIN") == {"secret": "come-in", "application_id": str(two.game.id)}
    assert host.events == []


async def test_a_join_request_is_accepted_with_an_invite_or_ignored(world: World, two: TwoMachines) -> None:
    host, guest = await listening(two.one, two.game.id), await listening(two.other, two.game.id)
    await host.call("SET_ACTIVITY", {"activity": PARTY})
    account = two.other.agent.account
    assert await account.wait_until(lambda: account.state.find_activity(str(two.mary.id), str(two.game.id)), 10)
    wish = {
        "application_id": str(two.game.id),
        "activity": {"type": 5, "session_id": account.state.session_id, "party_id": "party-1"},
    }

    (await two.zoe.post(f"/users/{two.mary.id}/messages", json=wish)).ok()
    request = await host.next("ACTIVITY_JOIN_REQUEST")
    assert (request["type"], request["user"]["username"]) == (5, "zoe")
    assert await host.call("SEND_ACTIVITY_JOIN_INVITE", {"user_id": str(two.zoe.id), "pid": 0}) is None
    assert (await guest.next("ACTIVITY_INVITE"))["activity"]["party"]["id"] == "party-1"
    assert (await host.call_error("CLOSE_ACTIVITY_REQUEST", {"user_id": str(two.zoe.id)}))[0] == 4012

    (await two.zoe.post(f"/users/{two.mary.id}/messages", json=wish)).ok()
    await host.next("ACTIVITY_JOIN_REQUEST")
    assert await host.call("CLOSE_ACTIVITY_JOIN_REQUEST", {"user_id": str(two.zoe.id)}) is None


async def test_invalid_invites_are_rejected(world: World, two: TwoMachines) -> None:
    host = await listening(two.one, two.game.id)
    stranger = await world.user("stranger")
    await host.call("SET_ACTIVITY", {"activity": PARTY})

    assert (await host.call_error("ACTIVITY_INVITE_USER", {"user_id": str(stranger.id), "type": 1}))[0] == 4010
    await host.call(
        "SET_ACTIVITY", {"activity": {"party": {"id": "party-1", "size": [4, 4]}, "secrets": {"join": "in"}}}
    )
    assert (await host.call_error("ACTIVITY_INVITE_USER", {"user_id": str(two.zoe.id), "type": 1}))[0] == 5006


async def test_invites_and_link_requests_can_be_accepted_on_the_terminal(two: TwoMachines) -> None:
    host, guest = await listening(two.one, two.game.id), await listening(two.other, two.game.id)
    invite = await invited(two, host, guest)
    output: list[str] = []
    terminal, desk = Terminal(write_line=output.append), two.other.agent.context

    await terminal.run_command(desk, "games", "")
    await terminal.run_command(desk, "invites", "")
    await terminal.run_command(desk, "accept", invite["message_id"])
    await terminal.run_command(desk, "link", str(two.game.id))
    await guest.subscribe("AUTHORIZE_REQUEST")
    await terminal.run_command(desk, "link", str(two.game.id))
    await terminal.run_command(desk, "dance", "")

    assert output[:3] == [
        f"  Puddle ({two.game.id})",
        f"  {invite['message_id']}: mary invites you to Puddle",
        "  The game is joining.",
    ]
    assert output[3:5] == [
        "  This game cannot be linked now. Type `games` to see which games can.",
        "  The game will ask for access in a moment.",
    ]
    assert (await guest.next("ACTIVITY_JOIN"))["secret"] == "come-in"
    await guest.next("AUTHORIZE_REQUEST")
    assert desk.invites == {}
