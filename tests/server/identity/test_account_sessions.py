"""Login sessions, the password, the second factor, and login throttling."""

import asyncio
import base64
from typing import Any

import pytest

from hubbub.protocol.enums import CloseCode
from hubbub.protocol.resources import accounts as wire
from hubbub.server.identity.accounts.credentials import totp
from tests.server.identity.accounts import (
    PASSWORD,
    create_user_with_password,
    enable_totp,
    log_in,
    new_totp_secret,
    totp_code,
)
from tests.world import Actor, ApiResponse, World

MINUTE_MS = 60_000


# Login sessions


async def test_a_user_lists_their_login_sessions(world: World) -> None:
    alice = await create_user_with_password(world)
    world.clock.advance(MINUTE_MS)
    second_session = (await log_in(world)).ok()

    newest_session, oldest_session = (await alice.get("/auth/sessions")).ok()

    assert (newest_session["user_agent"], newest_session["current"], newest_session["ip"]) == (
        "desktop/2",
        False,
        "127.0.0.1",
    )
    assert (oldest_session["user_agent"], oldest_session["current"]) == ("phone/1", True)
    assert newest_session["created_at"] > oldest_session["created_at"]
    assert second_session["token"] not in str(newest_session)


async def test_a_session_can_be_ended_from_another_session(world: World) -> None:
    alice, mallory = await create_user_with_password(world), await create_user_with_password(world, "mallory")
    other_login = Actor(world, alice.id, (await log_in(world)).ok()["token"], "alice")
    gateway_session = await other_login.connect()
    [login_session] = [
        auth_session for auth_session in (await alice.get("/auth/sessions")).ok() if not auth_session["current"]
    ]

    (await mallory.delete(f"/auth/sessions/{login_session['id']}")).rejected(404, 10020)
    (await alice.delete(f"/auth/sessions/{login_session['id']}")).ok()

    (await other_login.get("/users/@me")).rejected(401, 0)
    assert await gateway_session.wait_closed() == CloseCode.AUTHENTICATION_FAILED
    (await alice.delete(f"/auth/sessions/{login_session['id']}")).rejected(404, 10020)
    assert len((await alice.get("/auth/sessions")).ok()) == 1


async def test_all_other_sessions_can_be_ended_together(world: World) -> None:
    alice = await create_user_with_password(world)
    other_logins = [Actor(world, alice.id, (await log_in(world)).ok()["token"], "alice") for _ in range(2)]

    (await alice.delete("/auth/sessions")).ok()

    (await alice.get("/users/@me")).ok()
    for other_login in other_logins:
        (await other_login.get("/users/@me")).rejected(401, 0)


async def test_bots_have_no_login_sessions(world: World) -> None:
    bot = await world.bot()

    (await bot.get("/auth/sessions")).rejected(403, 20001)


# The password


async def test_a_new_password_ends_every_other_session(world: World) -> None:
    alice = await create_user_with_password(world)
    other_login = Actor(world, alice.id, (await log_in(world)).ok()["token"], "alice")

    (await alice.post("/auth/password", json={"password": PASSWORD, "new_password": "battery staple"})).ok()

    (await alice.get("/users/@me")).ok()
    (await other_login.get("/users/@me")).rejected(401, 0)
    assert (await log_in(world)).errors("password") == ["INVALID_LOGIN"]
    (await log_in(world, password="battery staple")).ok()


async def test_changing_the_password_requires_the_old_one_and_a_long_new_one(world: World) -> None:
    alice = await create_user_with_password(world)

    wrong_password = await alice.post("/auth/password", json={"password": "guess", "new_password": "battery staple"})
    short_password = await alice.post("/auth/password", json={"password": PASSWORD, "new_password": "short"})

    assert wrong_password.errors("password") == ["PASSWORD_DOES_NOT_MATCH"]
    assert short_password.errors("new_password")
    (await log_in(world)).ok()


# The second factor


async def test_a_login_with_an_authenticator_requires_its_code(world: World) -> None:
    alice = await create_user_with_password(world)
    session = await alice.connect()
    secret, _ = await enable_totp(world, alice)
    assert (await session.next("USER_UPDATE"))["mfa_enabled"] is True

    login_result = (await log_in(world)).ok()
    assert (login_result["token"], login_result["mfa"]) == (None, True)
    body = {"ticket": login_result["ticket"], "code": totp_code(world, secret)}
    token_result = (await world.request("POST", "/auth/mfa/totp", json=body)).ok()

    own_user = (await Actor(world, alice.id, token_result["token"], "alice").get("/users/@me")).ok()
    assert own_user["mfa_enabled"] is True


async def test_codes_of_adjacent_steps_are_accepted_once(world: World) -> None:
    alice = await create_user_with_password(world)
    secret, _ = await enable_totp(world, alice)
    world.clock.advance(MINUTE_MS)

    async def try_code(code: str) -> ApiResponse:
        ticket = (await log_in(world)).ok()["ticket"]
        return await world.request("POST", "/auth/mfa/totp", json={"ticket": ticket, "code": code})

    assert (await try_code(totp_code(world, secret, -2))).errors("code") == ["MFA_INVALID_CODE"]
    (await try_code(totp_code(world, secret, -1))).ok()
    (await try_code(totp_code(world, secret))).ok()
    assert (await try_code(totp_code(world, secret))).errors("code") == ["MFA_INVALID_CODE"]
    (await try_code(totp_code(world, secret, 1))).ok()
    # A code of an earlier step stays invalid after the code of a later step was used.
    assert (await try_code(totp_code(world, secret))).errors("code") == ["MFA_INVALID_CODE"]


async def test_a_backup_code_works_once(world: World) -> None:
    alice = await create_user_with_password(world)
    _, backup_codes = await enable_totp(world, alice)
    assert len(set(backup_codes)) == 10

    async def try_code(code: str) -> ApiResponse:
        ticket = (await log_in(world)).ok()["ticket"]
        return await world.request("POST", "/auth/mfa/totp", json={"ticket": ticket, "code": code})

    (await try_code(backup_codes[0].upper().replace("-", " "))).ok()
    assert (await try_code(backup_codes[0])).errors("code") == ["MFA_INVALID_CODE"]
    (await try_code(backup_codes[1])).ok()


async def test_a_ticket_expires_with_its_use_and_after_five_minutes(world: World) -> None:
    alice = await create_user_with_password(world)
    secret, _ = await enable_totp(world, alice)
    used_ticket = (await log_in(world)).ok()["ticket"]
    unused_ticket = (await log_in(world)).ok()["ticket"]
    (await world.request("POST", "/auth/mfa/totp", json={"ticket": used_ticket, "code": totp_code(world, secret)})).ok()

    for expired_ticket, wait_ms in ((used_ticket, 30_000), (unused_ticket, 300_000)):
        world.clock.advance(wait_ms)
        response = await world.request(
            "POST", "/auth/mfa/totp", json={"ticket": expired_ticket, "code": totp_code(world, secret)}
        )
        assert response.errors("ticket") == ["MFA_INVALID_TICKET"]


async def test_enabling_an_authenticator_requires_a_valid_code_and_password(world: World) -> None:
    alice = await create_user_with_password(world)
    secret = new_totp_secret()
    valid_body: dict[str, Any] = {"password": PASSWORD, "secret": secret, "code": totp_code(world, secret)}

    async def try_enable(**fields: str) -> ApiResponse:
        return await alice.post("/users/@me/mfa/totp/enable", json=valid_body | fields)

    assert (await try_enable(code="000000" if valid_body["code"] != "000000" else "111111")).errors("code")
    assert (await try_enable(password="guess")).errors("password") == ["PASSWORD_DOES_NOT_MATCH"]
    assert (await try_enable(secret="1" * 32)).errors("secret") == ["STRING_TYPE_REGEX"]
    await enable_totp(world, alice)
    assert (await try_enable()).errors("secret") == ["MFA_ALREADY_ENABLED"]


async def test_disabling_an_authenticator_requires_password_and_code(world: World) -> None:
    alice = await create_user_with_password(world)
    secret, _ = await enable_totp(world, alice)

    wrong_code = await alice.post("/users/@me/mfa/totp/disable", json={"password": PASSWORD, "code": "abcdef"})
    assert wrong_code.errors("code") == ["MFA_INVALID_CODE"]
    body = {"password": PASSWORD, "code": totp_code(world, secret)}
    (await alice.post("/users/@me/mfa/totp/disable", json=body)).ok()

    assert (await log_in(world)).ok()["token"]


async def test_the_codes_match_rfc_6238() -> None:
    secret = base64.b32encode(b"12345678901234567890").decode()

    # RFC 6238, appendix B, the last six of eight digits.
    assert totp.code_at(secret, 59 // 30) == "287082"
    assert totp.code_at(secret, 1_111_111_109 // 30) == "081804"
    assert totp.code_at(secret, 20_000_000_000 // 30) == "353130"


# Throttling


async def test_brute_force_on_a_username_is_throttled_for_a_while(world: World) -> None:
    await create_user_with_password(world)

    for _ in range(10):
        assert (await log_in(world, password="guess")).status == 400
    throttled_response = await log_in(world)
    assert (throttled_response.status, throttled_response.headers["Retry-After"]) == (429, "900")

    world.clock.advance(15 * MINUTE_MS)
    (await log_in(world)).ok()


async def test_the_username_and_the_email_address_share_the_throttle(world: World) -> None:
    await create_user_with_password(world)
    await world.write(lambda call: call.tx.run("UPDATE users SET email = 'a@example.org' WHERE username = 'alice'"))

    statuses = [(await log_in(world, ("alice", "a@example.org")[number % 2], "guess")).status for number in range(12)]

    assert statuses == [400] * 10 + [429] * 2
    assert (await log_in(world, "a@example.org")).status == 429


async def test_concurrent_login_attempts_do_not_bypass_the_throttle(
    world: World,
) -> None:
    await create_user_with_password(world)

    responses = await asyncio.gather(*(log_in(world, password=f"guess {number}") for number in range(16)))

    statuses = [response.status for response in responses]
    assert set(statuses) == {400, 429}
    assert statuses.count(400) <= 10


async def test_a_successful_login_resets_the_failure_count(world: World) -> None:
    await create_user_with_password(world)

    for _ in range(3):
        for _ in range(5):
            await log_in(world, password="guess")
        (await log_in(world)).ok()


async def test_brute_force_over_many_usernames_is_throttled_by_ip_address(world: World) -> None:
    await create_user_with_password(world)
    await log_in(world, "unknown", "guess")
    await world.write(
        lambda call: call.tx.run("UPDATE sign_in_failures SET failures = 99 WHERE key LIKE ?", "address:%")
    )

    assert (await log_in(world, "unknown1", "guess")).status == 400
    await world.write(
        lambda call: call.tx.run("UPDATE sign_in_failures SET failures = 100 WHERE key LIKE ?", "address:%")
    )
    assert (await log_in(world, "unknown2", "guess")).status == 429
    assert (await log_in(world)).status == 429


async def test_throttling_does_not_reveal_which_usernames_exist(world: World) -> None:
    await create_user_with_password(world)

    known_statuses = [(await log_in(world, "alice", "guess")).status for _ in range(11)]
    unknown_statuses = [(await log_in(world, "unknown", "guess")).status for _ in range(11)]

    assert known_statuses == unknown_statuses == [400] * 10 + [429]


async def test_brute_force_on_codes_is_throttled_despite_the_right_password(world: World) -> None:
    alice = await create_user_with_password(world)
    secret, _ = await enable_totp(world, alice)

    statuses = []
    for _ in range(11):
        ticket = (await log_in(world)).ok()["ticket"]
        response = await world.request("POST", "/auth/mfa/totp", json={"ticket": ticket, "code": "zzzzzz"})
        statuses.append(response.status)
    assert statuses == [400] * 10 + [429]
    disable_body = {"password": PASSWORD, "code": totp_code(world, secret)}
    assert (await alice.post("/users/@me/mfa/totp/disable", json=disable_body)).status == 429


async def test_a_password_entered_as_username_is_not_stored(world: World) -> None:
    await log_in(world, "my secret password", "x")

    rows = await world.app.database.read(lambda tx: tx.all("SELECT * FROM sign_in_failures"))

    assert rows
    assert "secret" not in repr(rows)


async def test_the_oldest_sessions_end_above_the_limit(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(wire, "SESSIONS_MAX", 2)
    await create_user_with_password(world)
    tokens = [(await log_in(world)).ok()["token"] for _ in range(3)]

    statuses = [(await world.request("GET", "/users/@me", headers={"Authorization": token})).status for token in tokens]

    assert statuses == [401, 200, 200]


async def test_the_oldest_mfa_tickets_end_above_the_limit(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(wire, "MFA_TICKETS_MAX", 2)
    alice = await create_user_with_password(world)
    await enable_totp(world, alice)
    tickets = []
    for _ in range(3):
        tickets.append((await log_in(world)).ok()["ticket"])
        world.clock.advance(1000)

    async def verify(ticket: str) -> list[str]:
        response = await world.request("POST", "/auth/mfa/totp", json={"ticket": ticket, "code": "zzzzzz"})
        return list(response.json["errors"])

    assert [await verify(ticket) for ticket in tickets] == [["ticket"], ["code"], ["code"]]


async def test_a_new_secret_comes_with_its_qr_code(world: World) -> None:
    alice = await world.user("alice")

    created_secret = (await alice.post("/users/@me/mfa/totp/secret")).ok()

    assert len(totp.clean_secret(created_secret["secret"]) or "") == 32
    assert created_secret["otpauth_url"].startswith(f"otpauth://totp/Hubbub%3Aalice?secret={created_secret['secret']}&")
    code = created_secret["qr_code"]
    # A QR code of version v has 17 + 4v modules in each row, and a border of 4 modules on each side.
    assert (code["size"] - 8 - 17) % 4 == 0
    assert code["path"].startswith("M4 4h7v1h-7z")
    other_secret = (await alice.post("/users/@me/mfa/totp/secret")).ok()
    assert other_secret["secret"] != created_secret["secret"]
    assert (await alice.get("/users/@me")).ok()["mfa_enabled"] is False
