"""OAuth2 sessions: READY, required scopes, received and withheld events, revoked tokens and disabled features."""

import pytest

from hubbub.protocol import changes
from hubbub.protocol.enums import CloseCode, GatewayOpcode, RelationshipType
from hubbub.protocol.flags import ApplicationFlags
from hubbub.protocol.intents import Capabilities, Intents
from hubbub.server.core.clock import DAY_MS
from hubbub.server.core.config import Config, GatewayConfig
from hubbub.server.identity import users
from hubbub.server.talk import direct_messages
from tests import players
from tests.oauth import create_application, set_application_columns
from tests.world import Actor, World, befriend, small_config

SDK_INTENTS = 416_026_624
"""Intents as captured from the SDK (spec/sdk.md#5.3)."""
SDK_CAPABILITIES = 69_680
"""Capabilities as captured from the SDK (spec/sdk.md#5.3)."""
MINIMAL_SCOPES = "identify gateway.connect"


async def identify_close_code(world: World, actor: Actor) -> int:
    """Identify with the actor's token and return the close code."""
    async with world.client.ws_connect(f"{world.gateway}?v=10&encoding=json") as socket:
        await socket.receive_json()
        await socket.send_json(
            {"op": GatewayOpcode.IDENTIFY, "d": {"token": actor.header, "properties": {}, "intents": 0}}
        )
        await socket.receive()
        assert socket.close_code is not None
        return socket.close_code


async def test_ready_has_the_fields_that_the_sdk_needs(world: World) -> None:
    alice, bob, carol, dave = [await world.user() for _ in range(4)]
    guild = await world.guild(alice, name="Town")
    publisher, game = await create_application(world, name="Studio"), await create_application(world, name="Chess")
    await set_application_columns(world, game, parent_id=publisher.id)
    player, other_token = await world.bearer(alice, game.id), await world.bearer(bob, game.id)
    await befriend(alice, bob)
    (await carol.put(f"/users/@me/relationships/{alice.id}")).ok()
    (await alice.put(f"/users/@me/relationships/{dave.id}", json={"type": RelationshipType.BLOCKED})).ok()
    (await player.put(f"/users/@me/game-relationships/{bob.id}")).ok()
    (await alice.post("/users/@me/channels", json={"recipient_id": str(bob.id)})).ok()
    await other_token.connect(SDK_INTENTS)

    session = await player.connect(SDK_INTENTS, capabilities=SDK_CAPABILITIES)

    ready = session.ready
    assert ready["user"]["id"] == str(alice.id)
    assert "email" not in ready["user"]
    assert {"gateway.connect", "lobbies.write", "relationships.read"} <= set(ready["scopes"])
    application_view = ready["application"]
    assert (application_view["id"], application_view["name"], application_view["parent_id"]) == (
        str(game.id),
        "Chess",
        str(publisher.id),
    )
    assert {"flags", "flags_new"} <= application_view.keys()
    assert ready["guilds"] == [{"id": str(guild.id), "name": "Town"}]
    relationships = {relationship["id"]: relationship for relationship in ready["relationships"]}
    assert {user_id: relationship["type"] for user_id, relationship in relationships.items()} == {
        str(bob.id): RelationshipType.FRIEND,
        str(carol.id): RelationshipType.PENDING_INCOMING,
        str(dave.id): RelationshipType.BLOCKED,
    }
    assert (relationships[str(bob.id)]["has_played_game"], relationships[str(carol.id)]["has_played_game"]) == (
        True,
        False,
    )
    assert [(relationship["id"], relationship["type"]) for relationship in ready["game_relationships"]] == [
        (str(bob.id), RelationshipType.PENDING_OUTGOING)
    ]
    # Users are listed once, in `users`.
    assert all("user" not in relationship for relationship in ready["relationships"] + ready["game_relationships"])
    assert {user["id"] for user in ready["users"]} == {str(bob.id), str(carol.id), str(dave.id)}
    [channel] = ready["private_channels"]
    assert (channel["recipient_ids"], "recipients" in channel) == ([str(bob.id)], False)
    assert ready["feature_flags"] == {"disabled_functions": [], "disabled_gateway_events": []}
    assert (ready["av_sf_protocol_floor"], ready["user_application_profiles"]) == (1, {})
    supplemental = session.dispatches[1]
    assert supplemental["t"] == "READY_SUPPLEMENTAL"
    [friend] = supplemental["d"]["merged_presences"]["friends"]
    assert (friend["user"]["id"], friend["status"], friend["has_played_game"]) == (str(bob.id), "online", True)
    assert (supplemental["d"]["lazy_private_channels"], supplemental["d"]["game_invites"]) == ([], [])


async def test_ready_has_the_profiles_of_every_user_it_names(world: World) -> None:
    client = await players.create_social_game(world)
    alice, friend, lobby_member, dm_recipient, stranger = [
        await players.create_provisional_player(client, name, preferred_global_name=name.title())
        for name in ("alice", "friend", "lobby-member", "dm-recipient", "stranger")
    ]
    for requester, recipient in ((alice, friend), (friend, alice)):
        (await requester.put(f"/users/@me/game-relationships/{recipient.id}")).ok()
    for player in (alice, lobby_member):
        (await player.put("/lobbies", json={"secret": "chess"})).ok()
    await world.write(
        lambda call: direct_messages.open_direct_channel(call, users.find(call.tx, dm_recipient.id)),  # type: ignore[arg-type]
        actor=alice.id,
    )

    async def usernames_for(scopes: str) -> dict[str, str]:
        session = await (await world.bearer(alice, client.id, scopes)).connect(
            SDK_INTENTS, capabilities=SDK_CAPABILITIES
        )
        profiles = session.ready["user_application_profiles"]
        assert all(profile["external_id"]["provider_type"] == "PLATFORM_BOT" for (profile,) in profiles.values())
        return {user_id: profile["username"] for user_id, (profile,) in profiles.items()}

    names_with_presence_scope = {str(alice.id): "Alice", str(friend.id): "Friend"}
    names_with_all_scopes = names_with_presence_scope | {
        str(lobby_member.id): "Lobby-Member",
        str(dm_recipient.id): "Dm-Recipient",
    }
    assert await usernames_for("sdk.social_layer") == names_with_all_scopes
    assert await usernames_for("sdk.social_layer_presence") == names_with_presence_scope
    assert await usernames_for(MINIMAL_SCOPES) == {str(alice.id): "Alice"}
    assert str(stranger.id) not in names_with_all_scopes


async def test_without_capabilities_ready_is_not_split(world: World) -> None:
    alice, bob = await world.user(), await world.user()
    game = await create_application(world)
    await befriend(alice, bob)
    await bob.connect()

    session = await (await world.bearer(alice, game.id)).connect(SDK_INTENTS)

    assert [relationship["user"]["username"] for relationship in session.ready["relationships"]] == [bob.name]
    assert [presence["user"]["id"] for presence in session.ready["presences"]] == [str(bob.id)]
    assert "users" not in session.ready
    await session.assert_not_received("READY_SUPPLEMENTAL")


async def test_lobbies_are_in_ready_or_sent_after_it(world: World) -> None:
    alice = await world.user()
    game = await create_application(world)
    player = await world.bearer(alice, game.id)
    lobby_id = (await player.put("/lobbies", json={"secret": "chess"})).ok()["id"]

    auto_connected = await player.connect(SDK_INTENTS, capabilities=Capabilities.AUTO_LOBBY_CONNECT)
    session_without_capability = await player.connect(SDK_INTENTS)
    session_without_intent = await player.connect(SDK_INTENTS & ~Intents.LOBBIES)

    assert [lobby["id"] for lobby in auto_connected.ready["lobbies"]] == [lobby_id]
    assert [(frame["t"], frame["d"]["id"]) for frame in session_without_capability.dispatches[1:2]] == [
        ("LOBBY_CREATE", lobby_id)
    ]
    assert "lobbies" not in session_without_capability.ready
    await session_without_intent.assert_not_received("LOBBY_CREATE")


@pytest.mark.dated(changes.E2EE_VOICE_ONLY)
async def test_end_to_end_encryption_is_required_since_the_change(world: World) -> None:
    alice = await world.user()
    game = await create_application(world)
    player = await world.bearer(alice, game.id)
    for now_ms, expected in ((changes.E2EE_VOICE_ONLY.at_ms - 1, 0), (changes.E2EE_VOICE_ONLY.at_ms, 1)):
        world.clock.set(now_ms)
        assert (await player.connect(SDK_INTENTS)).ready["av_sf_protocol_floor"] == expected


async def test_ready_of_a_user_has_friend_presences(world: World) -> None:
    alice, bob = await world.user(), await world.user()
    await befriend(alice, bob)
    await bob.connect()

    whole = await alice.connect()
    split = await alice.connect(capabilities=Capabilities.PRIORITIZED_READY_PAYLOAD)

    assert [presence["user"]["id"] for presence in whole.ready["presences"]] == [str(bob.id)]
    assert [relationship["type"] for relationship in whole.ready["relationships"]] == [RelationshipType.FRIEND]
    assert split.ready["presences"] == []
    assert [
        frame["d"]["merged_presences"]["friends"][0]["status"]
        for frame in split.dispatches
        if frame["t"] == "READY_SUPPLEMENTAL"
    ] == ["online"]


async def test_a_token_with_minimal_scopes_receives_no_events(world: World) -> None:
    alice, bob = await world.user(), await world.user()
    guild = await world.guild(alice, bob)
    game = await create_application(world)
    (await alice.post("/users/@me/channels", json={"recipient_id": str(bob.id)})).ok()
    session = await (await world.bearer(alice, game.id, MINIMAL_SCOPES)).connect(Intents.ALL)
    ready = session.ready
    assert [ready[key] for key in ("guilds", "relationships", "game_relationships", "private_channels")] == [[]] * 4

    await befriend(alice, bob)
    bob_session = await bob.connect()
    await bob_session.send(
        GatewayOpcode.PRESENCE_UPDATE, {"status": "dnd", "activities": [], "since": None, "afk": False}
    )
    await bob_session.wait_processed()
    (await bob.patch("/users/@me", json={"global_name": "Bobby"})).ok()
    await guild.send_message(bob, "in the guild")
    direct = (await bob.post("/users/@me/channels", json={"recipient_id": str(alice.id)})).ok()["id"]
    (await bob.post(f"/channels/{direct}/messages", json={"content": "in private"})).ok()
    await world.guild(alice)
    await session.send(GatewayOpcode.REQUEST_GUILD_MEMBERS, {"guild_id": str(guild.id), "query": "", "limit": 0})
    await session.wait_processed()
    await session.wait_delivered()

    assert session.unread_names() == []


async def test_an_oauth2_session_receives_only_guild_names(world: World) -> None:
    alice = await world.user()
    guild = await world.guild(alice)
    game = await create_application(world)
    session = await (await world.bearer(alice, game.id)).connect(Intents.ALL)

    second_guild = await world.guild(alice, name="Second")
    await guild.send_message(alice, "not for games")
    await guild.channel("secret")
    (await alice.delete(f"/guilds/{guild.id}")).ok()

    assert await session.next("GUILD_CREATE") == {"id": str(second_guild.id), "name": "Second"}
    assert (await session.next("GUILD_DELETE"))["id"] == str(guild.id)
    assert set(session.unread_names()) <= {"GUILD_CREATE"}


async def test_a_user_update_for_an_oauth2_session_has_no_email(world: World) -> None:
    alice = await world.user()
    game = await create_application(world)
    user_session, session = await alice.connect(), await (await world.bearer(alice, game.id)).connect(SDK_INTENTS)

    (await alice.patch("/users/@me", json={"global_name": "Alice"})).ok()

    update = await session.next("USER_UPDATE")
    assert (update["global_name"], "email" in update) == ("Alice", False)
    assert "email" in await user_session.next("USER_UPDATE")


async def test_private_channels_and_messages_need_their_scopes(world: World) -> None:
    alice, bob = await world.user(), await world.user()
    game = await create_application(world)
    social = await (await world.bearer(alice, game.id)).connect(SDK_INTENTS)
    presence = await (await world.bearer(alice, game.id, "sdk.social_layer_presence")).connect(SDK_INTENTS)

    direct = (await bob.post("/users/@me/channels", json={"recipient_id": str(alice.id)})).ok()["id"]
    (await bob.post(f"/channels/{direct}/messages", json={"content": "hello"})).ok()

    assert (await social.next("CHANNEL_CREATE"))["id"] == direct
    assert (await social.next("MESSAGE_CREATE"))["content"] == "hello"
    await presence.assert_not_received("CHANNEL_CREATE", "MESSAGE_CREATE")


async def test_an_oauth2_session_needs_both_scopes_and_a_game_application(world: World) -> None:
    alice = await world.user()
    game = await create_application(world)
    publisher = await create_application(world, flags=ApplicationFlags.PARENT)

    assert (
        await identify_close_code(world, await world.bearer(alice, game.id, "identify"))
        == CloseCode.AUTHENTICATION_FAILED
    )
    assert (
        await identify_close_code(world, await world.bearer(alice, game.id, "gateway.connect"))
        == CloseCode.AUTHENTICATION_FAILED
    )
    assert await identify_close_code(world, await world.bearer(alice, publisher.id)) == CloseCode.AUTHENTICATION_FAILED
    await (await world.bearer(alice, game.id, MINIMAL_SCOPES)).connect(0)


async def test_a_session_outlives_an_expired_token_but_not_a_revoked_one(world: World) -> None:
    alice, bob = await world.user(), await world.user()
    game = await create_application(world)
    tokens = await game.request_tokens(alice, "sdk.social_layer_presence")
    player = game.bearer(alice, tokens["access_token"])
    session = await player.connect(SDK_INTENTS)

    world.clock.advance(8 * DAY_MS)  # The access token is valid for 7 days.
    (await bob.put(f"/users/@me/relationships/{alice.id}")).ok()

    assert (await session.next("RELATIONSHIP_ADD"))["type"] == RelationshipType.PENDING_INCOMING
    assert (await player.get("/users/@me/relationships")).status == 401
    assert await identify_close_code(world, player) == CloseCode.AUTHENTICATION_FAILED
    (await game.post_form("/oauth2/token/revoke", token=tokens["refresh_token"])).ok()
    assert await session.wait_closed() == CloseCode.AUTHENTICATION_FAILED


async def test_a_revocation_is_sent_to_the_user_and_not_to_other_games(world: World) -> None:
    alice = await world.user()
    game, other_application = await create_application(world), await create_application(world)
    tokens = await game.request_tokens(alice, "sdk.social_layer_presence")
    user_session, other_session = (
        await alice.connect(),
        await (await world.bearer(alice, other_application.id)).connect(SDK_INTENTS),
    )

    (await game.post_form("/oauth2/token/revoke", token=tokens["access_token"])).ok()

    assert (await user_session.next("OAUTH2_TOKEN_REVOKE"))["application_id"] == str(game.id)
    await other_session.assert_not_received("OAUTH2_TOKEN_REVOKE")


class TestDisabledFeatures:
    @pytest.fixture
    def store_config(self) -> Config:
        return small_config(
            gateway=GatewayConfig(
                disabled_functions=("CreateOrJoinLobby",), disabled_gateway_events=("RELATIONSHIP_ADD",), drain_ms=0
            )
        )

    async def test_disabled_features_are_listed_in_ready_and_not_sent(self, world: World) -> None:
        alice, bob = await world.user(), await world.user()
        game = await create_application(world)
        user_session, session = await alice.connect(), await (await world.bearer(alice, game.id)).connect(SDK_INTENTS)

        assert session.ready["feature_flags"] == {
            "disabled_functions": ["CreateOrJoinLobby"],
            "disabled_gateway_events": ["RELATIONSHIP_ADD"],
        }
        (await bob.put(f"/users/@me/relationships/{alice.id}")).ok()
        await user_session.next("RELATIONSHIP_ADD")
        await session.assert_not_received("RELATIONSHIP_ADD")
