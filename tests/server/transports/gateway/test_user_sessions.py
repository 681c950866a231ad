"""SESSIONS_REPLACE for a user's own clients, and first-party opcodes without a handler (decisions/0046)."""

from typing import Any

from hubbub.protocol.enums import CloseCode, GatewayOpcode
from hubbub.protocol.intents import Intents
from tests.game import create_game
from tests.world import World

FIRST_PARTY_OPCODES = (
    GatewayOpcode.VOICE_SERVER_PING,
    GatewayOpcode.GUILD_SUBSCRIPTIONS,
    GatewayOpcode.GUILD_SUBSCRIPTIONS_BULK,
    GatewayOpcode.GUILD_CHANNELS_RESYNC,
    GatewayOpcode.REQUEST_CHANNEL_MEMBER_COUNT,
    GatewayOpcode.UPDATE_TIME_SPENT_SESSION,
)
"""Opcodes of first-party clients that have no handler."""


def no_session_shows_chat(sessions: list[dict[str, Any]]) -> bool:
    return not any(session["showing_chat"] for session in sessions)


async def test_a_game_that_shows_chat_is_reported_to_the_users_clients(world: World) -> None:
    alice = await world.user()
    game = await create_game(world)
    client = await alice.connect()
    await client.assert_not_received("SESSIONS_REPLACE")
    game_session = await (await game.add_player(alice)).connect_sdk()
    (first_sessions, second_sessions) = await client.next("SESSIONS_REPLACE")
    assert (first_sessions["session_id"], first_sessions["showing_chat"], "application_id" in first_sessions) == (
        client.ready["session_id"],
        False,
        False,
    )
    assert (second_sessions["session_id"], second_sessions["application_id"]) == (
        game_session.ready["session_id"],
        str(game.id),
    )

    await game_session.set_presence(showing_chat=True, activities=[{"type": 0, "state": "In a match"}])

    sessions = await client.next("SESSIONS_REPLACE")
    assert [session["showing_chat"] for session in sessions] == [False, True]
    assert sessions[1]["activities"][0]["state"] == "In a match"
    # A client that connects later receives the list of sessions too.
    late_session = await alice.connect()
    await late_session.wait_delivered()
    (sessions,) = [frame["d"] for frame in late_session.dispatches if frame["t"] == "SESSIONS_REPLACE"]
    assert [session["showing_chat"] for session in sessions] == [False, True, False]
    await game_session.set_presence()
    assert [
        session["showing_chat"] for session in await late_session.next("SESSIONS_REPLACE", no_session_shows_chat)
    ] == [False] * 3
    await game_session.close()
    sessions = await client.next("SESSIONS_REPLACE", lambda sessions: len(sessions) == 2)
    assert {session["session_id"] for session in sessions} == {
        client.ready["session_id"],
        late_session.ready["session_id"],
    }
    assert "SESSIONS_REPLACE" not in game_session.unread_names()


async def test_the_last_remaining_session_is_notified_once(world: World) -> None:
    alice = await world.user()
    first_session, second_session = await alice.connect(), await alice.connect()
    await first_session.next("SESSIONS_REPLACE")

    await second_session.close()

    assert [session["session_id"] for session in await first_session.next("SESSIONS_REPLACE")] == [
        first_session.ready["session_id"]
    ]
    await first_session.set_presence(status="idle")
    await first_session.assert_not_received("SESSIONS_REPLACE")


async def test_bots_and_friends_receive_no_session_list(world: World) -> None:
    alice, bob = await world.user(), await world.user()
    (await alice.put(f"/users/@me/relationships/{bob.id}")).ok()
    (await bob.put(f"/users/@me/relationships/{alice.id}")).ok()
    bot = await world.bot()
    bot_session, friend = await bot.connect(), await bob.connect()
    await bot.connect()
    await alice.connect()
    game_session = await (await (await create_game(world)).add_player(alice)).connect(Intents.ALL)
    await game_session.set_presence(showing_chat=True)

    await bot_session.assert_not_received("SESSIONS_REPLACE")
    await friend.assert_not_received("SESSIONS_REPLACE")
    # Presence updates for other users do not contain `showing_chat`.
    assert "showing_chat" not in str(friend.dispatches)


async def test_first_party_opcodes_are_ignored_for_users_and_close_bots(world: World) -> None:
    user = await (await world.user()).connect()
    for opcode in FIRST_PARTY_OPCODES:
        await user.send(opcode, None)
    await user.send(GatewayOpcode.LOBBY_VOICE_SERVER_PING, {"lobby_id": "1"})
    await user.wait_processed()
    await user.assert_not_received("LOBBY_VOICE_SERVER_UPDATE")

    bot = await (await world.bot()).connect()
    await bot.send(GatewayOpcode.LOBBY_VOICE_STATES, [])
    assert await bot.wait_closed() == CloseCode.UNKNOWN_OPCODE
