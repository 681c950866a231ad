"""Lobby calls over the main gateway, real voice sockets and UDP, with end-to-end encryption."""

import asyncio
from collections.abc import AsyncIterator, Callable, Coroutine
from typing import Any

import msgspec
import pytest

from hubbub.protocol.enums import CloseCode, GatewayOpcode, VoiceCloseCode
from hubbub.protocol.ids import UserId
from hubbub.protocol.intents import Capabilities
from hubbub.protocol.resources.lobby_calls import LOBBY_CALL_PARTICIPANTS_MAX
from hubbub.protocol.voice import VoiceOpcode
from hubbub.server.core.call import Call
from hubbub.server.core.config import Config
from hubbub.server.identity import accounts
from hubbub.server.places.voice_states import calls, voice_server
from hubbub.server.places.voice_states.connections.calls import VoiceCallKind
from tests.game import Game, Player, create_game
from tests.server.voice.caller import (
    abort_connection,
    assert_identify_rejected,
    fake_encrypted_frame,
    last_seq,
    resume_payload,
    wait_connection_lost,
)
from tests.server.voice.conftest import ENDPOINT
from tests.server.voice.encrypted_caller import EncryptedCaller
from tests.server.voice.lobby_caller import LobbyCaller, create_lobby_of_players
from tests.world import Actor, World

MakeCaller = Callable[..., Coroutine[Any, Any, LobbyCaller]]
VOICE_STATE_EVENT, VOICE_SERVER_EVENT = "LOBBY_VOICE_STATE_UPDATE", "LOBBY_VOICE_SERVER_UPDATE"


@pytest.fixture
async def game(world: World) -> Game:
    return await create_game(world)


@pytest.fixture
async def make_caller(world: World, game: Game) -> AsyncIterator[MakeCaller]:
    """A function that creates a caller with its own session, for a player of the test or a new one."""
    callers: list[LobbyCaller] = []

    async def create(player: Player | None = None) -> LobbyCaller:
        caller = LobbyCaller(world, await (player or await game.add_player()).connect_sdk())
        callers.append(caller)
        return caller

    yield create
    for caller in callers:
        await caller.close()


def player_of(caller: LobbyCaller) -> Player:
    assert isinstance(caller.actor, Player)
    return caller.actor


async def wait_left_event(listener: LobbyCaller, caller: LobbyCaller) -> Any:
    """Wait until `listener` receives the voice state with which `caller` leaves the call; return it."""
    user_id = str(caller.actor.id)
    return await listener.session.next(
        VOICE_STATE_EVENT, lambda state: (state["user_id"], state["channel_id"]) == (user_id, None)
    )


async def fetch_lobbies(caller: LobbyCaller) -> list[Any]:
    """Return the caller's lobbies from READY of a new session."""
    lobbies: list[Any] = (await player_of(caller).connect_sdk()).ready["lobbies"]
    return lobbies


async def test_players_of_a_lobby_receive_each_others_packets(make_caller: MakeCaller) -> None:
    alice, bob, listener = await make_caller(), await make_caller(), await make_caller()
    lobby_id = await create_lobby_of_players(player_of(alice), player_of(bob), player_of(listener))

    await alice.update_voice_state(lobby_id)
    state = await listener.session.next(VOICE_STATE_EVENT)
    assert state == {
        "lobby_id": str(lobby_id),
        "channel_id": str(lobby_id),
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
    await alice.receive_ticket()
    assert alice.voice_state == state
    assert alice.voice_server == {"lobby_id": str(lobby_id), "endpoint": ENDPOINT, "token": alice.voice_server["token"]}
    # The voice session ID cannot be used to resume the gateway session.
    assert state["session_id"] != alice.session.ready["session_id"]
    (view,) = await fetch_lobbies(listener)
    assert (view["voice_states"], view["region"]) == ([state], "local")

    await alice.connect_with_ticket()
    await bob.join_and_connect(lobby_id)
    alice.send_frame(fake_encrypted_frame("hello"))
    assert await bob.receive_media() == (alice.ready["ssrc"], fake_encrypted_frame("hello"))
    # Only the connecting player receives the voice server.
    await listener.session.assert_not_received(VOICE_SERVER_EVENT)

    await alice.update_voice_state()
    assert (await wait_left_event(listener, alice))["session_id"] == state["session_id"]
    assert await alice.wait_close_code() == VoiceCloseCode.DISCONNECTED
    assert (await bob.next(VoiceOpcode.CLIENT_DISCONNECT))["user_id"] == str(alice.actor.id)
    await bob.socket.close(code=1000)
    await wait_left_event(listener, bob)
    (view,) = await fetch_lobbies(listener)
    assert (view["voice_states"], view["region"]) == ([], None)


async def test_the_call_is_end_to_end_encrypted(make_caller: MakeCaller) -> None:
    alice, bob, carol = [await make_caller() for _ in range(3)]
    lobby_id = await create_lobby_of_players(player_of(alice), player_of(bob), player_of(carol))
    members = [EncryptedCaller(caller, lobby_id) for caller in (alice, bob, carol)]
    for member in members[:2]:
        await member.join_and_connect()
    for receiver, sender in (members[:2], members[1::-1]):
        await receiver.wait_group_members(*members[:2])
        await receiver.assert_decrypts(sender, b"two of us")
    await members[2].join_and_connect()
    for member in members:
        await member.wait_group_members(*members)
    assert len({member.dave_session.voice_privacy_code for member in members}) == 1
    await members[2].assert_decrypts(members[0], b"three")
    for member in members:
        await member.stop()


async def test_the_voice_state_list_replaces_the_calls_of_a_session(make_caller: MakeCaller) -> None:
    alice, bob = await make_caller(), await make_caller()
    first_lobby_id = await create_lobby_of_players(player_of(alice), player_of(bob))
    second_lobby_id = await create_lobby_of_players(player_of(alice), player_of(bob), secret="plugh")

    await alice.update_voice_state(first_lobby_id, second_lobby_id)
    states = [await bob.session.next(VOICE_STATE_EVENT) for _ in range(2)]
    assert [state["lobby_id"] for state in states] == [str(first_lobby_id), str(second_lobby_id)]
    assert {(await alice.session.next(VOICE_SERVER_EVENT))["lobby_id"] for _ in range(2)} == {
        str(first_lobby_id),
        str(second_lobby_id),
    }

    # Sending the same list again publishes nothing.
    await alice.update_voice_state(first_lobby_id, second_lobby_id)
    await alice.session.wait_processed()
    await bob.session.assert_not_received(VOICE_STATE_EVENT)
    await alice.session.assert_not_received(VOICE_STATE_EVENT, VOICE_SERVER_EVENT)

    # The player mutes in the second call and leaves the first.
    await alice.update_voice_state(second_lobby_id, self_mute=True)
    left_state, muted_state = [await bob.session.next(VOICE_STATE_EVENT) for _ in range(2)]
    assert (left_state["lobby_id"], left_state["channel_id"]) == (str(first_lobby_id), None)
    assert (muted_state["lobby_id"], muted_state["channel_id"], muted_state["self_mute"]) == (
        str(second_lobby_id),
        str(second_lobby_id),
        True,
    )
    await alice.session.assert_not_received(VOICE_SERVER_EVENT)

    await alice.update_voice_state()
    assert (await bob.session.next(VOICE_STATE_EVENT))["channel_id"] is None
    await alice.update_voice_state()
    await alice.session.wait_processed()
    await bob.session.assert_not_received(VOICE_STATE_EVENT)


async def test_packets_of_a_muted_player_are_dropped(make_caller: MakeCaller) -> None:
    alice, bob = await make_caller(), await make_caller()
    lobby_id = await create_lobby_of_players(player_of(alice), player_of(bob))
    for caller in (alice, bob):
        await caller.join_and_connect(lobby_id)
    await alice.update_voice_state(lobby_id, self_mute=True)
    await alice.session.next(VOICE_STATE_EVENT, lambda state: state["self_mute"])
    await wait_voice_idle(alice)
    alice.send_frame(fake_encrypted_frame("hush"))
    await alice.wait_packets_read()
    await alice.update_voice_state(lobby_id)
    await alice.session.next(
        VOICE_STATE_EVENT, lambda state: not state["self_mute"] and state["user_id"] == str(alice.actor.id)
    )
    await wait_voice_idle(alice)
    alice.send_frame(fake_encrypted_frame("loud"))
    assert await bob.receive_media() == (alice.ready["ssrc"], fake_encrypted_frame("loud"))


async def wait_voice_idle(caller: LobbyCaller) -> None:
    """Wait until the voice server has applied all voice state changes."""
    voice = caller.world.app.voice
    assert voice is not None
    while voice.calls._tasks:
        await asyncio.wait(voice.calls._tasks)
        await asyncio.sleep(0)


@pytest.mark.parametrize("reason", ["unknown", "not a member", "another game's", "full"])
async def test_a_rejected_join_is_reported_only_to_the_player(
    world: World, game: Game, make_caller: MakeCaller, reason: str
) -> None:
    users = [await world.user(), await world.user()]
    alice, bob = [await make_caller(await game.add_player(user)) for user in users]
    lobby_id = await create_lobby_of_players(player_of(bob))
    if reason == "unknown":
        lobby_id = 4711
    elif reason == "another game's":
        other_game = await create_game(world, "Other")
        await bob.session.next("LOBBY_CREATE")
        lobby_id = await create_lobby_of_players(await other_game.add_player(users[0]))
    elif reason == "full":
        await create_lobby_of_players(player_of(alice))

        def fill(call: Call) -> None:
            for number in range(LOBBY_CALL_PARTICIPANTS_MAX):
                state = {"self_mute": False, "self_deaf": False, "self_video": False}
                calls.put_participant(
                    call, calls.new_participant(lobby_id, number, VoiceCallKind.LOBBY, "x", call.now_ms, **state)
                )

        await world.write(fill)
    await alice.update_voice_state(lobby_id)
    state = await alice.session.next(VOICE_STATE_EVENT)
    assert (state["lobby_id"], state["channel_id"], state["user_id"]) == (str(lobby_id), None, str(alice.actor.id))
    await alice.session.assert_not_received(VOICE_SERVER_EVENT)
    await bob.session.assert_not_received(VOICE_STATE_EVENT)


async def test_a_session_without_the_scope_gets_no_response(game: Game, make_caller: MakeCaller) -> None:
    alice = await make_caller()
    lobby_id = await create_lobby_of_players(player_of(alice))
    limited_caller = await make_caller(await game.add_player(scope="openid sdk.social_layer_presence"))
    await limited_caller.update_voice_state(lobby_id)
    await limited_caller.session.send(GatewayOpcode.LOBBY_VOICE_SERVER_PING, {"lobby_id": str(lobby_id)})
    await limited_caller.session.wait_processed()
    await limited_caller.session.assert_not_received(VOICE_STATE_EVENT, VOICE_SERVER_EVENT)


@pytest.mark.one_postgres_case
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
async def test_an_invalid_voice_state_list_closes_the_connection(make_caller: MakeCaller, payload: Any) -> None:
    alice = await make_caller()
    await alice.session.send(GatewayOpcode.LOBBY_VOICE_STATES, payload)
    assert await alice.session.wait_closed() == CloseCode.DECODE_ERROR


@pytest.mark.parametrize(
    ("identify", "code"),
    [
        ({"token": "0" * 32}, VoiceCloseCode.AUTHENTICATION_FAILED),
        ({"user_id": "1"}, VoiceCloseCode.AUTHENTICATION_FAILED),
        ({"server_id": "1"}, VoiceCloseCode.SERVER_NOT_FOUND),
        ({"session_id": "0" * 32}, VoiceCloseCode.SESSION_NO_LONGER_VALID),
        ({"channel_id": "1"}, VoiceCloseCode.SESSION_NO_LONGER_VALID),
        ({"max_dave_protocol_version": 0}, VoiceCloseCode.E2EE_REQUIRED),
    ],
)
async def test_an_invalid_identify_is_rejected(make_caller: MakeCaller, identify: dict[str, Any], code: int) -> None:
    alice = await make_caller()
    lobby_id = await create_lobby_of_players(player_of(alice))
    await alice.join(lobby_id)
    await assert_identify_rejected(alice, code, **identify)
    if code == VoiceCloseCode.E2EE_REQUIRED:
        # spec/voice.md#1: a client that is rejected with a valid ticket leaves the call.
        await wait_left_event(alice, alice)
    else:
        await alice.open_socket()
        await alice.identify(channel_id=str(lobby_id))


async def test_leaving_or_removal_from_the_lobby_ends_the_call(game: Game, make_caller: MakeCaller) -> None:
    alice, bob, carol = [await make_caller() for _ in range(3)]
    lobby_id = await create_lobby_of_players(player_of(alice), player_of(bob), player_of(carol))
    for caller in (alice, bob):
        await caller.join_and_connect(lobby_id)
    (await player_of(alice).delete(f"/lobbies/{lobby_id}/members/@me")).ok()
    for listener in (alice, carol):
        await wait_left_event(listener, alice)
    await alice.session.next("LOBBY_DELETE")
    assert await alice.wait_close_code() == VoiceCloseCode.DISCONNECTED
    (await game.backend.delete(f"/lobbies/{lobby_id}/members/{bob.actor.id}")).ok()
    await wait_left_event(carol, bob)
    assert await bob.wait_close_code() == VoiceCloseCode.DISCONNECTED
    (view,) = await fetch_lobbies(carol)
    assert view["voice_states"] == []


async def test_deleting_the_lobby_ends_the_call_for_all(game: Game, make_caller: MakeCaller) -> None:
    alice, bob = await make_caller(), await make_caller()
    lobby_id = await create_lobby_of_players(player_of(alice), player_of(bob))
    for caller in (alice, bob):
        await caller.join_and_connect(lobby_id)
    (await game.backend.delete(f"/lobbies/{lobby_id}")).ok()
    for caller in (alice, bob):
        await wait_left_event(caller, alice)
        await caller.session.next("LOBBY_DELETE")
        assert await caller.wait_close_code() == VoiceCloseCode.CALL_TERMINATED


async def test_another_session_of_the_player_takes_over(make_caller: MakeCaller) -> None:
    first_caller = await make_caller()
    lobby_id = await create_lobby_of_players(player_of(first_caller))
    await first_caller.join_and_connect(lobby_id)
    second_caller = await make_caller(player_of(first_caller))
    # A session cannot leave the call of another session.
    await second_caller.update_voice_state()
    await second_caller.session.wait_processed()
    await second_caller.session.assert_not_received(VOICE_STATE_EVENT)
    await second_caller.join_and_connect(lobby_id)
    assert await first_caller.wait_close_code() == VoiceCloseCode.DISCONNECTED
    await first_caller.session.assert_not_received(VOICE_SERVER_EVENT)
    # The first session no longer owns the call either.
    await first_caller.update_voice_state()
    await first_caller.session.wait_processed()
    await second_caller.session.assert_not_received(VOICE_STATE_EVENT)
    await second_caller.heartbeat()


async def test_closing_the_gateway_session_leaves_the_call(world: World, make_caller: MakeCaller) -> None:
    alice, bob = await make_caller(), await make_caller()
    lobby_id = await create_lobby_of_players(player_of(alice), player_of(bob))
    await alice.join_and_connect(lobby_id)
    await alice.session.close()
    await wait_left_event(bob, alice)
    assert await alice.wait_close_code() == VoiceCloseCode.DISCONNECTED


async def test_revoking_the_token_ends_the_call(world: World, game: Game, make_caller: MakeCaller) -> None:
    alice, bob = await make_caller(), await make_caller()
    lobby_id = await create_lobby_of_players(player_of(alice), player_of(bob))
    await alice.join_and_connect(lobby_id)
    (await game.client.post_form("/oauth2/token/revoke", token=player_of(alice).token)).ok()
    assert await alice.session.wait_closed() == CloseCode.AUTHENTICATION_FAILED
    await wait_left_event(bob, alice)
    assert await alice.wait_close_code() == VoiceCloseCode.DISCONNECTED


async def test_banning_the_account_ends_the_call(world: World, make_caller: MakeCaller) -> None:
    alice, bob = await make_caller(), await make_caller()
    lobby_id = await create_lobby_of_players(player_of(alice), player_of(bob))
    await alice.join_and_connect(lobby_id)
    await world.write(lambda call: accounts.ban(call, UserId(alice.actor.id)))
    await wait_left_event(bob, alice)
    assert await alice.wait_close_code() == VoiceCloseCode.DISCONNECTED


async def test_a_lost_voice_connection_can_be_resumed_until_the_timeout(world: World, make_caller: MakeCaller) -> None:
    alice, bob = await make_caller(), await make_caller()
    lobby_id = await create_lobby_of_players(player_of(alice), player_of(bob))
    for caller in (alice, bob):
        await caller.join_and_connect(lobby_id)
        await caller.heartbeat()
    seq = last_seq(alice)
    abort_connection(alice)
    await wait_connection_lost(world, alice)
    await alice.open_socket()
    await alice.send_json(VoiceOpcode.RESUME, resume_payload(alice, seq_ack=seq))
    await alice.next(VoiceOpcode.RESUMED)
    abort_connection(alice)
    await wait_connection_lost(world, alice)
    await world.clock.run_for(10_000)
    await wait_left_event(bob, alice)
    assert (await bob.next(VoiceOpcode.CLIENT_DISCONNECT))["user_id"] == str(alice.actor.id)


async def test_a_resumed_gateway_session_receives_missed_voice_states(world: World, make_caller: MakeCaller) -> None:
    alice, bob = await make_caller(), await make_caller()
    lobby_id = await create_lobby_of_players(player_of(alice), player_of(bob))
    await alice.session.next("LOBBY_MEMBER_ADD")
    ready, last_sequence = alice.session.ready, alice.session.dispatches[-1]["s"]
    alice.session.socket._response.connection.transport.abort()
    assert alice.session._task is not None
    await alice.session._task
    await bob.join(lobby_id)
    socket = await world.client.ws_connect(f"{world.gateway}?v=10&encoding=json")
    await socket.receive_json()
    resume = {"token": player_of(alice).header, "session_id": ready["session_id"], "seq": last_sequence}
    await socket.send_json({"op": GatewayOpcode.RESUME, "d": resume})
    missed_states = []
    while "RESUMED" not in missed_states:
        missed_states.append((await socket.receive_json())["t"])
    assert missed_states.count(VOICE_STATE_EVENT) == 1
    await socket.close()


class TestRepeatedFailures:
    """Joins of a lobby call are delayed after repeated failures."""

    @pytest.fixture
    def world_config(self, world_config: Config) -> Config:
        return msgspec.structs.replace(world_config, rate_limits="real")

    async def test_joins_are_delayed(self, world: World, make_caller: MakeCaller) -> None:
        alice, bob = await make_caller(), await make_caller()
        lobby_id = await create_lobby_of_players(player_of(alice), player_of(bob))
        for _ in range(2):
            await alice.join(lobby_id)
            await assert_identify_rejected(alice, VoiceCloseCode.E2EE_REQUIRED, max_dave_protocol_version=0)
            await wait_left_event(alice, alice)
        await alice.update_voice_state(lobby_id)
        await alice.session.wait_processed()
        await alice.session.assert_not_received(VOICE_STATE_EVENT, VOICE_SERVER_EVENT)
        await world.clock.run_for(999)
        await alice.session.assert_not_received(VOICE_STATE_EVENT, VOICE_SERVER_EVENT)
        await world.clock.run_for(1)
        await alice.receive_ticket()
        await assert_identify_rejected(alice, VoiceCloseCode.E2EE_REQUIRED, max_dave_protocol_version=0)
        await wait_left_event(alice, alice)
        # A delayed join is canceled by a later request.
        await alice.update_voice_state(lobby_id)
        await alice.update_voice_state()
        await alice.session.wait_processed()
        await world.clock.run_for(8_000)
        await alice.session.assert_not_received(VOICE_STATE_EVENT, VOICE_SERVER_EVENT)
        # A delayed join is canceled when the session ends.
        await alice.join(lobby_id)
        await assert_identify_rejected(alice, VoiceCloseCode.E2EE_REQUIRED, max_dave_protocol_version=0)
        await wait_left_event(alice, alice)
        await alice.update_voice_state(lobby_id)
        await alice.session.wait_processed()
        await alice.session.close()
        await bob.session.next("LOBBY_MEMBER_DISCONNECT")
        await world.clock.run_for(8_000)
        await bob.session.assert_not_received(VOICE_STATE_EVENT)


async def test_callers_of_a_lost_server_are_moved_to_another(world: World, make_caller: MakeCaller) -> None:
    alice = await make_caller()
    lobby_id = await create_lobby_of_players(player_of(alice))
    await alice.join_and_connect(lobby_id)
    # The voice server is available, so the request has no effect.
    await alice.session.send(GatewayOpcode.LOBBY_VOICE_SERVER_PING, {"lobby_id": str(lobby_id)})
    await alice.session.wait_processed()
    await alice.session.assert_not_received(VOICE_SERVER_EVENT)
    await world.write(lambda call: call.tx.run("UPDATE voice_tickets SET server = 'gone.test:443'"))
    await alice.session.send(GatewayOpcode.LOBBY_VOICE_SERVER_PING, {"lobby_id": str(lobby_id)})
    token = alice.voice_server["token"]
    alice.voice_server = await alice.session.next(VOICE_SERVER_EVENT)
    assert alice.voice_server["endpoint"] == ENDPOINT
    assert alice.voice_server["token"] != token
    assert await alice.wait_close_code() == VoiceCloseCode.DISCONNECTED
    alice.udp_transport = None
    await alice.connect_with_ticket()
    await world.write(lambda call: voice_server.remove_server(call, ENDPOINT))
    assert (await alice.session.next(VOICE_SERVER_EVENT))["lobby_id"] == str(lobby_id)


# The chat client of a player (decisions/0161)


async def connect_chat_client(world: World, user: Actor) -> LobbyCaller:
    """Return a caller with a session of the user's own client, which requests lobbies."""
    return LobbyCaller(world, await user.connect(capabilities=Capabilities.AUTO_LOBBY_CONNECT))


async def test_the_chat_client_of_a_player_joins_the_call_of_a_lobby(
    world: World, game: Game, make_caller: MakeCaller
) -> None:
    alice, bob = await world.user("alice"), await make_caller()
    lobby_id = await create_lobby_of_players(await game.add_player(alice), player_of(bob))
    await bob.update_voice_state(lobby_id)
    await bob.receive_ticket()
    chat = await connect_chat_client(world, alice)
    (view,) = chat.session.ready["lobbies"]
    assert (view["id"], view["application_id"]) == (str(lobby_id), str(game.id))
    assert [state["user_id"] for state in view["voice_states"]] == [str(bob.actor.id)]
    assert {member["user"]["id"] for member in view["members"]} == {str(alice.id), str(bob.actor.id)}

    await chat.update_voice_state(lobby_id)
    await chat.receive_ticket()
    await chat.connect_with_ticket()
    await bob.connect_with_ticket()
    state = await bob.session.next(VOICE_STATE_EVENT, lambda state: state["user_id"] == str(alice.id))
    assert state["channel_id"] == str(lobby_id)
    await chat.update_voice_state()
    await wait_left_event(bob, chat)
    await chat.close()


async def test_a_lobby_is_not_idle_while_the_chat_client_of_a_player_is_in_its_call(world: World, game: Game) -> None:
    alice = await world.user("alice")
    player = await game.add_player(alice)
    lobby_id = int((await player.put("/lobbies", json={"secret": "xyzzy", "idle_timeout_seconds": 60})).ok()["id"])
    chat = await connect_chat_client(world, alice)
    await chat.update_voice_state(lobby_id)
    await chat.receive_ticket()
    for _ in range(2):
        world.clock.advance(60_000)
        await world.run_due_jobs()
    assert (await game.backend.get(f"/lobbies/{lobby_id}")).status == 200

    await chat.update_voice_state()
    await chat.session.next(VOICE_STATE_EVENT, lambda state: state["channel_id"] is None)
    world.clock.advance(60_000)
    await world.run_due_jobs()
    (await game.backend.get(f"/lobbies/{lobby_id}")).rejected(404, 10031)
    await chat.close()


async def test_chat_clients_without_the_capability_receive_no_lobbies(world: World, game: Game) -> None:
    alice = await world.user("alice")
    player = await game.add_player(alice)
    await create_lobby_of_players(player)
    session = await alice.connect()
    assert "lobbies" not in session.ready
    sdk = LobbyCaller(world, await player.connect_sdk())
    await sdk.update_voice_state(int(sdk.session.ready["lobbies"][0]["id"]))
    await sdk.receive_ticket()
    await session.assert_not_received("LOBBY_CREATE", VOICE_STATE_EVENT)
    await sdk.close()


async def test_a_chat_client_joins_no_call_of_a_lobby_without_its_user(
    world: World, game: Game, make_caller: MakeCaller
) -> None:
    bob = await make_caller()
    lobby_id = await create_lobby_of_players(player_of(bob))
    eve = await world.user("eve")
    chat = await connect_chat_client(world, eve)
    assert chat.session.ready["lobbies"] == []
    await chat.update_voice_state(lobby_id)
    assert (await chat.session.next(VOICE_STATE_EVENT))["channel_id"] is None
    await chat.close()


async def test_a_call_that_the_chat_client_joins_leaves_the_game(world: World, game: Game) -> None:
    alice = await world.user("alice")
    player = await game.add_player(alice)
    lobby_id = await create_lobby_of_players(player)
    sdk = LobbyCaller(world, await player.connect_sdk())
    await sdk.update_voice_state(lobby_id)
    await sdk.receive_ticket()
    await sdk.connect_with_ticket()
    chat = await connect_chat_client(world, alice)
    await chat.update_voice_state(lobby_id)
    await chat.receive_ticket()
    assert await sdk.wait_close_code() == VoiceCloseCode.DISCONNECTED
    await chat.close()
    await sdk.close()
