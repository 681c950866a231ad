"""Links between user accounts and provisional accounts: their end, bans, publishers, and operator commands."""

from typing import Any

import pytest

from hubbub.protocol.enums import CloseCode, RelationshipType
from hubbub.protocol.flags import ApplicationFlags
from hubbub.protocol.ids import ApplicationId, UserId
from hubbub.server.app import App
from hubbub.server.core.call import Call
from hubbub.server.core.clock import ControlledClock
from hubbub.server.identity import accounts, applications, identities, users
from hubbub.server.identity.identities import AccountsMerged, AccountUnmerged, FamilyJoined
from tests.demo_rehearsal import DemoRehearsal
from tests.oauth import Client, assert_oauth2_error
from tests.players import (
    BOT_ISSUED,
    SOCIAL_LAYER_FLAG,
    create_bearer,
    create_provisional_player,
    create_social_game,
    link_account,
    request_bot_token,
    request_link_tokens,
)
from tests.receiver import Receiver, subscribe_to_events
from tests.world import NOW_MS, Actor, World, befriend, small_config

DAY_MS = 86_400_000


def record_signals(world: World) -> list[Any]:
    """Return a list that collects signals about merged and unmerged accounts, and about games that join a family."""
    return world.record_signals(AccountsMerged, AccountUnmerged, FamilyJoined)


async def create_linked_user(
    world: World, client: Client, external_user_id: str = "hero"
) -> tuple[Actor, dict[str, Any]]:
    """Link a provisional account to a new user; return the user and the game's token response."""
    user, player = (
        await world.user(),
        await create_provisional_player(client, external_user_id, preferred_global_name="Hero"),
    )
    return user, await request_link_tokens(client, user, player.token)


# Ending a link


async def unmerge_as_bot(client: Client, user: Actor, tokens: dict[str, Any]) -> None:
    assert client.bot is not None
    path = "/partner-sdk/provisional-accounts/unmerge/bot"
    (await client.bot.post(path, json={"external_user_id": "hero"})).ok()


async def revoke_access_token(client: Client, user: Actor, tokens: dict[str, Any]) -> None:
    (await client.post_form("/oauth2/token/revoke", token=tokens["access_token"])).ok()


async def revoke_refresh_token(client: Client, user: Actor, tokens: dict[str, Any]) -> None:
    (await client.post_form("/oauth2/token/revoke", token=tokens["refresh_token"])).ok()


async def deauthorize_as_user(client: Client, user: Actor, tokens: dict[str, Any]) -> None:
    (authorization,) = (await user.get("/oauth2/tokens")).ok()
    (await user.delete(f"/oauth2/tokens/{authorization['id']}")).ok()


async def delete_account(client: Client, user: Actor, tokens: dict[str, Any]) -> None:
    await client.world.write(lambda call: users.delete(call, user.id))


async def ban_user(client: Client, user: Actor, tokens: dict[str, Any]) -> None:
    await client.world.write(lambda call: accounts.ban(call, UserId(user.id)))


UNLINK_METHODS = [
    unmerge_as_bot,
    revoke_access_token,
    revoke_refresh_token,
    deauthorize_as_user,
    delete_account,
    ban_user,
]


@pytest.mark.parametrize("unlink", UNLINK_METHODS)
async def test_every_way_to_end_a_link_revokes_its_tokens_and_sessions(world: World, unlink: Any) -> None:
    client = await create_social_game(world)
    user, tokens = await create_linked_user(world, client)
    signals = record_signals(world)
    bearer = client.bearer(user, tokens["access_token"])
    session = await bearer.connect()

    await unlink(client, user, tokens)

    assert await session.wait_closed() == CloseCode.AUTHENTICATION_FAILED
    (await bearer.get("/users/@me")).rejected(401, 0)
    assert assert_oauth2_error(await client.refresh(tokens["refresh_token"]), "invalid_grant") == (
        'Invalid "refresh_token" in request'
    )
    player = await create_provisional_player(client, "hero")
    assert player.id != user.id
    (signal,) = signals
    is_banned = unlink is ban_user
    assert signal == AccountUnmerged(
        family_id=ApplicationId(client.id), user_id=user.id, provisional_id=player.id, is_restricted=is_banned
    )


async def test_the_new_provisional_account_keeps_the_users_display_name(world: World) -> None:
    client = await create_social_game(world)
    user, tokens = await create_linked_user(world, client)
    (await user.patch("/users/@me", json={"global_name": "Alice"})).ok()

    await deauthorize_as_user(client, user, tokens)

    assert (await (await create_provisional_player(client, "hero")).get("/users/@me")).ok()["global_name"] == "Alice"


async def test_unmerging_by_the_bot_without_a_link_fails(world: World) -> None:
    client = await create_social_game(world)
    assert client.bot is not None
    await create_provisional_player(client, "hero")
    path = "/partner-sdk/provisional-accounts/unmerge/bot"

    (await client.bot.post(path, json={"external_user_id": "hero"})).rejected(400, 50229)
    (await client.bot.post(path, json={"external_user_id": "unknown"})).rejected(404, 10013)
    assert (await client.bot.post(path, json={"external_user_id": ""})).errors("external_user_id") == [
        "BASE_TYPE_BAD_LENGTH"
    ]
    client_without_social_layer = await create_social_game(world, flags=0)
    assert client_without_social_layer.bot is not None
    (await client_without_social_layer.bot.post(path, json={"external_user_id": "hero"})).rejected(403, 530000)


async def replay_refresh_token(client: Client, user: Actor, tokens: dict[str, Any]) -> None:
    (await client.refresh(tokens["refresh_token"])).ok()
    assert_oauth2_error(await client.refresh(tokens["refresh_token"]), "invalid_grant")


@pytest.mark.parametrize(
    "unlink", [unmerge_as_bot, deauthorize_as_user, revoke_access_token, ban_user, replay_refresh_token]
)
async def test_ending_a_link_sends_a_webhook_event_to_the_application(
    private_targets_world: World, receiver: Receiver, unlink: Any
) -> None:
    client = await create_social_game(private_targets_world)
    assert client.bot is not None
    user, tokens = await create_linked_user(private_targets_world, client)
    await subscribe_to_events(receiver, client.bot, "APPLICATION_DEAUTHORIZED")

    await unlink(client, user, tokens)

    (event,) = await receiver.wait_for_events(1)
    assert (event["type"], event["data"]["user"]["id"]) == ("APPLICATION_DEAUTHORIZED", str(user.id))


async def test_a_data_export_contains_the_external_identities_of_a_user(world: World) -> None:
    client = await create_social_game(world)
    user, _ = await create_linked_user(world, client)

    (identity,) = (await user.get("/users/@me/harvest")).ok()["records"]["identities"]

    assert (identity["application_id"], identity["provider_issued_user_id"]) == (str(client.id), "hero")


async def test_a_merge_raises_a_signal_with_both_accounts(world: World) -> None:
    client = await create_social_game(world)
    signals = record_signals(world)

    user, player = await world.user(), await create_provisional_player(client, "hero")
    await request_link_tokens(client, user, player.token)

    assert signals == [AccountsMerged(family_id=ApplicationId(client.id), source_id=player.id, user_id=user.id)]


async def test_ending_the_link_of_one_game_keeps_the_link_of_another(world: World) -> None:
    first_game, second_game = await create_social_game(world), await create_social_game(world)
    user, player = await world.user(), await create_provisional_player(first_game, "hero")
    first_tokens = await request_link_tokens(first_game, user, player.token)
    second_tokens = await request_link_tokens(
        second_game, user, (await create_provisional_player(second_game, "hero")).token
    )

    await revoke_access_token(first_game, user, first_tokens)

    (await second_game.bearer(user, second_tokens["access_token"]).get("/users/@me")).ok()
    (await request_bot_token(second_game, "hero")).rejected(400, 530010)


async def test_the_device_flow_can_link_an_account(world: World) -> None:
    from hubbub.protocol.resources.oauth2 import DEVICE_GRANT

    client = await create_social_game(world)
    user, player = await world.user(), await create_provisional_player(client, "hero")
    device_authorization = (await client.post_form("/oauth2/device/authorize", scope="sdk.social_layer")).ok()
    fields = {"grant_type": DEVICE_GRANT, "device_code": device_authorization["device_code"]}
    credential = {"external_auth_type": BOT_ISSUED, "external_auth_token": player.token}

    assert_oauth2_error(await client.post_form("/oauth2/token", **fields, **credential), "authorization_pending")
    (
        await user.post(
            "/oauth2/device/finish", json={"user_code": device_authorization["user_code"], "result": "granted"}
        )
    ).ok()
    world.clock.set(world.clock.now_ms() + 60_000)
    tokens = (await client.post_form("/oauth2/token", **fields, **credential)).ok()

    assert (await client.bearer(user, tokens["access_token"]).get("/users/@me")).ok()["id"] == str(user.id)
    (await request_bot_token(client, "hero")).rejected(400, 530010)


# Bans


async def exchange_with_player_token(client: Client, user: Actor, token: str) -> Any:
    """Authorize a game as a user, and exchange the code together with a player's token."""
    code = await client.request_code(user, "sdk.social_layer")
    return await client.exchange(code, external_auth_type=BOT_ISSUED, external_auth_token=token)


async def test_a_banned_account_cannot_be_merged_until_the_ban_ends(world: World) -> None:
    client, other_user = await create_social_game(world), await world.user()
    user, _ = await create_linked_user(world, client)
    ends_ms = world.clock.now_ms() + DAY_MS
    await world.write(lambda call: accounts.ban(call, UserId(user.id), ends_ms=ends_ms))
    player = await create_provisional_player(client, "hero")

    (await user.get("/users/@me")).rejected(401, 0)
    (await exchange_with_player_token(client, other_user, player.token)).rejected(400, 530017)
    world.clock.set(ends_ms - 1)
    (await exchange_with_player_token(client, other_user, player.token)).rejected(400, 530017)
    world.clock.set(ends_ms)
    (await exchange_with_player_token(client, other_user, player.token)).ok()


async def test_a_restricted_account_has_no_relationships_on_the_platform(world: World) -> None:
    client, other_user, friend = await create_social_game(world), await world.user(), await world.user()
    user, _ = await create_linked_user(world, client)
    await befriend(user, friend)
    await link_account(client, friend, (await create_provisional_player(client, "friend")).token)
    ends_ms = world.clock.now_ms() + DAY_MS
    await world.write(lambda call: accounts.ban(call, UserId(user.id), ends_ms=ends_ms))
    player = await create_provisional_player(client, "hero")

    # The provisional account does not get the friends of the banned account, and cannot exchange friend requests.
    friend_ids = {int(relationship["id"]) for relationship in (await friend.get("/users/@me/relationships")).ok()}
    assert player.id not in friend_ids
    for _ in range(2):
        (await player.put(f"/users/@me/relationships/{other_user.id}", json={})).rejected(400, 80000)
        (await player.post("/users/@me/relationships", json={"username": other_user.name})).rejected(400, 80000)
        (await other_user.put(f"/users/@me/relationships/{player.id}", json={})).rejected(400, 80000)
        assert (await other_user.get("/users/@me/relationships")).ok() == []
        world.clock.set(ends_ms - 1)
        player = await create_provisional_player(client, "hero")
    # Game friends and blocks are not restricted.
    teammate = await create_provisional_player(client, "teammate")
    (await player.put(f"/users/@me/game-relationships/{teammate.id}", json={})).ok()
    (await player.put(f"/users/@me/relationships/{other_user.id}", json={"type": RelationshipType.BLOCKED})).ok()
    (await player.delete(f"/users/@me/relationships/{other_user.id}")).ok()
    world.clock.set(ends_ms)
    player = await create_provisional_player(client, "hero")
    (await player.put(f"/users/@me/relationships/{other_user.id}", json={})).ok()


async def test_lifting_a_ban_allows_merging_again(world: World) -> None:
    client, other_user = await create_social_game(world), await world.user()
    user, _ = await create_linked_user(world, client)
    await world.write(lambda call: accounts.ban(call, UserId(user.id)))
    player = await create_provisional_player(client, "hero")
    world.clock.set(world.clock.now_ms() + 6 * DAY_MS)
    (await exchange_with_player_token(client, other_user, player.token)).rejected(400, 530017)

    assert await world.write(lambda call: accounts.unban(call, UserId(user.id)))

    (await exchange_with_player_token(client, other_user, player.token)).ok()
    assert not await world.write(lambda call: accounts.unban(call, UserId(user.id)))


async def test_a_ban_revokes_the_tokens_of_every_application(world: World) -> None:
    client, plain_client = await create_social_game(world), await create_social_game(world, flags=0)
    user, _ = await create_linked_user(world, client)
    tokens = await plain_client.request_tokens(user, "identify")

    await world.write(lambda call: accounts.ban(call, UserId(user.id)))

    (await plain_client.bearer(user, tokens["access_token"]).get("/users/@me")).rejected(401, 0)
    assert_oauth2_error(await plain_client.refresh(tokens["refresh_token"]), "invalid_grant")


async def test_a_ban_revokes_the_tokens_of_the_bots_of_the_user(world: World) -> None:
    owner, other_bot = await world.user(), await world.bot()
    created_application = await world.write(lambda call: applications.management.create(call, "game", UserId(owner.id)))
    bot = Actor(
        world,
        created_application.row.bot_id,
        created_application.bot_token,
        "game",
        is_bot=True,
        application_id=created_application.row.id,
    )
    session = await bot.connect(intents=0)

    await world.write(lambda call: accounts.ban(call, UserId(owner.id)))

    assert await session.wait_closed() == CloseCode.AUTHENTICATION_FAILED
    (await bot.get("/users/@me")).rejected(401, 0)
    (await other_bot.get("/users/@me")).ok()
    assert await world.write(lambda call: accounts.unban(call, UserId(owner.id)))
    (await bot.get("/users/@me")).rejected(401, 0)


async def test_a_banned_user_cannot_log_in(world: World) -> None:
    registration = {"username": "alice", "password": "correct horse battery"}
    session = (await world.request("POST", "/auth/register", json=registration)).ok()
    login = {"login": "alice", "password": "correct horse battery"}
    user_id = UserId(int(session["user_id"]))
    await world.write(lambda call: accounts.ban(call, user_id, ends_ms=world.clock.now_ms() + DAY_MS))

    assert (await world.request("POST", "/auth/login", json=login)).errors("login") == ["ACCOUNT_DISABLED"]
    wrong_password = await world.request("POST", "/auth/login", json=login | {"password": "wrong horse battery"})
    assert wrong_password.errors("login") == ["INVALID_LOGIN"]
    world.clock.set(world.clock.now_ms() + DAY_MS)
    (await world.request("POST", "/auth/login", json=login)).ok()


async def test_the_control_api_bans_and_unbans_users(demo_rehearsal: DemoRehearsal) -> None:
    bob = demo_rehearsal.demo_user("bob")

    (await demo_rehearsal.control_request("POST", f"/users/{bob.id}/ban", json={"reason": "a test"})).ok()
    (await bob.get("/users/@me")).rejected(401, 0)
    (await demo_rehearsal.control_request("DELETE", f"/users/{bob.id}/ban")).ok()
    (await demo_rehearsal.control_request("DELETE", f"/users/{bob.id}/ban")).rejected(404, 0)
    (await demo_rehearsal.control_request("POST", "/users/1/ban", json={})).rejected(404, 10013)
    auth_type, credential = await demo_rehearsal.issue_credential("oidc", "ada")
    from tests.issuer import request_token

    tokens = (await request_token(demo_rehearsal.demo_game, credential, auth_type)).ok()
    player = await create_bearer(demo_rehearsal.demo_game, tokens["access_token"])
    (await demo_rehearsal.control_request("POST", f"/users/{player.id}/ban", json={})).rejected(400, 50229)
    bot_application_id = demo_rehearsal.control.built_world.applications["demo-bot"].id
    (await demo_rehearsal.control_request("POST", f"/users/{int(bot_application_id)}/ban", json={})).rejected(
        404, 10013
    )


# Publishers


async def create_family(world: World, *, is_public: bool = False) -> tuple[Client, Client, Client]:
    """Create a publisher and two of its games."""
    owner = await world.user()
    clients = [
        await create_social_game(world, owner=owner, is_public=is_public, name=name)
        for name in ("Publisher", "One", "Two")
    ]
    for child in clients[1:]:
        await join_family(world, child, clients[0])
    return clients[0], clients[1], clients[2]


async def join_family(world: World, child: Client, parent: Client) -> None:
    """Link a game to a publisher, as an operator does."""

    def link(call: Call) -> None:
        child_row, parent_row = applications.find(call.tx, child.id), applications.find(call.tx, parent.id)
        assert child_row is not None
        assert parent_row is not None
        assert identities.find_publisher_problem(call, child_row, parent_row) is None
        identities.join_family(call, child_row, parent_row)

    await world.write(link)


async def request_child_token(parent: Client, token: str, child: Client, **fields: Any) -> Any:
    """Request an access token of a game with a token of its publisher."""
    body = {"parent_access_token": token, "child_application_id": str(child.id)}
    if not parent.is_public:
        body["parent_client_secret"] = parent.secret
    return await parent.world.request("POST", "/partner-sdk/child-token", json=body | fields)


async def test_a_publisher_token_is_exchanged_for_a_token_of_a_game(world: World) -> None:
    parent, child, _ = await create_family(world)
    alice = await world.user()
    tokens = await parent.request_tokens(alice, "sdk.social_layer")
    world.clock.set(world.clock.now_ms() + 3_600_000)

    token = (await request_child_token(parent, tokens["access_token"], child)).ok()

    assert (token["token_type"], token["expires_in"], token["scope"]) == (
        "Bearer",
        604_800 - 3600,
        "sdk.social_layer",
    )
    assert "refresh_token" not in token
    bearer = child.bearer(alice, token["access_token"])
    assert (await bearer.get("/oauth2/@me")).ok()["application"]["id"] == str(child.id)
    assert (await (await bearer.connect()).actor.get("/users/@me")).ok()["id"] == str(alice.id)


async def test_a_publisher_token_reads_only_its_authorization_and_user_info(world: World) -> None:
    parent, _, _ = await create_family(world)
    alice = await world.user()
    bearer = parent.bearer(alice, (await parent.request_tokens(alice, "openid sdk.social_layer"))["access_token"])

    (await bearer.get("/users/@me")).rejected(401, 0)
    (await bearer.get("/users/@me/guilds")).rejected(401, 0)
    assert (await bearer.get("/oauth2/@me")).ok()["application"]["id"] == str(parent.id)
    assert (await bearer.get("/oauth2/userinfo")).ok()["sub"] == str(alice.id)
    with pytest.raises(AssertionError, match="closed with 4004"):
        await bearer.connect()


async def test_only_the_publisher_authorizes_players(world: World) -> None:
    parent, child, _ = await create_family(world)
    alice = await world.user()

    assert_oauth2_error(await alice.get(child.authorize_path("sdk.social_layer")), "unauthorized_client")
    assert_oauth2_error(await child.authorize(alice, "identify"), "unauthorized_client")
    assert_oauth2_error(await child.post_form("/oauth2/device/authorize", scope="identify"), "unauthorized_client")
    (await request_bot_token(child, "hero")).rejected(403, 530000)
    (await alice.get(child.authorize_path("applications.commands", response_type=None))).ok()
    (await request_bot_token(parent, "hero")).ok()


async def test_the_games_of_a_family_share_their_players(world: World) -> None:
    parent, first_game, second_game = await create_family(world)
    publisher_token = (await request_bot_token(parent, "hero")).ok()["access_token"]

    players = [
        await create_bearer(child, (await request_child_token(parent, publisher_token, child)).ok()["access_token"])
        for child in (first_game, second_game)
    ]

    assert players[0].id == players[1].id
    for player in players:
        (identity,) = (await player.post("/application-identities", json={"user_ids": [str(player.id)]})).ok()
        assert identity["external_user_id"] == "hero"


async def test_a_child_token_request_fails_with_the_specific_error(world: World) -> None:
    parent, child, _ = await create_family(world)
    alice, outsider_game = await world.user(), await create_social_game(world)
    token = (await parent.request_tokens(alice, "sdk.social_layer"))["access_token"]
    game_token = (await request_child_token(parent, token, child)).ok()["access_token"]

    (await request_child_token(parent, "nonsense", child)).rejected(403, 50025)
    (await request_child_token(parent, game_token, child)).rejected(403, 50025)
    outsider_token = (await outsider_game.request_tokens(alice, "sdk.social_layer"))["access_token"]
    (await request_child_token(parent, outsider_token, child)).rejected(403, 50025)
    (await request_child_token(parent, token, outsider_game)).rejected(404, 10002)
    (await request_child_token(parent, token, parent)).rejected(404, 10002)
    (await request_child_token(parent, token, child, parent_client_secret="wrong")).rejected(401, 530007)
    (await request_child_token(parent, token, child, parent_client_secret=None)).rejected(401, 530007)
    assert (await request_child_token(parent, "", child)).errors("parent_access_token") == ["BASE_TYPE_BAD_LENGTH"]
    world.clock.set(world.clock.now_ms() + 7 * DAY_MS)
    (await request_child_token(parent, token, child)).rejected(403, 50025)


async def test_a_public_publisher_sends_no_client_secret(world: World) -> None:
    parent, child, _ = await create_family(world, is_public=True)
    alice = await world.user()
    token = (await parent.request_tokens(alice, "sdk.social_layer"))["access_token"]

    (await request_child_token(parent, token, child)).ok()


async def test_child_tokens_stay_valid_after_a_refresh_and_end_with_a_revocation(world: World) -> None:
    parent, first_game, second_game = await create_family(world)
    alice = await world.user()
    tokens = await parent.request_tokens(alice, "sdk.social_layer")
    first_bearer = first_game.bearer(
        alice, (await request_child_token(parent, tokens["access_token"], first_game)).ok()["access_token"]
    )
    session = await first_bearer.connect()

    tokens = (await parent.refresh(tokens["refresh_token"])).ok()
    second_bearer = second_game.bearer(
        alice, (await request_child_token(parent, tokens["access_token"], second_game)).ok()["access_token"]
    )

    (await first_bearer.get("/users/@me")).ok()
    await revoke_access_token(parent, alice, tokens)
    assert await session.wait_closed() == CloseCode.AUTHENTICATION_FAILED
    for bearer in (first_bearer, second_bearer):
        (await bearer.get("/users/@me")).rejected(401, 0)


async def test_a_replayed_refresh_token_ends_the_games_tokens_too(world: World) -> None:
    parent, child, _ = await create_family(world)
    alice = await world.user()
    tokens = await parent.request_tokens(alice, "sdk.social_layer")
    bearer = child.bearer(
        alice, (await request_child_token(parent, tokens["access_token"], child)).ok()["access_token"]
    )
    (await parent.refresh(tokens["refresh_token"])).ok()

    assert_oauth2_error(await parent.refresh(tokens["refresh_token"]), "invalid_grant")

    (await bearer.get("/users/@me")).rejected(401, 0)


async def test_revoking_the_token_of_a_game_keeps_the_link(world: World) -> None:
    parent, first_game, second_game = await create_family(world)
    user, tokens = await create_linked_user(world, parent)
    bearers = [
        child.bearer(user, (await request_child_token(parent, tokens["access_token"], child)).ok()["access_token"])
        for child in (first_game, second_game)
    ]

    assert_oauth2_error(await parent.post_form("/oauth2/token/revoke", token=bearers[0].token), "unauthorized_client")
    await revoke_access_token(first_game, user, {"access_token": bearers[0].token})

    (await bearers[0].get("/users/@me")).rejected(401, 0)
    (await bearers[1].get("/users/@me")).ok()
    (await request_bot_token(parent, "hero")).rejected(400, 530010)


async def test_joining_a_family_deletes_the_accounts_and_tokens_of_the_game(world: World) -> None:
    parent, child = await create_social_game(world), await create_social_game(world)
    signals = record_signals(world)
    player = await create_provisional_player(child, "hero")
    user, tokens = await create_linked_user(world, child, "other")
    signals.clear()
    bearer = child.bearer(user, tokens["access_token"])
    session = await bearer.connect()
    publisher_bearer = parent.bearer(user, (await parent.request_tokens(user, "sdk.social_layer"))["access_token"])
    publisher_session = await publisher_bearer.connect()

    await join_family(world, child, parent)

    assert signals == [FamilyJoined(application_id=ApplicationId(child.id), parent_id=ApplicationId(parent.id))]
    assert (await session.wait_closed(), await publisher_session.wait_closed()) == (
        CloseCode.AUTHENTICATION_FAILED,
    ) * 2
    (await player.get("/users/@me")).rejected(401, 0)
    (await bearer.get("/users/@me")).rejected(401, 0)
    assert_oauth2_error(await child.refresh(tokens["refresh_token"]), "invalid_grant")
    (await user.get(f"/users/{player.id}")).rejected(404, 10013)
    (await publisher_bearer.get("/users/@me")).rejected(401, 0)
    response = (await child.owner.get(f"/applications/{child.id}/publisher")).ok()
    assert response == {"application_id": str(child.id), "parent_id": str(parent.id), "child_ids": []}
    response = (await parent.owner.get(f"/applications/{parent.id}/publisher")).ok()
    assert (response["parent_id"], response["child_ids"]) == (None, [str(child.id)])
    (await user.get(f"/applications/{parent.id}/publisher")).rejected(403, 20012)
    (await user.get("/applications/1/publisher")).rejected(404, 10002)


async def test_only_compatible_applications_can_be_a_family(world: World) -> None:
    parent, child, _ = await create_family(world)
    other_game, public_game = await create_social_game(world), await create_social_game(world, is_public=True)

    def describe_problem(child_client: Client, parent_client: Client) -> Any:
        def find(call: Call) -> str | None:
            rows = [applications.find(call.tx, client.id) for client in (child_client, parent_client)]
            assert rows[0] is not None
            assert rows[1] is not None
            return identities.find_publisher_problem(call, rows[0], rows[1])

        return world.write(find)

    assert "its own" in await describe_problem(other_game, other_game)
    assert "already" in await describe_problem(child, other_game)
    assert "itself a game of a publisher" in await describe_problem(other_game, child)
    assert "itself a publisher" in await describe_problem(parent, other_game)
    assert "same client type" in await describe_problem(public_game, parent)
    assert await describe_problem(other_game, parent) is None


async def test_a_world_file_can_declare_publishers(world: World) -> None:
    from hubbub.server import worlds

    world_text = """
        [users.ann]
        [applications.publisher]
        flags = ["SOCIAL_LAYER_INTEGRATION"]
        [applications.game]
        flags = ["SOCIAL_LAYER_INTEGRATION"]
        parent = "publisher"
    """
    loaded_world = await worlds.load(world.app, worlds.read_text(world_text), 0)
    publisher_id, game_id = loaded_world.applications["publisher"].id, loaded_world.applications["game"].id

    def read_applications(call: Call) -> Any:
        return applications.find(call.tx, game_id), applications.find(call.tx, publisher_id)

    game_row, publisher_row = await world.write(read_applications)
    assert game_row.parent_id == publisher_id
    assert publisher_row.flags & ApplicationFlags.PARENT


async def test_the_control_api_links_publishers(demo_rehearsal: DemoRehearsal) -> None:
    parent, child = (
        await create_social_game(demo_rehearsal, flags=SOCIAL_LAYER_FLAG),
        await create_social_game(demo_rehearsal, flags=SOCIAL_LAYER_FLAG),
    )

    (
        await demo_rehearsal.control_request(
            "POST", f"/applications/{child.id}/publisher", json={"parent_id": str(parent.id)}
        )
    ).ok()

    second_response = await demo_rehearsal.control_request(
        "POST", f"/applications/{child.id}/publisher", json={"parent_id": str(parent.id)}
    )
    second_response.rejected(400, 0)
    (await demo_rehearsal.control_request("POST", "/applications/1/publisher", json={"parent_id": "1"})).rejected(
        404, 10002
    )


# Operator commands


def test_the_admin_command_bans_users_and_links_publishers(tmp_path: Any, capsys: pytest.CaptureFixture[str]) -> None:
    import asyncio

    from hubbub.server import cli

    data_arguments = ["--data", str(tmp_path / "data")]

    def run_admin(*arguments: str) -> tuple[int, str]:
        code = cli.main(["admin", arguments[0], *data_arguments, *arguments[1:]])
        captured = capsys.readouterr()
        return code, captured.out + captured.err

    assert run_admin("create-user", "alice")[0] == 0
    outputs = [run_admin("create-application", name, "--owner", "alice")[1] for name in ("Publisher", "Game")]
    parent_id, child_id = (text.partition("id: ")[2].split()[0] for text in outputs)

    code, command_output = run_admin("link-publisher", child_id, parent_id)
    assert (code, "cannot be undone" in command_output) == (1, True)
    assert run_admin("link-publisher", child_id, parent_id, "--yes")[0] == 0
    assert run_admin("link-publisher", child_id, parent_id, "--yes") == (
        1,
        "hubbub: Game already has a publisher, and that cannot be undone\n",
    )
    assert run_admin("link-publisher", "1", parent_id)[0] == 1
    assert run_admin("ban-user", "alice", "--until", "yesterday")[0] == 1
    assert run_admin("ban-user", "alice", "--until", "2020-01-01T00:00:00Z")[0] == 1
    assert "until 2080" in run_admin("ban-user", "alice", "--until", "2080-01-01")[1]
    assert "permanently" in run_admin("ban-user", "alice", "--reason", "spam")[1]
    assert run_admin("ban-user", "unknown")[0] == 1
    assert run_admin("unban-user", "alice")[0] == 0
    assert run_admin("unban-user", "alice")[0] == 1

    async def find_parent_id() -> int | None:
        app = App(small_config(data=str(tmp_path / "data")), clock=ControlledClock(NOW_MS))
        await app.database.start()
        row = await app.database.read(lambda tx: applications.find(tx, int(child_id)))
        await app.database.close()
        assert row is not None
        return row.parent_id

    assert asyncio.run(find_parent_id()) == int(parent_id)
