"""Lobbies: who may make, join and leave them, what members hear, and how an idle one ends (sdk.md 12)."""

from typing import Any

import pytest

from hubbub.protocol import changes
from hubbub.protocol.ids import UserId
from hubbub.server.resources import users
from hubbub.server.resources.identities import AccountsMerged, AccountUnmerged
from tests.game import Game, Player, game
from tests.receiver import Receiver
from tests.world import World


async def lobby_of(backend: Any, *players: Player, **body: Any) -> Any:
    """A lobby that the backend makes."""
    members = [{"id": str(each.id)} for each in players]
    return (await backend.post("/lobbies", json={"members": members, **body})).ok()


async def due(world: World) -> None:
    """What is due is done."""
    assert world.app.worker is not None
    await world.app.worker.run_due()


# Backends


async def test_a_backend_makes_a_lobby_and_its_members_hear_of_it(world: World) -> None:
    played = await game(world)
    alice, bob = await played.player(), await played.player()
    session = await alice.play()

    made = await lobby_of(played.backend, alice, bob, metadata={"map": "dust"}, flags=1)

    assert (made["metadata"], made["flags"], made["application_id"]) == ({"map": "dust"}, 1, str(played.id))
    assert {each["id"] for each in made["members"]} == {str(alice.id), str(bob.id)}
    heard = await session.next("LOBBY_CREATE")
    connected = {each["user_id"]: each["connected"] for each in heard["members"]}
    assert connected == {str(alice.id): True, str(bob.id): False}
    assert (await played.backend.get(f"/lobbies/{made['id']}")).ok() == made


async def test_a_stranger_to_the_game_cannot_be_put_into_a_lobby(world: World) -> None:
    played = await game(world)
    stranger = await world.user()

    body = {"members": [{"id": str(stranger.id)}]}
    (await played.backend.post("/lobbies", json=body)).refused(403, 50001)
    (await played.backend.post("/lobbies", json={"members": [{"id": "1"}]})).refused(404, 10013)


async def test_a_lobby_of_another_application_is_out_of_reach(world: World) -> None:
    played, other = await game(world), await game(world, "Other")
    made = await lobby_of(played.backend)

    (await other.backend.get(f"/lobbies/{made['id']}")).refused(403, 50001)
    (await other.backend.delete(f"/lobbies/{made['id']}")).refused(403, 50001)
    (await played.backend.get("/lobbies/1")).refused(404, 10031)


async def test_members_are_replaced_as_a_whole_by_an_edit(world: World) -> None:
    played = await game(world)
    alice, bob, carol = [await played.player() for _ in range(3)]
    made = await lobby_of(played.backend, alice, bob)
    sessions = [await each.play() for each in (alice, bob, carol)]

    body = {"members": [{"id": str(alice.id)}, {"id": str(carol.id)}], "metadata": None}
    after = (await played.backend.patch(f"/lobbies/{made['id']}", json=body)).ok()

    assert {each["id"] for each in after["members"]} == {str(alice.id), str(carol.id)}
    assert (await sessions[1].next("LOBBY_DELETE")) == {"id": made["id"], "reason": "removed"}
    assert (await sessions[0].next("LOBBY_MEMBER_REMOVE"))["member"]["user_id"] == str(bob.id)
    assert (await sessions[0].next("LOBBY_MEMBER_ADD"))["member"]["user_id"] == str(carol.id)
    assert (await sessions[2].next("LOBBY_CREATE"))["id"] == made["id"]


async def test_a_deleted_lobby_is_gone_for_all_and_deleting_it_again_is_no_error(world: World) -> None:
    played = await game(world)
    alice = await played.player()
    made = await lobby_of(played.backend, alice)
    session = await alice.play()

    for _ in range(2):
        assert (await played.backend.delete(f"/lobbies/{made['id']}")).status == 204

    assert await session.next("LOBBY_DELETE") == {"id": made["id"], "reason": "deleted"}
    (await played.backend.get(f"/lobbies/{made['id']}")).refused(404, 10031)


@pytest.mark.parametrize(
    ("body", "path"),
    [
        ({"metadata": {"k": "v" * 1001}}, "metadata"),
        ({"metadata": {str(n): "v" for n in range(26)}}, "metadata"),
        ({"flags": 2}, "flags"),
        ({"idle_timeout_seconds": 4}, "idle_timeout_seconds"),
        ({"members": [{"id": "1"}] * 2}, "members.1.id"),
        ({"members": [{"id": "1", "flags": 4}]}, "members.0.flags"),
        ({"override_event_webhooks_url": "ftp://game.example"}, "override_event_webhooks_url"),
        ({"override_event_webhooks_url": "http://[game.example"}, "override_event_webhooks_url"),
        ({"override_event_webhooks_url": "http://127.0.0.1/events"}, "override_event_webhooks_url"),
    ],
)
async def test_what_a_lobby_cannot_be_is_refused_by_its_field(world: World, body: Any, path: str) -> None:
    played = await game(world)

    assert (await played.backend.post("/lobbies", json=body)).errors(path)


async def test_a_members_names_and_words_are_the_backends_to_set(world: World) -> None:
    played = await game(world)
    alice = await played.player()
    made = await lobby_of(played.backend)
    session = await alice.play()
    path = f"/lobbies/{made['id']}/members/{alice.id}"

    body = {"metadata": {"team": "red"}, "flags": 1, "additional_name": "Gandalf"}
    assert (await played.backend.put(path, json=body)).ok() == {"id": str(alice.id), **body}
    assert (await session.next("LOBBY_CREATE"))["members"][0]["additional_name"] == "Gandalf"
    assert (await played.backend.put(path, json={"metadata": None})).ok()["additional_name"] == "Gandalf"
    assert "additional_name" not in (await played.backend.put(path, json={"additional_name": None})).ok()
    assert (await session.next("LOBBY_MEMBER_UPDATE"))["member"]["metadata"] is None
    assert (await played.backend.put(path, json={"additional_name": "x" * 81})).errors("additional_name")


async def test_a_backend_takes_a_member_out_once_or_twice(world: World) -> None:
    played = await game(world)
    alice, bob = await played.player(), await played.player()
    made = await lobby_of(played.backend, alice, bob)
    session = await bob.play()

    for _ in range(2):
        assert (await played.backend.delete(f"/lobbies/{made['id']}/members/{alice.id}")).status == 204

    assert (await session.next("LOBBY_MEMBER_REMOVE"))["member"]["user"]["id"] == str(alice.id)
    left = (await played.backend.get(f"/lobbies/{made['id']}")).ok()["members"]
    assert [each["id"] for each in left] == [str(bob.id)]


@pytest.mark.dated(changes.LOBBY_ADDITIONAL_NAME)
async def test_additional_names_came_on_a_date(world: World) -> None:
    played = await game(world)
    alice = await played.player()
    made = await lobby_of(played.backend)
    path = f"/lobbies/{made['id']}/members/{alice.id}"
    body = {"additional_name": "Gandalf"}

    world.clock.set(changes.LOBBY_ADDITIONAL_NAME.at_ms - 1)
    assert "additional_name" not in (await played.backend.put(path, json=body)).ok()
    world.clock.set(changes.LOBBY_ADDITIONAL_NAME.at_ms)
    assert (await played.backend.put(path, json=body)).ok()["additional_name"] == "Gandalf"


async def test_bulk_adds_changes_and_removes_and_leaves_out_who_does_not_play(world: World) -> None:
    played = await game(world)
    alice, bob = await played.player(), await played.player()
    stranger = await world.user()
    made = await lobby_of(played.backend, alice)
    path = f"/lobbies/{made['id']}/members/bulk"

    body: list[Any] = [
        {"id": str(alice.id), "remove_member": True},
        {"id": str(bob.id), "additional_name": "Frodo"},
        {"id": str(stranger.id)},
    ]
    assert [each["id"] for each in (await played.backend.post(path, json=body)).ok()] == [str(bob.id)]
    assert [each["id"] for each in (await played.backend.get(f"/lobbies/{made['id']}")).ok()["members"]] == [
        str(bob.id)
    ]

    (await played.backend.post(path, json=[{"id": "1"}])).refused(404, 10013)
    assert (await played.backend.post(path, json=[])).status == 400
    assert (await played.backend.post(path, json=[{"id": str(bob.id)}] * 2)).errors("1.id")


@pytest.mark.dated(changes.BULK_LOBBY_MEMBERS)
async def test_bulk_came_on_a_date(world: World) -> None:
    played = await game(world)
    made = await lobby_of(played.backend)
    path = f"/lobbies/{made['id']}/members/bulk"

    world.clock.set(changes.BULK_LOBBY_MEMBERS.at_ms - 1)
    (await played.backend.post(path, json=[{"id": "1"}])).refused(404, 0)
    world.clock.set(changes.BULK_LOBBY_MEMBERS.at_ms)
    (await played.backend.post(path, json=[{"id": "1"}])).refused(404, 10013)


# Players


async def test_a_secret_makes_a_lobby_and_lets_others_join_it(world: World) -> None:
    played = await game(world)
    alice, bob = await played.player(), await played.player()
    session = await alice.play()

    made = (await alice.put("/lobbies", json={"secret": "xyzzy", "lobby_metadata": {"map": "dust"}})).ok()
    assert (await session.next("LOBBY_CREATE"))["id"] == made["id"]
    joined = (await bob.put("/lobbies", json={"secret": "xyzzy", "member_metadata": {"team": "red"}})).ok()

    assert joined["id"] == made["id"]
    assert joined["metadata"] == {"map": "dust"}
    assert (await session.next("LOBBY_MEMBER_ADD"))["member"]["metadata"] == {"team": "red"}
    again = (await bob.put("/lobbies", json={"secret": "xyzzy", "lobby_metadata": {"map": "sand"}})).ok()
    assert again["metadata"] == {"map": "sand"}
    assert (await session.next("LOBBY_UPDATE"))["metadata"] == {"map": "sand"}


async def test_secrets_are_an_applications_own(world: World) -> None:
    played, other = await game(world), await game(world, "Other")
    person = await world.user()

    here = (await (await played.player(person)).put("/lobbies", json={"secret": "xyzzy"})).ok()
    there = (await (await other.player(person)).put("/lobbies", json={"secret": "xyzzy"})).ok()

    assert here["id"] != there["id"]


async def test_a_secret_lets_nobody_in_after_thirty_days(world: World) -> None:
    played = await game(world)
    alice, bob = await played.player(), await played.player()
    await alice.play()
    body = {"secret": "xyzzy", "idle_timeout_seconds": 604_800}
    made = (await alice.put("/lobbies", json=body)).ok()

    world.clock.advance(30 * 24 * 3_600_000)
    bob = await played.player()
    other = (await bob.put("/lobbies", json={"secret": "xyzzy"})).ok()

    assert other["id"] != made["id"]
    assert (await played.backend.get(f"/lobbies/{made['id']}")).status == 200


async def test_players_do_not_learn_where_the_backend_listens(near_world: World, receiver: Receiver) -> None:
    played = await game(near_world)
    receiver.of((await played.backend.get("/applications/@me")).ok())
    alice = await played.player()
    lobby_id = (await alice.put("/lobbies", json={"secret": "xyzzy"})).ok()["id"]
    url = receiver.url
    body = {"override_event_webhooks_url": url}
    assert (await played.backend.patch(f"/lobbies/{lobby_id}", json=body)).ok()["override_event_webhooks_url"] == url

    assert "override_event_webhooks_url" not in (await alice.put("/lobbies", json={"secret": "xyzzy"})).ok()
    assert (await played.backend.get(f"/lobbies/{lobby_id}")).ok()["override_event_webhooks_url"] == url


async def test_an_address_of_a_lobby_proves_itself_before_it_is_kept(near_world: World, receiver: Receiver) -> None:
    played = await game(near_world)
    receiver.of((await played.backend.get("/applications/@me")).ok())
    body = {"override_event_webhooks_url": receiver.url}
    made = (await played.backend.post("/lobbies", json=body)).ok()
    assert (made["override_event_webhooks_url"], receiver.forged) == (receiver.url, 1)
    assert [each["type"] for each in receiver.requests] == [0]
    plain = await lobby_of(played.backend)
    (await played.backend.patch(f"/lobbies/{made['id']}", json={"override_event_webhooks_url": None})).ok()
    assert "override_event_webhooks_url" not in (await played.backend.get(f"/lobbies/{made['id']}")).ok()

    receiver.trusting = True
    refused = [
        await played.backend.post("/lobbies", json=body),
        await played.backend.patch(f"/lobbies/{plain['id']}", json={**body, "metadata": {"a": "b"}}),
    ]
    receiver.trusting = False
    await receiver.close()
    refused.append(await played.backend.post("/lobbies", json=body))

    for answer in refused:
        assert answer.errors("override_event_webhooks_url") == ["APPLICATION_OVERRIDE_EVENT_WEBHOOKS_URL_INVALID"]
    assert (await played.backend.get(f"/lobbies/{plain['id']}")).ok() == plain
    other = await game(near_world, "Other")
    (await other.backend.patch(f"/lobbies/{plain['id']}", json=body)).refused(403, 50001)


async def test_players_leave_their_own_lobbies_and_not_a_backends(world: World) -> None:
    played = await game(world)
    alice = await played.player()
    mine = (await alice.put("/lobbies", json={"secret": "xyzzy"})).ok()
    theirs = await lobby_of(played.backend, alice)

    assert (await alice.delete(f"/lobbies/{mine['id']}/members/@me")).status == 204
    (await alice.delete(f"/lobbies/{theirs['id']}/members/@me")).refused(403, 50013)


async def test_lobbies_need_their_scope(world: World) -> None:
    played = await game(world)
    alice = await played.player(scope="openid sdk.social_layer_presence")

    (await alice.put("/lobbies", json={"secret": "xyzzy"})).refused(403, 50026)


async def test_a_user_is_in_at_most_a_hundred_lobbies_of_a_game(world: World) -> None:
    played = await game(world)
    alice = await played.player()
    for number in range(100):
        (await alice.put("/lobbies", json={"secret": f"s{number}"})).ok()

    assert (await alice.put("/lobbies", json={"secret": "one more"})).status == 400


async def test_lobbies_by_secret_are_older_than_their_documentation(world: World) -> None:
    played = await game(world)
    alice = await played.player()

    world.clock.set(changes.LOBBY_ROUTES.at_ms - 1)
    lobby_id = (await alice.put("/lobbies", json={"secret": "xyzzy"})).ok()["id"]
    (await alice.post(f"/lobbies/{lobby_id}/messages", json={"content": "hello"})).ok()


# Connected or not


async def test_members_hear_who_connects_and_who_goes(world: World) -> None:
    played = await game(world)
    alice, bob = await played.player(), await played.player()
    made = await lobby_of(played.backend, alice, bob)
    session = await alice.play()

    other = await bob.play()
    assert other.ready["lobbies"][0]["id"] == made["id"]
    assert {each["user_id"]: each["connected"] for each in other.ready["lobbies"][0]["members"]} == {
        str(alice.id): True,
        str(bob.id): True,
    }
    assert (await session.next("LOBBY_MEMBER_CONNECT"))["member"]["user_id"] == str(bob.id)
    await other.close()
    gone = await session.next("LOBBY_MEMBER_DISCONNECT")
    assert (gone["lobby_id"], gone["member"]["connected"]) == (made["id"], False)


async def test_other_games_of_the_same_person_hear_nothing_of_a_lobby(world: World) -> None:
    played, other = await game(world), await game(world, "Other")
    person = await world.user()
    here, there = await played.player(person), await other.player(person)
    elsewhere, own = await there.play(), await person.connect()
    session = await here.play()

    await lobby_of(played.backend, here)

    await session.next("LOBBY_CREATE")
    await elsewhere.none_of("LOBBY_CREATE")
    await own.none_of("LOBBY_CREATE")


async def test_an_idle_lobby_ends_by_the_clock_and_a_visited_one_does_not(world: World) -> None:
    played = await game(world)
    alice = await played.player()
    made = (await alice.put("/lobbies", json={"secret": "xyzzy", "idle_timeout_seconds": 60})).ok()

    world.clock.advance(59_000)
    session = await alice.play()
    world.clock.advance(3_600_000)
    await due(world)
    assert (await played.backend.get(f"/lobbies/{made['id']}")).status == 200

    await session.close()
    await settled(world, played, made["id"])
    world.clock.advance(60_000)
    await due(world)
    (await played.backend.get(f"/lobbies/{made['id']}")).refused(404, 10031)


async def test_a_lobby_that_nobody_ever_came_to_ends_too(world: World) -> None:
    played = await game(world)
    made = await lobby_of(played.backend, await played.player(), idle_timeout_seconds=60)

    world.clock.advance(60_000)
    await due(world)

    (await played.backend.get(f"/lobbies/{made['id']}")).refused(404, 10031)


async def settled(world: World, played: Game, lobby_id: str) -> None:
    """Wait until the platform has noticed that nobody is connected."""
    for _ in range(500):
        idle = await world.write(lambda call: call.tx.value("SELECT idle_ms FROM lobbies WHERE id = ?", int(lobby_id)))
        if idle is not None:
            return
        await world.request("GET", f"{world.url}/healthz")
    raise AssertionError("the lobby is not idle")


# Messages


async def test_members_talk_and_read_it_back(world: World) -> None:
    played = await game(world)
    alice, bob = await played.player(), await played.player()
    made = await lobby_of(played.backend, alice, bob)
    await played.backend.put(f"/lobbies/{made['id']}/members/{alice.id}", json={"additional_name": "Gandalf"})
    session = await bob.play()
    path = f"/lobbies/{made['id']}/messages"

    answer = await alice.post(path, json={"content": "fly", "metadata": {"colour": "red"}})
    assert answer.status == 201
    said = answer.ok()
    assert (said["content"], said["lobby_id"], said["channel_id"]) == ("fly", made["id"], made["id"])
    assert said["flags"] == 1 << 16
    assert said["lobby_member"] == {"additional_name": "Gandalf"}
    heard = await session.next("LOBBY_MESSAGE_CREATE")
    assert (heard["id"], heard["metadata"], heard["author"]["id"]) == (said["id"], {"colour": "red"}, str(alice.id))
    (await bob.post(path, json={"content": "fools"})).ok()
    assert [each["content"] for each in (await alice.get(path)).ok()] == ["fools", "fly"]
    assert [each["content"] for each in (await alice.get(f"{path}?limit=1")).ok()] == ["fools"]


async def test_who_is_not_in_a_lobby_neither_reads_nor_writes(world: World) -> None:
    played = await game(world)
    alice = await played.player()
    made = await lobby_of(played.backend)
    path = f"/lobbies/{made['id']}/messages"

    (await alice.get(path)).refused(403, 50001)
    (await alice.post(path, json={"content": "hi"})).refused(403, 50001)
    (await alice.post("/lobbies/1/messages", json={"content": "hi"})).refused(404, 10031)
    assert (await alice.get(f"{path}?limit=201")).errors("limit")


async def test_a_lobby_without_a_channel_takes_words_only(world: World) -> None:
    played = await game(world)
    alice = await played.player()
    made = await lobby_of(played.backend, alice)
    path = f"/lobbies/{made['id']}/messages"

    (await alice.post(path, json={"content": "  "})).refused(400, 50006)
    assert (await alice.post(path, json={"content": "x", "embeds": [{"title": "t"}]})).errors("embeds")
    assert (await alice.post(path, json={"content": "x" * 2001})).errors("content")


async def test_a_repeated_nonce_gives_the_earlier_message_back_for_five_minutes(world: World) -> None:
    played = await game(world)
    alice, bob = await played.player(), await played.player()
    made = await lobby_of(played.backend, alice, bob)
    other = await lobby_of(played.backend, alice)
    session = await bob.play()
    path, body = f"/lobbies/{made['id']}/messages", {"nonce": "n1", "enforce_nonce": True}

    first = await alice.post(path, json={"content": "one", **body})
    again = await alice.post(path, json={"content": "two", **body})

    assert (again.status, again.ok()) == (first.status, first.ok())
    assert [each["content"] for each in (await alice.get(path)).ok()] == ["one"]
    # Another's nonce, another lobby's, and one that is not enforced are other nonces.
    for person, where, said in (
        (bob, path, {"content": "bob", **body}),
        (alice, f"/lobbies/{other['id']}/messages", {"content": "elsewhere", **body}),
        (alice, path, {"content": "loose", "nonce": "n1"}),
    ):
        assert (await person.post(where, json=said)).ok()["content"] == said["content"]
    world.clock.advance(5 * 60_000 + 1)
    assert (await alice.post(path, json={"content": "later", **body})).ok()["content"] == "later"
    heard = [(await session.next("LOBBY_MESSAGE_CREATE"))["content"] for _ in range(4)]
    assert heard == ["one", "bob", "loose", "later"]
    assert (await alice.post(path, json={"content": "x", "nonce": "x" * 26})).errors("nonce")


async def test_a_lobby_message_keeps_the_flags_that_words_can_have(world: World) -> None:
    played = await game(world)
    alice = await played.player()
    lobby_id = (await alice.put("/lobbies", json={"secret": "xyzzy"})).ok()["id"]
    path = f"/lobbies/{lobby_id}/messages"

    said = (await alice.post(path, json={"content": "psst", "flags": 1 << 12})).ok()

    assert said["flags"] == 1 << 12 | 1 << 16
    assert (await alice.get(path)).ok() == [said]
    assert (await alice.post(path, json={"content": "x", "flags": 1 << 15})).errors("flags") == ["LOBBY_NOT_LINKED"]


async def test_history_ends_after_72_hours_and_is_forgotten(world: World) -> None:
    played = await game(world)
    alice = await played.player()
    made = await lobby_of(played.backend, alice, idle_timeout_seconds=604_800)
    path = f"/lobbies/{made['id']}/messages"
    (await alice.post(path, json={"content": "old"})).ok()

    world.clock.advance(72 * 3_600_000 - 1000)
    assert len((await alice.get(path)).ok()) == 1
    world.clock.advance(2000)
    assert (await alice.get(path)).ok() == []
    world.clock.advance(24 * 3_600_000)
    await due(world)
    assert await world.write(lambda call: call.tx.value("SELECT COUNT(*) FROM lobby_messages")) == 0


async def test_moderation_metadata_reaches_players_and_replaces_what_was(world: World) -> None:
    played, other = await game(world), await game(world, "Other")
    alice = await played.player()
    made = await lobby_of(played.backend, alice)
    said = (await alice.post(f"/lobbies/{made['id']}/messages", json={"content": "rude"})).ok()
    session = await alice.play()
    path = f"/lobbies/{made['id']}/messages/{said['id']}/moderation-metadata"

    assert (await played.backend.put(path, json={"verdict": "hide"})).status == 204
    assert (await session.next("LOBBY_MESSAGE_UPDATE"))["moderation_metadata"] == {"verdict": "hide"}
    (shown,) = (await alice.get(f"/lobbies/{made['id']}/messages")).ok()
    assert shown["moderation_metadata"] == {"verdict": "hide"}
    assert (await played.backend.put(path, json={})).status == 204
    assert (await session.next("LOBBY_MESSAGE_UPDATE"))["moderation_metadata"] == {}

    (await other.backend.put(path, json={})).refused(403, 50001)
    gone = f"/lobbies/{made['id']}/messages/1/moderation-metadata"
    (await played.backend.put(gone, json={})).refused(404, 10008)
    assert (await played.backend.put(path, json={str(n): "" for n in range(6)})).status == 400
    assert (await played.backend.put(path, json={"k": "v" * 2001})).status == 400


@pytest.mark.dated(changes.MODERATION_METADATA)
async def test_moderation_metadata_came_on_a_date(world: World) -> None:
    played = await game(world)
    alice = await played.player()
    made = await lobby_of(played.backend, alice)
    said = (await alice.post(f"/lobbies/{made['id']}/messages", json={"content": "rude"})).ok()
    path = f"/lobbies/{made['id']}/messages/{said['id']}/moderation-metadata"

    world.clock.set(changes.MODERATION_METADATA.at_ms - 1)
    (await played.backend.put(path, json={"verdict": "hide"})).refused(404, 0)
    world.clock.set(changes.MODERATION_METADATA.at_ms)
    assert (await played.backend.put(path, json={"verdict": "hide"})).status == 204


# Accounts that merge


async def test_a_merge_takes_memberships_and_words_along(world: World) -> None:
    played = await game(world)
    guest, alice = await played.player(), await played.player()
    made = await lobby_of(played.backend, guest, flags=0)
    (await guest.post(f"/lobbies/{made['id']}/messages", json={"content": "hi"})).ok()
    session = await alice.play()

    fact = AccountsMerged(family_id=played.id, source_id=UserId(guest.id), user_id=UserId(alice.id))  # type: ignore[arg-type]
    await world.write(lambda call: call.tell(fact))

    assert (await session.next("LOBBY_CREATE"))["id"] == made["id"]
    (said,) = (await alice.get(f"/lobbies/{made['id']}/messages")).ok()
    assert said["author"]["id"] == str(alice.id)
    (await guest.get(f"/lobbies/{made['id']}/messages")).refused(403, 50001)


async def test_an_unmerge_and_a_deletion_leave_no_stranger_behind(world: World) -> None:
    played = await game(world)
    alice, guest = await played.player(), await played.player()
    made = await lobby_of(played.backend, alice)

    fact = AccountUnmerged(
        family_id=played.id,  # type: ignore[arg-type]
        user_id=UserId(alice.id),
        provisional_id=UserId(guest.id),
        restricted=False,
    )
    await world.write(lambda call: call.tell(fact))
    shown = (await played.backend.get(f"/lobbies/{made['id']}")).ok()
    assert [each["id"] for each in shown["members"]] == [str(guest.id)]
    await world.write(lambda call: call.tell(users.UserDeleted(UserId(guest.id))))
    assert (await played.backend.get(f"/lobbies/{made['id']}")).ok()["members"] == []
