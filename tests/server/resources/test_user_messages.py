"""Messages between players: whom they reach, what is kept, what moderation says, and invites (sdk.md 10.5, 11)."""

from typing import Any

import pytest

from hubbub.protocol import changes
from hubbub.protocol.enums import RelationshipType
from hubbub.protocol.flags import ApplicationFlags, UserFlags
from hubbub.protocol.ids import UserId
from hubbub.server.core.call import Call
from hubbub.server.resources.identities import AccountsMerged
from tests.game import Game, Player, game
from tests.receiver import Receiver, subscribe
from tests.world import Session, World, befriend

PRESENCE = "openid sdk.social_layer_presence"


async def friends(world: World) -> tuple[Game, Player, Player]:
    """Two friends in a game."""
    played = await game(world, flags=ApplicationFlags.SOCIAL_LAYER_INTEGRATION_LIMITED)
    alice, bob = await played.player(), await played.player()
    await befriend(alice, bob)
    return played, alice, bob


async def host(player: Player, session: Session, *, join: str = "open sesame", size: Any = (1, 4)) -> dict[str, Any]:
    """Show something that can be joined; what an invite to it says."""
    activity = {
        "name": "Game",
        "type": 0,
        "application_id": str(player.application_id),
        "party": {"id": "party", "size": list(size)},
        "secrets": {"join": join},
        "supported_platforms": ["desktop"],
    }
    await session.send(3, {"status": "online", "activities": [activity], "since": None, "afk": False})
    await session.obeyed()
    return {"type": 1, "session_id": session.ready["session_id"], "party_id": "party"}


# Kept


async def test_friends_write_to_each_other_and_it_is_a_direct_message(world: World) -> None:
    played, alice, bob = await friends(world)
    session = await bob.play()

    said = (await alice.post(f"/users/{bob.id}/messages", json={"content": "hi", "metadata": {"k": "v"}})).ok()

    assert (said["content"], said["flags"], said["application_id"]) == ("hi", 1 << 16, str(played.id))
    assert (said["recipient_id"], said["metadata"]) == (str(bob.id), {"k": "v"})
    heard = await session.next("MESSAGE_CREATE")
    assert (heard["id"], heard["metadata"], heard["channel_id"]) == (said["id"], {"k": "v"}, said["channel_id"])
    channel = (await bob.get(f"/users/@me/dms/{alice.id}")).ok()
    assert channel["id"] == said["channel_id"]
    (shown,) = (await bob.get(f"/users/{alice.id}/messages")).ok()
    assert (shown["content"], shown["metadata"]) == ("hi", {"k": "v"})
    assert (await bob.get("/partner-sdk/users/@me/channels")).ok() == [
        {"user_id": str(alice.id), "last_message_id": said["id"]}
    ]


async def test_one_changes_and_takes_back_only_ones_own_words(world: World) -> None:
    _, alice, bob = await friends(world)
    session = await bob.play()
    said = (await alice.post(f"/users/{bob.id}/messages", json={"content": "hi"})).ok()
    path = f"/users/{bob.id}/messages/{said['id']}"

    (await bob.patch(f"/users/{alice.id}/messages/{said['id']}", json={"content": "no"})).refused(403, 50005)
    (await bob.delete(f"/users/{alice.id}/messages/{said['id']}")).refused(403, 50013)
    assert (await alice.patch(path, json={"content": "hello"})).ok()["content"] == "hello"
    assert (await session.next("MESSAGE_UPDATE"))["content"] == "hello"
    assert (await alice.delete(path)).status == 204
    assert (await session.next("MESSAGE_DELETE"))["id"] == said["id"]
    (await alice.delete(path)).refused(404, 10008)


async def test_history_ends_after_72_hours(world: World) -> None:
    _, alice, bob = await friends(world)
    (await alice.post(f"/users/{bob.id}/messages", json={"content": "old"})).ok()

    world.clock.advance(72 * 3_600_000 + 1000)

    assert (await bob.get(f"/users/{alice.id}/messages")).ok() == []
    assert (await bob.get(f"/users/{alice.id}/messages?limit=201")).errors("limit")


# Who reaches whom


async def test_strangers_are_not_written_to_and_blocks_hold(world: World) -> None:
    played, alice, bob = await friends(world)
    carol = await played.player()

    (await alice.post(f"/users/{carol.id}/messages", json={"content": "hi"})).refused(403, 50278)
    (await alice.post("/users/1/messages", json={"content": "hi"})).refused(404, 10013)
    (await alice.post(f"/users/{alice.id}/messages", json={"content": "hi"})).refused(400, 50033)
    assert (await bob.put(f"/users/@me/relationships/{alice.id}", json={"type": 2})).status == 204
    (await alice.post(f"/users/{bob.id}/messages", json={"content": "hi"})).refused(403, 50007)
    dm = await world.write(lambda call: call.tx.value("SELECT COUNT(*) FROM direct_messages"))
    assert dm == 0


async def test_a_block_holds_in_the_chat_client_too(world: World) -> None:
    one, other = await world.user(), await world.user()
    channel = (await one.post("/users/@me/channels", json={"recipient_id": str(other.id)})).ok()["id"]
    (await one.post(f"/channels/{channel}/messages", json={"content": "hi"})).ok()

    assert (
        await other.put(f"/users/@me/relationships/{one.id}", json={"type": int(RelationshipType.BLOCKED)})
    ).status == 204

    (await one.post(f"/channels/{channel}/messages", json={"content": "hi"})).refused(403, 50007)


async def test_players_in_the_same_game_write_without_it_being_kept(world: World) -> None:
    played = await game(world)
    alice, bob = await played.player(), await played.player()
    mine, theirs = await alice.play(), await bob.play()

    said = (await alice.post(f"/users/{bob.id}/messages", json={"content": "hi"})).ok()

    assert said["channel_id"] == str(bob.id)
    heard = await theirs.next("MESSAGE_CREATE")
    assert (heard["channel_id"], heard["channel"]["type"], heard["content"]) == (str(alice.id), 18, "hi")
    assert (await mine.next("MESSAGE_CREATE"))["channel_id"] == str(bob.id)
    (await bob.get(f"/users/{alice.id}/messages")).refused(404, 10003)
    changed = (await alice.patch(f"/users/{bob.id}/messages/{said['id']}", json={"content": "ho"})).ok()
    assert changed["content"] == "ho"
    assert (await theirs.next("MESSAGE_UPDATE"))["content"] == "ho"
    assert (await alice.delete(f"/users/{bob.id}/messages/{said['id']}")).status == 204
    assert (await theirs.next("MESSAGE_DELETE")) == {"id": said["id"], "channel_id": str(alice.id)}


async def test_provisional_friends_write_only_while_they_play_and_nothing_is_kept(world: World) -> None:
    _, alice, bob = await friends(world)

    def make_provisional(call: Call) -> None:
        for player in (alice, bob):
            call.tx.run("UPDATE users SET flags = ? WHERE id = ?", UserFlags.PROVISIONAL_ACCOUNT, player.id)

    await world.write(make_provisional)
    (await alice.post(f"/users/{bob.id}/messages", json={"content": "hi"})).refused(403, 50007)
    await alice.play()
    said = (await alice.post(f"/users/{bob.id}/messages", json={"content": "hi"})).ok()
    assert said["channel_id"] == str(bob.id)


@pytest.mark.parametrize(
    ("body", "path"),
    [
        ({"content": "x" * 2001}, "content"),
        ({"content": "x", "metadata": {str(n): "" for n in range(26)}}, "metadata"),
        ({"content": "x", "activity": {"type": 9, "session_id": "s"}}, "activity.type"),
    ],
)
async def test_what_cannot_be_said_is_refused_by_its_field(world: World, body: Any, path: str) -> None:
    _, alice, bob = await friends(world)

    assert (await alice.post(f"/users/{bob.id}/messages", json=body)).errors(path)


async def test_nothing_is_not_said_and_words_need_their_scope(world: World) -> None:
    played, alice, bob = await friends(world)
    (await alice.post(f"/users/{bob.id}/messages", json={"content": "  "})).refused(400, 50006)
    shy = await played.player(scope=PRESENCE)
    (await shy.post(f"/users/{bob.id}/messages", json={"content": "hi"})).refused(403, 50026)


# What moderation says


async def test_moderation_metadata_reaches_the_games_of_both_and_nobody_else(world: World) -> None:
    played, alice, bob = await friends(world)
    other = await game(world, "Other")
    elsewhere = await other.player(await world.user())
    said = (await alice.post(f"/users/{bob.id}/messages", json={"content": "rude"})).ok()
    sessions = [await alice.play(), await bob.play()]
    chat = await elsewhere.play()
    path = f"/partner-sdk/dms/{bob.id}/{alice.id}/messages/{said['id']}/moderation-metadata"

    assert (await played.backend.put(path, json={"verdict": "hide"})).status == 204

    for session in sessions:
        assert (await session.next("MESSAGE_UPDATE"))["moderation_metadata"] == {"verdict": "hide"}
    await chat.none_of("MESSAGE_UPDATE")
    (shown,) = (await bob.get(f"/users/{alice.id}/messages")).ok()
    assert shown["moderation_metadata"] == {"verdict": "hide"}
    (await alice.patch(f"/users/{bob.id}/messages/{said['id']}", json={"content": "kind"})).ok()
    cleared = await sessions[1].next("MESSAGE_UPDATE", lambda told: "moderation_metadata" in told)
    assert (cleared["content"], cleared["moderation_metadata"]) == ("kind", {})
    (await other.backend.put(path, json={})).refused(403, 50001)
    gone = f"/partner-sdk/dms/{bob.id}/{alice.id}/messages/1/moderation-metadata"
    (await played.backend.put(gone, json={})).refused(404, 10008)


@pytest.mark.dated(changes.MODERATION_METADATA)
async def test_moderation_came_on_a_date(world: World) -> None:
    played, alice, bob = await friends(world)
    said = (await alice.post(f"/users/{bob.id}/messages", json={"content": "rude"})).ok()
    path = f"/partner-sdk/dms/{bob.id}/{alice.id}/messages/{said['id']}/moderation-metadata"

    world.clock.set(changes.MODERATION_METADATA.at_ms - 1)
    (await played.backend.put(path, json={"verdict": "hide"})).refused(404, 0)
    world.clock.set(changes.MODERATION_METADATA.at_ms)
    assert (await played.backend.put(path, json={"verdict": "hide"})).status == 204


async def test_what_passes_can_be_moderated_too(world: World) -> None:
    played = await game(world)
    alice, bob = await played.player(), await played.player()
    await alice.play()
    theirs = await bob.play()
    said = (await alice.post(f"/users/{bob.id}/messages", json={"content": "rude"})).ok()
    path = f"/partner-sdk/dms/{alice.id}/{bob.id}/messages/{said['id']}/moderation-metadata"

    assert (await played.backend.put(path, json={"verdict": "hide"})).status == 204

    told = await theirs.next("MESSAGE_UPDATE")
    assert told == {"id": said["id"], "channel_id": str(alice.id), "moderation_metadata": {"verdict": "hide"}}


async def test_webhooks_hear_direct_messages_of_players_who_are_in_the_game(
    near_world: World, receiver: Receiver
) -> None:
    played, alice, bob = await friends(near_world)
    kinds = [f"GAME_DIRECT_MESSAGE_{each}" for each in ("CREATE", "UPDATE", "DELETE")]
    await subscribe(receiver, played.backend, *kinds)
    assert near_world.app.worker is not None
    (await alice.post(f"/users/{bob.id}/messages", json={"content": "unheard"})).ok()
    await alice.play()

    said = (await alice.post(f"/users/{bob.id}/messages", json={"content": "one"})).ok()
    (await alice.patch(f"/users/{bob.id}/messages/{said['id']}", json={"content": "two"})).ok()
    (await alice.delete(f"/users/{bob.id}/messages/{said['id']}")).ok()
    await near_world.app.worker.run_due()

    told = [(each["type"], each["data"]["id"], each["data"].get("content")) for each in receiver.events]
    assert told == [(kinds[0], said["id"], "one"), (kinds[1], said["id"], "two"), (kinds[2], said["id"], "two")]


# Invites


async def test_an_invite_is_a_message_and_accepting_it_gives_the_secret(world: World) -> None:
    played, alice, bob = await friends(world)
    mine, theirs = await alice.play(), await bob.play()
    activity = await host(alice, mine)

    sent = await alice.post(f"/users/{bob.id}/messages", json={"content": "join!", "activity": activity})
    said = sent.ok()

    heard = await theirs.next("MESSAGE_CREATE")
    assert heard["activity"] == activity
    assert heard["application"]["id"] == str(played.id)
    await theirs.none_of("ACTIVITY_INVITE_CREATE")
    path = f"/users/{alice.id}/sessions/{activity['session_id']}/activities/{played.id}/1"
    by = f"?channel_id={said['channel_id']}&message_id={said['id']}"
    assert (await bob.get(path + by)).ok() == {"secret": "open sesame"}
    assert (await theirs.next("ACTIVITY_INVITE_CREATE"))["message_id"] == said["id"]
    carol = await played.player()
    (await carol.get(path + by)).refused(403, 50001)
    (await bob.get(path)).refused(403, 50001)
    await mine.close()
    for _ in range(200):
        if not world.app.presences.connected(alice.id):
            break
        await world.request("GET", f"{world.url}/healthz")
    (await bob.get(path + by)).refused(400, 50039)


async def test_an_invite_ends_after_six_hours(world: World) -> None:
    played, alice, bob = await friends(world)
    mine = await alice.play()
    activity = await host(alice, mine)
    said = (await alice.post(f"/users/{bob.id}/messages", json={"activity": activity})).ok()
    path = f"/users/{alice.id}/sessions/{activity['session_id']}/activities/{played.id}/1?message_id={said['id']}"

    world.clock.advance(6 * 3_600_000)

    (await bob.get(path)).refused(403, 50001)


async def test_a_session_that_reads_no_messages_hears_of_the_invite_alone(world: World) -> None:
    played, alice, _bob = await friends(world)

    mine = await alice.play()
    activity = await host(alice, mine)
    person = await world.user()
    shy = await played.player(person, scope=PRESENCE)
    await befriend(alice, shy)
    theirs = await shy.play()

    (await alice.post(f"/users/{shy.id}/messages", json={"content": "words", "activity": activity})).ok()

    told = await theirs.next("ACTIVITY_INVITE_CREATE")
    assert (told["author"]["id"], told["activity"]) == (
        str(alice.id),
        {"type": 1, "party_id": "party", "session_id": activity["session_id"]},
    )
    await theirs.none_of("MESSAGE_CREATE")


async def test_one_asks_to_join_and_is_invited_back(world: World) -> None:
    _played, alice, bob = await friends(world)
    mine, theirs = await alice.play(), await bob.play()
    await host(alice, mine)
    asking = {"type": 5, "session_id": theirs.ready["session_id"]}

    (await bob.post(f"/users/{alice.id}/messages", json={"activity": asking})).ok()

    assert (await mine.next("MESSAGE_CREATE"))["activity"] == {**asking, "party_id": "party"}
    (await alice.post(f"/users/{bob.id}/messages", json={"activity": asking})).refused(400, 50039)


@pytest.mark.parametrize("wrong", ["session", "party", "application", "full", "nothing"])
async def test_there_must_be_something_to_join(world: World, wrong: str) -> None:
    _played, alice, bob = await friends(world)
    other = await game(world, "Other")
    mine = await alice.play()
    if wrong == "nothing":
        activity = {"type": 1, "session_id": mine.ready["session_id"], "party_id": "party"}
    else:
        activity = await host(alice, mine, size=(4, 4) if wrong == "full" else (1, 4))
    body: dict[str, Any] = {"activity": activity}
    if wrong == "session":
        activity["session_id"] = "0" * 32
    elif wrong == "party":
        activity["party_id"] = "another"
    elif wrong == "application":
        body["application_id"] = str(other.id)

    (await alice.post(f"/users/{bob.id}/messages", json=body)).refused(400, 50039)


# Accounts that merge, and notices


async def test_a_merge_moves_conversations_and_makes_a_group_where_there_are_two(world: World) -> None:
    played, guest, bob = await friends(world)
    alice, carol = await played.player(), await played.player()
    await befriend(guest, carol)
    await befriend(alice, bob)
    (await guest.post(f"/users/{carol.id}/messages", json={"content": "to carol"})).ok()
    (await guest.post(f"/users/{bob.id}/messages", json={"content": "to bob"})).ok()
    (await alice.post(f"/users/{bob.id}/messages", json={"content": "also to bob"})).ok()

    fact = AccountsMerged(family_id=played.id, source_id=UserId(guest.id), user_id=UserId(alice.id))  # type: ignore[arg-type]
    await world.write(lambda call: call.tell(fact))

    (said,) = (await alice.get(f"/users/{carol.id}/messages")).ok()
    assert (said["content"], said["author"]["id"]) == ("to carol", str(alice.id))
    kinds = await world.write(
        lambda call: call.tx.all(
            "SELECT c.type FROM recipients r JOIN channels c ON c.id = r.channel_id WHERE r.user_id = ? ORDER BY c.type",
            alice.id,
        )
    )
    assert [each[0] for each in kinds] == [1, 1, 3]


async def test_a_notice_is_read_once(world: World) -> None:
    played, alice, _ = await friends(world)
    path = f"/applications/{played.id}/disclosures"

    assert (await alice.get(path)).ok() == {"disclosures": [3], "acked_disclosures": [], "all_acked": False}
    assert (await alice.post(path, json={"disclosures": [3]})).ok()["all_acked"]
    assert (await alice.get(path)).ok()["acked_disclosures"] == [3]
    assert (await alice.post(path, json={"disclosures": [9]})).errors("disclosures.0")
