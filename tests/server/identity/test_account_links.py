"""Tests of links between user accounts and provisional accounts: how they end, bans, and publishers."""

from typing import Any

import pytest

from hubbub.protocol.flags import ApplicationFlags
from hubbub.protocol.ids import ApplicationId, UserId
from hubbub.server.app import App
from hubbub.server.core.call import Call
from hubbub.server.core.clock import ControlledClock
from hubbub.server.identity import accounts, applications, identities, users
from hubbub.server.identity.identities import AccountsMerged, AccountUnmerged, FamilyJoined
from tests.issuer import RehearsalWorld
from tests.oauth import Client, oauth2_error
from tests.players import BOT_ISSUED, SOCIAL, bearer_for_token, game, link_tokens, provisional_player, request_bot_token
from tests.receiver import Receiver, subscribe_to_events
from tests.world import NOW_MS, Actor, World, small_config

DAY_MS = 86_400_000


def record_signals(world: World) -> list[Any]:
    """Return a list that collects the signals about linked accounts."""
    return world.record_signals(AccountsMerged, AccountUnmerged, FamilyJoined)


async def linked_user(world: World, client: Client, external_user_id: str = "hero") -> tuple[Actor, dict[str, Any]]:
    """Link a provisional account to a new user; return the user and the game's token response."""
    user, player = await world.user(), await provisional_player(client, external_user_id, preferred_global_name="Hero")
    return user, await link_tokens(client, user, player.token)


# Ending a link


async def by_the_bot(client: Client, user: Actor, tokens: dict[str, Any]) -> None:
    assert client.bot is not None
    path = "/partner-sdk/provisional-accounts/unmerge/bot"
    (await client.bot.post(path, json={"external_user_id": "hero"})).ok()


async def by_revoking_the_access_token(client: Client, user: Actor, tokens: dict[str, Any]) -> None:
    (await client.post("/oauth2/token/revoke", token=tokens["access_token"])).ok()


async def by_revoking_the_refresh_token(client: Client, user: Actor, tokens: dict[str, Any]) -> None:
    (await client.post("/oauth2/token/revoke", token=tokens["refresh_token"])).ok()


async def by_the_user(client: Client, user: Actor, tokens: dict[str, Any]) -> None:
    (authorization,) = (await user.get("/oauth2/tokens")).ok()
    (await user.delete(f"/oauth2/tokens/{authorization['id']}")).ok()


async def by_deleting_the_account(client: Client, user: Actor, tokens: dict[str, Any]) -> None:
    await client.world.write(lambda call: users.delete(call, user.id))


async def by_a_ban(client: Client, user: Actor, tokens: dict[str, Any]) -> None:
    await client.world.write(lambda call: accounts.ban(call, UserId(user.id)))


UNLINK_METHODS = [
    by_the_bot,
    by_revoking_the_access_token,
    by_revoking_the_refresh_token,
    by_the_user,
    by_deleting_the_account,
    by_a_ban,
]


@pytest.mark.parametrize("unlink", UNLINK_METHODS)
async def test_every_way_to_end_a_link_revokes_its_tokens_and_sessions(world: World, unlink: Any) -> None:
    client = await game(world)
    user, tokens = await linked_user(world, client)
    signals = record_signals(world)
    playing = client.bearer(user, tokens["access_token"])
    session = await playing.connect()

    await unlink(client, user, tokens)

    assert await session.wait_closed() == 4004
    (await playing.get("/users/@me")).rejected(401, 0)
    assert oauth2_error(await client.refresh(tokens["refresh_token"]), "invalid_grant") == (
        'Invalid "refresh_token" in request'
    )
    player = await provisional_player(client, "hero")
    assert player.id != user.id
    (signal,) = signals
    banned = unlink is by_a_ban
    assert signal == AccountUnmerged(
        family_id=ApplicationId(client.id), user_id=user.id, provisional_id=player.id, restricted=banned
    )


async def test_the_new_provisional_account_keeps_the_users_display_name(world: World) -> None:
    client = await game(world)
    user, tokens = await linked_user(world, client)
    (await user.patch("/users/@me", json={"global_name": "Alice"})).ok()

    await by_the_user(client, user, tokens)

    assert (await (await provisional_player(client, "hero")).get("/users/@me")).ok()["global_name"] == "Alice"


async def test_unmerging_by_the_bot_without_a_link_fails(world: World) -> None:
    client = await game(world)
    assert client.bot is not None
    await provisional_player(client, "hero")
    path = "/partner-sdk/provisional-accounts/unmerge/bot"

    (await client.bot.post(path, json={"external_user_id": "hero"})).rejected(400, 50229)
    (await client.bot.post(path, json={"external_user_id": "unknown"})).rejected(404, 10013)
    assert (await client.bot.post(path, json={"external_user_id": ""})).errors("external_user_id") == [
        "BASE_TYPE_BAD_LENGTH"
    ]
    plain = await game(world, flags=0)
    assert plain.bot is not None
    (await plain.bot.post(path, json={"external_user_id": "hero"})).rejected(403, 530000)


@pytest.mark.parametrize("unlink", [by_the_bot, by_the_user, by_revoking_the_access_token, by_a_ban])
async def test_ending_a_link_sends_a_webhook_event_to_the_application(
    near_world: World, receiver: Receiver, unlink: Any
) -> None:
    client = await game(near_world)
    assert client.bot is not None
    user, tokens = await linked_user(near_world, client)
    await subscribe_to_events(receiver, client.bot, "APPLICATION_DEAUTHORIZED")

    await unlink(client, user, tokens)

    (event,) = await receiver.wait_for_events(1)
    assert (event["type"], event["data"]["user"]["id"]) == ("APPLICATION_DEAUTHORIZED", str(user.id))


async def test_a_data_export_contains_the_external_identities_of_a_user(world: World) -> None:
    client = await game(world)
    user, _ = await linked_user(world, client)

    (known,) = (await user.get("/users/@me/harvest")).ok()["records"]["identities"]

    assert (known["application_id"], known["provider_issued_user_id"]) == (str(client.id), "hero")


async def test_a_merge_raises_a_signal_with_both_accounts(world: World) -> None:
    client = await game(world)
    signals = record_signals(world)

    user, player = await world.user(), await provisional_player(client, "hero")
    await link_tokens(client, user, player.token)

    assert signals == [AccountsMerged(family_id=ApplicationId(client.id), source_id=player.id, user_id=user.id)]


async def test_ending_the_link_of_one_game_keeps_the_link_of_another(world: World) -> None:
    one, two = await game(world), await game(world)
    user, player = await world.user(), await provisional_player(one, "hero")
    mine = await link_tokens(one, user, player.token)
    theirs = await link_tokens(two, user, (await provisional_player(two, "hero")).token)

    await by_revoking_the_access_token(one, user, mine)

    (await two.bearer(user, theirs["access_token"]).get("/users/@me")).ok()
    (await request_bot_token(two, "hero")).rejected(400, 530010)


async def test_the_device_flow_can_link_an_account(world: World) -> None:
    from hubbub.protocol.resources.oauth2 import DEVICE_GRANT

    client = await game(world)
    user, player = await world.user(), await provisional_player(client, "hero")
    begun = (await client.post("/oauth2/device/authorize", scope="sdk.social_layer")).ok()
    fields = {"grant_type": DEVICE_GRANT, "device_code": begun["device_code"]}
    more = {"external_auth_type": BOT_ISSUED, "external_auth_token": player.token}

    oauth2_error(await client.post("/oauth2/token", **fields, **more), "authorization_pending")
    (await user.post("/oauth2/device/finish", json={"user_code": begun["user_code"], "result": "granted"})).ok()
    world.clock.set(world.clock.now_ms() + 60_000)
    tokens = (await client.post("/oauth2/token", **fields, **more)).ok()

    assert (await client.bearer(user, tokens["access_token"]).get("/users/@me")).ok()["id"] == str(user.id)
    (await request_bot_token(client, "hero")).rejected(400, 530010)


# Bans


async def merge(client: Client, user: Actor, token: str) -> Any:
    """Exchange a code together with a player's token."""
    code = await client.code(user, "sdk.social_layer")
    return await client.exchange(code, external_auth_type=BOT_ISSUED, external_auth_token=token)


async def test_a_banned_account_cannot_be_merged_until_the_ban_ends(world: World) -> None:
    client, other = await game(world), await world.user()
    user, _ = await linked_user(world, client)
    ends_ms = world.clock.now_ms() + DAY_MS
    await world.write(lambda call: accounts.ban(call, UserId(user.id), ends_ms=ends_ms))
    player = await provisional_player(client, "hero")

    (await user.get("/users/@me")).rejected(401, 0)
    (await merge(client, other, player.token)).rejected(400, 530017)
    world.clock.set(ends_ms - 1)
    (await merge(client, other, player.token)).rejected(400, 530017)
    world.clock.set(ends_ms)
    (await merge(client, other, player.token)).ok()


async def test_lifting_a_ban_allows_merging_again(world: World) -> None:
    client, other = await game(world), await world.user()
    user, _ = await linked_user(world, client)
    await world.write(lambda call: accounts.ban(call, UserId(user.id)))
    player = await provisional_player(client, "hero")
    world.clock.set(world.clock.now_ms() + 6 * DAY_MS)
    (await merge(client, other, player.token)).rejected(400, 530017)

    assert await world.write(lambda call: accounts.unban(call, UserId(user.id)))

    (await merge(client, other, player.token)).ok()
    assert not await world.write(lambda call: accounts.unban(call, UserId(user.id)))


async def test_a_ban_revokes_the_tokens_of_every_application(world: World) -> None:
    client, plain = await game(world), await game(world, flags=0)
    user, _ = await linked_user(world, client)
    tokens = await plain.tokens(user, "identify")

    await world.write(lambda call: accounts.ban(call, UserId(user.id)))

    (await plain.bearer(user, tokens["access_token"]).get("/users/@me")).rejected(401, 0)
    oauth2_error(await plain.refresh(tokens["refresh_token"]), "invalid_grant")


async def test_a_banned_user_cannot_log_in(world: World) -> None:
    registered = {"username": "alice", "password": "correct horse battery"}
    session = (await world.request("POST", "/auth/register", json=registered)).ok()
    login = {"login": "alice", "password": "correct horse battery"}
    user_id = UserId(int(session["user_id"]))
    await world.write(lambda call: accounts.ban(call, user_id, ends_ms=world.clock.now_ms() + DAY_MS))

    assert (await world.request("POST", "/auth/login", json=login)).errors("login") == ["ACCOUNT_DISABLED"]
    wrong = await world.request("POST", "/auth/login", json=login | {"password": "wrong horse battery"})
    assert wrong.errors("login") == ["INVALID_LOGIN"]
    world.clock.set(world.clock.now_ms() + DAY_MS)
    (await world.request("POST", "/auth/login", json=login)).ok()


async def test_the_control_api_bans_and_unbans_users(stage: RehearsalWorld) -> None:
    bob = stage.demo_user("bob")

    (await stage.control_request("POST", f"/users/{bob.id}/ban", json={"reason": "a test"})).ok()
    (await bob.get("/users/@me")).rejected(401, 0)
    (await stage.control_request("DELETE", f"/users/{bob.id}/ban")).ok()
    (await stage.control_request("DELETE", f"/users/{bob.id}/ban")).rejected(404, 0)
    (await stage.control_request("POST", "/users/1/ban", json={})).rejected(404, 10013)
    auth_type, credential = await stage.credential("oidc", "ada")
    from tests.issuer import request_token

    created = (await request_token(stage.demo_game, credential, auth_type)).ok()
    player = await bearer_for_token(stage.demo_game, created["access_token"])
    (await stage.control_request("POST", f"/users/{player.id}/ban", json={})).rejected(400, 50229)
    bots = stage.control.built.applications["demo-bot"].id
    (await stage.control_request("POST", f"/users/{int(bots)}/ban", json={})).rejected(404, 10013)


# Publishers


async def family(world: World, *, public: bool = False) -> tuple[Client, Client, Client]:
    """Create a publisher and two of its games."""
    owner = await world.user()
    created = [await game(world, owner=owner, public=public, name=name) for name in ("Publisher", "One", "Two")]
    for child in created[1:]:
        await join(world, child, created[0])
    return created[0], created[1], created[2]


async def join(world: World, child: Client, parent: Client) -> None:
    """Link a game to a publisher, as an operator does."""

    def step(call: Call) -> None:
        one, other = applications.find(call.tx, child.id), applications.find(call.tx, parent.id)
        assert one is not None
        assert other is not None
        assert identities.find_publisher_problem(call, one, other) is None
        identities.join_family(call, one, other)

    await world.write(step)


async def child_token(parent: Client, token: str, child: Client, **more: Any) -> Any:
    """Request an access token of a game with a token of its publisher."""
    body = {"parent_access_token": token, "child_application_id": str(child.id)}
    if not parent.public:
        body["parent_client_secret"] = parent.secret
    return await parent.world.request("POST", "/partner-sdk/child-token", json=body | more)


async def test_a_publisher_token_is_exchanged_for_a_token_of_a_game(world: World) -> None:
    parent, child, _ = await family(world)
    alice = await world.user()
    tokens = await parent.tokens(alice, "sdk.social_layer")
    world.clock.set(world.clock.now_ms() + 3_600_000)

    created = (await child_token(parent, tokens["access_token"], child)).ok()

    assert (created["token_type"], created["expires_in"], created["scope"]) == (
        "Bearer",
        604_800 - 3600,
        "sdk.social_layer",
    )
    assert "refresh_token" not in created
    playing = child.bearer(alice, created["access_token"])
    assert (await playing.get("/oauth2/@me")).ok()["application"]["id"] == str(child.id)
    assert (await (await playing.connect()).actor.get("/users/@me")).ok()["id"] == str(alice.id)


async def test_a_publisher_token_only_yields_tokens_of_its_games(world: World) -> None:
    parent, _, _ = await family(world)
    alice = await world.user()
    held = parent.bearer(alice, (await parent.tokens(alice, "openid sdk.social_layer"))["access_token"])

    (await held.get("/users/@me")).rejected(401, 0)
    (await held.get("/users/@me/guilds")).rejected(401, 0)
    assert (await held.get("/oauth2/@me")).ok()["application"]["id"] == str(parent.id)
    assert (await held.get("/oauth2/userinfo")).ok()["sub"] == str(alice.id)
    with pytest.raises(AssertionError, match="closed with 4004"):
        await held.connect()


async def test_only_the_publisher_authorizes_players(world: World) -> None:
    parent, child, _ = await family(world)
    alice = await world.user()

    oauth2_error(await alice.get(child.authorize_path("sdk.social_layer")), "unauthorized_client")
    oauth2_error(await child.authorize(alice, "identify"), "unauthorized_client")
    oauth2_error(await child.post("/oauth2/device/authorize", scope="identify"), "unauthorized_client")
    (await request_bot_token(child, "hero")).rejected(403, 530000)
    (await alice.get(child.authorize_path("applications.commands", response_type=None))).ok()
    (await request_bot_token(parent, "hero")).ok()


async def test_the_games_of_a_family_share_their_players(world: World) -> None:
    parent, one, two = await family(world)
    created = (await request_bot_token(parent, "hero")).ok()["access_token"]

    players = [
        await bearer_for_token(child, (await child_token(parent, created, child)).ok()["access_token"])
        for child in (one, two)
    ]

    assert players[0].id == players[1].id
    for player in players:
        (found,) = (await player.post("/application-identities", json={"user_ids": [str(player.id)]})).ok()
        assert found["external_user_id"] == "hero"


async def test_a_child_token_request_fails_with_the_specific_error(world: World) -> None:
    parent, child, _ = await family(world)
    alice, outsider = await world.user(), await game(world)
    token = (await parent.tokens(alice, "sdk.social_layer"))["access_token"]
    own = (await child_token(parent, token, child)).ok()["access_token"]

    (await child_token(parent, "nonsense", child)).rejected(403, 50025)
    (await child_token(parent, own, child)).rejected(403, 50025)
    stranger = (await outsider.tokens(alice, "sdk.social_layer"))["access_token"]
    (await child_token(parent, stranger, child)).rejected(403, 50025)
    (await child_token(parent, token, outsider)).rejected(404, 10002)
    (await child_token(parent, token, parent)).rejected(404, 10002)
    (await child_token(parent, token, child, parent_client_secret="wrong")).rejected(401, 530007)
    (await child_token(parent, token, child, parent_client_secret=None)).rejected(401, 530007)
    assert (await child_token(parent, "", child)).errors("parent_access_token") == ["BASE_TYPE_BAD_LENGTH"]
    world.clock.set(world.clock.now_ms() + 7 * DAY_MS)
    (await child_token(parent, token, child)).rejected(403, 50025)


async def test_a_public_publisher_sends_no_client_secret(world: World) -> None:
    parent, child, _ = await family(world, public=True)
    alice = await world.user()
    token = (await parent.tokens(alice, "sdk.social_layer"))["access_token"]

    (await child_token(parent, token, child)).ok()


async def test_child_tokens_outlive_a_refresh_and_end_with_a_revocation(world: World) -> None:
    parent, one, two = await family(world)
    alice = await world.user()
    tokens = await parent.tokens(alice, "sdk.social_layer")
    early = one.bearer(alice, (await child_token(parent, tokens["access_token"], one)).ok()["access_token"])
    session = await early.connect()

    tokens = (await parent.refresh(tokens["refresh_token"])).ok()
    late = two.bearer(alice, (await child_token(parent, tokens["access_token"], two)).ok()["access_token"])

    (await early.get("/users/@me")).ok()
    await by_revoking_the_access_token(parent, alice, tokens)
    assert await session.wait_closed() == 4004
    for held in (early, late):
        (await held.get("/users/@me")).rejected(401, 0)


async def test_a_replayed_refresh_token_ends_the_games_tokens_too(world: World) -> None:
    parent, child, _ = await family(world)
    alice = await world.user()
    tokens = await parent.tokens(alice, "sdk.social_layer")
    held = child.bearer(alice, (await child_token(parent, tokens["access_token"], child)).ok()["access_token"])
    (await parent.refresh(tokens["refresh_token"])).ok()

    oauth2_error(await parent.refresh(tokens["refresh_token"]), "invalid_grant")

    (await held.get("/users/@me")).rejected(401, 0)


async def test_revoking_the_token_of_a_game_keeps_the_link(world: World) -> None:
    parent, one, two = await family(world)
    user, tokens = await linked_user(world, parent)
    held = [
        child.bearer(user, (await child_token(parent, tokens["access_token"], child)).ok()["access_token"])
        for child in (one, two)
    ]

    oauth2_error(await parent.post("/oauth2/token/revoke", token=held[0].token), "unauthorized_client")
    await by_revoking_the_access_token(one, user, {"access_token": held[0].token})

    (await held[0].get("/users/@me")).rejected(401, 0)
    (await held[1].get("/users/@me")).ok()
    (await request_bot_token(parent, "hero")).rejected(400, 530010)


async def test_joining_a_family_deletes_the_accounts_and_tokens_of_the_game(world: World) -> None:
    parent, child = await game(world), await game(world)
    signals = record_signals(world)
    player = await provisional_player(child, "hero")
    user, tokens = await linked_user(world, child, "other")
    signals.clear()
    playing = child.bearer(user, tokens["access_token"])
    session = await playing.connect()
    before = parent.bearer(user, (await parent.tokens(user, "sdk.social_layer"))["access_token"])
    open_before = await before.connect()

    await join(world, child, parent)

    assert signals == [FamilyJoined(application_id=ApplicationId(child.id), parent_id=ApplicationId(parent.id))]
    assert (await session.wait_closed(), await open_before.wait_closed()) == (4004, 4004)
    (await player.get("/users/@me")).rejected(401, 0)
    (await playing.get("/users/@me")).rejected(401, 0)
    oauth2_error(await child.refresh(tokens["refresh_token"]), "invalid_grant")
    (await user.get(f"/users/{player.id}")).rejected(404, 10013)
    (await before.get("/users/@me")).rejected(401, 0)
    response = (await child.owner.get(f"/applications/{child.id}/publisher")).ok()
    assert response == {"application_id": str(child.id), "parent_id": str(parent.id), "child_ids": []}
    response = (await parent.owner.get(f"/applications/{parent.id}/publisher")).ok()
    assert (response["parent_id"], response["child_ids"]) == (None, [str(child.id)])
    (await user.get(f"/applications/{parent.id}/publisher")).rejected(403, 20012)
    (await user.get("/applications/1/publisher")).rejected(404, 10002)


async def test_only_compatible_applications_can_be_a_family(world: World) -> None:
    parent, child, _ = await family(world)
    lone, public = await game(world), await game(world, public=True)

    def problem(one: Client, other: Client) -> Any:
        def step(call: Call) -> str | None:
            rows = [applications.find(call.tx, each.id) for each in (one, other)]
            assert rows[0] is not None
            assert rows[1] is not None
            return identities.find_publisher_problem(call, rows[0], rows[1])

        return world.write(step)

    assert "its own" in await problem(lone, lone)
    assert "already" in await problem(child, lone)
    assert "itself a game of a publisher" in await problem(lone, child)
    assert "itself a publisher" in await problem(parent, lone)
    assert "same client type" in await problem(public, parent)
    assert await problem(lone, parent) is None


async def test_a_world_file_can_declare_publishers(world: World) -> None:
    from hubbub.server import worlds

    text = """
        [users.ann]
        [applications.house]
        flags = ["SOCIAL_LAYER_INTEGRATION"]
        [applications.game]
        flags = ["SOCIAL_LAYER_INTEGRATION"]
        parent = "house"
    """
    built = await worlds.load(world.app, worlds.read_text(text), 0)
    house, child = built.applications["house"].id, built.applications["game"].id

    def read(call: Call) -> Any:
        return applications.find(call.tx, child), applications.find(call.tx, house)

    row, head = await world.write(read)
    assert row.parent_id == house
    assert head.flags & ApplicationFlags.PARENT


async def test_the_control_api_links_publishers(stage: RehearsalWorld) -> None:
    parent, child = await game(stage, flags=SOCIAL), await game(stage, flags=SOCIAL)

    (
        await stage.control_request("POST", f"/applications/{child.id}/publisher", json={"parent_id": str(parent.id)})
    ).ok()

    again = await stage.control_request(
        "POST", f"/applications/{child.id}/publisher", json={"parent_id": str(parent.id)}
    )
    again.rejected(400, 0)
    (await stage.control_request("POST", "/applications/1/publisher", json={"parent_id": "1"})).rejected(404, 10002)


# Operator commands


def test_the_admin_command_bans_users_and_links_publishers(tmp_path: Any, capsys: pytest.CaptureFixture[str]) -> None:
    import asyncio

    from hubbub.server import cli

    data = ["--data", str(tmp_path / "data")]

    def admin(*arguments: str) -> tuple[int, str]:
        code = cli.main(["admin", arguments[0], *data, *arguments[1:]])
        response = capsys.readouterr()
        return code, response.out + response.err

    assert admin("create-user", "alice")[0] == 0
    created = [admin("create-application", name, "--owner", "alice")[1] for name in ("Publisher", "Game")]
    parent, child = (text.partition("id: ")[2].split()[0] for text in created)

    code, output = admin("link-publisher", child, parent)
    assert (code, "cannot be undone" in output) == (1, True)
    assert admin("link-publisher", child, parent, "--yes")[0] == 0
    assert admin("link-publisher", child, parent, "--yes") == (
        1,
        "hubbub: Game already has a publisher, and that cannot be undone\n",
    )
    assert admin("link-publisher", "1", parent)[0] == 1
    assert admin("ban-user", "alice", "--until", "yesterday")[0] == 1
    assert admin("ban-user", "alice", "--until", "2020-01-01T00:00:00Z")[0] == 1
    assert "until 2080" in admin("ban-user", "alice", "--until", "2080-01-01")[1]
    assert "permanently" in admin("ban-user", "alice", "--reason", "spam")[1]
    assert admin("ban-user", "unknown")[0] == 1
    assert admin("unban-user", "alice")[0] == 0
    assert admin("unban-user", "alice")[0] == 1

    async def parent_of() -> int | None:
        app = App(small_config(data=str(tmp_path / "data")), clock=ControlledClock(NOW_MS))
        await app.database.start()
        row = await app.database.read(lambda tx: applications.find(tx, int(child)))
        await app.database.close()
        assert row is not None
        return row.parent_id

    assert asyncio.run(parent_of()) == int(parent)
