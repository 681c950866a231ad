"""Provisional accounts: tokens, external IDs, display names, profiles, and merges into user accounts."""

from typing import Any

import pytest
from joserfc import jwt
from joserfc.jwk import KeySet

from hubbub.protocol.flags import UserFlags
from hubbub.server.identity import applications, identities
from tests.oauth import Client, assert_oauth2_error
from tests.players import create_bearer, create_provisional_player, create_social_game, link_account, request_bot_token
from tests.world import ApiResponse, World

PROVISIONAL_FLAG = UserFlags.PROVISIONAL_ACCOUNT


# Tokens for provisional players


async def test_a_bot_gets_a_token_for_a_provisional_player(world: World) -> None:
    client = await create_social_game(world)

    response = await request_bot_token(client, "hero-1", preferred_global_name="Hero  One")
    tokens = response.ok()

    assert (tokens["token_type"], tokens["expires_in"], tokens["scope"]) == (
        "Bearer",
        604_800,
        "openid sdk.social_layer",
    )
    assert (tokens["refresh_token"], response.headers["Cache-Control"]) == (None, "no-store")
    player = await create_bearer(client, tokens["access_token"])
    own_user = (await player.get("/users/@me")).ok()
    assert own_user["global_name"] == "Hero One"
    assert own_user["flags"] & PROVISIONAL_FLAG
    assert own_user["public_flags"] & PROVISIONAL_FLAG
    assert own_user["username"].startswith("provisional_")
    keys = KeySet.import_key_set((await world.request("GET", "/oauth2/keys")).ok())
    claims = jwt.decode(tokens["id_token"], keys).claims
    assert (claims["sub"], claims["aud"]) == (own_user["id"], str(client.id))


async def test_the_same_external_id_maps_to_the_same_account(world: World) -> None:
    client, other_client = await create_social_game(world), await create_social_game(world)

    first_player = await create_provisional_player(client, "hero-1", preferred_global_name="First")
    same_player = await create_provisional_player(client, "hero-1", preferred_global_name="Second")
    other_player = await create_provisional_player(other_client, "hero-1")

    assert first_player.id == same_player.id
    assert other_player.id != first_player.id
    assert (await same_player.get("/users/@me")).ok()["global_name"] == "First"


@pytest.mark.one_postgres_case
@pytest.mark.parametrize(
    ("body", "path", "code"),
    [
        ({}, "external_user_id", "BASE_TYPE_REQUIRED"),
        ({"external_user_id": ""}, "external_user_id", "BASE_TYPE_BAD_LENGTH"),
        ({"external_user_id": "x" * 1025}, "external_user_id", "BASE_TYPE_BAD_LENGTH"),
        ({"external_user_id": "a", "preferred_global_name": ""}, "preferred_global_name", "BASE_TYPE_BAD_LENGTH"),
        ({"external_user_id": "a", "preferred_global_name": "x" * 33}, "preferred_global_name", "BASE_TYPE_BAD_LENGTH"),
        ({"external_user_id": "a", "provisional_user_id": "x"}, "provisional_user_id", "NUMBER_TYPE_COERCE"),
    ],
)
async def test_an_invalid_request_names_the_invalid_field(
    world: World, body: dict[str, Any], path: str, code: str
) -> None:
    client = await create_social_game(world)
    assert client.bot is not None

    assert (await client.bot.post("/partner-sdk/token/bot", json=body)).errors(path) == [code]


async def test_tokens_of_provisional_accounts_require_the_social_layer_and_a_bot(world: World) -> None:
    client = await create_social_game(world, flags=0)

    (await request_bot_token(client, "hero-1")).rejected(403, 530000)
    (await world.request("POST", "/partner-sdk/token/bot", json={"external_user_id": "a"})).rejected(401, 0)
    user = await world.user()
    (await user.post("/partner-sdk/token/bot", json={"external_user_id": "a"})).rejected(403, 20002)


async def test_the_bot_adds_an_external_id_to_an_existing_provisional_account(world: World) -> None:
    client = await create_social_game(world)
    first_player, second_player = (
        await create_provisional_player(client, "hero-1"),
        await create_provisional_player(client, "hero-2"),
    )

    attached_player = await create_provisional_player(client, "hero-3", provisional_user_id=str(first_player.id))
    same_player = await create_provisional_player(client, "hero-3")

    assert attached_player.id == same_player.id == first_player.id
    (await request_bot_token(client, "hero-3", provisional_user_id=str(second_player.id))).rejected(400, 530023)
    (await request_bot_token(client, "hero-4", provisional_user_id="1")).rejected(404, 10013)
    other_user = await world.user()
    (await request_bot_token(client, "hero-4", provisional_user_id=str(other_user.id))).rejected(404, 10013)


async def test_a_username_collision_is_retried(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    from hubbub.server.identity.identities import actions

    client = await create_social_game(world)
    # The second player first gets the bytes of the first one again.
    random_bytes = iter((b"\0" * 10, b"\0" * 10, b"\1" * 10))
    monkeypatch.setattr(actions.secrets, "token_bytes", lambda count: next(random_bytes))

    players = [await create_provisional_player(client, name) for name in ("hero-1", "hero-2")]

    first_name, second_name = [(await player.get("/users/@me")).ok()["username"] for player in players]
    assert first_name != second_name
    assert next(random_bytes, None) is None


async def test_a_request_fails_if_every_generated_username_exists(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    from hubbub.server.identity.identities import actions

    client = await create_social_game(world)
    monkeypatch.setattr(actions.secrets, "token_bytes", lambda count: b"\0" * count)
    await create_provisional_player(client, "hero-1")

    (await request_bot_token(client, "hero-2")).rejected(503, 530006)


# Display names


async def test_a_player_changes_their_display_name(world: World) -> None:
    client = await create_social_game(world)
    player = await create_provisional_player(client, "hero-1")

    user = (await player.patch("/users/@me/account", json={"global_name": " New   Name "})).ok()

    assert user["global_name"] == "New Name"
    assert (await player.get("/users/@me")).ok()["global_name"] == "New Name"
    assert (await player.patch("/users/@me/account", json={})).ok()["global_name"] == "New Name"
    assert (await player.patch("/users/@me/account", json={"global_name": None})).ok()["global_name"] is None
    assert (await player.patch("/users/@me/account", json={"global_name": "x" * 33})).errors("global_name") == [
        "BASE_TYPE_BAD_LENGTH"
    ]


async def test_changing_the_display_name_of_a_user_requires_the_scope(world: World) -> None:
    client = await create_social_game(world)
    alice = await world.user()
    tokens = await client.request_tokens(alice, "sdk.social_layer")

    response = await client.bearer(alice, tokens["access_token"]).patch("/users/@me/account", json={"global_name": "A"})

    response.rejected(403, 50026)


# Profiles


async def test_a_bot_stores_a_profile_of_each_player(world: World) -> None:
    client = await create_social_game(world)
    assert client.bot is not None
    player = await create_provisional_player(client, "hero/1 é")
    path = f"/applications/{client.id}/users/{player.id}/identities/hero%2F1%20%C3%A9/profile"

    initial_profile = (await client.bot.get(path)).ok()
    changed_profile = (await client.bot.patch(path, json={"username": "Hero", "metadata": {"level": "7"}})).ok()

    external_id = {"provider_type": "PLATFORM_BOT", "provider_id": None, "provider_issued_user_id": "hero/1 é"}
    assert initial_profile == {"username": None, "metadata": {}, "external_id": external_id}
    assert changed_profile == {"username": "Hero", "metadata": {"level": "7"}, "external_id": external_id}
    assert (await client.bot.patch(path, json={})).ok() == changed_profile
    assert (await client.bot.patch(path, json={"metadata": None, "username": None})).ok() == initial_profile


async def test_a_profile_is_limited_in_size_and_accessible_only_to_its_application(world: World) -> None:
    client, other_client = await create_social_game(world), await create_social_game(world)
    assert client.bot is not None
    assert other_client.bot is not None
    player = await create_provisional_player(client, "hero-1")
    path = f"/applications/{client.id}/users/{player.id}/identities/hero-1/profile"

    assert (await client.bot.patch(path, json={"username": "x" * 1025})).errors("username") == ["BASE_TYPE_MAX_LENGTH"]
    too_many_entries = {str(number): "x" for number in range(26)}
    assert (await client.bot.patch(path, json={"metadata": too_many_entries})).errors("metadata") == [
        "BASE_TYPE_BAD_LENGTH"
    ]
    (await other_client.bot.get(path)).rejected(403, 20012)
    (await client.bot.get(path.replace("hero-1", "hero-2"))).rejected(404, 10013)
    (await client.bot.get(path.replace(str(client.id), "1", 1))).rejected(404, 10002)
    (await player.get(path)).rejected(401, 0)


async def test_a_game_gets_the_external_ids_of_its_players(world: World) -> None:
    client, other_client = await create_social_game(world), await create_social_game(world)
    first_player, second_player = (
        await create_provisional_player(client, "hero-1"),
        await create_provisional_player(client, "hero-2"),
    )
    foreign_player = await create_provisional_player(other_client, "hero-3")

    user_ids = [str(player.id) for player in (first_player, second_player, foreign_player)]
    identities_found = (await first_player.post("/application-identities", json={"user_ids": user_ids})).ok()

    assert {identity["user_id"]: identity["external_user_id"] for identity in identities_found} == {
        user_ids[0]: "hero-1",
        user_ids[1]: "hero-2",
    }
    for invalid_ids in ([], ["1"] * 101):
        assert (await first_player.post("/application-identities", json={"user_ids": invalid_ids})).errors(
            "user_ids"
        ) == ["BASE_TYPE_BAD_LENGTH"]


async def test_ready_contains_the_profile_of_the_player(world: World) -> None:
    client = await create_social_game(world)
    player = await create_provisional_player(client, "hero-1", preferred_global_name="Hero")
    actor = await world.app.auth.find_by_token(player.token)

    def build_ready_fields(call: Any) -> Any:
        assert identities.SLICE.ready is not None
        return identities.SLICE.ready(call)

    fields = await world.app.database.read(lambda tx: build_ready_fields(world.app.make_call(tx, actor)))

    (profile,) = fields["user_application_profiles"][str(player.id)]
    assert (profile.username, profile.external_id.provider_issued_user_id) == ("Hero", "hero-1")


# Linking with a token that the bot requested


async def test_a_provisional_account_is_merged_into_a_user_account(world: World) -> None:
    client = await create_social_game(world)
    alice, player = await world.user(), await create_provisional_player(client, "hero-1")

    linked_bearer = await link_account(client, alice, player.token)

    (await player.get("/users/@me")).rejected(401, 0)
    assert (await linked_bearer.get("/users/@me")).ok()["id"] == str(alice.id)
    (await alice.get(f"/users/{player.id}")).rejected(404, 10013)
    error = (await request_bot_token(client, "hero-1")).rejected(400, 530010)
    assert {key: error[key] for key in ("user_id", "provider_type", "provider_id", "provider_issued_user_id")} == {
        "user_id": str(alice.id),
        "provider_type": "PLATFORM_BOT",
        "provider_id": None,
        "provider_issued_user_id": "hero-1",
    }


async def test_a_merge_publishes_an_event_to_the_sessions_of_the_game(world: World) -> None:
    client, other_client = await create_social_game(world), await create_social_game(world)
    alice, player = await world.user(), await create_provisional_player(client, "hero-1")
    bearer = client.bearer(alice, (await client.request_tokens(alice, "sdk.social_layer"))["access_token"])
    other_bearer = other_client.bearer(
        alice, (await other_client.request_tokens(alice, "sdk.social_layer"))["access_token"]
    )
    game_session, other_session, chat_session = (
        await bearer.connect(),
        await other_bearer.connect(),
        await alice.connect(),
    )

    await link_account(client, alice, player.token)

    event = await game_session.next("USER_MERGE_OPERATION_COMPLETED")
    assert event["source_user_id"] == str(player.id)
    assert int(event["merge_operation_id"])
    await other_session.assert_not_received("USER_MERGE_OPERATION_COMPLETED")
    await chat_session.assert_not_received("USER_MERGE_OPERATION_COMPLETED")


async def exchange_with_credential(
    client: Client, user: Any, token: str, auth_type: str = "PLATFORM_BOT_ISSUED_ACCESS_TOKEN"
) -> ApiResponse:
    """Authorize an application as a user, and exchange the code together with an external credential."""
    code = await client.request_code(user, "sdk.social_layer")
    return await client.exchange(code, external_auth_type=auth_type, external_auth_token=token)


async def test_invalid_merges_are_rejected(world: World) -> None:
    client, other_client = await create_social_game(world), await create_social_game(world)
    alice, bob = await world.user(), await world.user()
    first_player, second_player, foreign_player = (
        await create_provisional_player(client, "1"),
        await create_provisional_player(client, "2"),
        await create_provisional_player(other_client, "3"),
    )
    linked_bearer = await link_account(client, alice, first_player.token)

    # Rejected: a text that is not a token, a token of another application, and the revoked token of a merged account.
    (await exchange_with_credential(client, alice, "nonsense")).rejected(403, 50025)
    (await exchange_with_credential(client, alice, foreign_player.token)).rejected(403, 50025)
    (await exchange_with_credential(client, alice, first_player.token)).rejected(403, 50025)
    # Alice already has an external identity for the application.
    (await exchange_with_credential(client, alice, second_player.token)).rejected(400, 530023)
    # Alice's account is not provisional, so Bob cannot merge it. For Alice herself there is nothing to merge.
    (await exchange_with_credential(client, bob, linked_bearer.token)).rejected(400, 530014)
    (await exchange_with_credential(client, alice, linked_bearer.token)).ok()
    # An application without the social layer cannot have provisional accounts.
    client_without_social_layer = await create_social_game(world, flags=0)
    (await exchange_with_credential(client_without_social_layer, bob, second_player.token)).rejected(403, 530000)


async def test_a_provisional_account_cannot_be_a_merge_destination(world: World) -> None:
    client = await create_social_game(world)
    first_player, second_player = (
        await create_provisional_player(client, "1"),
        await create_provisional_player(client, "2"),
    )
    user = await world.user()
    code = await client.request_code(user, "sdk.social_layer")
    await world.write(lambda call: call.tx.run("UPDATE authorization_codes SET user_id = ?", second_player.id))

    response = await client.exchange(
        code, external_auth_type="PLATFORM_BOT_ISSUED_ACCESS_TOKEN", external_auth_token=first_player.token
    )

    response.rejected(400, 530016)


async def test_a_failed_merge_does_not_consume_the_code(world: World) -> None:
    client = await create_social_game(world)
    alice, player = await world.user(), await create_provisional_player(client, "1")
    code = await client.request_code(alice, "sdk.social_layer")
    credential = {"external_auth_type": "PLATFORM_BOT_ISSUED_ACCESS_TOKEN"}

    (await client.exchange(code, external_auth_token="wrong", **credential)).rejected(403, 50025)
    (await client.exchange(code, external_auth_token=player.token, **credential)).ok()


@pytest.mark.one_postgres_case
@pytest.mark.parametrize(
    "credential",
    [
        {"external_auth_type": "OIDC"},
        {"external_auth_token": "x"},
        {"external_auth_type": "WINGS", "external_auth_token": "x"},
        {"external_auth_type": "OIDC", "external_auth_token": "x" * 10_241},
    ],
)
async def test_an_incomplete_or_invalid_credential_is_an_invalid_request(
    world: World, credential: dict[str, str]
) -> None:
    client = await create_social_game(world)
    alice = await world.user()

    assert_oauth2_error(
        await client.exchange(await client.request_code(alice, "sdk.social_layer"), **credential), "invalid_request"
    )


async def test_a_credential_is_only_accepted_with_a_code(world: World) -> None:
    client = await create_social_game(world)
    alice = await world.user()
    tokens = await client.request_tokens(alice, "sdk.social_layer")
    credential = {"external_auth_type": "OIDC", "external_auth_token": "x"}

    assert_oauth2_error(await client.refresh(tokens["refresh_token"], **credential), "invalid_request")


async def test_users_other_than_testers_merge_at_most_five_times_a_day(world: World) -> None:
    client = await create_social_game(world)
    alice = await world.user()

    async def merge_once(user: Any, number: int) -> ApiResponse:
        player = await create_provisional_player(client, f"{user.id}-{number}")
        response = await exchange_with_credential(client, user, player.token)
        if response.status == 200:
            (await client.post_form("/oauth2/token/revoke", token=response.json["access_token"])).ok()
        return response

    for number in range(5):
        (await merge_once(alice, number)).ok()
    error = (await merge_once(alice, 5)).rejected(429, 0)
    assert 0 < error["retry_after"] <= 86_400
    world.clock.set(world.clock.now_ms() + 86_400_001)
    (await merge_once(alice, 6)).ok()
    tester = await world.user()
    row = applications.testers.TesterRow(
        client.id, tester.id, applications.testers.TESTER_ACCEPTED, world.clock.now_ms()
    )
    await world.write(lambda call: applications.testers.save_tester(call.tx, row))
    for user in (client.owner, tester):
        for number in range(6):
            (await merge_once(user, number)).ok()
