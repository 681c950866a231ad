"""Messages between players: recipients, storage, moderation metadata, and invites (spec/sdk.md#10.5, 11).

The last tests are about account merges, disclosures, and the button URLs of activities."""

from typing import Any

import pytest

from hubbub.protocol import changes
from hubbub.protocol.enums import ActivityActionType, ChannelType, RelationshipType
from hubbub.protocol.flags import MessageFlags, UserFlags
from hubbub.protocol.ids import UserId
from hubbub.server.core.call import Call
from hubbub.server.identity.identities import AccountsMerged
from tests.game import create_game
from tests.receiver import Receiver, subscribe_to_events
from tests.server.play.joinable_activities import PRESENCE_SCOPES, create_game_with_friends, start_joinable_activity
from tests.world import World, befriend, wait_until

# Stored messages


async def test_a_message_to_a_friend_is_a_direct_message(world: World) -> None:
    game, alice, bob = await create_game_with_friends(world)
    session = await bob.connect_sdk()

    message = (await alice.post(f"/users/{bob.id}/messages", json={"content": "hi", "metadata": {"k": "v"}})).ok()

    assert (message["content"], message["flags"], message["application_id"]) == (
        "hi",
        MessageFlags.SENT_BY_SOCIAL_LAYER_INTEGRATION,
        str(game.id),
    )
    assert (message["recipient_id"], message["metadata"]) == (str(bob.id), {"k": "v"})
    event = await session.next("MESSAGE_CREATE")
    assert (event["id"], event["metadata"], event["channel_id"]) == (message["id"], {"k": "v"}, message["channel_id"])
    channel = (await bob.get(f"/users/@me/dms/{alice.id}")).ok()
    assert channel["id"] == message["channel_id"]
    (listed_message,) = (await bob.get(f"/users/{alice.id}/messages")).ok()
    assert (listed_message["content"], listed_message["metadata"]) == ("hi", {"k": "v"})
    assert (await bob.get("/partner-sdk/users/@me/channels")).ok() == [
        {"user_id": str(alice.id), "last_message_id": message["id"]}
    ]


async def test_only_the_author_edits_and_deletes_a_message(world: World) -> None:
    _, alice, bob = await create_game_with_friends(world)
    session = await bob.connect_sdk()
    message = (await alice.post(f"/users/{bob.id}/messages", json={"content": "hi"})).ok()
    path = f"/users/{bob.id}/messages/{message['id']}"

    (await bob.patch(f"/users/{alice.id}/messages/{message['id']}", json={"content": "no"})).rejected(403, 50005)
    (await bob.delete(f"/users/{alice.id}/messages/{message['id']}")).rejected(403, 50013)
    assert (await alice.patch(path, json={"content": "hello"})).ok()["content"] == "hello"
    assert (await session.next("MESSAGE_UPDATE"))["content"] == "hello"
    assert (await alice.delete(path)).status == 204
    assert (await session.next("MESSAGE_DELETE"))["id"] == message["id"]
    (await alice.delete(path)).rejected(404, 10008)


async def test_history_ends_after_72_hours(world: World) -> None:
    _, alice, bob = await create_game_with_friends(world)
    (await alice.post(f"/users/{bob.id}/messages", json={"content": "old"})).ok()

    world.clock.advance(72 * 3_600_000 + 1000)

    assert (await bob.get(f"/users/{alice.id}/messages")).ok() == []
    assert (await bob.get(f"/users/{alice.id}/messages?limit=201")).errors("limit")


# Recipients


async def test_messages_to_strangers_and_blocking_users_are_rejected(world: World) -> None:
    game, alice, bob = await create_game_with_friends(world)
    carol = await game.add_player()

    (await alice.post(f"/users/{carol.id}/messages", json={"content": "hi"})).rejected(403, 50278)
    (await alice.post("/users/1/messages", json={"content": "hi"})).rejected(404, 10013)
    (await alice.post(f"/users/{alice.id}/messages", json={"content": "hi"})).rejected(400, 50033)
    (await alice.get(f"/users/{alice.id}/messages")).rejected(400, 50033)
    (await alice.delete(f"/users/{alice.id}/messages/1")).rejected(400, 50033)
    assert (
        await bob.put(f"/users/@me/relationships/{alice.id}", json={"type": RelationshipType.BLOCKED})
    ).status == 204
    (await alice.post(f"/users/{bob.id}/messages", json={"content": "hi"})).rejected(403, 50007)
    message_count = await world.write(lambda call: call.tx.value("SELECT COUNT(*) FROM direct_messages"))
    assert message_count == 0


async def test_a_block_applies_to_the_chat_client_too(world: World) -> None:
    sender, recipient = await world.user(), await world.user()
    channel_id = (await sender.post("/users/@me/channels", json={"recipient_id": str(recipient.id)})).ok()["id"]
    (await sender.post(f"/channels/{channel_id}/messages", json={"content": "hi"})).ok()

    assert (
        await recipient.put(f"/users/@me/relationships/{sender.id}", json={"type": int(RelationshipType.BLOCKED)})
    ).status == 204

    (await sender.post(f"/channels/{channel_id}/messages", json={"content": "hi"})).rejected(403, 50007)


async def test_messages_between_players_of_a_game_are_not_stored(world: World) -> None:
    game = await create_game(world)
    alice, bob = await game.add_player(), await game.add_player()
    alice_session, bob_session = await alice.connect_sdk(), await bob.connect_sdk()

    message = (await alice.post(f"/users/{bob.id}/messages", json={"content": "hi"})).ok()

    assert message["channel_id"] == str(bob.id)
    event = await bob_session.next("MESSAGE_CREATE")
    assert (event["channel_id"], event["channel"]["type"], event["content"]) == (
        str(alice.id),
        ChannelType.EPHEMERAL_DM,
        "hi",
    )
    assert (await alice_session.next("MESSAGE_CREATE"))["channel_id"] == str(bob.id)
    (await bob.get(f"/users/{alice.id}/messages")).rejected(404, 10003)
    edited_message = (await alice.patch(f"/users/{bob.id}/messages/{message['id']}", json={"content": "ho"})).ok()
    assert edited_message["content"] == "ho"
    assert (await bob_session.next("MESSAGE_UPDATE"))["content"] == "ho"
    assert (await alice.delete(f"/users/{bob.id}/messages/{message['id']}")).status == 204
    assert (await bob_session.next("MESSAGE_DELETE")) == {"id": message["id"], "channel_id": str(alice.id)}


async def test_provisional_friends_exchange_passing_messages_only_while_playing(world: World) -> None:
    _, alice, bob = await create_game_with_friends(world)

    def make_provisional(call: Call) -> None:
        for player in (alice, bob):
            call.tx.run("UPDATE users SET flags = ? WHERE id = ?", UserFlags.PROVISIONAL_ACCOUNT, player.id)

    await world.write(make_provisional)
    (await alice.post(f"/users/{bob.id}/messages", json={"content": "hi"})).rejected(403, 50007)
    await alice.connect_sdk()
    message = (await alice.post(f"/users/{bob.id}/messages", json={"content": "hi"})).ok()
    assert message["channel_id"] == str(bob.id)


@pytest.mark.parametrize(
    ("body", "path"),
    [
        ({"content": "x" * 2001}, "content"),
        ({"content": "x", "metadata": {str(number): "" for number in range(26)}}, "metadata"),
        ({"content": "x", "activity": {"type": 9, "session_id": "s"}}, "activity.type"),
    ],
)
async def test_invalid_message_fields_are_rejected(world: World, body: Any, path: str) -> None:
    _, alice, bob = await create_game_with_friends(world)

    assert (await alice.post(f"/users/{bob.id}/messages", json=body)).errors(path)


async def test_empty_messages_and_missing_scopes_are_rejected(world: World) -> None:
    game, alice, bob = await create_game_with_friends(world)
    (await alice.post(f"/users/{bob.id}/messages", json={"content": "  "})).rejected(400, 50006)
    presence_only = await game.add_player(scope=PRESENCE_SCOPES)
    (await presence_only.post(f"/users/{bob.id}/messages", json={"content": "hi"})).rejected(403, 50026)


# Moderation metadata


async def test_moderation_metadata_reaches_only_the_game_of_both_players(world: World) -> None:
    game, alice, bob = await create_game_with_friends(world)
    other_game = await create_game(world, "Other")
    other_player = await other_game.add_player(await world.user())
    message = (await alice.post(f"/users/{bob.id}/messages", json={"content": "rude"})).ok()
    sessions = [await alice.connect_sdk(), await bob.connect_sdk()]
    other_session = await other_player.connect_sdk()
    path = f"/partner-sdk/dms/{bob.id}/{alice.id}/messages/{message['id']}/moderation-metadata"

    assert (await game.backend.put(path, json={"verdict": "hide"})).status == 204

    for session in sessions:
        assert (await session.next("MESSAGE_UPDATE"))["moderation_metadata"] == {"verdict": "hide"}
    await other_session.assert_not_received("MESSAGE_UPDATE")
    (listed_message,) = (await bob.get(f"/users/{alice.id}/messages")).ok()
    assert listed_message["moderation_metadata"] == {"verdict": "hide"}
    (await alice.patch(f"/users/{bob.id}/messages/{message['id']}", json={"content": "kind"})).ok()
    cleared_event = await sessions[1].next("MESSAGE_UPDATE", lambda data: "moderation_metadata" in data)
    assert (cleared_event["content"], cleared_event["moderation_metadata"]) == ("kind", {})
    (await other_game.backend.put(path, json={})).rejected(403, 50001)
    unknown_message_path = f"/partner-sdk/dms/{bob.id}/{alice.id}/messages/1/moderation-metadata"
    (await game.backend.put(unknown_message_path, json={})).rejected(404, 10008)


@pytest.mark.dated(changes.MODERATION_METADATA)
async def test_moderation_metadata_is_unknown_before_its_release_date(world: World) -> None:
    game, alice, bob = await create_game_with_friends(world)
    message = (await alice.post(f"/users/{bob.id}/messages", json={"content": "rude"})).ok()
    path = f"/partner-sdk/dms/{bob.id}/{alice.id}/messages/{message['id']}/moderation-metadata"

    world.clock.set(changes.MODERATION_METADATA.at_ms - 1)
    (await game.backend.put(path, json={"verdict": "hide"})).rejected(404, 0)
    world.clock.set(changes.MODERATION_METADATA.at_ms)
    assert (await game.backend.put(path, json={"verdict": "hide"})).status == 204


async def test_passing_messages_can_be_moderated(world: World) -> None:
    game = await create_game(world)
    alice, bob = await game.add_player(), await game.add_player()
    await alice.connect_sdk()
    bob_session = await bob.connect_sdk()
    message = (await alice.post(f"/users/{bob.id}/messages", json={"content": "rude"})).ok()
    path = f"/partner-sdk/dms/{alice.id}/{bob.id}/messages/{message['id']}/moderation-metadata"

    assert (await game.backend.put(path, json={"verdict": "hide"})).status == 204

    event = await bob_session.next("MESSAGE_UPDATE")
    assert event == {"id": message["id"], "channel_id": str(alice.id), "moderation_metadata": {"verdict": "hide"}}


async def test_webhooks_receive_direct_messages_of_connected_players(
    private_targets_world: World, receiver: Receiver
) -> None:
    game, alice, bob = await create_game_with_friends(private_targets_world)
    event_types = [f"GAME_DIRECT_MESSAGE_{action}" for action in ("CREATE", "UPDATE", "DELETE")]
    await subscribe_to_events(receiver, game.backend, *event_types)
    assert private_targets_world.app.worker is not None
    (await alice.post(f"/users/{bob.id}/messages", json={"content": "unheard"})).ok()
    await alice.connect_sdk()

    message = (await alice.post(f"/users/{bob.id}/messages", json={"content": "one"})).ok()
    (await alice.patch(f"/users/{bob.id}/messages/{message['id']}", json={"content": "two"})).ok()
    (await alice.delete(f"/users/{bob.id}/messages/{message['id']}")).ok()
    await private_targets_world.app.worker.run_due()

    received_events = [(event["type"], event["data"]["id"], event["data"].get("content")) for event in receiver.events]
    assert received_events == [
        (event_types[0], message["id"], "one"),
        (event_types[1], message["id"], "two"),
        (event_types[2], message["id"], "two"),
    ]


# Invites


async def test_an_invite_is_a_message_and_accepting_it_returns_the_secret(world: World) -> None:
    game, alice, bob = await create_game_with_friends(world)
    alice_session, bob_session = await alice.connect_sdk(), await bob.connect_sdk()
    activity = await start_joinable_activity(alice, alice_session)

    response = await alice.post(f"/users/{bob.id}/messages", json={"content": "join!", "activity": activity})
    message = response.ok()

    event = await bob_session.next("MESSAGE_CREATE")
    assert event["activity"] == activity
    assert event["application"]["id"] == str(game.id)
    await bob_session.assert_not_received("ACTIVITY_INVITE_CREATE")
    path = f"/users/{alice.id}/sessions/{activity['session_id']}/activities/{game.id}/1"
    query = f"?channel_id={message['channel_id']}&message_id={message['id']}"
    assert (await bob.get(path + query)).ok() == {"secret": "open sesame"}
    assert (await bob_session.next("ACTIVITY_INVITE_CREATE"))["message_id"] == message["id"]
    carol = await game.add_player()
    (await carol.get(path + query)).rejected(403, 50001)
    (await bob.get(path)).rejected(403, 50001)
    await alice_session.close()
    await wait_until(lambda: not world.app.presences.is_connected(alice.id))
    (await bob.get(path + query)).rejected(400, 50039)


async def test_an_invite_expires_after_six_hours(world: World) -> None:
    game, alice, bob = await create_game_with_friends(world)
    alice_session = await alice.connect_sdk()
    activity = await start_joinable_activity(alice, alice_session)
    message = (await alice.post(f"/users/{bob.id}/messages", json={"activity": activity})).ok()
    path = f"/users/{alice.id}/sessions/{activity['session_id']}/activities/{game.id}/1?message_id={message['id']}"

    world.clock.advance(6 * 3_600_000)

    (await bob.get(path)).rejected(403, 50001)


async def test_a_session_without_message_scope_receives_only_the_invite(world: World) -> None:
    game, alice, _bob = await create_game_with_friends(world)

    alice_session = await alice.connect_sdk()
    activity = await start_joinable_activity(alice, alice_session)
    user = await world.user()
    presence_only = await game.add_player(user, scope=PRESENCE_SCOPES)
    await befriend(alice, presence_only)
    session = await presence_only.connect_sdk()

    (await alice.post(f"/users/{presence_only.id}/messages", json={"content": "words", "activity": activity})).ok()

    event = await session.next("ACTIVITY_INVITE_CREATE")
    assert (event["author"]["id"], event["activity"]) == (
        str(alice.id),
        {"type": ActivityActionType.JOIN, "party_id": "party", "session_id": activity["session_id"]},
    )
    await session.assert_not_received("MESSAGE_CREATE")


async def test_a_join_request_names_the_hosts_party(world: World) -> None:
    _game, alice, bob = await create_game_with_friends(world)
    alice_session, bob_session = await alice.connect_sdk(), await bob.connect_sdk()
    await start_joinable_activity(alice, alice_session)
    request = {"type": ActivityActionType.JOIN_REQUEST, "session_id": bob_session.ready["session_id"]}

    (await bob.post(f"/users/{alice.id}/messages", json={"activity": request})).ok()

    assert (await alice_session.next("MESSAGE_CREATE"))["activity"] == {**request, "party_id": "party"}
    (await alice.post(f"/users/{bob.id}/messages", json={"activity": request})).rejected(400, 50039)


@pytest.mark.parametrize("problem", ["session", "party", "application", "full", "nothing"])
async def test_an_invite_requires_a_joinable_activity(world: World, problem: str) -> None:
    _game, alice, bob = await create_game_with_friends(world)
    other_game = await create_game(world, "Other")
    alice_session = await alice.connect_sdk()
    if problem == "nothing":
        activity = {
            "type": ActivityActionType.JOIN,
            "session_id": alice_session.ready["session_id"],
            "party_id": "party",
        }
    else:
        activity = await start_joinable_activity(alice, alice_session, size=(4, 4) if problem == "full" else (1, 4))
    body: dict[str, Any] = {"activity": activity}
    if problem == "session":
        activity["session_id"] = "0" * 32
    elif problem == "party":
        activity["party_id"] = "another"
    elif problem == "application":
        body["application_id"] = str(other_game.id)

    (await alice.post(f"/users/{bob.id}/messages", json=body)).rejected(400, 50039)


# Account merges and disclosures


async def test_a_merge_moves_channels_and_converts_duplicates_to_groups(world: World) -> None:
    game, provisional_player, bob = await create_game_with_friends(world)
    alice, carol = await game.add_player(), await game.add_player()
    await befriend(provisional_player, carol)
    await befriend(alice, bob)
    (await provisional_player.post(f"/users/{carol.id}/messages", json={"content": "to carol"})).ok()
    (await provisional_player.post(f"/users/{bob.id}/messages", json={"content": "to bob"})).ok()
    (await alice.post(f"/users/{bob.id}/messages", json={"content": "also to bob"})).ok()

    signal = AccountsMerged(family_id=game.id, source_id=UserId(provisional_player.id), user_id=UserId(alice.id))  # type: ignore[arg-type]
    await world.write(lambda call: call.notify(signal))

    (message,) = (await alice.get(f"/users/{carol.id}/messages")).ok()
    assert (message["content"], message["author"]["id"]) == ("to carol", str(alice.id))
    rows = await world.write(
        lambda call: call.tx.all(
            "SELECT c.type FROM recipients r JOIN channels c ON c.id = r.channel_id WHERE r.user_id = ? ORDER BY c.type",
            alice.id,
        )
    )
    assert [row[0] for row in rows] == [ChannelType.DM, ChannelType.DM, ChannelType.GROUP_DM]


async def test_a_disclosure_is_acknowledged_once(world: World) -> None:
    game, alice, _ = await create_game_with_friends(world)
    path = f"/applications/{game.id}/disclosures"

    assert (await alice.get(path)).ok() == {"disclosures": [3], "acked_disclosures": [], "all_acked": False}
    assert (await alice.post(path, json={"disclosures": [3]})).ok()["all_acked"]
    assert (await alice.get(path)).ok()["acked_disclosures"] == [3]
    assert (await alice.post(path, json={"disclosures": [9]})).errors("disclosures.0")


# Button URLs

WATCH_BUTTON = {"label": "Watch", "url": "https://game.example/watch"}


async def test_friends_and_members_of_a_common_guild_get_the_button_urls_of_an_activity(world: World) -> None:
    game = await create_game(world)
    host, friend, member, stranger = [await world.user() for _ in range(4)]
    await befriend(host, friend)
    await world.guild(host, member)
    session = await (await game.add_player(host)).connect_sdk()
    await session.set_presence("online", {"name": "Game", "type": 0, "buttons": [WATCH_BUTTON]})
    session_id = session.ready["session_id"]
    path = f"/users/{host.id}/sessions/{session_id}/activities/{game.id}/metadata"

    for viewer in (host, friend, member):
        assert (await viewer.get(path)).ok() == {"button_urls": [WATCH_BUTTON["url"]]}
    (await stranger.get(path)).rejected(403, 50001)
    (await friend.get(path.replace(session_id, "unknown"))).rejected(400, 50039)
    (await friend.get(path.replace(str(game.id), "1"))).rejected(400, 50039)


async def test_button_urls_are_hidden_from_blocked_users_and_while_the_host_is_invisible(world: World) -> None:
    game = await create_game(world)
    host, friend, member = [await world.user() for _ in range(3)]
    await befriend(host, friend)
    await world.guild(host, member)
    session = await (await game.add_player(host)).connect_sdk()
    activity = {"name": "Game", "type": 0, "buttons": [WATCH_BUTTON]}
    path = f"/users/{host.id}/sessions/{session.ready['session_id']}/activities/{game.id}/metadata"

    await session.set_presence("invisible", activity)
    (await friend.get(path)).rejected(400, 50039)
    await session.set_presence("online", activity)
    (await friend.get(path)).ok()
    (await host.put(f"/users/@me/relationships/{member.id}", json={"type": RelationshipType.BLOCKED})).ok()
    (await member.get(path)).rejected(403, 50001)
