"""What blocks, bans and scopes keep between players, and what webhooks tell of their messages (sdk.md 9.3, 11.3, 11.5)."""

from typing import Any

import pytest

from hubbub.protocol.flags import UserFlags
from hubbub.protocol.ids import UserId
from hubbub.server.core.call import Call
from hubbub.server.resources import accounts
from tests.game import SDK_INTENTS, Player, game
from tests.receiver import Receiver, subscribe
from tests.server.resources.test_user_messages import PRESENCE, befriend, friends, host
from tests.world import World

DIRECT = tuple(f"GAME_DIRECT_MESSAGE_{each}" for each in ("CREATE", "UPDATE", "DELETE"))


async def block(one: Player, other: Player) -> None:
    """One of two players has enough of the other."""
    (await one.put(f"/users/@me/relationships/{other.id}", json={"type": 2})).ok()


async def strangers(world: World) -> tuple[Player, Player]:
    """Two players of one game who are no friends."""
    played = await game(world)
    return await played.player(), await played.player()


# Blocks


async def test_a_block_stops_an_invite_that_is_on_its_way(world: World) -> None:
    played, alice, bob = await friends(world)
    activity = await host(alice, await alice.play())
    said = (await alice.post(f"/users/{bob.id}/messages", json={"activity": activity})).ok()
    path = f"/users/{alice.id}/sessions/{activity['session_id']}/activities/{played.id}/1?message_id={said['id']}"
    (await bob.get(path)).ok()

    await block(alice, bob)

    (await bob.get(path)).refused(403, 50001)


async def test_a_block_stops_edits_of_what_passed(world: World) -> None:
    alice, bob = await strangers(world)
    await alice.play()
    theirs = await bob.play()
    said = (await alice.post(f"/users/{bob.id}/messages", json={"content": "hi"})).ok()

    await block(bob, alice)

    (await alice.patch(f"/users/{bob.id}/messages/{said['id']}", json={"content": "rude"})).refused(403, 50007)
    await theirs.none_of("MESSAGE_UPDATE")
    assert (await alice.delete(f"/users/{bob.id}/messages/{said['id']}")).status == 204


async def test_nothing_is_not_said_by_an_edit_either(world: World) -> None:
    alice, bob = await strangers(world)
    await alice.play()
    await bob.play()
    said = (await alice.post(f"/users/{bob.id}/messages", json={"content": "hi"})).ok()

    (await alice.patch(f"/users/{bob.id}/messages/{said['id']}", json={"content": "  "})).refused(400, 50006)


# Joining


async def test_without_a_way_in_nobody_asks_to_join(world: World) -> None:
    _, alice, bob = await friends(world)
    mine, theirs = await alice.play(), await bob.play()
    shown = {"name": "Game", "type": 0, "party": {"id": "party", "size": [1, 4]}, "supported_platforms": ["desktop"]}
    await mine.send(3, {"status": "online", "activities": [shown], "since": None, "afk": False})
    await mine.obeyed()

    asking = {"type": 5, "session_id": theirs.ready["session_id"]}
    (await bob.post(f"/users/{alice.id}/messages", json={"activity": asking})).refused(400, 50039)


@pytest.mark.parametrize("known_by", ["platform", "game", "voice", "nothing"])
async def test_who_joins_a_public_party_without_being_asked(world: World, known_by: str) -> None:
    played = await game(world)
    host_person, guest_person = await world.user(), await world.user()
    alice, bob = await played.player(host_person), await played.player(guest_person)
    if known_by == "platform":
        await befriend(alice, bob)
    elif known_by == "game":
        for one, other in ((alice, bob), (bob, alice)):
            (await one.put(f"/users/@me/game-relationships/{other.id}")).ok()
    elif known_by == "voice":
        guild = await world.guild(host_person, guest_person)
        lounge = await guild.channel("Lounge", type=2)
        for person in (host_person, guest_person):
            session = await person.connect()
            await session.send(4, {"guild_id": str(guild.id), "channel_id": str(lounge), "self_mute": False})
            await session.next("VOICE_SERVER_UPDATE")
    mine = await alice.play()
    activity = {"name": "Game", "type": 0, "party": {"id": "party", "privacy": 1}, "secrets": {"join": "open sesame"}}
    await mine.send(3, {"status": "online", "activities": [activity], "since": None, "afk": False})
    await mine.obeyed()

    path = f"/users/{alice.id}/sessions/{mine.ready['session_id']}/activities/{played.id}/1"
    answer = await bob.get(path)

    if known_by == "nothing":
        answer.refused(403, 50001)
    else:
        assert answer.ok() == {"secret": "open sesame"}


async def test_an_invite_of_another_conversation_is_none(world: World) -> None:
    played, alice, bob = await friends(world)
    activity = await host(alice, await alice.play())
    said = (await alice.post(f"/users/{bob.id}/messages", json={"activity": activity})).ok()
    path = f"/users/{alice.id}/sessions/{activity['session_id']}/activities/{played.id}/1"

    (await bob.get(f"{path}?channel_id=1&message_id={said['id']}")).refused(400, 50039)
    (await bob.get(f"{path}?channel_id={said['channel_id']}&message_id={said['id']}")).ok()


# Bans


async def test_what_a_banned_player_says_stays_in_the_game(world: World) -> None:
    played, alice, bob = await friends(world)
    person = await world.user()
    await world.write(lambda call: accounts.ban(call, UserId(person.id)))

    def stand_in(call: Call) -> None:
        call.tx.run("UPDATE users SET flags = ? WHERE id = ?", UserFlags.PROVISIONAL_ACCOUNT, alice.id)
        call.tx.run(
            "INSERT INTO provisional_accounts (user_id, family_id, restricted_by, created_ms) VALUES (?, ?, ?, ?)",
            alice.id,
            played.id,
            person.id,
            call.now,
        )

    await world.write(stand_in)
    path = f"/users/{bob.id}/messages"
    await alice.play()
    (await alice.post(path, json={"content": "hi"})).refused(403, 50007)

    await bob.play()
    said = (await alice.post(path, json={"content": "hi"})).ok()
    assert said["channel_id"] == str(bob.id)
    assert await world.write(lambda call: accounts.unban(call, UserId(person.id)))
    assert (await alice.post(path, json={"content": "hi"})).ok()["channel_id"] != str(bob.id)


# Lists


async def test_a_group_of_two_is_no_conversation_with_one(world: World) -> None:
    _, alice, bob = await friends(world)
    said = (await alice.post(f"/users/{bob.id}/messages", json={"content": "hi"})).ok()
    summaries = "/partner-sdk/users/@me/channels"
    assert (await alice.get(summaries)).ok() == [{"user_id": str(bob.id), "last_message_id": said["id"]}]

    # As a merge leaves it where both accounts spoke with the same person (sdk.md 8.5).
    await world.write(lambda call: call.tx.run("UPDATE channels SET type = 3 WHERE id = ?", int(said["channel_id"])))

    assert (await alice.get(summaries)).ok() == []


# Webhooks


async def test_a_game_that_may_not_read_messages_does_not_hear_of_them_by_webhook(
    near_world: World, receiver: Receiver
) -> None:
    _, alice, _ = await friends(near_world)
    other = await game(near_world, "Other")
    await subscribe(receiver, other.backend, *DIRECT)
    shy = await other.player(scope=PRESENCE)
    await befriend(alice, shy)
    await shy.play()

    (await alice.post(f"/users/{shy.id}/messages", json={"content": "between us"})).ok()

    assert near_world.app.worker is not None
    await near_world.app.worker.run_due()
    assert receiver.events == []


async def test_another_game_does_not_hear_of_what_passes_in_this_one(near_world: World, receiver: Receiver) -> None:
    alice, bob = await strangers(near_world)
    other = await game(near_world, "Other")
    await subscribe(receiver, other.backend, *DIRECT)
    elsewhere = await near_world.player(alice, other.id)
    await elsewhere.connect(SDK_INTENTS)
    await alice.play()
    await bob.play()

    (await alice.post(f"/users/{bob.id}/messages", json={"content": "here only"})).ok()

    assert near_world.app.worker is not None
    await near_world.app.worker.run_due()
    assert receiver.events == []


async def told(world: World, receiver: Receiver) -> list[dict[str, Any]]:
    """What an application's webhook heard, in order: kind and data."""
    assert world.app.worker is not None
    await world.app.worker.run_due()
    return [{**each["data"], "kind": each["type"]} for each in receiver.events]


async def test_webhooks_tell_the_whole_of_a_kept_message(near_world: World, receiver: Receiver) -> None:
    played, alice, bob = await friends(near_world)
    await subscribe(receiver, played.backend, *DIRECT)
    await alice.play()
    path = f"/users/{bob.id}/messages"

    said = (await alice.post(path, json={"content": "one", "metadata": {"k": "v"}})).ok()
    (await alice.patch(f"{path}/{said['id']}", json={"content": "two"})).ok()
    (await alice.delete(f"{path}/{said['id']}")).ok()

    events = await told(near_world, receiver)
    assert [(each["kind"], each["content"]) for each in events] == list(zip(DIRECT, ("one", "two", "two"), strict=True))
    for each in events:
        assert (each["id"], each["channel_id"]) == (said["id"], said["channel_id"])
        assert (each["author"]["id"], each["recipient_id"]) == (str(alice.id), str(bob.id))
        assert (each["application_id"], each["flags"], each["metadata"]) == (str(played.id), 1 << 16, {"k": "v"})
        assert {user["id"] for user in each["channel"]["recipients"]} == {str(alice.id), str(bob.id)}
        assert "moderation_metadata" not in each
    assert [bool(each["edited_timestamp"]) for each in events] == [False, True, True]


async def test_webhooks_tell_all_but_the_words_of_what_passed_and_was_taken_back(
    near_world: World, receiver: Receiver
) -> None:
    played = await game(near_world)
    alice, bob = await played.player(), await played.player()
    await subscribe(receiver, played.backend, *DIRECT)
    await alice.play()
    await bob.play()
    path = f"/users/{bob.id}/messages"

    said = (await alice.post(path, json={"content": "one"})).ok()
    (await alice.patch(f"{path}/{said['id']}", json={"content": "two"})).ok()
    (await alice.delete(f"{path}/{said['id']}")).ok()

    events = await told(near_world, receiver)
    assert [(each["kind"], each["content"]) for each in events] == list(zip(DIRECT, ("one", "two", ""), strict=True))
    for each in events:
        assert (each["id"], each["author"]["id"], each["recipient_id"]) == (said["id"], str(alice.id), str(bob.id))
        assert (each["application_id"], each["flags"]) == (str(played.id), 1 << 16)
        # Nobody keeps it, so its channel is the other player.
        assert (each["channel"]["type"], each["channel"]["id"]) == (18, str(alice.id))
