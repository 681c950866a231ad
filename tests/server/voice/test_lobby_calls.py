"""Calls of lobbies: the main gateway's side, real voice sockets and UDP, end-to-end encrypted."""

import asyncio
from collections.abc import AsyncIterator, Callable, Coroutine
from typing import Any

import msgspec
import pytest

from hubbub.protocol.ids import UserId
from hubbub.protocol.resources.lobby_calls import LOBBY_CALL_PARTICIPANTS_MAX
from hubbub.server.core.call import Call as PlatformCall
from hubbub.server.core.config import Config
from hubbub.server.resources import accounts
from hubbub.server.resources.voice_states import CallKind, calls, tickets
from tests.game import Game, Player, game
from tests.server.voice.caller import opus
from tests.server.voice.conftest import ENDPOINT
from tests.server.voice.lobby_caller import LobbyCaller, lobby_of
from tests.server.voice.test_encrypted import Member
from tests.server.voice.test_resume import last_seq, resume_payload
from tests.server.voice.test_tickets import cut, lost, refused
from tests.world import World

Play = Callable[..., Coroutine[Any, Any, LobbyCaller]]
STATE, SERVER = "LOBBY_VOICE_STATE_UPDATE", "LOBBY_VOICE_SERVER_UPDATE"


@pytest.fixture
async def played(world: World) -> Game:
    """A game."""
    return await game(world)


@pytest.fixture
async def play(world: World, played: Game) -> AsyncIterator[Play]:
    """Makes callers: new players of the game, or the one given, in a session of their own."""
    made: list[LobbyCaller] = []

    async def make(player: Player | None = None) -> LobbyCaller:
        caller = LobbyCaller(world, await (player or await played.player()).connect_sdk())
        made.append(caller)
        return caller

    yield make
    for caller in made:
        await caller.close()


def who(caller: LobbyCaller) -> Player:
    """The player."""
    assert isinstance(caller.actor, Player)
    return caller.actor


async def gone(listener: LobbyCaller, caller: LobbyCaller) -> Any:
    """Wait until somebody hears that another is in a call no more."""
    own = str(caller.actor.id)
    return await listener.session.next(STATE, lambda told: (told["user_id"], told["channel_id"]) == (own, None))


async def shown(caller: LobbyCaller) -> list[Any]:
    """The lobbies of somebody as a fresh READY has them."""
    lobbies: list[Any] = (await who(caller).connect_sdk()).ready["lobbies"]
    return lobbies


async def test_players_of_a_lobby_hear_each_other(play: Play) -> None:
    alice, bob, listener = await play(), await play(), await play()
    lobby = await lobby_of(who(alice), who(bob), who(listener))

    await alice.ask(lobby)
    state = await listener.session.next(STATE)
    assert state == {
        "lobby_id": str(lobby),
        "channel_id": str(lobby),
        "user_id": str(alice.actor.id),
        "session_id": state["session_id"],
        "self_mute": False,
        "self_deaf": False,
        "self_video": False,
        "mute": False,
        "deaf": False,
        "suppress": False,
        "request_to_speak_timestamp": None,
    }
    await alice.take_ticket()
    assert alice.state == state
    assert alice.server == {"lobby_id": str(lobby), "endpoint": ENDPOINT, "token": alice.server["token"]}
    # Nobody resumes a gateway session by it.
    assert state["session_id"] != alice.session.ready["session_id"]
    (lobby_shown,) = await shown(listener)
    assert (lobby_shown["voice_states"], lobby_shown["region"]) == ([state], "local")

    await connect(alice)
    await bob.enter(lobby)
    alice.send(opus("hello"))
    assert await bob.hear() == (alice.ready["ssrc"], opus("hello"))
    # The server is told to those who connect alone.
    await listener.session.none_of(SERVER)

    await alice.ask()
    assert (await gone(listener, alice))["session_id"] == state["session_id"]
    assert await alice.closed() == 4014
    assert (await bob.next(13))["user_id"] == str(alice.actor.id)
    await bob.socket.close(code=1000)
    await gone(listener, bob)
    (lobby_shown,) = await shown(listener)
    assert (lobby_shown["voice_states"], lobby_shown["region"]) == ([], None)


async def connect(caller: LobbyCaller) -> None:
    """The rest of the way, once there is a ticket."""
    await caller.open()
    await caller.identify()
    await caller.discover()
    await caller.select()
    await caller.say(5, {"speaking": 1, "delay": 0, "ssrc": caller.ready["ssrc"]})


async def test_the_call_is_end_to_end_encrypted(play: Play) -> None:
    alice, bob, carol = [await play() for _ in range(3)]
    lobby = await lobby_of(who(alice), who(bob), who(carol))
    members = [Member(caller, lobby) for caller in (alice, bob, carol)]
    for member in members[:2]:
        await member.enter()
    for one, other in (members[:2], members[1::-1]):
        await one.secured(*members[:2])
        await one.hears(other, b"two of us")
    await members[2].enter()
    for member in members:
        await member.secured(*members)
    assert len({member.dave.voice_privacy_code for member in members}) == 1
    await members[2].hears(members[0], b"three")
    for member in members:
        await member.stop()


async def test_the_array_is_all_that_a_session_wants(play: Play) -> None:
    alice, bob = await play(), await play()
    first = await lobby_of(who(alice), who(bob))
    second = await lobby_of(who(alice), who(bob), secret="plugh")

    await alice.ask(first, second)
    told = [await bob.session.next(STATE) for _ in range(2)]
    assert [each["lobby_id"] for each in told] == [str(first), str(second)]
    assert {(await alice.session.next(SERVER))["lobby_id"] for _ in range(2)} == {str(first), str(second)}

    # Again: nothing changes, and nothing is said.
    await alice.ask(first, second)
    await alice.session.wait_processed()
    await bob.session.none_of(STATE)
    await alice.session.none_of(STATE, SERVER)

    # Muted in one of them, and the other is left.
    await alice.ask(second, self_mute=True)
    left, muted = [await bob.session.next(STATE) for _ in range(2)]
    assert (left["lobby_id"], left["channel_id"]) == (str(first), None)
    assert (muted["lobby_id"], muted["channel_id"], muted["self_mute"]) == (str(second), str(second), True)
    await alice.session.none_of(SERVER)

    await alice.ask()
    assert (await bob.session.next(STATE))["channel_id"] is None
    await alice.ask()
    await alice.session.wait_processed()
    await bob.session.none_of(STATE)


async def test_who_mutes_themselves_is_not_heard_and_who_deafens_hears_nothing(play: Play) -> None:
    alice, bob = await play(), await play()
    lobby = await lobby_of(who(alice), who(bob))
    for caller in (alice, bob):
        await caller.enter(lobby)
    await alice.ask(lobby, self_mute=True)
    await alice.session.next(STATE, lambda told: told["self_mute"])
    await settled(alice)
    alice.send(opus("hush"))
    await alice.settled()
    await alice.ask(lobby)
    await alice.session.next(STATE, lambda told: not told["self_mute"] and told["user_id"] == str(alice.actor.id))
    await settled(alice)
    alice.send(opus("loud"))
    assert await bob.hear() == (alice.ready["ssrc"], opus("loud"))


async def settled(caller: LobbyCaller) -> None:
    """Wait until the voice server has looked at everybody whose state changed."""
    voice = caller.world.app.voice
    assert voice is not None
    while voice.calls._tasks:
        await asyncio.wait(voice.calls._tasks)
        await asyncio.sleep(0)


@pytest.mark.parametrize("how", ["unknown", "not a member", "another game's", "full"])
async def test_who_may_not_come_is_told_so_alone(world: World, played: Game, play: Play, how: str) -> None:
    persons = [await world.user(), await world.user()]
    alice, bob = [await play(await played.player(person)) for person in persons]
    lobby = await lobby_of(who(bob))
    if how == "unknown":
        lobby = 4711
    elif how == "another game's":
        other = await game(world, "Other")
        await bob.session.next("LOBBY_CREATE")
        lobby = await lobby_of(await other.player(persons[0]))
    elif how == "full":
        await lobby_of(who(alice))

        def fill(call: PlatformCall) -> None:
            for number in range(LOBBY_CALL_PARTICIPANTS_MAX):
                state = {"self_mute": False, "self_deaf": False, "self_video": False}
                calls.put(call, calls.new_state(lobby, number, CallKind.LOBBY, "x", call.now, **state))

        await world.write(fill)
    await alice.ask(lobby)
    state = await alice.session.next(STATE)
    assert (state["lobby_id"], state["channel_id"], state["user_id"]) == (str(lobby), None, str(alice.actor.id))
    await alice.session.none_of(SERVER)
    await bob.session.none_of(STATE)


async def test_a_game_without_the_scope_is_not_answered(played: Game, play: Play) -> None:
    alice = await play()
    lobby = await lobby_of(who(alice))
    bare = await play(await played.player(scope="openid sdk.social_layer_presence"))
    await bare.ask(lobby)
    await bare.session.send(42, {"lobby_id": str(lobby)})
    await bare.session.wait_processed()
    await bare.session.none_of(STATE, SERVER)


@pytest.mark.parametrize(
    "payload",
    [
        None,
        {},
        [{}],
        [{"lobby_id": "x", "self_mute": False, "self_deaf": False}],
        [{"lobby_id": "1", "self_mute": "no"}],
        [{"lobby_id": str(number)} for number in range(1, 27)],
    ],
)
async def test_what_makes_no_sense_closes_the_connection(play: Play, payload: Any) -> None:
    alice = await play()
    await alice.session.send(17, payload)
    assert await alice.session.wait_closed() == 4002


@pytest.mark.parametrize(
    ("identify", "code"),
    [
        ({"token": "0" * 32}, 4004),
        ({"user_id": "1"}, 4004),
        ({"server_id": "1"}, 4011),
        ({"session_id": "0" * 32}, 4006),
        ({"channel_id": "1"}, 4006),
        ({"max_dave_protocol_version": 0}, 4017),
    ],
)
async def test_refusals_of_the_voice_socket(play: Play, identify: dict[str, Any], code: int) -> None:
    alice = await play()
    lobby = await lobby_of(who(alice))
    await alice.get_ticket(lobby)
    await refused(alice, code, **identify)
    if code == 4017:
        # voice.md 1: who is refused with a good ticket is not in the call.
        await gone(alice, alice)
    else:
        await alice.open()
        await alice.identify(channel_id=str(lobby))


async def test_who_leaves_or_is_removed_leaves_the_call(played: Game, play: Play) -> None:
    alice, bob, carol = [await play() for _ in range(3)]
    lobby = await lobby_of(who(alice), who(bob), who(carol))
    for caller in (alice, bob):
        await caller.enter(lobby)
    (await who(alice).delete(f"/lobbies/{lobby}/members/@me")).ok()
    for listener in (alice, carol):
        await gone(listener, alice)
    await alice.session.next("LOBBY_DELETE")
    assert await alice.closed() == 4014
    (await played.backend.delete(f"/lobbies/{lobby}/members/{bob.actor.id}")).ok()
    await gone(carol, bob)
    assert await bob.closed() == 4014
    (lobby_shown,) = await shown(carol)
    assert lobby_shown["voice_states"] == []


async def test_a_call_whose_lobby_is_deleted_ends_for_all(played: Game, play: Play) -> None:
    alice, bob = await play(), await play()
    lobby = await lobby_of(who(alice), who(bob))
    for caller in (alice, bob):
        await caller.enter(lobby)
    (await played.backend.delete(f"/lobbies/{lobby}")).ok()
    for caller in (alice, bob):
        await gone(caller, alice)
        await caller.session.next("LOBBY_DELETE")
        assert await caller.closed() == 4022


async def test_another_session_takes_over(play: Play) -> None:
    first = await play()
    lobby = await lobby_of(who(first))
    await first.enter(lobby)
    second = await play(who(first))
    # What another session is in is not this one's to leave.
    await second.ask()
    await second.session.wait_processed()
    await second.session.none_of(STATE)
    await second.enter(lobby)
    assert await first.closed() == 4014
    await first.session.none_of(SERVER)
    # Nor is it the first one's any more.
    await first.ask()
    await first.session.wait_processed()
    await second.session.none_of(STATE)
    await second.beat()


async def test_who_goes_away_for_good_leaves_the_call(world: World, play: Play) -> None:
    alice, bob = await play(), await play()
    lobby = await lobby_of(who(alice), who(bob))
    await alice.enter(lobby)
    await alice.session.close()
    await gone(bob, alice)
    assert await alice.closed() == 4014


async def test_a_token_that_is_revoked_ends_the_call(world: World, played: Game, play: Play) -> None:
    alice, bob = await play(), await play()
    lobby = await lobby_of(who(alice), who(bob))
    await alice.enter(lobby)
    (await played.client.post("/oauth2/token/revoke", token=who(alice).token)).ok()
    assert await alice.session.wait_closed() == 4004
    await gone(bob, alice)
    assert await alice.closed() == 4014


async def test_an_account_that_is_banned_leaves_the_call(world: World, play: Play) -> None:
    alice, bob = await play(), await play()
    lobby = await lobby_of(who(alice), who(bob))
    await alice.enter(lobby)
    await world.write(lambda call: accounts.ban(call, UserId(alice.actor.id)))
    await gone(bob, alice)
    assert await alice.closed() == 4014


async def test_a_voice_connection_that_is_cut_may_be_resumed_for_a_while(world: World, play: Play) -> None:
    alice, bob = await play(), await play()
    lobby = await lobby_of(who(alice), who(bob))
    for caller in (alice, bob):
        await caller.enter(lobby)
        await caller.beat()
    seen = last_seq(alice)
    cut(alice)
    await lost(world, alice)
    await alice.open()
    await alice.say(7, resume_payload(alice, seq_ack=seen))
    await alice.next(9)
    cut(alice)
    await lost(world, alice)
    await world.clock.run_for(10_000)
    await gone(bob, alice)
    assert (await bob.next(13))["user_id"] == str(alice.actor.id)


async def test_a_main_session_that_resumes_hears_what_it_missed(world: World, play: Play) -> None:
    alice, bob = await play(), await play()
    lobby = await lobby_of(who(alice), who(bob))
    await alice.session.next("LOBBY_MEMBER_ADD")
    ready, last = alice.session.ready, alice.session.dispatches[-1]["s"]
    alice.session.socket._response.connection.transport.abort()
    assert alice.session._task is not None
    await alice.session._task
    await bob.get_ticket(lobby)
    socket = await world.client.ws_connect(f"{world.gateway}?v=10&encoding=json")
    await socket.receive_json()
    resume = {"token": who(alice).header, "session_id": ready["session_id"], "seq": last}
    await socket.send_json({"op": 6, "d": resume})
    missed = []
    while "RESUMED" not in missed:
        missed.append((await socket.receive_json())["t"])
    assert missed.count(STATE) == 1
    await socket.close()


class TestRefusedAgainAndAgain:
    """A client that tries again at once, for ever, is slowed down here too."""

    @pytest.fixture
    def voice_config(self, voice_config: Config) -> Config:
        return msgspec.structs.replace(voice_config, rate_limits="real")

    async def test_joins_wait(self, world: World, play: Play) -> None:
        alice, bob = await play(), await play()
        lobby = await lobby_of(who(alice), who(bob))
        for _ in range(2):
            await alice.get_ticket(lobby)
            await refused(alice, 4017, max_dave_protocol_version=0)
            await gone(alice, alice)
        await alice.ask(lobby)
        await alice.session.wait_processed()
        await alice.session.none_of(STATE, SERVER)
        await world.clock.run_for(999)
        await alice.session.none_of(STATE, SERVER)
        await world.clock.run_for(1)
        await alice.take_ticket()
        await refused(alice, 4017, max_dave_protocol_version=0)
        await gone(alice, alice)
        # A wish that waits is taken back by a later one.
        await alice.ask(lobby)
        await alice.ask()
        await alice.session.wait_processed()
        await world.clock.run_for(8_000)
        await alice.session.none_of(STATE, SERVER)
        # And it is forgotten with the session.
        await alice.get_ticket(lobby)
        await refused(alice, 4017, max_dave_protocol_version=0)
        await gone(alice, alice)
        await alice.ask(lobby)
        await alice.session.wait_processed()
        await alice.session.close()
        await bob.session.next("LOBBY_MEMBER_DISCONNECT")
        await world.clock.run_for(8_000)
        await bob.session.none_of(STATE)


async def test_a_server_that_is_gone_sends_its_callers_elsewhere(world: World, play: Play) -> None:
    alice = await play()
    lobby = await lobby_of(who(alice))
    await alice.enter(lobby)
    # The server is there: there is nothing to look for.
    await alice.session.send(42, {"lobby_id": str(lobby)})
    await alice.session.wait_processed()
    await alice.session.none_of(SERVER)
    await world.write(lambda call: call.tx.run("UPDATE voice_tickets SET server = 'gone.test:443'"))
    await alice.session.send(42, {"lobby_id": str(lobby)})
    token = alice.server["token"]
    alice.server = await alice.session.next(SERVER)
    assert alice.server["endpoint"] == ENDPOINT
    assert alice.server["token"] != token
    assert await alice.closed() == 4014
    alice.udp = None
    await connect(alice)
    await world.write(lambda call: tickets.withdraw(call, ENDPOINT))
    assert (await alice.session.next(SERVER))["lobby_id"] == str(lobby)
