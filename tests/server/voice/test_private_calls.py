"""Calls in direct messages and groups: events, rings, the message that tells of it, and real voice sockets and UDP."""

from collections.abc import AsyncIterator, Callable, Coroutine
from typing import Any

import msgspec
import pytest

from hubbub.protocol.ids import UserId
from hubbub.protocol.resources.private_calls import RING_TIMEOUT_SECONDS
from hubbub.server.core.config import Config
from hubbub.server.resources import accounts, private_calls
from hubbub.server.resources.voice_states import tickets
from tests.game import SDK_INTENTS, game
from tests.server.voice.caller import Caller, opus
from tests.server.voice.conftest import ENDPOINT
from tests.server.voice.private_caller import PrivateCaller, direct
from tests.server.voice.test_encrypted import Member
from tests.server.voice.test_tickets import cut, lost, refused
from tests.world import Actor, Guild, World, befriend

Phone = Callable[..., Coroutine[Any, Any, PrivateCaller]]
EVENTS = ("CALL_CREATE", "CALL_UPDATE", "CALL_DELETE", "VOICE_STATE_UPDATE", "VOICE_SERVER_UPDATE")


@pytest.fixture
async def phone(world: World) -> AsyncIterator[Phone]:
    """Makes callers: new people, or the one given, in a session of their own."""
    made: list[PrivateCaller] = []

    async def make(person: Actor | None = None) -> PrivateCaller:
        caller = PrivateCaller(world, await (person or await world.user()).connect())
        made.append(caller)
        return caller

    yield make
    for caller in made:
        await caller.close()


@pytest.fixture
async def friends(phone: Phone) -> tuple[PrivateCaller, PrivateCaller, int]:
    """Two who may call each other, and their channel."""
    alice, bob = await phone(), await phone()
    await befriend(alice.actor, bob.actor)
    return alice, bob, await direct(alice.actor, bob.actor)


@pytest.fixture
async def group(world: World, phone: Phone) -> tuple[list[PrivateCaller], int]:
    """Three people in a group."""
    people = [await phone() for _ in range(3)]
    await world.guild(*(each.actor for each in people))
    others = [str(each.actor.id) for each in people[1:]]
    made = (await people[0].actor.post("/users/@me/channels", json={"recipients": others})).ok()
    return people, int(made["id"])


async def connect(caller: Caller) -> None:
    """The rest of the way, once there is a ticket."""
    await caller.open()
    await caller.identify()
    await caller.discover()
    await caller.select()
    await caller.say(5, {"speaking": 1, "delay": 0, "ssrc": caller.ready["ssrc"]})


async def gone(listener: PrivateCaller, caller: PrivateCaller) -> Any:
    """Wait until somebody hears that another is in a call no more."""
    own = str(caller.actor.id)
    return await listener.session.next(
        "VOICE_STATE_UPDATE", lambda told: (told["user_id"], told["channel_id"]) == (own, None)
    )


async def test_two_friends_call_each_other(friends: Any) -> None:
    alice, bob, channel = friends
    assert (await bob.actor.get(f"/channels/{channel}/call")).ok() == {"ringable": True}

    await alice.ask(channel)
    said = await bob.session.next("MESSAGE_CREATE")
    assert (said["type"], said["call"]) == (3, {"participants": [str(alice.actor.id)]})
    begun = await bob.session.next("CALL_CREATE")
    assert begun == {
        "channel_id": str(channel),
        "message_id": said["id"],
        "region": "local",
        "ringing": [],
        "voice_states": [],
    }
    state = await bob.session.next("VOICE_STATE_UPDATE")
    assert (state["guild_id"], state["channel_id"], state["user_id"]) == (None, str(channel), str(alice.actor.id))
    assert "member" not in state
    await alice.take_ticket()
    assert alice.state == state
    assert alice.server == {
        "guild_id": None,
        "channel_id": str(channel),
        "endpoint": ENDPOINT,
        "token": alice.server["token"],
    }

    (await alice.actor.post(f"/channels/{channel}/call/ring", json={"recipients": None})).ok()
    ringing = await bob.session.next("CALL_UPDATE")
    assert ringing == {
        "channel_id": str(channel),
        "message_id": said["id"],
        "region": "local",
        "ringing": [str(bob.actor.id)],
    }
    await connect(alice)
    await bob.enter(channel)
    # Who answers is rung no longer, and took part.
    assert (await alice.session.next("CALL_UPDATE"))["ringing"] == [str(bob.actor.id)]
    changed = await alice.session.next("MESSAGE_UPDATE")
    assert changed["call"] == {"participants": [str(alice.actor.id), str(bob.actor.id)]}
    assert changed["edited_timestamp"] is None
    assert (await alice.session.next("CALL_UPDATE"))["ringing"] == []
    bob.send(opus("hello"))
    assert await alice.hear() == (bob.ready["ssrc"], opus("hello"))

    await alice.ask(None)
    await gone(bob, alice)
    assert await alice.closed() == 4014
    await bob.session.none_of("CALL_DELETE")
    await bob.ask(None)
    await gone(alice, bob)
    assert await alice.session.next("CALL_DELETE") == {"channel_id": str(channel)}
    ended = await alice.session.next("MESSAGE_UPDATE")
    assert ended["call"]["participants"] == [str(alice.actor.id), str(bob.actor.id)]
    assert ended["call"]["ended_timestamp"].startswith("2026-11-18T")
    (kept,) = (await bob.actor.get(f"/channels/{channel}/messages")).ok()
    assert kept["call"] == ended["call"]
    # The next one is another call.
    await bob.ask(channel)
    assert (await alice.session.next("CALL_CREATE"))["message_id"] != said["id"]


async def test_the_call_is_end_to_end_encrypted(friends: Any) -> None:
    alice, bob, channel = friends
    members = [Member(caller, channel) for caller in (alice, bob)]
    for member in members:
        await member.enter()
    for one, other in (members, members[::-1]):
        await one.secured(*members)
        await one.hears(other, b"secret")
    for member in members:
        await member.stop()


async def test_a_hidden_channel_comes_back_with_a_call(friends: Any) -> None:
    alice, bob, channel = friends
    await alice.ask(channel)
    assert (await bob.session.next("CHANNEL_CREATE"))["id"] == str(channel)
    await bob.session.next("CALL_CREATE")


async def test_a_group_calls(group: Any) -> None:
    (alice, bob, carol), channel = group
    for caller in (alice, bob):
        await caller.enter(channel)
    ring = f"/channels/{channel}/call/ring"
    (await alice.actor.post(ring)).ok()
    assert (await carol.session.next("CALL_UPDATE"))["ringing"] == [str(carol.actor.id)]
    # Again: they are rung for longer, and nothing is said.
    (await alice.actor.post(ring, json={"recipients": [str(carol.actor.id), str(bob.actor.id)]})).ok()
    await carol.session.none_of("CALL_UPDATE")
    (await carol.actor.post(f"/channels/{channel}/call/stop-ringing")).ok()
    assert (await alice.session.next("CALL_UPDATE", lambda told: not told["ringing"]))["ringing"] == []
    # Declining what does not ring is no mistake.
    (await carol.actor.post(f"/channels/{channel}/call/stop-ringing", json={})).ok()
    (await alice.actor.post(ring, json={"recipients": [str(carol.actor.id)]})).ok()
    (await bob.actor.post(f"/channels/{channel}/call/stop-ringing", json={"recipients": [str(carol.actor.id)]})).ok()
    rings = [(await carol.session.next("CALL_UPDATE"))["ringing"] for _ in range(3)]
    assert rings == [[], [str(carol.actor.id)], []]
    alice.send(opus("hello"))
    assert await bob.hear() == (alice.ready["ssrc"], opus("hello"))


async def test_who_comes_to_a_group_learns_of_its_call_and_who_goes_leaves_it(world: World, group: Any) -> None:
    (alice, bob, carol), channel = group
    await alice.enter(channel)
    await bob.get_ticket(channel)
    dave = await world.user()
    await world.guild(alice.actor, dave)
    session = await dave.connect()
    (await alice.actor.put(f"/channels/{channel}/recipients/{dave.id}")).ok()
    told = await session.next("CALL_CREATE")
    assert [each["user_id"] for each in told["voice_states"]] == [str(alice.actor.id), str(bob.actor.id)]
    (await alice.actor.delete(f"/channels/{channel}/recipients/{alice.actor.id}")).ok()
    for listener in (alice, carol):
        await gone(listener, alice)
    assert await alice.closed() == 4014
    await alice.session.next("CHANNEL_DELETE")
    (await bob.actor.delete(f"/channels/{channel}")).ok()
    await carol.session.next("CALL_DELETE")


async def test_opcode_13_asks_of_a_call(world: World, friends: Any, phone: Phone) -> None:
    alice, bob, channel = friends
    await bob.session.send(13, {"channel_id": str(channel)})
    await bob.session.obeyed()
    await bob.session.none_of("CALL_CREATE")
    await alice.get_ticket(channel)
    late, stranger = await phone(bob.actor), await phone()
    for caller in (late, stranger):
        await caller.session.send(13, {"channel_id": str(channel)})
        await caller.session.wait_processed()
    told = await late.session.next("CALL_CREATE")
    assert told["voice_states"] == [alice.state]
    await stranger.session.none_of("CALL_CREATE")
    # Who can take it is told without asking.
    session = await bob.actor.connect(capabilities=1 << 12)
    await session.settle()
    assert [frame["d"] for frame in session.seen if frame["t"] == "CALL_CREATE"] == [told]
    assert "calls" not in session.ready
    await late.session.send(13, None)
    assert await late.session.wait_closed() == 4002


async def test_a_ring_that_nobody_answers_ends(world: World, friends: Any) -> None:
    alice, bob, channel = friends
    await alice.get_ticket(channel)
    (await alice.actor.post(f"/channels/{channel}/call/ring")).ok()
    await bob.session.next("CALL_UPDATE")
    await world.clock.run_for(RING_TIMEOUT_SECONDS * 1000 - 1)
    await bob.session.none_of("CALL_UPDATE")
    await world.clock.run_for(1)
    assert (await bob.session.next("CALL_UPDATE"))["ringing"] == []
    # The call itself goes on, until who began it hangs up.
    (await alice.actor.post(f"/channels/{channel}/call/ring")).ok()
    await bob.session.next("CALL_UPDATE")
    await alice.ask(None)
    await bob.session.next("CALL_DELETE")
    await world.clock.run_for(RING_TIMEOUT_SECONDS * 1000)
    await bob.session.none_of("CALL_UPDATE")


async def test_a_person_is_in_one_channel_in_all(world: World, guild: Guild, friends: Any) -> None:
    alice, bob, channel = friends
    people = await world.guild(alice.actor)
    lounge = await people.channel("Lounge", type=2)
    await alice.session.send(4, {"guild_id": str(people.id), "channel_id": str(lounge)})
    joined = await alice.session.next("VOICE_STATE_UPDATE")
    assert joined["channel_id"] == str(lounge)
    await alice.ask(channel)
    left = await alice.session.next("VOICE_STATE_UPDATE")
    assert (left["guild_id"], left["channel_id"]) == (str(people.id), None)
    await bob.session.next("CALL_CREATE")
    await alice.session.send(4, {"guild_id": str(people.id), "channel_id": str(lounge)})
    await gone(bob, alice)
    await bob.session.next("CALL_DELETE")
    # Neither guild nor channel: wherever they are, they leave.
    await alice.session.next("VOICE_STATE_UPDATE", lambda told: told["channel_id"] == str(lounge))
    await alice.ask(None)
    left = await alice.session.next("VOICE_STATE_UPDATE")
    assert (left["guild_id"], left["channel_id"]) == (str(people.id), None)
    # And from one call to the other.
    carol = await world.user()
    await befriend(alice.actor, carol)
    await alice.get_ticket(channel)
    await alice.get_ticket(await direct(alice.actor, carol))
    await gone(bob, alice)
    await bob.session.next("CALL_DELETE")


@pytest.mark.parametrize("who", ["no friend", "blocked", "not in it", "guild channel", "unknown", "a bot's"])
async def test_whom_one_may_not_call(world: World, guild: Guild, phone: Phone, who: str) -> None:
    alice, bob = await phone(), await phone()
    channel = await direct(alice.actor, bob.actor)
    if who == "blocked":
        await befriend(alice.actor, bob.actor)
        (await bob.actor.put(f"/users/@me/relationships/{alice.actor.id}", json={"type": 2})).ok()
    elif who == "not in it":
        carol = await world.user()
        await befriend(carol, bob.actor)
        channel = await direct(carol, bob.actor)
    elif who == "guild channel":
        channel = guild.channels["Lounge"]
    elif who == "unknown":
        channel = 4711
    elif who == "a bot's":
        channel = await direct(alice.actor, await world.bot(await world.guild(alice.actor)))
    await alice.ask(channel)
    await alice.session.wait_processed()
    for caller in (alice, bob):
        await caller.session.none_of(*EVENTS, "MESSAGE_CREATE")
    answer = await alice.actor.get(f"/channels/{channel}/call")
    if who == "unknown":
        answer.refused(404, 10003)
    elif who in ("not in it", "guild channel"):
        answer.refused(403, 50001)
    else:
        assert answer.ok() == {"ringable": False}


async def test_bots_and_games_have_no_private_calls(world: World, friends: Any) -> None:
    alice, _, channel = friends
    bot = await world.bot(await world.guild(alice.actor))
    session = await bot.connect()
    conversation = await direct(bot, alice.actor)
    await session.send(4, {"guild_id": None, "channel_id": str(conversation), "self_mute": False, "self_deaf": False})
    await session.wait_processed()
    for path, method in (("", "GET"), ("/ring", "POST"), ("/stop-ringing", "POST")):
        (await bot.request(method, f"/channels/{conversation}/call{path}")).refused(403, 20001)
    played = await game(world)
    player = await world.bearer(alice.actor, played.id, "sdk.social_layer voice")
    playing = await player.connect(SDK_INTENTS)
    await playing.send(4, {"guild_id": None, "channel_id": str(channel), "self_mute": False, "self_deaf": False})
    await playing.wait_processed()
    await alice.session.none_of(*EVENTS)
    # What the person's own client does a game may hear, which may read their conversations.
    await alice.get_ticket(channel)
    assert (await playing.next("CALL_CREATE"))["channel_id"] == str(channel)
    await playing.next("VOICE_STATE_UPDATE")
    await playing.none_of("VOICE_SERVER_UPDATE")
    await playing.send(13, {"channel_id": str(channel)})
    await playing.next("CALL_CREATE")
    await session.send(13, {"channel_id": str(conversation)})
    assert await session.wait_closed() == 4001


async def test_refusals_of_rings(world: World, guild: Guild, friends: Any, group: Any) -> None:
    alice, bob, channel = friends
    ring, stop = f"/channels/{channel}/call/ring", f"/channels/{channel}/call/stop-ringing"
    # Nobody is in a call, then the wrong one is.
    (await alice.actor.post(ring)).refused(404, 10065)
    await alice.get_ticket(channel)
    (await bob.actor.post(ring)).refused(404, 10065)
    (await bob.actor.post(stop, json={"recipients": [str(alice.actor.id)]})).refused(404, 10065)
    for named in ([str(alice.actor.id)], ["4711"]):
        (await alice.actor.post(ring, json={"recipients": named})).refused(400, 50033)
    for path in (ring, stop):
        assert (await alice.actor.post(path, json={"recipients": ["x"]})).errors("recipients.0") == [
            "NUMBER_TYPE_COERCE"
        ]
        assert (await alice.actor.post(path, json={"recipients": "all"})).errors("recipients")
        assert (await alice.actor.post(path, json={"recipients": [str(each) for each in range(1, 12)]})).errors(
            "recipients"
        )
        (await (await world.user()).post(path)).refused(403, 50001)
        (await alice.actor.post(path.replace(str(channel), "4711"))).refused(404, 10003)
        (await guild.owner.post(path.replace(str(channel), str(guild.channels["Lounge"])))).refused(400, 50024)
    (await guild.owner.get(f"/channels/{guild.channels['Lounge']}/call")).refused(400, 50024)
    # They are friends no more, while the call goes on.
    (await bob.actor.delete(f"/users/@me/relationships/{alice.actor.id}")).ok()
    (await alice.actor.post(ring)).refused(403, 50007)

    # In a group nobody learns who blocks them: they are not rung.
    (one, two, _), place = group
    (await two.actor.put(f"/users/@me/relationships/{one.actor.id}", json={"type": 2})).ok()
    await one.get_ticket(place)
    (await one.actor.post(f"/channels/{place}/call/ring", json={"recipients": [str(two.actor.id)]})).ok()
    await one.session.none_of("CALL_UPDATE")


async def test_a_block_ends_the_call_of_two(friends: Any) -> None:
    alice, bob, channel = friends
    for caller in (alice, bob):
        await caller.enter(channel)
    (await bob.actor.put(f"/users/@me/relationships/{alice.actor.id}", json={"type": 2})).ok()
    for caller in (alice, bob):
        await caller.session.next("CALL_DELETE")
        assert await caller.closed() == 4022


async def test_another_session_takes_over(friends: Any, phone: Phone) -> None:
    alice, bob, channel = friends
    await alice.enter(channel)
    second = await phone(alice.actor)
    await second.enter(channel)
    assert await alice.closed() == 4014
    await alice.session.none_of("VOICE_SERVER_UPDATE")
    await bob.session.next("CALL_CREATE")
    await bob.session.none_of("CALL_CREATE", "CALL_DELETE", "MESSAGE_CREATE")


@pytest.mark.parametrize("how", ["hangs up", "session", "cut", "banned"])
async def test_who_goes_away_leaves_the_call(world: World, friends: Any, how: str) -> None:
    alice, bob, channel = friends
    await alice.enter(channel)
    if how == "hangs up":
        await alice.socket.close(code=1000)
    elif how == "session":
        await alice.session.close()
    elif how == "banned":
        await world.write(lambda call: accounts.ban(call, UserId(alice.actor.id)))
    else:
        cut(alice)
        await lost(world, alice)
        await world.clock.run_for(10_000)
    await gone(bob, alice)
    await bob.session.next("CALL_DELETE")
    if how in ("session", "banned"):
        assert await alice.closed() == 4014


async def test_a_server_that_is_gone_sends_its_callers_elsewhere(world: World, friends: Any) -> None:
    alice, _, channel = friends
    await alice.enter(channel)
    await world.write(lambda call: tickets.withdraw(call, ENDPOINT))
    server = await alice.session.next("VOICE_SERVER_UPDATE")
    assert (server["guild_id"], server["channel_id"]) == (None, str(channel))
    assert await alice.closed() == 4014


async def test_a_platform_that_starts_again_ends_what_was_going_on(world: World, friends: Any) -> None:
    alice, bob, channel = friends
    await alice.get_ticket(channel)
    await world.write(private_calls.reset)
    (said,) = (await bob.actor.get(f"/channels/{channel}/messages")).ok()
    assert said["call"]["ended_timestamp"]


class TestRefusedAgainAndAgain:
    """A client that tries again at once, for ever, is slowed down here too."""

    @pytest.fixture
    def voice_config(self, voice_config: Config) -> Config:
        return msgspec.structs.replace(voice_config, rate_limits="real")

    async def test_joins_wait(self, world: World, friends: Any) -> None:
        alice, bob, channel = friends
        for _ in range(2):
            await alice.get_ticket(channel)
            await refused(alice, 4017, max_dave_protocol_version=0)
            await gone(alice, alice)
            await bob.session.next("CALL_DELETE")
        await alice.ask(channel)
        await alice.session.obeyed()
        await alice.session.none_of("VOICE_STATE_UPDATE", "VOICE_SERVER_UPDATE")
        await world.clock.run_for(1_000)
        await alice.take_ticket()
        assert (await bob.session.next("CALL_CREATE"))["channel_id"] == str(channel)
        await refused(alice, 4017, max_dave_protocol_version=0)
        await bob.session.next("CALL_DELETE")
        # A wish that waits is taken back by leaving.
        await alice.ask(channel)
        await alice.ask(None)
        await alice.session.obeyed()
        await world.clock.run_for(8_000)
        await bob.session.none_of("CALL_CREATE")
