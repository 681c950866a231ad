"""Effects of blocks, bans and scopes on invites, joins, messages and webhooks of players (spec/sdk.md#9.3, 11.3, 11.5)."""

from typing import Any

import pytest

from hubbub.protocol.enums import ActivityActionType, ChannelType, GatewayOpcode, RelationshipType
from hubbub.protocol.flags import MessageFlags, UserFlags
from hubbub.protocol.ids import UserId
from hubbub.server.core.call import Call
from hubbub.server.identity import accounts
from tests.game import SDK_INTENTS, Player, create_game
from tests.receiver import Receiver, subscribe_to_events
from tests.server.play.joinable_activities import PRESENCE_SCOPES, create_game_with_friends, start_joinable_activity
from tests.world import World, befriend

DIRECT_MESSAGE_EVENTS = tuple(f"GAME_DIRECT_MESSAGE_{action}" for action in ("CREATE", "UPDATE", "DELETE"))


async def block(player: Player, other_player: Player) -> None:
    (await player.put(f"/users/@me/relationships/{other_player.id}", json={"type": RelationshipType.BLOCKED})).ok()


async def create_strangers(world: World) -> tuple[Player, Player]:
    """Create two players of one game who are not friends."""
    game = await create_game(world)
    return await game.add_player(), await game.add_player()


# Blocks


async def test_a_block_invalidates_a_pending_invite(world: World) -> None:
    game, alice, bob = await create_game_with_friends(world)
    activity = await start_joinable_activity(alice, await alice.connect_sdk())
    message = (await alice.post(f"/users/{bob.id}/messages", json={"activity": activity})).ok()
    path = f"/users/{alice.id}/sessions/{activity['session_id']}/activities/{game.id}/1?message_id={message['id']}"
    (await bob.get(path)).ok()

    await block(alice, bob)

    (await bob.get(path)).rejected(403, 50001)


async def test_a_block_prevents_edits_of_earlier_messages(world: World) -> None:
    alice, bob = await create_strangers(world)
    await alice.connect_sdk()
    bob_session = await bob.connect_sdk()
    message = (await alice.post(f"/users/{bob.id}/messages", json={"content": "hi"})).ok()

    await block(bob, alice)

    (await alice.patch(f"/users/{bob.id}/messages/{message['id']}", json={"content": "rude"})).rejected(403, 50007)
    await bob_session.assert_not_received("MESSAGE_UPDATE")
    assert (await alice.delete(f"/users/{bob.id}/messages/{message['id']}")).status == 204


# Messages


async def test_a_message_cannot_be_edited_to_be_empty(world: World) -> None:
    alice, bob = await create_strangers(world)
    await alice.connect_sdk()
    await bob.connect_sdk()
    message = (await alice.post(f"/users/{bob.id}/messages", json={"content": "hi"})).ok()

    (await alice.patch(f"/users/{bob.id}/messages/{message['id']}", json={"content": "  "})).rejected(400, 50006)


# Joining


async def test_a_join_request_requires_a_joinable_activity(world: World) -> None:
    _, alice, bob = await create_game_with_friends(world)
    alice_session, bob_session = await alice.connect_sdk(), await bob.connect_sdk()
    activity = {"name": "Game", "type": 0, "party": {"id": "party", "size": [1, 4]}, "supported_platforms": ["desktop"]}
    await alice_session.send(
        GatewayOpcode.PRESENCE_UPDATE, {"status": "online", "activities": [activity], "since": None, "afk": False}
    )
    await alice_session.wait_processed()

    request = {"type": ActivityActionType.JOIN_REQUEST, "session_id": bob_session.ready["session_id"]}
    (await bob.post(f"/users/{alice.id}/messages", json={"activity": request})).rejected(400, 50039)


@pytest.mark.parametrize("relation", ["platform", "game", "voice", "nothing"])
async def test_joining_a_public_party_requires_a_relation_to_the_host(world: World, relation: str) -> None:
    game = await create_game(world)
    host_user, guest_user = await world.user(), await world.user()
    alice, bob = await game.add_player(host_user), await game.add_player(guest_user)
    if relation == "platform":
        await befriend(alice, bob)
    elif relation == "game":
        for player, other_player in ((alice, bob), (bob, alice)):
            (await player.put(f"/users/@me/game-relationships/{other_player.id}")).ok()
    elif relation == "voice":
        guild = await world.guild(host_user, guest_user)
        lounge_id = await guild.channel("Lounge", type=ChannelType.GUILD_VOICE)
        for user in (host_user, guest_user):
            session = await user.connect()
            await session.send(
                GatewayOpcode.VOICE_STATE_UPDATE,
                {"guild_id": str(guild.id), "channel_id": str(lounge_id), "self_mute": False},
            )
            await session.next("VOICE_SERVER_UPDATE")
    host_session = await alice.connect_sdk()
    activity = {"name": "Game", "type": 0, "party": {"id": "party", "privacy": 1}, "secrets": {"join": "open sesame"}}
    await host_session.send(
        GatewayOpcode.PRESENCE_UPDATE, {"status": "online", "activities": [activity], "since": None, "afk": False}
    )
    await host_session.wait_processed()

    path = f"/users/{alice.id}/sessions/{host_session.ready['session_id']}/activities/{game.id}/1"
    response = await bob.get(path)

    if relation == "nothing":
        response.rejected(403, 50001)
    else:
        assert response.ok() == {"secret": "open sesame"}


async def test_an_invite_is_valid_only_in_its_own_channel(world: World) -> None:
    game, alice, bob = await create_game_with_friends(world)
    activity = await start_joinable_activity(alice, await alice.connect_sdk())
    message = (await alice.post(f"/users/{bob.id}/messages", json={"activity": activity})).ok()
    path = f"/users/{alice.id}/sessions/{activity['session_id']}/activities/{game.id}/1"

    (await bob.get(f"{path}?channel_id=1&message_id={message['id']}")).rejected(400, 50039)
    (await bob.get(f"{path}?channel_id={message['channel_id']}&message_id={message['id']}")).ok()


# Bans


async def test_messages_of_a_replacement_for_a_banned_account_are_not_stored(world: World) -> None:
    """Alice's provisional account replaces a banned account, so her messages are passing messages.

    They require a connected recipient. In the response to the author, the channel ID is the ID of the recipient."""
    game, alice, bob = await create_game_with_friends(world)
    banned_account = await world.user()
    await world.write(lambda call: accounts.ban(call, UserId(banned_account.id)))

    def make_provisional(call: Call) -> None:
        call.tx.run("UPDATE users SET flags = ? WHERE id = ?", UserFlags.PROVISIONAL_ACCOUNT, alice.id)
        call.tx.run(
            "INSERT INTO provisional_accounts (user_id, family_id, restricted_by, created_ms) VALUES (?, ?, ?, ?)",
            alice.id,
            game.id,
            banned_account.id,
            call.now_ms,
        )

    await world.write(make_provisional)
    path = f"/users/{bob.id}/messages"
    await alice.connect_sdk()
    (await alice.post(path, json={"content": "hi"})).rejected(403, 50007)

    await bob.connect_sdk()
    message = (await alice.post(path, json={"content": "hi"})).ok()
    assert message["channel_id"] == str(bob.id)
    assert await world.write(lambda call: accounts.unban(call, UserId(banned_account.id)))
    assert (await alice.post(path, json={"content": "hi"})).ok()["channel_id"] != str(bob.id)


# Lists


async def test_a_group_channel_is_not_listed_as_a_direct_conversation(world: World) -> None:
    _, alice, bob = await create_game_with_friends(world)
    message = (await alice.post(f"/users/{bob.id}/messages", json={"content": "hi"})).ok()
    summaries_path = "/partner-sdk/users/@me/channels"
    assert (await alice.get(summaries_path)).ok() == [{"user_id": str(bob.id), "last_message_id": message["id"]}]

    # An account merge leaves this state when both accounts had a channel with the same user (spec/sdk.md#8.5).
    update, channel_id = "UPDATE channels SET type = ? WHERE id = ?", int(message["channel_id"])
    await world.write(lambda call: call.tx.run(update, ChannelType.GROUP_DM, channel_id))

    assert (await alice.get(summaries_path)).ok() == []


# Webhooks


async def test_a_game_without_the_message_scope_receives_no_message_webhooks(
    private_targets_world: World, receiver: Receiver
) -> None:
    _, alice, _ = await create_game_with_friends(private_targets_world)
    other_game = await create_game(private_targets_world, "Other")
    await subscribe_to_events(receiver, other_game.backend, *DIRECT_MESSAGE_EVENTS)
    presence_only = await other_game.add_player(scope=PRESENCE_SCOPES)
    await befriend(alice, presence_only)
    await presence_only.connect_sdk()

    (await alice.post(f"/users/{presence_only.id}/messages", json={"content": "between us"})).ok()

    assert private_targets_world.app.worker is not None
    await private_targets_world.app.worker.run_due()
    assert receiver.events == []


async def test_message_webhooks_stay_within_the_game(private_targets_world: World, receiver: Receiver) -> None:
    alice, bob = await create_strangers(private_targets_world)
    other_game = await create_game(private_targets_world, "Other")
    await subscribe_to_events(receiver, other_game.backend, *DIRECT_MESSAGE_EVENTS)
    other_player = await private_targets_world.bearer(alice, other_game.id)
    await other_player.connect(SDK_INTENTS)
    await alice.connect_sdk()
    await bob.connect_sdk()

    (await alice.post(f"/users/{bob.id}/messages", json={"content": "here only"})).ok()

    assert private_targets_world.app.worker is not None
    await private_targets_world.app.worker.run_due()
    assert receiver.events == []


async def delivered_events(world: World, receiver: Receiver) -> list[dict[str, Any]]:
    """Run the due jobs and return the data of the webhook events received, in order, with the event type as `kind`."""
    assert world.app.worker is not None
    await world.app.worker.run_due()
    return [{**event["data"], "kind": event["type"]} for event in receiver.events]


async def test_webhooks_contain_the_whole_stored_message(private_targets_world: World, receiver: Receiver) -> None:
    game, alice, bob = await create_game_with_friends(private_targets_world)
    await subscribe_to_events(receiver, game.backend, *DIRECT_MESSAGE_EVENTS)
    await alice.connect_sdk()
    path = f"/users/{bob.id}/messages"

    message = (await alice.post(path, json={"content": "one", "metadata": {"k": "v"}})).ok()
    (await alice.patch(f"{path}/{message['id']}", json={"content": "two"})).ok()
    (await alice.delete(f"{path}/{message['id']}")).ok()

    events = await delivered_events(private_targets_world, receiver)
    assert [(event["kind"], event["content"]) for event in events] == list(
        zip(DIRECT_MESSAGE_EVENTS, ("one", "two", "two"), strict=True)
    )
    for event in events:
        assert (event["id"], event["channel_id"]) == (message["id"], message["channel_id"])
        assert (event["author"]["id"], event["recipient_id"]) == (str(alice.id), str(bob.id))
        assert (event["application_id"], event["flags"], event["metadata"]) == (
            str(game.id),
            MessageFlags.SENT_BY_SOCIAL_LAYER_INTEGRATION,
            {"k": "v"},
        )
        assert {user["id"] for user in event["channel"]["recipients"]} == {str(alice.id), str(bob.id)}
        assert "moderation_metadata" not in event
    assert [bool(event["edited_timestamp"]) for event in events] == [False, True, True]


async def test_webhooks_of_deleted_passing_messages_omit_the_content(
    private_targets_world: World, receiver: Receiver
) -> None:
    game = await create_game(private_targets_world)
    alice, bob = await game.add_player(), await game.add_player()
    await subscribe_to_events(receiver, game.backend, *DIRECT_MESSAGE_EVENTS)
    await alice.connect_sdk()
    await bob.connect_sdk()
    path = f"/users/{bob.id}/messages"

    message = (await alice.post(path, json={"content": "one"})).ok()
    (await alice.patch(f"{path}/{message['id']}", json={"content": "two"})).ok()
    (await alice.delete(f"{path}/{message['id']}")).ok()

    events = await delivered_events(private_targets_world, receiver)
    assert [(event["kind"], event["content"]) for event in events] == list(
        zip(DIRECT_MESSAGE_EVENTS, ("one", "two", ""), strict=True)
    )
    for event in events:
        assert (event["id"], event["author"]["id"], event["recipient_id"]) == (
            message["id"],
            str(alice.id),
            str(bob.id),
        )
        assert (event["application_id"], event["flags"]) == (
            str(game.id),
            MessageFlags.SENT_BY_SOCIAL_LAYER_INTEGRATION,
        )
        # A passing message has no stored channel; in a webhook event, the channel ID is the ID of the author.
        assert (event["channel"]["type"], event["channel"]["id"]) == (ChannelType.EPHEMERAL_DM, str(alice.id))
