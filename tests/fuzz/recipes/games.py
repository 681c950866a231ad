"""Recipes for lobbies, messages between players and activities of games."""

from typing import Any

from hubbub.protocol.flags import LobbyMemberFlags
from tests.fuzz.platform import Platform
from tests.fuzz.recipes.registry import ValidRequest, recipe
from tests.game import Game, Player, create_game
from tests.server.play.joinable_activities import create_game_with_friends, start_joinable_activity
from tests.server.play.test_linked_channels import create_linked_lobby
from tests.world import befriend


async def create_lobby(platform: Platform) -> tuple[Game, Player, str]:
    """Create a lobby with one member, who may link it; return the game, the member and the lobby's ID."""
    game = await create_game(platform.world)
    player = await game.add_player(platform.owner)
    members = [{"id": str(player.id), "flags": LobbyMemberFlags.CAN_LINK_LOBBY}]
    return game, player, (await game.backend.post("/lobbies", json={"members": members})).ok()["id"]


@recipe("create_lobby")
async def _new_lobby(platform: Platform) -> ValidRequest:
    return ValidRequest((await create_game(platform.world)).backend, body={})


@recipe("create_or_join_lobby")
async def _secret(platform: Platform) -> ValidRequest:
    _, player, _ = await create_lobby(platform)
    return ValidRequest(player, body={"secret": "open sesame"})


@recipe("get_lobby", "edit_lobby", "delete_lobby")
async def _lobby(platform: Platform) -> ValidRequest:
    game, _, lobby_id = await create_lobby(platform)
    return ValidRequest(game.backend, {"lobby_id": lobby_id}, {"metadata": {"map": "harbor"}})


@recipe("edit_lobby_channel_link")
async def _channel_link(platform: Platform) -> ValidRequest:
    _, player, lobby_id = await create_lobby(platform)
    channel_id = await platform.guild.channel(platform.builder.unused_name())
    return ValidRequest(player, {"lobby_id": lobby_id}, {"channel_id": str(channel_id)})


@recipe("leave_lobby")
async def _joined_lobby(platform: Platform) -> ValidRequest:
    player = await (await create_game(platform.world)).add_player()
    lobby = (await player.put("/lobbies", json={"secret": "open sesame"})).ok()
    return ValidRequest(player, {"lobby_id": lobby["id"]})


@recipe("get_lobby_messages")
async def _membership(platform: Platform) -> ValidRequest:
    _, player, lobby_id = await create_lobby(platform)
    return ValidRequest(player, {"lobby_id": lobby_id})


@recipe("create_lobby_message")
async def _lobby_message(platform: Platform) -> ValidRequest:
    _, player, lobby_id = await create_lobby(platform)
    return ValidRequest(player, {"lobby_id": lobby_id}, {"content": "hello"})


@recipe("update_lobby_message_external_moderation_metadata")
async def _moderated_lobby_message(platform: Platform) -> ValidRequest:
    game, player, lobby_id = await create_lobby(platform)
    message = (await player.post(f"/lobbies/{lobby_id}/messages", json={"content": "hello"})).ok()
    return ValidRequest(game.backend, {"lobby_id": lobby_id, "message_id": message["id"]}, {"verdict": "hide"})


@recipe("bulk_update_lobby_members")
async def _members(platform: Platform) -> ValidRequest:
    game, _, lobby_id = await create_lobby(platform)
    return ValidRequest(game.backend, {"lobby_id": lobby_id}, [{"id": str((await game.add_player()).id)}])


@recipe("add_lobby_member")
async def _new_member(platform: Platform) -> ValidRequest:
    game, _, lobby_id = await create_lobby(platform)
    return ValidRequest(game.backend, {"lobby_id": lobby_id, "user_id": (await game.add_player()).id}, {})


@recipe("delete_lobby_member")
async def _member(platform: Platform) -> ValidRequest:
    game, player, lobby_id = await create_lobby(platform)
    return ValidRequest(game.backend, {"lobby_id": lobby_id, "user_id": player.id})


@recipe("create_linked_lobby_guild_invite_for_self")
async def _own_invite(platform: Platform) -> ValidRequest:
    _, _, _, bob, lobby_id = await create_linked_lobby(platform.world)
    return ValidRequest(bob, {"lobby_id": lobby_id})


@recipe("create_linked_lobby_guild_invite_for_user")
async def _invite(platform: Platform) -> ValidRequest:
    game, _, _, bob, lobby_id = await create_linked_lobby(platform.world)
    return ValidRequest(game.backend, {"lobby_id": lobby_id, "user_id": bob.id})


# Messages between players


async def _send(platform: Platform) -> tuple[Game, Player, Player, dict[str, Any]]:
    game, alice, bob = await create_game_with_friends(platform.world)
    return game, alice, bob, (await alice.post(f"/users/{bob.id}/messages", json={"content": "hello"})).ok()


@recipe("send_user_message")
async def _user_message(platform: Platform) -> ValidRequest:
    _, alice, bob = await create_game_with_friends(platform.world)
    return ValidRequest(alice, {"user_id": bob.id}, {"content": "hello"})


@recipe("list_user_messages")
async def _history(platform: Platform) -> ValidRequest:
    _, alice, bob, _ = await _send(platform)
    return ValidRequest(alice, {"user_id": bob.id})


@recipe("edit_user_message", "delete_user_message")
async def _own_message(platform: Platform) -> ValidRequest:
    _, alice, bob, message = await _send(platform)
    return ValidRequest(alice, {"user_id": bob.id, "message_id": message["id"]}, {"content": "edited"})


@recipe("update_user_message_external_moderation_metadata")
async def _moderated_message(platform: Platform) -> ValidRequest:
    game, alice, bob, message = await _send(platform)
    values = {"user_id_1": bob.id, "user_id_2": alice.id, "message_id": message["id"]}
    return ValidRequest(game.backend, values, {"verdict": "hide"})


# Activities


@recipe("acknowledge_disclosures")
async def _disclosures(platform: Platform) -> ValidRequest:
    game, alice, _ = await create_game_with_friends(platform.world)
    return ValidRequest(alice, {"application_id": game.id}, {"disclosures": [3]})


@recipe("get_activity_join_secret")
async def _join_secret(platform: Platform) -> ValidRequest:
    game, alice, bob = await create_game_with_friends(platform.world)
    activity = await start_joinable_activity(alice, await alice.connect_sdk())
    body = {"content": "join!", "activity": activity}
    message = (await alice.post(f"/users/{bob.id}/messages", json=body)).ok()
    values = {"user_id": alice.id, "session_id": activity["session_id"], "application_id": game.id}
    return ValidRequest(bob, values, query={"channel_id": message["channel_id"], "message_id": message["id"]})


@recipe("get_activity_metadata")
async def _button_urls(platform: Platform) -> ValidRequest:
    game = await create_game(platform.world)
    host, friend = await platform.world.user(), await platform.world.user()
    await befriend(host, friend)
    session = await (await game.add_player(host)).connect_sdk()
    button = {"label": "Watch", "url": "https://game.example/watch"}
    await session.set_presence("online", {"name": "Game", "type": 0, "buttons": [button]})
    values = {"user_id": host.id, "session_id": session.ready["session_id"], "application_id": game.id}
    return ValidRequest(friend, values)
