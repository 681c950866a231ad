"""Looking after an account: sessions, the password, the second factor, and what stops guessing."""

import asyncio
import base64
import secrets
from typing import Any

import pytest

from hubbub.protocol.ids import UserId
from hubbub.server.resources import accounts
from hubbub.server.resources.accounts import totp
from tests.world import Actor, Answer, World

PASSWORD = "correct horse"
MINUTE_MS = 60_000


async def register(world: World, name: str = "alice") -> Actor:
    """A person who has signed in; their password is hashed lightly, for it is tried often."""
    person = await world.user(name)
    kept = accounts.hash_lightly(PASSWORD, salt=b"of no importance")
    await world.write(lambda call: accounts.set_password(call, UserId(person.id), kept))
    (await person.delete(f"/auth/sessions/{(await person.get('/auth/sessions')).ok()[0]['id']}")).ok()
    person.token = (await login(world, name, agent="phone/1")).ok()["token"]
    return person


async def login(world: World, name: str = "alice", password: str = PASSWORD, agent: str = "desk/2") -> Answer:
    """A login."""
    body = {"login": name, "password": password}
    return await world.request("POST", "/auth/login", json=body, headers={"User-Agent": agent})


def new_secret() -> str:
    """What a person's authenticator makes."""
    return base64.b32encode(secrets.token_bytes(20)).decode()


def code(world: World, secret: str, drift: int = 0) -> str:
    """What the authenticator shows now."""
    return totp.code_at(secret, world.clock.now_ms() // 30_000 + drift)


async def enable(world: World, person: Actor) -> tuple[str, list[str]]:
    """Give a person a second factor."""
    secret = new_secret()
    body = {"password": PASSWORD, "secret": secret, "code": code(world, secret)}
    codes = (await person.post("/users/@me/mfa/totp/enable", json=body)).ok()["backup_codes"]
    world.clock.advance(30_000)
    return secret, codes


# Sessions


async def test_people_see_where_they_are_signed_in(world: World) -> None:
    alice = await register(world)
    world.clock.advance(MINUTE_MS)
    other = (await login(world)).ok()

    newest, oldest = (await alice.get("/auth/sessions")).ok()

    assert (newest["user_agent"], newest["current"], newest["ip"]) == ("desk/2", False, "127.0.0.1")
    assert (oldest["user_agent"], oldest["current"]) == ("phone/1", True)
    assert newest["created_at"] > oldest["created_at"]
    assert other["token"] not in str(newest)


async def test_a_session_can_be_ended_from_another(world: World) -> None:
    alice, mallory = await register(world), await register(world, "mallory")
    lost = Actor(world, alice.id, (await login(world)).ok()["token"], "alice")
    live = await lost.connect()
    [found] = [one for one in (await alice.get("/auth/sessions")).ok() if not one["current"]]

    (await mallory.delete(f"/auth/sessions/{found['id']}")).refused(404, 10020)
    (await alice.delete(f"/auth/sessions/{found['id']}")).ok()

    (await lost.get("/users/@me")).refused(401, 0)
    assert await live.closed() == 4004
    (await alice.delete(f"/auth/sessions/{found['id']}")).refused(404, 10020)
    assert len((await alice.get("/auth/sessions")).ok()) == 1


async def test_all_other_sessions_can_be_ended_at_once(world: World) -> None:
    alice = await register(world)
    others = [Actor(world, alice.id, (await login(world)).ok()["token"], "alice") for _ in range(2)]

    (await alice.delete("/auth/sessions")).ok()

    (await alice.get("/users/@me")).ok()
    for other in others:
        (await other.get("/users/@me")).refused(401, 0)


async def test_bots_have_no_sessions(world: World) -> None:
    bot = await world.bot()

    (await bot.get("/auth/sessions")).refused(403, 20001)


# The password


async def test_a_new_password_ends_every_session_but_this(world: World) -> None:
    alice = await register(world)
    other = Actor(world, alice.id, (await login(world)).ok()["token"], "alice")

    (await alice.post("/auth/password", json={"password": PASSWORD, "new_password": "battery staple"})).ok()

    (await alice.get("/users/@me")).ok()
    (await other.get("/users/@me")).refused(401, 0)
    assert (await login(world)).errors("password") == ["INVALID_LOGIN"]
    (await login(world, password="battery staple")).ok()


async def test_a_token_alone_changes_no_password(world: World) -> None:
    alice = await register(world)

    wrong = await alice.post("/auth/password", json={"password": "guess", "new_password": "battery staple"})
    short = await alice.post("/auth/password", json={"password": PASSWORD, "new_password": "short"})

    assert wrong.errors("password") == ["PASSWORD_DOES_NOT_MATCH"]
    assert short.errors("new_password")
    (await login(world)).ok()


# The second factor


async def test_with_an_authenticator_a_login_needs_its_code(world: World) -> None:
    alice = await register(world)
    session = await alice.connect()
    secret, _ = await enable(world, alice)
    assert (await session.next("USER_UPDATE"))["mfa_enabled"] is True

    half = (await login(world)).ok()
    assert (half["token"], half["mfa"]) == (None, True)
    body = {"ticket": half["ticket"], "code": code(world, secret)}
    whole = (await world.request("POST", "/auth/mfa/totp", json=body)).ok()

    me = (await Actor(world, alice.id, whole["token"], "alice").get("/users/@me")).ok()
    assert me["mfa_enabled"] is True


async def test_codes_of_the_moment_before_and_after_are_good_and_none_is_good_twice(world: World) -> None:
    alice = await register(world)
    secret, _ = await enable(world, alice)
    world.clock.advance(MINUTE_MS)

    async def try_code(shown: str) -> Answer:
        ticket = (await login(world)).ok()["ticket"]
        return await world.request("POST", "/auth/mfa/totp", json={"ticket": ticket, "code": shown})

    assert (await try_code(code(world, secret, -2))).errors("code") == ["MFA_INVALID_CODE"]
    (await try_code(code(world, secret, -1))).ok()
    (await try_code(code(world, secret))).ok()
    assert (await try_code(code(world, secret))).errors("code") == ["MFA_INVALID_CODE"]
    (await try_code(code(world, secret, 1))).ok()
    # An earlier one that was never used is not good after a later one.
    assert (await try_code(code(world, secret))).errors("code") == ["MFA_INVALID_CODE"]


async def test_a_backup_code_works_once(world: World) -> None:
    alice = await register(world)
    _, backup = await enable(world, alice)
    assert len(set(backup)) == 10

    async def use(shown: str) -> Answer:
        ticket = (await login(world)).ok()["ticket"]
        return await world.request("POST", "/auth/mfa/totp", json={"ticket": ticket, "code": shown})

    (await use(backup[0].upper().replace("-", " "))).ok()
    assert (await use(backup[0])).errors("code") == ["MFA_INVALID_CODE"]
    (await use(backup[1])).ok()


async def test_a_ticket_ends_with_its_use_and_after_five_minutes(world: World) -> None:
    alice = await register(world)
    secret, _ = await enable(world, alice)
    ticket = (await login(world)).ok()["ticket"]
    late = (await login(world)).ok()["ticket"]
    (await world.request("POST", "/auth/mfa/totp", json={"ticket": ticket, "code": code(world, secret)})).ok()

    for old, wait in ((ticket, 30_000), (late, 300_000)):
        world.clock.advance(wait)
        answer = await world.request("POST", "/auth/mfa/totp", json={"ticket": old, "code": code(world, secret)})
        assert answer.errors("ticket") == ["MFA_INVALID_TICKET"]


async def test_an_authenticator_must_be_proven(world: World) -> None:
    alice = await register(world)
    secret = new_secret()
    good: dict[str, Any] = {"password": PASSWORD, "secret": secret, "code": code(world, secret)}

    async def refused(**more: str) -> Answer:
        return await alice.post("/users/@me/mfa/totp/enable", json=good | more)

    assert (await refused(code="000000" if good["code"] != "000000" else "111111")).errors("code")
    assert (await refused(password="guess")).errors("password") == ["PASSWORD_DOES_NOT_MATCH"]
    assert (await refused(secret="1" * 32)).errors("secret") == ["STRING_TYPE_REGEX"]
    await enable(world, alice)
    assert (await refused()).errors("secret") == ["MFA_ALREADY_ENABLED"]


async def test_an_authenticator_is_given_up_with_password_and_code(world: World) -> None:
    alice = await register(world)
    secret, _ = await enable(world, alice)

    wrong = await alice.post("/users/@me/mfa/totp/disable", json={"password": PASSWORD, "code": "abcdef"})
    assert wrong.errors("code") == ["MFA_INVALID_CODE"]
    body = {"password": PASSWORD, "code": code(world, secret)}
    (await alice.post("/users/@me/mfa/totp/disable", json=body)).ok()

    assert (await login(world)).ok()["token"]


async def test_the_codes_are_those_of_the_rfc() -> None:
    secret = base64.b32encode(b"12345678901234567890").decode()

    # RFC 6238, appendix B, the last six of eight digits.
    assert totp.code_at(secret, 59 // 30) == "287082"
    assert totp.code_at(secret, 1_111_111_109 // 30) == "081804"
    assert totp.code_at(secret, 20_000_000_000 // 30) == "353130"


# Attacks


async def test_brute_force_on_a_name_is_stopped_until_the_clock_moves_on(world: World) -> None:
    await register(world)

    for _ in range(10):
        assert (await login(world, password="guess")).status == 400
    stopped = await login(world)
    assert (stopped.status, stopped.headers["Retry-After"]) == (429, "900")

    world.clock.advance(15 * MINUTE_MS)
    (await login(world)).ok()


async def test_brute_force_is_counted_before_the_password_is_checked_so_many_at_once_are_no_way_round(
    world: World,
) -> None:
    await register(world)

    answers = await asyncio.gather(*(login(world, password=f"guess {n}") for n in range(16)))

    assert sum(answer.status == 400 for answer in answers) <= 10


async def test_a_right_password_forgives_earlier_mistakes(world: World) -> None:
    await register(world)

    for _ in range(3):
        for _ in range(5):
            await login(world, password="guess")
        (await login(world)).ok()


async def test_brute_force_over_many_names_is_stopped_by_address(world: World) -> None:
    await register(world)
    await login(world, "nobody", "guess")
    await world.write(
        lambda call: call.tx.run("UPDATE sign_in_failures SET failures = 99 WHERE key LIKE ?", "address:%")
    )

    assert (await login(world, "nobody1", "guess")).status == 400
    await world.write(
        lambda call: call.tx.run("UPDATE sign_in_failures SET failures = 100 WHERE key LIKE ?", "address:%")
    )
    assert (await login(world, "nobody2", "guess")).status == 429
    assert (await login(world)).status == 429


async def test_user_enumeration_by_throttling_is_not_possible(world: World) -> None:
    await register(world)

    known = [(await login(world, "alice", "guess")).status for _ in range(11)]
    unknown = [(await login(world, "nobody", "guess")).status for _ in range(11)]

    assert known == unknown == [400] * 10 + [429]


@pytest.mark.parametrize("attempts", [11])
async def test_brute_force_on_codes_is_stopped_whatever_the_password(world: World, attempts: int) -> None:
    alice = await register(world)
    secret, _ = await enable(world, alice)

    statuses = []
    for _ in range(attempts):
        ticket = (await login(world)).ok()["ticket"]
        answer = await world.request("POST", "/auth/mfa/totp", json={"ticket": ticket, "code": "zzzzzz"})
        statuses.append(answer.status)
    assert statuses == [400] * 10 + [429]
    disable = {"password": PASSWORD, "code": code(world, secret)}
    assert (await alice.post("/users/@me/mfa/totp/disable", json=disable)).status == 429


async def test_a_password_typed_as_a_name_is_not_kept(world: World) -> None:
    await login(world, "my secret password", "x")

    rows = await world.app.database.read(lambda tx: tx.all("SELECT * FROM sign_in_failures"))

    assert rows
    assert "secret" not in repr(rows)
