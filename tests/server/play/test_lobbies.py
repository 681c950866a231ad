"""Lobbies: creation, members, events, expiry of idle lobbies, messages, and account merges (spec/sdk.md#12)."""

import asyncio
from typing import Any

import pytest

from hubbub.protocol import changes
from hubbub.protocol.enums import WebhookPayloadType
from hubbub.protocol.flags import MessageFlags
from hubbub.protocol.ids import UserId
from hubbub.server.identity import users
from hubbub.server.identity.identities import AccountsMerged, AccountUnmerged
from tests.game import Player, create_game
from tests.receiver import Receiver
from tests.world import WAIT_TIMEOUT_SECONDS, World


async def create_lobby(backend: Any, *players: Player, **body: Any) -> Any:
    """Create a lobby with these members as the game's backend, and return it."""
    members = [{"id": str(player.id)} for player in players]
    return (await backend.post("/lobbies", json={"members": members, **body})).ok()


# Backends


async def test_creating_a_lobby_notifies_its_members(world: World) -> None:
    game = await create_game(world)
    alice, bob = await game.add_player(), await game.add_player()
    session = await alice.connect_sdk()

    lobby = await create_lobby(game.backend, alice, bob, metadata={"map": "dust"}, flags=1)

    assert (lobby["metadata"], lobby["flags"], lobby["application_id"]) == ({"map": "dust"}, 1, str(game.id))
    assert {member["id"] for member in lobby["members"]} == {str(alice.id), str(bob.id)}
    event = await session.next("LOBBY_CREATE")
    connected_by_user = {member["user_id"]: member["connected"] for member in event["members"]}
    assert connected_by_user == {str(alice.id): True, str(bob.id): False}
    assert (await game.backend.get(f"/lobbies/{lobby['id']}")).ok() == lobby


async def test_a_user_who_has_not_authorized_the_game_cannot_be_added(world: World) -> None:
    game = await create_game(world)
    stranger = await world.user()

    body = {"members": [{"id": str(stranger.id)}]}
    (await game.backend.post("/lobbies", json=body)).rejected(403, 50001)
    (await game.backend.post("/lobbies", json={"members": [{"id": "1"}]})).rejected(404, 10013)


async def test_a_lobby_of_another_application_is_inaccessible(world: World) -> None:
    game, other_game = await create_game(world), await create_game(world, "Other")
    lobby = await create_lobby(game.backend)

    (await other_game.backend.get(f"/lobbies/{lobby['id']}")).rejected(403, 50001)
    (await other_game.backend.delete(f"/lobbies/{lobby['id']}")).rejected(403, 50001)
    (await game.backend.get("/lobbies/1")).rejected(404, 10031)


async def test_updating_members_replaces_the_whole_list(world: World) -> None:
    game = await create_game(world)
    alice, bob, carol = [await game.add_player() for _ in range(3)]
    lobby = await create_lobby(game.backend, alice, bob)
    sessions = [await player.connect_sdk() for player in (alice, bob, carol)]

    body = {"members": [{"id": str(alice.id)}, {"id": str(carol.id)}], "metadata": None}
    updated_lobby = (await game.backend.patch(f"/lobbies/{lobby['id']}", json=body)).ok()

    assert {member["id"] for member in updated_lobby["members"]} == {str(alice.id), str(carol.id)}
    assert (await sessions[1].next("LOBBY_DELETE")) == {"id": lobby["id"], "reason": "removed"}
    assert (await sessions[0].next("LOBBY_MEMBER_REMOVE"))["member"]["user_id"] == str(bob.id)
    assert (await sessions[0].next("LOBBY_MEMBER_ADD"))["member"]["user_id"] == str(carol.id)
    assert (await sessions[2].next("LOBBY_CREATE"))["id"] == lobby["id"]


async def test_deleting_a_lobby_is_idempotent_and_notifies_members(world: World) -> None:
    game = await create_game(world)
    alice = await game.add_player()
    lobby = await create_lobby(game.backend, alice)
    session = await alice.connect_sdk()

    for _ in range(2):
        assert (await game.backend.delete(f"/lobbies/{lobby['id']}")).status == 204

    assert await session.next("LOBBY_DELETE") == {"id": lobby["id"], "reason": "deleted"}
    (await game.backend.get(f"/lobbies/{lobby['id']}")).rejected(404, 10031)


@pytest.mark.parametrize(
    ("body", "path"),
    [
        ({"metadata": {"k": "v" * 1001}}, "metadata"),
        ({"metadata": {str(number): "v" for number in range(26)}}, "metadata"),
        ({"flags": 2}, "flags"),
        ({"idle_timeout_seconds": 4}, "idle_timeout_seconds"),
        ({"members": [{"id": "1"}] * 2}, "members.1.id"),
        ({"members": [{"id": "1", "flags": 4}]}, "members.0.flags"),
        ({"override_event_webhooks_url": "ftp://game.example"}, "override_event_webhooks_url"),
        ({"override_event_webhooks_url": "http://[game.example"}, "override_event_webhooks_url"),
        ({"override_event_webhooks_url": "http://127.0.0.1/events"}, "override_event_webhooks_url"),
    ],
)
async def test_invalid_lobby_fields_are_rejected(world: World, body: Any, path: str) -> None:
    game = await create_game(world)

    assert (await game.backend.post("/lobbies", json=body)).errors(path)


async def test_the_backend_sets_member_metadata_flags_and_additional_name(world: World) -> None:
    game = await create_game(world)
    alice = await game.add_player()
    lobby = await create_lobby(game.backend)
    session = await alice.connect_sdk()
    path = f"/lobbies/{lobby['id']}/members/{alice.id}"

    body = {"metadata": {"team": "red"}, "flags": 1, "additional_name": "Gandalf"}
    assert (await game.backend.put(path, json=body)).ok() == {"id": str(alice.id), **body}
    assert (await session.next("LOBBY_CREATE"))["members"][0]["additional_name"] == "Gandalf"
    assert (await game.backend.put(path, json={"metadata": None})).ok()["additional_name"] == "Gandalf"
    assert "additional_name" not in (await game.backend.put(path, json={"additional_name": None})).ok()
    assert (await session.next("LOBBY_MEMBER_UPDATE"))["member"]["metadata"] is None
    assert (await game.backend.put(path, json={"additional_name": "x" * 81})).errors("additional_name")


async def test_removing_a_member_is_idempotent(world: World) -> None:
    game = await create_game(world)
    alice, bob = await game.add_player(), await game.add_player()
    lobby = await create_lobby(game.backend, alice, bob)
    session = await bob.connect_sdk()

    for _ in range(2):
        assert (await game.backend.delete(f"/lobbies/{lobby['id']}/members/{alice.id}")).status == 204

    assert (await session.next("LOBBY_MEMBER_REMOVE"))["member"]["user"]["id"] == str(alice.id)
    members = (await game.backend.get(f"/lobbies/{lobby['id']}")).ok()["members"]
    assert [member["id"] for member in members] == [str(bob.id)]


@pytest.mark.dated(changes.LOBBY_ADDITIONAL_NAME)
async def test_additional_names_are_ignored_before_their_release_date(world: World) -> None:
    game = await create_game(world)
    alice = await game.add_player()
    lobby = await create_lobby(game.backend)
    path = f"/lobbies/{lobby['id']}/members/{alice.id}"
    body = {"additional_name": "Gandalf"}

    world.clock.set(changes.LOBBY_ADDITIONAL_NAME.at_ms - 1)
    assert "additional_name" not in (await game.backend.put(path, json=body)).ok()
    world.clock.set(changes.LOBBY_ADDITIONAL_NAME.at_ms)
    assert (await game.backend.put(path, json=body)).ok()["additional_name"] == "Gandalf"


async def test_a_bulk_update_adds_updates_and_removes_and_skips_non_players(world: World) -> None:
    game = await create_game(world)
    alice, bob = await game.add_player(), await game.add_player()
    stranger = await world.user()
    lobby = await create_lobby(game.backend, alice)
    path = f"/lobbies/{lobby['id']}/members/bulk"

    body: list[Any] = [
        {"id": str(alice.id), "remove_member": True},
        {"id": str(bob.id), "additional_name": "Frodo"},
        {"id": str(stranger.id)},
    ]
    assert [member["id"] for member in (await game.backend.post(path, json=body)).ok()] == [str(bob.id)]
    assert [member["id"] for member in (await game.backend.get(f"/lobbies/{lobby['id']}")).ok()["members"]] == [
        str(bob.id)
    ]

    (await game.backend.post(path, json=[{"id": "1"}])).rejected(404, 10013)
    assert (await game.backend.post(path, json=[])).status == 400
    assert (await game.backend.post(path, json=[{"id": str(bob.id)}] * 2)).errors("1.id")


@pytest.mark.dated(changes.BULK_LOBBY_MEMBERS)
async def test_the_bulk_route_is_unknown_before_its_release_date(world: World) -> None:
    game = await create_game(world)
    lobby = await create_lobby(game.backend)
    path = f"/lobbies/{lobby['id']}/members/bulk"

    world.clock.set(changes.BULK_LOBBY_MEMBERS.at_ms - 1)
    (await game.backend.post(path, json=[{"id": "1"}])).rejected(404, 0)
    world.clock.set(changes.BULK_LOBBY_MEMBERS.at_ms)
    (await game.backend.post(path, json=[{"id": "1"}])).rejected(404, 10013)


# Players


async def test_a_secret_creates_a_lobby_that_others_can_join(world: World) -> None:
    game = await create_game(world)
    alice, bob = await game.add_player(), await game.add_player()
    session = await alice.connect_sdk()

    lobby = (await alice.put("/lobbies", json={"secret": "xyzzy", "lobby_metadata": {"map": "dust"}})).ok()
    assert (await session.next("LOBBY_CREATE"))["id"] == lobby["id"]
    joined_lobby = (await bob.put("/lobbies", json={"secret": "xyzzy", "member_metadata": {"team": "red"}})).ok()

    assert joined_lobby["id"] == lobby["id"]
    assert joined_lobby["metadata"] == {"map": "dust"}
    assert (await session.next("LOBBY_MEMBER_ADD"))["member"]["metadata"] == {"team": "red"}
    rejoined_lobby = (await bob.put("/lobbies", json={"secret": "xyzzy", "lobby_metadata": {"map": "sand"}})).ok()
    assert rejoined_lobby["metadata"] == {"map": "sand"}
    assert (await session.next("LOBBY_UPDATE"))["metadata"] == {"map": "sand"}


async def test_the_same_secret_in_two_applications_is_two_lobbies(world: World) -> None:
    game, other_game = await create_game(world), await create_game(world, "Other")
    user = await world.user()

    first_lobby = (await (await game.add_player(user)).put("/lobbies", json={"secret": "xyzzy"})).ok()
    second_lobby = (await (await other_game.add_player(user)).put("/lobbies", json={"secret": "xyzzy"})).ok()

    assert first_lobby["id"] != second_lobby["id"]


async def test_a_secret_expires_after_thirty_days(world: World) -> None:
    game = await create_game(world)
    alice = await game.add_player()
    await alice.connect_sdk()
    body = {"secret": "xyzzy", "idle_timeout_seconds": 604_800}
    lobby = (await alice.put("/lobbies", json=body)).ok()

    world.clock.advance(30 * 24 * 3_600_000)
    bob = await game.add_player()
    other_lobby = (await bob.put("/lobbies", json={"secret": "xyzzy"})).ok()

    assert other_lobby["id"] != lobby["id"]
    assert (await game.backend.get(f"/lobbies/{lobby['id']}")).status == 200


async def test_players_do_not_see_the_event_webhook_url(private_targets_world: World, receiver: Receiver) -> None:
    game = await create_game(private_targets_world)
    receiver.use_verify_key_of((await game.backend.get("/applications/@me")).ok())
    alice = await game.add_player()
    lobby_id = (await alice.put("/lobbies", json={"secret": "xyzzy"})).ok()["id"]
    url = receiver.events_url
    body = {"override_event_webhooks_url": url}
    assert (await game.backend.patch(f"/lobbies/{lobby_id}", json=body)).ok()["override_event_webhooks_url"] == url

    assert "override_event_webhooks_url" not in (await alice.put("/lobbies", json={"secret": "xyzzy"})).ok()
    assert (await game.backend.get(f"/lobbies/{lobby_id}")).ok()["override_event_webhooks_url"] == url


async def test_an_event_webhook_url_is_verified_before_it_is_stored(
    private_targets_world: World, receiver: Receiver
) -> None:
    game = await create_game(private_targets_world)
    receiver.use_verify_key_of((await game.backend.get("/applications/@me")).ok())
    body = {"override_event_webhooks_url": receiver.events_url}
    lobby = (await game.backend.post("/lobbies", json=body)).ok()
    assert (lobby["override_event_webhooks_url"], receiver.invalid_signature_count) == (receiver.events_url, 1)
    assert [request["type"] for request in receiver.requests] == [WebhookPayloadType.PING]
    plain = await create_lobby(game.backend)
    (await game.backend.patch(f"/lobbies/{lobby['id']}", json={"override_event_webhooks_url": None})).ok()
    assert "override_event_webhooks_url" not in (await game.backend.get(f"/lobbies/{lobby['id']}")).ok()

    receiver.accepts_invalid_signatures = True
    rejected_responses = [
        await game.backend.post("/lobbies", json=body),
        await game.backend.patch(f"/lobbies/{plain['id']}", json={**body, "metadata": {"a": "b"}}),
    ]
    receiver.accepts_invalid_signatures = False
    await receiver.close()
    rejected_responses.append(await game.backend.post("/lobbies", json=body))

    for response in rejected_responses:
        assert response.errors("override_event_webhooks_url") == ["APPLICATION_OVERRIDE_EVENT_WEBHOOKS_URL_INVALID"]
    assert (await game.backend.get(f"/lobbies/{plain['id']}")).ok() == plain
    other_game = await create_game(private_targets_world, "Other")
    (await other_game.backend.patch(f"/lobbies/{plain['id']}", json=body)).rejected(403, 50001)


async def test_players_can_leave_secret_lobbies_but_not_backend_lobbies(world: World) -> None:
    game = await create_game(world)
    alice = await game.add_player()
    secret_lobby = (await alice.put("/lobbies", json={"secret": "xyzzy"})).ok()
    backend_lobby = await create_lobby(game.backend, alice)

    assert (await alice.delete(f"/lobbies/{secret_lobby['id']}/members/@me")).status == 204
    (await alice.delete(f"/lobbies/{backend_lobby['id']}/members/@me")).rejected(403, 50013)


async def test_joining_a_lobby_requires_the_scope(world: World) -> None:
    game = await create_game(world)
    alice = await game.add_player(scope="openid sdk.social_layer_presence")

    (await alice.put("/lobbies", json={"secret": "xyzzy"})).rejected(403, 50026)


async def test_a_user_is_in_at_most_a_hundred_lobbies_of_a_game(world: World) -> None:
    game = await create_game(world)
    alice = await game.add_player()
    for number in range(100):
        (await alice.put("/lobbies", json={"secret": f"s{number}"})).ok()

    assert (await alice.put("/lobbies", json={"secret": "one more"})).status == 400


async def test_secret_lobbies_work_before_the_documented_release_date(world: World) -> None:
    game = await create_game(world)
    alice = await game.add_player()

    world.clock.set(changes.LOBBY_ROUTES.at_ms - 1)
    lobby_id = (await alice.put("/lobbies", json={"secret": "xyzzy"})).ok()["id"]
    (await alice.post(f"/lobbies/{lobby_id}/messages", json={"content": "hello"})).ok()


# Connection state


async def test_members_receive_connect_and_disconnect_events(world: World) -> None:
    game = await create_game(world)
    alice, bob = await game.add_player(), await game.add_player()
    lobby = await create_lobby(game.backend, alice, bob)
    session = await alice.connect_sdk()

    bob_session = await bob.connect_sdk()
    assert bob_session.ready["lobbies"][0]["id"] == lobby["id"]
    assert {member["user_id"]: member["connected"] for member in bob_session.ready["lobbies"][0]["members"]} == {
        str(alice.id): True,
        str(bob.id): True,
    }
    assert (await session.next("LOBBY_MEMBER_CONNECT"))["member"]["user_id"] == str(bob.id)
    await bob_session.close()
    event = await session.next("LOBBY_MEMBER_DISCONNECT")
    assert (event["lobby_id"], event["member"]["connected"]) == (lobby["id"], False)


async def test_lobby_events_stay_within_the_game(world: World) -> None:
    game, other_game = await create_game(world), await create_game(world, "Other")
    user = await world.user()
    player, other_player = await game.add_player(user), await other_game.add_player(user)
    other_session, user_session = await other_player.connect_sdk(), await user.connect()
    session = await player.connect_sdk()

    await create_lobby(game.backend, player)

    await session.next("LOBBY_CREATE")
    await other_session.assert_not_received("LOBBY_CREATE")
    await user_session.assert_not_received("LOBBY_CREATE")


async def test_an_idle_lobby_expires_and_a_connected_one_does_not(world: World) -> None:
    game = await create_game(world)
    alice = await game.add_player()
    lobby = (await alice.put("/lobbies", json={"secret": "xyzzy", "idle_timeout_seconds": 60})).ok()

    world.clock.advance(59_000)
    session = await alice.connect_sdk()
    world.clock.advance(3_600_000)
    await world.run_due_jobs()
    assert (await game.backend.get(f"/lobbies/{lobby['id']}")).status == 200

    await session.close()
    await wait_until_idle(world, lobby["id"])
    world.clock.advance(60_000)
    await world.run_due_jobs()
    (await game.backend.get(f"/lobbies/{lobby['id']}")).rejected(404, 10031)


async def test_a_lobby_without_any_connection_expires(world: World) -> None:
    game = await create_game(world)
    lobby = await create_lobby(game.backend, await game.add_player(), idle_timeout_seconds=60)

    world.clock.advance(60_000)
    await world.run_due_jobs()

    (await game.backend.get(f"/lobbies/{lobby['id']}")).rejected(404, 10031)


async def wait_until_idle(world: World, lobby_id: str) -> None:
    """Wait until the server has stored that no member of the lobby is connected."""
    sql = "SELECT idle_ms FROM lobbies WHERE id = ?"
    async with asyncio.timeout(WAIT_TIMEOUT_SECONDS):
        while await world.write(lambda call: call.tx.value(sql, int(lobby_id))) is None:
            await asyncio.sleep(0.01)


# Messages


async def test_members_send_and_list_lobby_messages(world: World) -> None:
    game = await create_game(world)
    alice, bob = await game.add_player(), await game.add_player()
    lobby = await create_lobby(game.backend, alice, bob)
    await game.backend.put(f"/lobbies/{lobby['id']}/members/{alice.id}", json={"additional_name": "Gandalf"})
    session = await bob.connect_sdk()
    path = f"/lobbies/{lobby['id']}/messages"

    response = await alice.post(path, json={"content": "fly", "metadata": {"color": "red"}})
    assert response.status == 201
    message = response.ok()
    assert (message["content"], message["lobby_id"], message["channel_id"]) == ("fly", lobby["id"], lobby["id"])
    assert message["flags"] == MessageFlags.SENT_BY_SOCIAL_LAYER_INTEGRATION
    assert message["lobby_member"] == {"additional_name": "Gandalf"}
    event = await session.next("LOBBY_MESSAGE_CREATE")
    assert (event["id"], event["metadata"], event["author"]["id"]) == (message["id"], {"color": "red"}, str(alice.id))
    (await bob.post(path, json={"content": "fools"})).ok()
    assert [message["content"] for message in (await alice.get(path)).ok()] == ["fools", "fly"]
    assert [message["content"] for message in (await alice.get(f"{path}?limit=1")).ok()] == ["fools"]


async def test_a_non_member_cannot_read_or_send_messages(world: World) -> None:
    game = await create_game(world)
    alice = await game.add_player()
    lobby = await create_lobby(game.backend)
    path = f"/lobbies/{lobby['id']}/messages"

    (await alice.get(path)).rejected(403, 50001)
    (await alice.post(path, json={"content": "hi"})).rejected(403, 50001)
    (await alice.post("/lobbies/1/messages", json={"content": "hi"})).rejected(404, 10031)
    assert (await alice.get(f"{path}?limit=201")).errors("limit")


async def test_an_unlinked_lobby_accepts_only_text(world: World) -> None:
    game = await create_game(world)
    alice = await game.add_player()
    lobby = await create_lobby(game.backend, alice)
    path = f"/lobbies/{lobby['id']}/messages"

    (await alice.post(path, json={"content": "  "})).rejected(400, 50006)
    assert (await alice.post(path, json={"content": "x", "embeds": [{"title": "t"}]})).errors("embeds")
    assert (await alice.post(path, json={"content": "x" * 2001})).errors("content")


async def test_a_repeated_nonce_returns_the_earlier_message_for_five_minutes(world: World) -> None:
    game = await create_game(world)
    alice, bob = await game.add_player(), await game.add_player()
    lobby = await create_lobby(game.backend, alice, bob)
    other_lobby = await create_lobby(game.backend, alice)
    session = await bob.connect_sdk()
    path, body = f"/lobbies/{lobby['id']}/messages", {"nonce": "n1", "enforce_nonce": True}

    first_response = await alice.post(path, json={"content": "one", **body})
    repeated_response = await alice.post(path, json={"content": "two", **body})

    assert (repeated_response.status, repeated_response.ok()) == (first_response.status, first_response.ok())
    assert [message["content"] for message in (await alice.get(path)).ok()] == ["one"]
    # Nonces are scoped by author and lobby, and count only when enforced.
    for sender, target, payload in (
        (bob, path, {"content": "bob", **body}),
        (alice, f"/lobbies/{other_lobby['id']}/messages", {"content": "elsewhere", **body}),
        (alice, path, {"content": "loose", "nonce": "n1"}),
    ):
        assert (await sender.post(target, json=payload)).ok()["content"] == payload["content"]
    world.clock.advance(5 * 60_000 + 1)
    assert (await alice.post(path, json={"content": "later", **body})).ok()["content"] == "later"
    contents = [(await session.next("LOBBY_MESSAGE_CREATE"))["content"] for _ in range(4)]
    assert contents == ["one", "bob", "loose", "later"]
    assert (await alice.post(path, json={"content": "x", "nonce": "x" * 26})).errors("nonce")


async def test_a_nonce_of_a_process_whose_clock_is_ahead_counts_in_a_lobby(world: World) -> None:
    game = await create_game(world)
    alice = await game.add_player()
    path = f"/lobbies/{(await create_lobby(game.backend, alice))['id']}/messages"
    body = {"content": "one", "nonce": "n1", "enforce_nonce": True}

    first_message = (await alice.post(path, json=body)).ok()
    world.clock.set(world.clock.now_ms() - 2_000)

    assert (await alice.post(path, json=body)).ok() == first_message
    # The clock was set back by more than the window.
    world.clock.set(world.clock.now_ms() - 300_000)
    assert (await alice.post(path, json=body)).ok()["id"] != first_message["id"]


async def test_a_lobby_message_keeps_the_flags_valid_for_text(world: World) -> None:
    game = await create_game(world)
    alice = await game.add_player()
    lobby_id = (await alice.put("/lobbies", json={"secret": "xyzzy"})).ok()["id"]
    path = f"/lobbies/{lobby_id}/messages"

    message = (await alice.post(path, json={"content": "psst", "flags": MessageFlags.SUPPRESS_NOTIFICATIONS})).ok()

    assert message["flags"] == MessageFlags.SUPPRESS_NOTIFICATIONS | MessageFlags.SENT_BY_SOCIAL_LAYER_INTEGRATION
    assert (await alice.get(path)).ok() == [message]
    assert (await alice.post(path, json={"content": "x", "flags": MessageFlags.IS_COMPONENTS_V2})).errors("flags") == [
        "LOBBY_NOT_LINKED"
    ]


async def test_messages_expire_after_72_hours_and_are_deleted(world: World) -> None:
    game = await create_game(world)
    alice = await game.add_player()
    lobby = await create_lobby(game.backend, alice, idle_timeout_seconds=604_800)
    path = f"/lobbies/{lobby['id']}/messages"
    (await alice.post(path, json={"content": "old"})).ok()

    world.clock.advance(72 * 3_600_000 - 1000)
    assert len((await alice.get(path)).ok()) == 1
    world.clock.advance(2000)
    assert (await alice.get(path)).ok() == []
    world.clock.advance(24 * 3_600_000)
    await world.run_due_jobs()
    assert await world.write(lambda call: call.tx.value("SELECT COUNT(*) FROM lobby_messages")) == 0


async def test_moderation_metadata_reaches_players_and_is_replaced_as_a_whole(world: World) -> None:
    game, other_game = await create_game(world), await create_game(world, "Other")
    alice = await game.add_player()
    lobby = await create_lobby(game.backend, alice)
    message = (await alice.post(f"/lobbies/{lobby['id']}/messages", json={"content": "rude"})).ok()
    session = await alice.connect_sdk()
    path = f"/lobbies/{lobby['id']}/messages/{message['id']}/moderation-metadata"

    assert (await game.backend.put(path, json={"verdict": "hide"})).status == 204
    assert (await session.next("LOBBY_MESSAGE_UPDATE"))["moderation_metadata"] == {"verdict": "hide"}
    (listed_message,) = (await alice.get(f"/lobbies/{lobby['id']}/messages")).ok()
    assert listed_message["moderation_metadata"] == {"verdict": "hide"}
    assert (await game.backend.put(path, json={})).status == 204
    assert (await session.next("LOBBY_MESSAGE_UPDATE"))["moderation_metadata"] == {}

    (await other_game.backend.put(path, json={})).rejected(403, 50001)
    unknown_message_path = f"/lobbies/{lobby['id']}/messages/1/moderation-metadata"
    (await game.backend.put(unknown_message_path, json={})).rejected(404, 10008)
    assert (await game.backend.put(path, json={str(number): "" for number in range(6)})).status == 400
    assert (await game.backend.put(path, json={"k": "v" * 2001})).status == 400


@pytest.mark.dated(changes.MODERATION_METADATA)
async def test_moderation_metadata_is_unknown_before_its_release_date(world: World) -> None:
    game = await create_game(world)
    alice = await game.add_player()
    lobby = await create_lobby(game.backend, alice)
    message = (await alice.post(f"/lobbies/{lobby['id']}/messages", json={"content": "rude"})).ok()
    path = f"/lobbies/{lobby['id']}/messages/{message['id']}/moderation-metadata"

    world.clock.set(changes.MODERATION_METADATA.at_ms - 1)
    (await game.backend.put(path, json={"verdict": "hide"})).rejected(404, 0)
    world.clock.set(changes.MODERATION_METADATA.at_ms)
    assert (await game.backend.put(path, json={"verdict": "hide"})).status == 204


# Account merges


async def test_a_merge_moves_memberships_and_messages(world: World) -> None:
    game = await create_game(world)
    provisional_player, alice = await game.add_player(), await game.add_player()
    lobby = await create_lobby(game.backend, provisional_player, flags=0)
    (await provisional_player.post(f"/lobbies/{lobby['id']}/messages", json={"content": "hi"})).ok()
    session = await alice.connect_sdk()

    signal = AccountsMerged(family_id=game.id, source_id=UserId(provisional_player.id), user_id=UserId(alice.id))  # type: ignore[arg-type]
    await world.write(lambda call: call.notify(signal))

    assert (await session.next("LOBBY_CREATE"))["id"] == lobby["id"]
    (message,) = (await alice.get(f"/lobbies/{lobby['id']}/messages")).ok()
    assert message["author"]["id"] == str(alice.id)
    (await provisional_player.get(f"/lobbies/{lobby['id']}/messages")).rejected(403, 50001)


async def test_an_unmerge_and_an_account_deletion_update_the_members(world: World) -> None:
    game = await create_game(world)
    alice, provisional_player = await game.add_player(), await game.add_player()
    lobby = await create_lobby(game.backend, alice)

    signal = AccountUnmerged(
        family_id=game.id,  # type: ignore[arg-type]
        user_id=UserId(alice.id),
        provisional_id=UserId(provisional_player.id),
        is_restricted=False,
    )
    await world.write(lambda call: call.notify(signal))
    updated_lobby = (await game.backend.get(f"/lobbies/{lobby['id']}")).ok()
    assert [member["id"] for member in updated_lobby["members"]] == [str(provisional_player.id)]
    await world.write(lambda call: call.notify(users.signals.UserDeleting(UserId(provisional_player.id))))
    assert (await game.backend.get(f"/lobbies/{lobby['id']}")).ok()["members"] == []
