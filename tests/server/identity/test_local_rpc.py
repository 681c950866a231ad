"""The API for the local agent: application data, RPC origins, RPC tokens and activity invites (spec/rpc.md#7, 12)."""

import pytest

from hubbub.protocol import changes
from hubbub.protocol.enums import ActivityActionType, ActivityType, GatewayOpcode
from hubbub.protocol.resources.oauth2 import RPC_TOKEN_SECONDS
from tests import oauth
from tests.world import Actor, World


async def test_application_rpc_data_is_public(world: World) -> None:
    game = await oauth.create_application(world, name="Puddle")

    rpc_application = (await world.request("GET", f"/applications/{game.id}/rpc")).ok()

    assert rpc_application == {
        "id": str(game.id),
        "name": "Puddle",
        "icon": None,
        "description": "",
        "flags": 0,
        "flags_new": "0",
        "rpc_origins": [],
        "activity_types": [0, 2, 3, 5],
        "premium_type_scope": "identify.premium",
    }
    assert (await game.owner.get(f"/applications/{game.id}/rpc")).ok() == rpc_application
    (await world.request("GET", "/applications/5/rpc")).rejected(404, 10002)


@pytest.mark.dated(changes.SET_ACTIVITY_TYPES)
async def test_before_25_july_2024_only_the_playing_activity_type_is_listed(world: World) -> None:
    game = await oauth.create_application(world)
    now_ms = world.clock.now_ms()
    listed_types = []
    for moment_ms in (changes.SET_ACTIVITY_TYPES.at_ms - 1, changes.SET_ACTIVITY_TYPES.at_ms):
        world.clock.set(moment_ms)
        listed_types.append((await world.request("GET", f"/applications/{game.id}/rpc")).ok()["activity_types"])
    world.clock.set(now_ms)

    assert listed_types == [[0], [0, 2, 3, 5]]


async def test_only_the_owner_sets_rpc_origins(world: World) -> None:
    game = await oauth.create_application(world)
    path = f"/applications/{game.id}"
    origins = ["https://puddle.example", "http://localhost:3000"]

    assert (await game.owner.patch(path, json={"rpc_origins": origins})).ok()["rpc_origins"] == origins
    assert game.bot is not None
    (await game.bot.patch(path, json={"rpc_origins": ["https://elsewhere.example"]})).ok()
    assert (await world.request("GET", f"{path}/rpc")).ok()["rpc_origins"] == origins
    assert (await game.owner.patch(path, json={"rpc_origins": None})).ok()["rpc_origins"] == []


@pytest.mark.one_postgres_case
@pytest.mark.parametrize(
    "origin",
    [
        "puddle.example",
        "https://puddle.example/",
        "https://puddle.example/page",
        "ftp://puddle.example",
        "https://me@puddle.example",
        "https://",
        "https://puddle.example:port",
        "https://puddle.example?x",
    ],
)
async def test_an_invalid_origin_is_rejected_at_its_index(world: World, origin: str) -> None:
    game = await oauth.create_application(world)
    body = {"rpc_origins": ["https://puddle.example", origin]}

    response = await game.owner.patch(f"/applications/{game.id}", json=body)

    assert response.errors("rpc_origins.1") == ["RPC_ORIGIN_INVALID"]


async def test_duplicate_and_excess_origins_are_rejected(world: World) -> None:
    game = await oauth.create_application(world)
    path = f"/applications/{game.id}"

    response = await game.owner.patch(path, json={"rpc_origins": ["https://a.example", "https://a.example"]})
    assert response.errors("rpc_origins.1") == ["SET_TYPE_ALREADY_CONTAINS_VALUE"]
    too_many_origins = [f"https://a{number}.example" for number in range(26)]
    assert (await game.owner.patch(path, json={"rpc_origins": too_many_origins})).errors("rpc_origins") == [
        "BASE_TYPE_BAD_LENGTH"
    ]


# RPC tokens


async def authorize_with_rpc_token(user: Actor, game: oauth.Client, rpc_token: str, scope: str = "identify") -> str:
    """Authorize with an RPC token; return "code" or the OAuth2 error."""
    response = await game.authorize(user, scope, rpc_token=rpc_token)
    return "code" if response.status == 200 else str(response.json["error"])


async def test_an_rpc_token_is_single_use_expires_and_belongs_to_its_application(world: World) -> None:
    game, other_game, mary = (
        await oauth.create_application(world),
        await oauth.create_application(world),
        await world.user(),
    )

    async def issue_rpc_token() -> str:
        token: str = (await game.post_form("/oauth2/token/rpc")).ok()["rpc_token"]
        return token

    first_token, second_token, third_token = await issue_rpc_token(), await issue_rpc_token(), await issue_rpc_token()

    assert await authorize_with_rpc_token(mary, other_game, first_token) == "invalid_request"
    assert await authorize_with_rpc_token(mary, game, first_token) == "code"
    assert await authorize_with_rpc_token(mary, game, first_token) == "invalid_request"
    assert await authorize_with_rpc_token(mary, game, "invented") == "invalid_request"
    await world.write(
        lambda call: call.tx.run(
            "INSERT INTO approved_scopes (application_id, scope) VALUES (?, 'messages.read')", game.id
        )
    )
    assert await authorize_with_rpc_token(mary, game, second_token, "identify messages.read") == "invalid_scope"
    assert await authorize_with_rpc_token(mary, game, second_token) == "code"
    world.clock.advance(RPC_TOKEN_SECONDS * 1000)
    assert await authorize_with_rpc_token(mary, game, third_token) == "invalid_request"


async def test_an_rpc_token_is_not_accepted_as_another_grant(world: World) -> None:
    game, mary = await oauth.create_application(world), await world.user()
    rpc_token = (await game.post_form("/oauth2/token/rpc")).ok()["rpc_token"]

    device_grant = "urn:ietf:params:oauth:grant-type:device_code"
    oauth.assert_oauth2_error(
        await game.post_form("/oauth2/token", grant_type="authorization_code", code=rpc_token), "invalid_grant"
    )
    (await mary.post("/oauth2/device/verify", json={"user_code": rpc_token[:32]})).rejected(400, 50035)
    oauth.assert_oauth2_error(
        await game.post_form("/oauth2/token", grant_type=device_grant, device_code=rpc_token), "access_denied"
    )


async def test_issuing_an_rpc_token_requires_the_client_secret(world: World) -> None:
    game, public_game = await oauth.create_application(world), await oauth.create_application(world, is_public=True)

    oauth.assert_oauth2_error(await game.post_form("/oauth2/token/rpc", sends_secret=False), "invalid_client", 401)
    oauth.assert_oauth2_error(
        await game.post_form("/oauth2/token/rpc", sends_secret=False, client_secret="guess"), "invalid_client", 401
    )
    oauth.assert_oauth2_error(await public_game.post_form("/oauth2/token/rpc"), "invalid_client", 401)
    assert (await public_game.post_form("/oauth2/token/rpc", sends_secret=True)).ok()["rpc_token"]


# Activity invites


async def test_a_user_sends_an_invite_to_their_own_sessions_activity(world: World) -> None:
    game, mary, zoe = (
        await oauth.create_application(world, name="Puddle"),
        await world.user("mary"),
        await world.user("zoe"),
    )
    for sender, recipient in ((mary, zoe), (zoe, mary)):
        (await sender.put(f"/users/@me/relationships/{recipient.id}", json={})).ok()
    session, zoe_session = await mary.connect(), await zoe.connect()
    activity = {
        "name": "Puddle",
        "type": ActivityType.PLAYING,
        "application_id": str(game.id),
        "party": {"id": "party", "size": [1, 4]},
        "secrets": {"join": "open sesame"},
    }
    await session.send(
        GatewayOpcode.PRESENCE_UPDATE, {"status": "online", "activities": [activity], "since": None, "afk": False}
    )
    await session.wait_processed()
    invite = {"type": ActivityActionType.JOIN, "session_id": session.ready["session_id"], "party_id": "party"}
    path = f"/users/{zoe.id}/messages"

    message = (await mary.post(path, json={"application_id": str(game.id), "activity": invite, "content": "hi"})).ok()

    event = await zoe_session.next("MESSAGE_CREATE")
    assert (event["id"], event["content"], event["activity"]) == (message["id"], "hi", invite)
    assert event["application"]["id"] == str(game.id)
    join_path = f"/users/{mary.id}/sessions/{session.ready['session_id']}/activities/{game.id}/1"
    query = f"?channel_id={event['channel_id']}&message_id={event['id']}"
    assert (await zoe.get(join_path + query)).ok() == {"secret": "open sesame"}


async def test_a_user_token_can_only_send_activity_invites_to_a_user(world: World) -> None:
    game, mary, zoe = await oauth.create_application(world), await world.user("mary"), await world.user("zoe")
    invite = {"type": ActivityActionType.JOIN, "session_id": "s", "party_id": "party"}
    path = f"/users/{zoe.id}/messages"

    response = await mary.post(path, json={"content": "hi"})
    assert (response.errors("application_id"), response.errors("activity")) == (
        ["BASE_TYPE_REQUIRED"],
        ["BASE_TYPE_REQUIRED"],
    )
    response = await mary.post(path, json={"activity": invite})
    assert response.errors("application_id") == ["BASE_TYPE_REQUIRED"]
    for application_id in (str(game.id), "5"):
        body = {"application_id": application_id, "activity": invite}
        (await mary.post(path, json=body)).rejected(400, 50039)
