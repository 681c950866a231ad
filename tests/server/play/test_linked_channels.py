"""Lobbies linked to channels: permissions, relayed messages, unlinking, and invites to the guild (spec/sdk.md#12.6)."""

from typing import Any

from hubbub.protocol.enums import (
    AutoModerationActionType,
    AutoModerationEventType,
    AutoModerationTriggerType,
    ChannelType,
    InviteTargetType,
    MessageType,
    OverwriteType,
)
from hubbub.protocol.flags import LobbyFlags, LobbyMemberFlags, MessageFlags
from hubbub.protocol.ids import UserId
from hubbub.protocol.permissions import Permissions
from hubbub.server.identity import accounts
from tests.game import Game, Player, create_game
from tests.players import create_provisional_player, create_social_game, link_account
from tests.receiver import Receiver, subscribe_to_events
from tests.world import Guild, World


async def create_linked_lobby(world: World) -> tuple[Game, Guild, Player, Player, str]:
    """Create a game with two players in a lobby that is linked to the general channel of a guild.

    Return the game, the guild, the player who owns the guild, the other player, and the lobby ID."""
    game = await create_game(world)
    owner = await world.user()
    guild = await world.guild(owner)
    alice, bob = await game.add_player(owner), await game.add_player()
    members = [{"id": str(alice.id), "flags": LobbyMemberFlags.CAN_LINK_LOBBY}, {"id": str(bob.id)}]
    lobby_id = (await game.backend.post("/lobbies", json={"members": members})).ok()["id"]
    (await alice.patch(f"/lobbies/{lobby_id}/channel-linking", json={"channel_id": str(guild.general)})).ok()
    return game, guild, alice, bob, lobby_id


async def test_a_member_with_the_flag_links_a_channel_they_manage(world: World) -> None:
    game = await create_game(world)
    owner = await world.user()
    guild = await world.guild(owner)
    alice = await game.add_player(owner)
    lobby = (
        await game.backend.post(
            "/lobbies", json={"members": [{"id": str(alice.id), "flags": LobbyMemberFlags.CAN_LINK_LOBBY}]}
        )
    ).ok()
    session, user_session = await alice.connect_sdk(), await owner.connect()

    body = {"channel_id": str(guild.general)}
    linked_lobby = (await alice.patch(f"/lobbies/{lobby['id']}/channel-linking", json=body)).ok()

    assert linked_lobby["linked_channel"]["id"] == str(guild.general)
    assert (await session.next("LOBBY_UPDATE"))["linked_channel"]["id"] == str(guild.general)
    channel = await user_session.next("CHANNEL_UPDATE")
    assert channel["linked_lobby"]["lobby_id"] == lobby["id"]
    assert channel["linked_lobby"]["linked_by"] == str(alice.id)
    assert (await user_session.next("MESSAGE_CREATE"))["type"] == MessageType.CHANNEL_LINKED_TO_LOBBY


async def test_linking_requires_the_member_flag_and_channel_permissions(world: World) -> None:
    game, guild, alice, bob, lobby_id = await create_linked_lobby(world)
    other_channel_id = await guild.channel("other")
    voice_channel_id = await guild.channel("voice", type=ChannelType.GUILD_VOICE)
    path = f"/lobbies/{lobby_id}/channel-linking"

    (await bob.patch(path, json={"channel_id": str(other_channel_id)})).rejected(403, 50013)
    (await alice.patch(path, json={"channel_id": "1"})).rejected(404, 10003)
    assert (await alice.patch(path, json={"channel_id": str(voice_channel_id)})).errors("channel_id") == [
        "CHANNEL_NOT_LINKABLE"
    ]
    await game.backend.put(f"/lobbies/{lobby_id}/members/{bob.id}", json={"flags": LobbyMemberFlags.CAN_LINK_LOBBY})
    (await bob.patch(path, json={"channel_id": str(other_channel_id)})).rejected(403, 50001)

    second_lobby = (
        await game.backend.post(
            "/lobbies", json={"members": [{"id": str(alice.id), "flags": LobbyMemberFlags.CAN_LINK_LOBBY}]}
        )
    ).ok()
    body = {"channel_id": str(guild.general)}
    rejected_response = await alice.patch(f"/lobbies/{second_lobby['id']}/channel-linking", json=body)
    assert rejected_response.errors("channel_id") == ["CHANNEL_ALREADY_LINKED"]


async def test_a_lobby_created_by_a_secret_cannot_be_linked(world: World) -> None:
    game, guild, alice, _, _ = await create_linked_lobby(world)
    other_channel_id = await guild.channel("other")
    lobby = (await alice.put("/lobbies", json={"secret": "xyzzy"})).ok()
    await game.backend.put(
        f"/lobbies/{lobby['id']}/members/{alice.id}", json={"flags": LobbyMemberFlags.CAN_LINK_LOBBY}
    )

    response = await alice.patch(f"/lobbies/{lobby['id']}/channel-linking", json={"channel_id": str(other_channel_id)})
    assert response.errors("channel_id") == ["LOBBY_NOT_LINKABLE"]


async def test_messages_of_a_restricted_player_stay_in_the_lobby(world: World) -> None:
    client, owner, banned_user = await create_social_game(world), await world.user(), await world.user()
    game, guild = Game(world, client), await world.guild(owner)
    alice = await game.add_player(owner)
    await link_account(client, banned_user, (await create_provisional_player(client, "hero")).token)
    await world.write(lambda call: accounts.ban(call, UserId(banned_user.id)))
    player = await create_provisional_player(client, "hero")
    members = [{"id": str(alice.id), "flags": LobbyMemberFlags.CAN_LINK_LOBBY}, {"id": str(player.id)}]
    lobby_id = (await game.backend.post("/lobbies", json={"members": members})).ok()["id"]
    (await alice.patch(f"/lobbies/{lobby_id}/channel-linking", json={"channel_id": str(guild.general)})).ok()

    message = (await player.post(f"/lobbies/{lobby_id}/messages", json={"content": "psst"})).ok()

    lobby_messages = (await alice.get(f"/lobbies/{lobby_id}/messages")).ok()
    assert [entry["id"] for entry in lobby_messages] == [message["id"]]
    (await owner.get(f"/channels/{guild.general}/messages/{message['id']}")).rejected(404, 10008)
    assert await world.write(lambda call: accounts.unban(call, UserId(banned_user.id)))
    message = (await player.post(f"/lobbies/{lobby_id}/messages", json={"content": "hello again"})).ok()
    channel_message = (await owner.get(f"/channels/{guild.general}/messages/{message['id']}")).ok()
    assert channel_message["content"] == "hello again"


async def test_messages_are_relayed_between_lobby_and_channel(world: World) -> None:
    game, guild, alice, bob, lobby_id = await create_linked_lobby(world)
    user_session, session = await guild.owner.connect(), await alice.connect_sdk()

    message = (await bob.post(f"/lobbies/{lobby_id}/messages", json={"content": "from the game"})).ok()
    event = await user_session.next("MESSAGE_CREATE")
    assert (event["id"], event["content"], event["author"]["id"]) == (message["id"], "from the game", str(bob.id))
    assert (event["application_id"], event["flags"]) == (str(game.id), MessageFlags.SENT_BY_SOCIAL_LAYER_INTEGRATION)
    assert message["channel_id"] == str(guild.general)
    lobby_event = await session.next("LOBBY_MESSAGE_CREATE")
    assert (lobby_event["id"], lobby_event["lobby_id"]) == (message["id"], lobby_id)

    reply = await guild.send_message(guild.owner, "from the guild", embeds=[{"title": "a picture"}])
    lobby_event = await session.next("LOBBY_MESSAGE_CREATE")
    assert (lobby_event["id"], lobby_event["content"], lobby_event["embeds"][0]["title"]) == (
        reply["id"],
        "from the guild",
        "a picture",
    )
    history = (await bob.get(f"/lobbies/{lobby_id}/messages")).ok()
    assert [message["content"] for message in history] == ["from the guild", "from the game"]


async def test_a_repeated_nonce_creates_one_message_in_lobby_and_channel(world: World) -> None:
    _game, guild, alice, bob, lobby_id = await create_linked_lobby(world)
    body = {"nonce": "n1", "enforce_nonce": True}

    first_message = (await bob.post(f"/lobbies/{lobby_id}/messages", json={"content": "one", **body})).ok()
    repeated_message = (await bob.post(f"/lobbies/{lobby_id}/messages", json={"content": "two", **body})).ok()

    assert repeated_message == first_message
    assert [message["content"] for message in (await alice.get(f"/lobbies/{lobby_id}/messages")).ok()] == ["one"]
    channel_messages = (await guild.owner.get(f"/channels/{guild.general}/messages?limit=1")).ok()
    assert [message["id"] for message in channel_messages] == [first_message["id"]]
    # A deleted message releases its nonce.
    (await guild.owner.delete(f"/channels/{guild.general}/messages/{first_message['id']}")).ok()
    recreated_message = (await bob.post(f"/lobbies/{lobby_id}/messages", json={"content": "three", **body})).ok()
    assert recreated_message["content"] == "three"


async def test_a_reply_has_the_reply_type_in_the_lobby_too(world: World) -> None:
    _game, _guild, alice, bob, lobby_id = await create_linked_lobby(world)
    path, session = f"/lobbies/{lobby_id}/messages", await alice.connect_sdk()
    first_message = (await bob.post(path, json={"content": "one"})).ok()
    await session.next("LOBBY_MESSAGE_CREATE")

    message = (
        await alice.post(path, json={"content": "two", "message_reference": {"message_id": first_message["id"]}})
    ).ok()

    assert (first_message["type"], message["type"]) == (MessageType.DEFAULT, MessageType.REPLY)
    assert (await session.next("LOBBY_MESSAGE_CREATE"))["type"] == MessageType.REPLY
    assert [message["type"] for message in (await bob.get(path)).ok()] == [MessageType.REPLY, MessageType.DEFAULT]


async def test_webhook_messages_appear_in_lobby_history_and_can_be_moderated(world: World) -> None:
    game, guild, _alice, bob, lobby_id = await create_linked_lobby(world)
    webhook = (await guild.owner.post(f"/channels/{guild.general}/webhooks", json={"name": "webhook"})).ok()
    session = await bob.connect_sdk()
    path = f"/webhooks/{webhook['id']}/{webhook['token']}?wait=true"

    for name in ("Herald", "Crier"):
        message = (await world.request("POST", path, json={"content": "hear", "username": name})).ok()
        assert (await session.next("LOBBY_MESSAGE_CREATE"))["author"]["username"] == name

    history = (await bob.get(f"/lobbies/{lobby_id}/messages")).ok()
    assert [message["author"]["username"] for message in history] == ["Crier", "Herald"]
    assert {message["author"]["id"] for message in history} == {webhook["id"]}
    moderation_path = f"/lobbies/{lobby_id}/messages/{message['id']}/moderation-metadata"
    assert (await game.backend.put(moderation_path, json={"verdict": "fine"})).status == 204
    assert (await session.next("LOBBY_MESSAGE_UPDATE"))["moderation_metadata"] == {"verdict": "fine"}


async def test_an_edit_clears_moderation_metadata_and_a_deletion_reaches_players(world: World) -> None:
    game, guild, alice, _, lobby_id = await create_linked_lobby(world)
    session = await alice.connect_sdk()
    message = await guild.send_message(guild.owner, "rude")
    moderation_path = f"/lobbies/{lobby_id}/messages/{message['id']}/moderation-metadata"
    assert (await game.backend.put(moderation_path, json={"verdict": "hide"})).status == 204
    await session.next("LOBBY_MESSAGE_UPDATE")

    (await guild.owner.patch(f"/channels/{guild.general}/messages/{message['id']}", json={"content": "kind"})).ok()
    event = await session.next("LOBBY_MESSAGE_UPDATE")
    assert (event["content"], event["moderation_metadata"]) == ("kind", {})
    (await guild.owner.delete(f"/channels/{guild.general}/messages/{message['id']}")).ok()
    assert await session.next("LOBBY_MESSAGE_DELETE") == {"id": message["id"], "lobby_id": lobby_id}


async def test_a_message_blocked_by_auto_moderation_still_reaches_the_lobby(world: World) -> None:
    _, guild, alice, bob, lobby_id = await create_linked_lobby(world)
    rule = {
        "name": "no foo",
        "event_type": AutoModerationEventType.MESSAGE_SEND,
        "trigger_type": AutoModerationTriggerType.KEYWORD,
        "trigger_metadata": {"keyword_filter": ["foo"]},
        "actions": [{"type": AutoModerationActionType.BLOCK_MESSAGE}],
        "enabled": True,
    }
    (await guild.owner.post(f"/guilds/{guild.id}/auto-moderation/rules", json=rule)).ok()
    user_session, session = await guild.owner.connect(), await alice.connect_sdk()

    message = (await bob.post(f"/lobbies/{lobby_id}/messages", json={"content": "foo"})).ok()

    assert message["channel_id"] == lobby_id
    assert (await session.next("LOBBY_MESSAGE_CREATE"))["content"] == "foo"
    await user_session.next("AUTO_MODERATION_ACTION_EXECUTION")
    await user_session.assert_not_received("MESSAGE_CREATE")


async def test_a_lobby_flag_requires_message_authors_to_authorize_the_game(world: World) -> None:
    game, guild, _, _, lobby_id = await create_linked_lobby(world)
    stranger = await world.user()
    (await stranger.post(f"/invites/{await create_invite_code(guild)}", json={})).ok()
    (
        await game.backend.patch(f"/lobbies/{lobby_id}", json={"flags": LobbyFlags.REQUIRE_APPLICATION_AUTHORIZATION})
    ).ok()

    path = f"/channels/{guild.general}/messages"
    (await stranger.post(path, json={"content": "hi"})).rejected(403, 50013)
    await game.add_player(stranger)
    (await stranger.post(path, json={"content": "hi"})).ok()


async def create_invite_code(guild: Guild) -> str:
    """Create an invite to a guild and return its code."""
    code: str = (await guild.owner.post(f"/channels/{guild.general}/invites", json={})).ok()["code"]
    return code


async def test_a_channel_manager_unlinks_the_lobby(world: World) -> None:
    _, guild, alice, bob, _lobby_id = await create_linked_lobby(world)
    session = await alice.connect_sdk()

    channel = (await guild.owner.delete(f"/channels/{guild.general}/linked-lobby")).ok()

    assert "linked_lobby" not in channel
    assert "linked_channel" not in await session.next("LOBBY_UPDATE")
    (await guild.owner.delete(f"/channels/{guild.general}/linked-lobby")).rejected(404, 10031)
    (await bob.delete(f"/channels/{guild.general}/linked-lobby")).rejected(401, 0)


async def test_a_lobby_remains_after_its_channel_and_expires_only_when_unlinked(world: World) -> None:
    game, guild, _alice, _, lobby_id = await create_linked_lobby(world)
    assert world.app.worker is not None
    world.clock.advance(3_600_000)
    await world.app.worker.run_due()
    assert (await game.backend.get(f"/lobbies/{lobby_id}")).status == 200

    (await guild.owner.delete(f"/channels/{guild.general}")).ok()
    assert "linked_channel" not in (await game.backend.get(f"/lobbies/{lobby_id}")).ok()
    world.clock.advance(301_000)
    await world.app.worker.run_due()
    (await game.backend.get(f"/lobbies/{lobby_id}")).rejected(404, 10031)


async def test_a_lobby_invite_is_for_one_member_one_use_and_one_hour(world: World) -> None:
    game, guild, alice, bob, lobby_id = await create_linked_lobby(world)

    code = (await bob.post(f"/lobbies/{lobby_id}/members/@me/invites")).ok()["code"]
    invites: Any = (await guild.owner.get(f"/guilds/{guild.id}/invites")).ok()
    assert [(invite["code"], invite["max_uses"], invite["max_age"], invite["target_type"]) for invite in invites] == [
        (code, 1, 3600, InviteTargetType.LOBBY)
    ]
    # Only lobbies create invites of this type.
    rejected_response = await guild.owner.post(
        f"/channels/{guild.general}/invites", json={"target_type": InviteTargetType.LOBBY}
    )
    assert rejected_response.errors("target_type")
    other_code = (await game.backend.post(f"/lobbies/{lobby_id}/members/{alice.id}/invites")).ok()["code"]
    assert other_code != code
    (await game.backend.post(f"/lobbies/{lobby_id}/members/1/invites")).rejected(404, 10007)

    stranger = await world.user()
    (await stranger.post(f"/invites/{code}", json={})).rejected(404, 10006)
    world.clock.advance(3_601_000)
    assert (await guild.owner.get(f"/guilds/{guild.id}/invites")).ok() == []


async def test_an_unlinked_lobby_creates_no_invites(world: World) -> None:
    _game, _guild, alice, _, lobby_id = await create_linked_lobby(world)
    (await alice.patch(f"/lobbies/{lobby_id}/channel-linking", json={})).ok()

    (await alice.post(f"/lobbies/{lobby_id}/members/@me/invites")).rejected(404, 10003)


async def test_the_channel_list_shows_whether_a_lobby_can_be_linked(world: World) -> None:
    _game, guild, alice, _bob, _lobby_id = await create_linked_lobby(world)
    other_channel_id = await guild.channel("other")
    await guild.overwrite(other_channel_id, guild.id, deny=Permissions.SEND_MESSAGES, target_type=OverwriteType.ROLE)

    channels = (await alice.get(f"/guilds/{guild.id}/channels?with_can_link_lobby=true")).ok()
    linkable = {
        int(channel["id"]): (channel["can_link_lobby"], channel["is_viewable_and_writeable_by_all_members"])
        for channel in channels
    }
    assert linkable[guild.general] == (False, True)
    assert linkable[other_channel_id] == (True, False)
    assert "can_link_lobby" not in (await alice.get(f"/guilds/{guild.id}/channels")).ok()[0]


async def test_lobby_messages_are_delivered_to_event_webhooks(private_targets_world: World, receiver: Receiver) -> None:
    game, guild, _alice, bob, lobby_id = await create_linked_lobby(private_targets_world)
    await subscribe_to_events(
        receiver, game.backend, "LOBBY_MESSAGE_CREATE", "LOBBY_MESSAGE_UPDATE", "LOBBY_MESSAGE_DELETE"
    )
    assert private_targets_world.app.worker is not None

    message = (await bob.post(f"/lobbies/{lobby_id}/messages", json={"content": "one"})).ok()
    edited_message = await guild.send_message(guild.owner, "two")
    path = f"/channels/{guild.general}/messages/{edited_message['id']}"
    (await guild.owner.patch(path, json={"content": "three"})).ok()
    (await guild.owner.delete(path)).ok()
    await private_targets_world.app.worker.run_due()

    first_message, second_message, changed_message, deleted_message = [event["data"] for event in receiver.events]
    channel_id, owner_id = str(guild.general), str(guild.owner.id)
    assert (first_message["channel_id"], first_message["author"]["id"], first_message["flags"]) == (
        channel_id,
        str(bob.id),
        MessageFlags.SENT_BY_SOCIAL_LAYER_INTEGRATION,
    )
    assert (first_message["application_id"], first_message["lobby_id"], first_message["type"]) == (
        str(game.id),
        lobby_id,
        0,
    )
    assert (second_message["channel_id"], second_message["author"]["id"], second_message["flags"]) == (
        channel_id,
        owner_id,
        0,
    )
    assert "application_id" not in second_message
    assert changed_message.keys() >= {"timestamp", "edited_timestamp"}
    assert "moderation_metadata" not in changed_message
    assert deleted_message == {"id": edited_message["id"], "lobby_id": lobby_id}
    received_events = [(event["type"], event["data"]["id"], event["data"].get("content")) for event in receiver.events]
    assert received_events == [
        ("LOBBY_MESSAGE_CREATE", message["id"], "one"),
        ("LOBBY_MESSAGE_CREATE", edited_message["id"], "two"),
        ("LOBBY_MESSAGE_UPDATE", edited_message["id"], "three"),
        ("LOBBY_MESSAGE_DELETE", edited_message["id"], None),
    ]
