"""Registering, logging in and out."""

import pytest

from tests.world import Actor, World

ALICE = {"username": "Alice", "password": "correct horse", "email": "Alice@example.org"}


async def register(world: World, **more: object) -> Actor:
    """A person who registered over the API."""
    session = (await world.request("POST", "/auth/register", json=ALICE | more)).ok()
    return Actor(world, int(session["user_id"]), session["token"], "alice")


async def test_a_registered_person_has_a_token_that_works(world: World) -> None:
    alice = await register(world, global_name="Alice L.")

    me = (await alice.get("/users/@me")).ok()

    assert (me["username"], me["global_name"], me["email"]) == ("alice", "Alice L.", "alice@example.org")
    assert (await alice.connect()).ready["user"]["id"] == str(alice.id)


@pytest.mark.parametrize("login", ["alice", "ALICE", "alice@example.org", " Alice "])
async def test_one_logs_in_by_name_or_address(world: World, login: str) -> None:
    alice = await register(world)

    session = (await world.request("POST", "/auth/login", json={"login": login, "password": ALICE["password"]})).ok()

    assert session["user_id"] == str(alice.id)
    assert session["token"] != alice.token


async def test_a_wrong_password_and_an_unknown_name_are_told_alike(world: World) -> None:
    await register(world)

    wrong = await world.request("POST", "/auth/login", json={"login": "alice", "password": "guess"})
    unknown = await world.request("POST", "/auth/login", json={"login": "nobody", "password": "guess"})

    assert wrong.errors("login") == wrong.errors("password") == ["INVALID_LOGIN"]
    assert wrong.json == unknown.json


async def test_names_and_addresses_are_taken_once(world: World) -> None:
    await register(world)

    again = await world.request("POST", "/auth/register", json=ALICE)

    assert again.errors("username") == ["USERNAME_ALREADY_TAKEN"]
    assert again.errors("email") == ["EMAIL_ALREADY_REGISTERED"]


async def test_a_bad_registration_says_what_is_wrong(world: World) -> None:
    answer = await world.request(
        "POST", "/auth/register", json={"username": "x", "password": "short", "email": "nowhere"}
    )

    assert answer.errors("username") == ["BASE_TYPE_BAD_LENGTH"]
    assert answer.errors("password")
    assert answer.errors("email")


async def test_logging_out_ends_the_token_and_its_sessions(world: World) -> None:
    alice = await register(world)
    session = await alice.connect()

    (await alice.post("/auth/logout")).ok()

    (await alice.get("/users/@me")).refused(401, 0)
    assert await session.closed() == 4004


async def test_no_token_is_kept_in_clear(world: World) -> None:
    alice = await register(world)

    rows = await world.app.database.read(lambda tx: tx.all("SELECT * FROM tokens") + tx.all("SELECT * FROM accounts"))

    for row in rows:
        for value in row:
            assert alice.token.encode() not in bytes(str(value), "utf-8")
            assert ALICE["password"] not in str(value)
