"""What the platform does for the agent on a person's machine: who an application is, a backend's word, invites by the person
(rpc.md 7, 12)."""

import pytest

from hubbub.protocol import changes
from hubbub.protocol.resources.oauth2 import RPC_TOKEN_SECONDS
from tests import oauth
from tests.world import Actor, World


async def test_anybody_learns_what_an_agent_must_know_of_an_application(world: World) -> None:
    game = await oauth.application(world, name="Puddle")

    told = (await world.request("GET", f"/applications/{game.id}/rpc")).ok()

    assert told == {
        "id": str(game.id),
        "name": "Puddle",
        "icon": None,
        "description": "",
        "flags": 0,
        "flags_new": "0",
        "rpc_origins": [],
        "activity_types": [0, 2, 3, 5],
    }
    assert (await game.owner.get(f"/applications/{game.id}/rpc")).ok() == told
    (await world.request("GET", "/applications/5/rpc")).refused(404, 10002)


@pytest.mark.dated(changes.SET_ACTIVITY_TYPES)
async def test_before_25_july_2024_games_are_only_played(world: World) -> None:
    game = await oauth.application(world)
    now = world.clock.now_ms()
    seen = []
    for moment in (changes.SET_ACTIVITY_TYPES.at_ms - 1, changes.SET_ACTIVITY_TYPES.at_ms):
        world.clock.set(moment)
        seen.append((await world.request("GET", f"/applications/{game.id}/rpc")).ok()["activity_types"])
    world.clock.set(now)

    assert seen == [[0], [0, 2, 3, 5]]


async def test_origins_are_the_owners_to_name(world: World) -> None:
    game = await oauth.application(world)
    path = f"/applications/{game.id}"
    origins = ["https://puddle.example", "http://localhost:3000"]

    assert (await game.owner.patch(path, json={"rpc_origins": origins})).ok()["rpc_origins"] == origins
    assert game.bot is not None
    (await game.bot.patch(path, json={"rpc_origins": ["https://elsewhere.example"]})).ok()
    assert (await world.request("GET", f"{path}/rpc")).ok()["rpc_origins"] == origins
    assert "rpc_origins" not in (await game.owner.patch(path, json={"rpc_origins": None})).ok()


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
async def test_what_is_no_origin_is_refused_at_its_place(world: World, origin: str) -> None:
    game = await oauth.application(world)
    body = {"rpc_origins": ["https://puddle.example", origin]}

    answer = await game.owner.patch(f"/applications/{game.id}", json=body)

    assert answer.errors("rpc_origins.1") == ["RPC_ORIGIN_INVALID"]


async def test_an_origin_is_named_once_and_not_too_many_are(world: World) -> None:
    game = await oauth.application(world)
    path = f"/applications/{game.id}"

    answer = await game.owner.patch(path, json={"rpc_origins": ["https://a.example", "https://a.example"]})
    assert answer.errors("rpc_origins.1") == ["SET_TYPE_ALREADY_CONTAINS_VALUE"]
    many = [f"https://a{number}.example" for number in range(26)]
    assert (await game.owner.patch(path, json={"rpc_origins": many})).errors("rpc_origins") == ["BASE_TYPE_BAD_LENGTH"]


# A backend's word


async def authorize(person: Actor, game: oauth.Client, word: str, scope: str = "identify") -> str:
    """What becomes of an authorization with this word: a code, or OAuth's refusal."""
    answer = await game.ask(person, scope, rpc_token=word)
    return "code" if answer.status == 200 else str(answer.json["error"])


async def test_a_backends_word_is_good_once_for_a_while_and_for_its_application(world: World) -> None:
    game, other, mary = await oauth.application(world), await oauth.application(world), await world.user()

    async def word() -> str:
        text: str = (await game.post("/oauth2/token/rpc")).ok()["rpc_token"]
        return text

    first, second, third = await word(), await word(), await word()

    assert await authorize(mary, other, first) == "invalid_request"
    assert await authorize(mary, game, first) == "code"
    assert await authorize(mary, game, first) == "invalid_request"
    assert await authorize(mary, game, "invented") == "invalid_request"
    await world.write(
        lambda call: call.tx.run(
            "INSERT INTO approved_scopes (application_id, scope) VALUES (?, 'messages.read')", game.id
        )
    )
    assert await authorize(mary, game, second, "identify messages.read") == "invalid_scope"
    assert await authorize(mary, game, second) == "code"
    world.clock.advance(RPC_TOKEN_SECONDS * 1000)
    assert await authorize(mary, game, third) == "invalid_request"


async def test_a_backends_word_is_nothing_else(world: World) -> None:
    game, mary = await oauth.application(world), await world.user()
    word = (await game.post("/oauth2/token/rpc")).ok()["rpc_token"]

    device = "urn:ietf:params:oauth:grant-type:device_code"
    oauth.refused(await game.post("/oauth2/token", grant_type="authorization_code", code=word), "invalid_grant")
    (await mary.post("/oauth2/device/verify", json={"user_code": word[:32]})).refused(400, 50035)
    oauth.refused(await game.post("/oauth2/token", grant_type=device, device_code=word), "access_denied")


async def test_only_a_backend_with_its_secret_vouches(world: World) -> None:
    game, public = await oauth.application(world), await oauth.application(world, public=True)

    oauth.refused(await game.post("/oauth2/token/rpc", secret=False), "invalid_client", 401)
    oauth.refused(await game.post("/oauth2/token/rpc", secret=False, client_secret="guess"), "invalid_client", 401)
    oauth.refused(await public.post("/oauth2/token/rpc"), "invalid_client", 401)
    assert (await public.post("/oauth2/token/rpc", secret=True)).ok()["rpc_token"]


# Invites by the person


async def test_a_person_invites_to_what_their_own_session_shows(world: World) -> None:
    game, mary, zoe = await oauth.application(world, name="Puddle"), await world.user("mary"), await world.user("zoe")
    for one, other in ((mary, zoe), (zoe, mary)):
        (await one.put(f"/users/@me/relationships/{other.id}", json={})).ok()
    session, hers = await mary.connect(), await zoe.connect()
    shown = {
        "name": "Puddle",
        "type": 0,
        "application_id": str(game.id),
        "party": {"id": "party", "size": [1, 4]},
        "secrets": {"join": "open sesame"},
    }
    await session.send(3, {"status": "online", "activities": [shown], "since": None, "afk": False})
    await session.obeyed()
    activity = {"type": 1, "session_id": session.ready["session_id"], "party_id": "party"}
    path = f"/users/{zoe.id}/messages"

    sent = (await mary.post(path, json={"application_id": str(game.id), "activity": activity, "content": "hi"})).ok()

    heard = await hers.next("MESSAGE_CREATE")
    assert (heard["id"], heard["content"], heard["activity"]) == (sent["id"], "hi", activity)
    assert heard["application"]["id"] == str(game.id)
    join = f"/users/{mary.id}/sessions/{session.ready['session_id']}/activities/{game.id}/1"
    query = f"?channel_id={heard['channel_id']}&message_id={heard['id']}"
    assert (await zoe.get(join + query)).ok() == {"secret": "open sesame"}


async def test_a_persons_own_token_invites_and_says_nothing_else_there(world: World) -> None:
    game, mary, zoe = await oauth.application(world), await world.user("mary"), await world.user("zoe")
    activity = {"type": 1, "session_id": "s", "party_id": "party"}
    path = f"/users/{zoe.id}/messages"

    answer = await mary.post(path, json={"content": "hi"})
    assert (answer.errors("application_id"), answer.errors("activity")) == (
        ["BASE_TYPE_REQUIRED"],
        ["BASE_TYPE_REQUIRED"],
    )
    answer = await mary.post(path, json={"activity": activity})
    assert answer.errors("application_id") == ["BASE_TYPE_REQUIRED"]
    for application_id in (str(game.id), "5"):
        body = {"application_id": application_id, "activity": activity}
        (await mary.post(path, json=body)).refused(400, 50039)
