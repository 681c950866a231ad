"""Registration, login, logout, and the storage of tokens and passwords."""

import pytest

from hubbub.protocol.enums import CloseCode
from tests.world import Actor, World

REGISTRATION_BODY = {"username": "Alice", "password": "correct horse", "email": "Alice@example.org"}


async def register(world: World, **fields: object) -> Actor:
    """Register a user over the API."""
    login_session = (await world.request("POST", "/auth/register", json=REGISTRATION_BODY | fields)).ok()
    return Actor(world, int(login_session["user_id"]), login_session["token"], "alice")


async def test_a_registered_user_has_a_valid_token(world: World) -> None:
    alice = await register(world, global_name="Alice L.")

    own_user = (await alice.get("/users/@me")).ok()

    assert (own_user["username"], own_user["global_name"], own_user["email"]) == (
        "alice",
        "Alice L.",
        "alice@example.org",
    )
    assert (await alice.connect()).ready["user"]["id"] == str(alice.id)


@pytest.mark.parametrize("login", ["alice", "ALICE", "alice@example.org", " Alice "])
async def test_a_user_logs_in_by_username_or_email(world: World, login: str) -> None:
    alice = await register(world)

    login_session = (
        await world.request("POST", "/auth/login", json={"login": login, "password": REGISTRATION_BODY["password"]})
    ).ok()

    assert login_session["user_id"] == str(alice.id)
    assert login_session["token"] != alice.token


async def test_a_wrong_password_and_an_unknown_username_fail_alike(world: World) -> None:
    await register(world)

    wrong_password = await world.request("POST", "/auth/login", json={"login": "alice", "password": "guess"})
    unknown_username = await world.request("POST", "/auth/login", json={"login": "unknown", "password": "guess"})

    assert wrong_password.errors("login") == wrong_password.errors("password") == ["INVALID_LOGIN"]
    assert wrong_password.json == unknown_username.json


async def test_usernames_and_emails_are_unique(world: World) -> None:
    await register(world)

    response = await world.request("POST", "/auth/register", json=REGISTRATION_BODY)

    assert response.errors("username") == ["USERNAME_ALREADY_TAKEN"]
    assert response.errors("email") == ["EMAIL_ALREADY_REGISTERED"]


async def test_an_invalid_registration_names_each_invalid_field(world: World) -> None:
    response = await world.request(
        "POST", "/auth/register", json={"username": "x", "password": "short", "email": "nowhere"}
    )

    assert response.errors("username") == ["BASE_TYPE_BAD_LENGTH"]
    assert response.errors("password")
    assert response.errors("email")


async def test_logging_out_revokes_the_token_and_closes_its_sessions(world: World) -> None:
    alice = await register(world)
    session = await alice.connect()

    (await alice.post("/auth/logout")).ok()

    (await alice.get("/users/@me")).rejected(401, 0)
    assert await session.wait_closed() == CloseCode.AUTHENTICATION_FAILED


async def test_tokens_and_passwords_are_not_stored_in_plain_text(world: World) -> None:
    alice = await register(world)

    rows = await world.app.database.read(lambda tx: tx.all("SELECT * FROM tokens") + tx.all("SELECT * FROM accounts"))

    for row in rows:
        for value in row:
            assert alice.token.encode() not in bytes(str(value), "utf-8")
            assert REGISTRATION_BODY["password"] not in str(value)
