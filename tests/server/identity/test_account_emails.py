"""Email addresses of accounts: confirmation, change, password reset, limits, notices, and the mail queue.

One test runs a server that sends no mail."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import aiohttp
import msgspec
import pytest

from hubbub.protocol.control.mail import ReceivedMail
from hubbub.protocol.operator_roles import OperatorRole
from hubbub.server.app import App
from hubbub.server.core import relying_party
from hubbub.server.core.clock import ControlledClock
from hubbub.server.core.config import Config, MailConfig
from hubbub.server.core.jobs import list_failed
from hubbub.server.core.mail import Mailbox
from hubbub.server.identity.account_emails import limits
from tests.authenticator import Authenticator
from tests.fixtures.validator import ResponseMonitor
from tests.server.identity.accounts import PASSWORD, enable_totp, log_in, totp_code
from tests.server.identity.operators import create_operator
from tests.smtp import run_smtp_server, text_of, token_in
from tests.world import NOW_MS, Actor, World

MARY_EMAIL = "mary@example.org"
HOUR_MS = 3_600_000


async def start_world(config: Config, mail: MailConfig) -> tuple[App, aiohttp.ClientSession, World]:
    """Start a server with these mail settings; return its App, an HTTP client session and its World."""
    app = App(msgspec.structs.replace(config, mail=mail), clock=ControlledClock(NOW_MS, running=False))
    await app.start()
    client = aiohttp.ClientSession()
    return app, client, World(app, client)


@pytest.fixture
async def mail_world(store_config: Config, response_monitor: ResponseMonitor) -> AsyncIterator[World]:
    """A running server without users that keeps mail in memory."""
    app, client, world = await start_world(store_config, MailConfig(keep_in_memory=True))
    yield world
    await world.close()
    await client.close()
    await app.stop()


async def read_mails(world: World) -> list[ReceivedMail]:
    """Run all due jobs, and return the mails in the mailbox."""
    assert world.app.worker is not None
    await world.app.worker.run_due()
    assert isinstance(world.app.mailer, Mailbox)
    return list(world.app.mailer)


async def read_newest_mail(world: World, to: str, subject: str) -> ReceivedMail:
    """Run all due jobs and return the newest mail; assert its recipient, and that its subject contains `subject`."""
    mail = (await read_mails(world))[-1]
    assert mail.to == to
    assert subject in mail.subject
    return mail


async def register_with_email(world: World, username: str = "mary", email: str = MARY_EMAIL) -> Actor:
    """Register a user with an email address."""
    body = {"username": username, "password": PASSWORD, "email": email}
    headers = {"User-Agent": "phone/1"}
    session = (await world.request("POST", "/auth/register", json=body, headers=headers)).ok()
    return Actor(world, int(session["user_id"]), session["token"], username)


async def register_confirmed(world: World, username: str = "mary", email: str = MARY_EMAIL) -> Actor:
    """Register a user and confirm the email address in the same session."""
    user = await register_with_email(world, username, email)
    mail = await read_newest_mail(world, email, "Confirm")
    (await user.post("/auth/verify", json={"token": token_in(mail.text)})).ok()
    return user


async def request_reset(world: World, email: str = MARY_EMAIL) -> Any:
    """Request a password reset link for an email address."""
    return await world.request("POST", "/auth/forgot", json={"email": email})


# Confirmation


async def test_a_new_account_confirms_its_address(mail_world: World) -> None:
    mary = await register_with_email(mail_world)
    session = await mary.connect()
    mail = await read_newest_mail(mail_world, MARY_EMAIL, "Confirm")
    assert token_in(mail.text) == token_in(mail.html)

    assert (await mary.get("/users/@me/email")).ok() == {
        "email": MARY_EMAIL,
        "verified": False,
        "pending_email": None,
        "mail_enabled": True,
    }
    assert (await mail_world.request("POST", "/auth/verify", json={"token": token_in(mail.text)})).status == 204

    assert (await session.next("USER_UPDATE"))["verified"] is True
    own_user = (await mary.get("/users/@me")).ok()
    assert (own_user["email"], own_user["verified"]) == (MARY_EMAIL, True)


async def test_mail_is_in_the_language_of_its_recipient(mail_world: World) -> None:
    body = {"username": "mary", "password": PASSWORD, "email": MARY_EMAIL, "locale": "de"}
    session = (await mail_world.request("POST", "/auth/register", json=body)).ok()
    mail = await read_newest_mail(mail_world, MARY_EMAIL, "Bestätige")

    assert "mary" in mail.text
    assert '<html lang="de" dir="ltr">' in mail.html
    assert (await mail_world.request("POST", "/auth/verify", json={"token": token_in(mail.text)})).status == 204
    mary = Actor(mail_world, int(session["user_id"]), session["token"], "mary")
    (await mary.patch("/users/@me", json={"locale": "es-419"})).ok()
    (await request_reset(mail_world)).ok()
    assert '<html lang="es-419" dir="ltr">' in (await read_mails(mail_world))[-1].html


async def test_a_registration_with_an_unknown_locale_is_rejected(mail_world: World) -> None:
    body = {"username": "mary", "password": PASSWORD, "locale": "xx"}
    response = await mail_world.request("POST", "/auth/register", json=body)

    assert response.status == 400
    assert list(response.json["errors"]) == ["locale"]


async def test_a_link_works_once_and_for_24_hours(mail_world: World) -> None:
    mary = await register_with_email(mail_world)
    replaced_token = token_in((await read_newest_mail(mail_world, MARY_EMAIL, "Confirm")).text)
    (await mary.post("/auth/verify/resend")).ok()
    expired_token = token_in((await read_newest_mail(mail_world, MARY_EMAIL, "Confirm")).text)

    replaced_response = await mail_world.request("POST", "/auth/verify", json={"token": replaced_token})
    assert replaced_response.errors("token") == ["EMAIL_TOKEN_INVALID"]
    mail_world.clock.advance(24 * HOUR_MS)
    expired_response = await mail_world.request("POST", "/auth/verify", json={"token": expired_token})
    assert expired_response.errors("token") == ["EMAIL_TOKEN_INVALID"]

    (await mary.post("/auth/verify/resend")).ok()
    valid_token = token_in((await read_newest_mail(mail_world, MARY_EMAIL, "Confirm")).text)
    (await mail_world.request("POST", "/auth/verify", json={"token": valid_token})).ok()
    used_response = await mail_world.request("POST", "/auth/verify", json={"token": valid_token})
    assert used_response.errors("token") == ["EMAIL_TOKEN_INVALID"]
    (await mary.post("/auth/verify/resend")).rejected(400, 0)


async def test_a_registration_does_not_reveal_that_an_address_has_an_account(mail_world: World) -> None:
    await register_confirmed(mail_world)

    other_actor = await register_with_email(mail_world, "eve")

    assert (await other_actor.get("/users/@me")).ok()["email"] == MARY_EMAIL
    mail = await read_newest_mail(mail_world, MARY_EMAIL, "already have an account")
    assert "eve" not in mail.text
    assert "token=" not in mail.text
    # The confirmed account keeps the address.
    assert (await log_in(mail_world, MARY_EMAIL)).ok()["user_id"] != str(other_actor.id)


async def test_only_one_of_two_accounts_can_confirm_an_address(mail_world: World) -> None:
    mary, eve = await register_with_email(mail_world), await register_with_email(mail_world, "eve")
    first_token, second_token = [token_in(mail.text) for mail in await read_mails(mail_world)]

    (await mail_world.request("POST", "/auth/verify", json={"token": first_token})).ok()

    rejected_response = await mail_world.request("POST", "/auth/verify", json={"token": second_token})
    assert rejected_response.errors("token") == ["EMAIL_ALREADY_REGISTERED"]
    verified_flags = [(await user.get("/users/@me")).ok()["verified"] for user in (mary, eve)]
    assert sorted(verified_flags) == [False, True]


@pytest.mark.one_postgres_case
@pytest.mark.parametrize(
    "address", ["mary", "a,b@example.org", "Mary <mary@example.org>", "mary@exa mple.org", "a@b@c"]
)
async def test_an_invalid_address_is_rejected(mail_world: World, address: str) -> None:
    body = {"username": "mary", "password": PASSWORD, "email": address}

    assert (await mail_world.request("POST", "/auth/register", json=body)).errors("email")


# Change


async def test_a_new_address_replaces_the_old_one_after_its_confirmation(mail_world: World) -> None:
    mary = await register_confirmed(mail_world)
    body = {"password": PASSWORD, "email": "New@example.org"}

    settings = (await mary.post("/users/@me/email", json=body)).ok()

    assert (settings["email"], settings["pending_email"]) == (MARY_EMAIL, "new@example.org")
    token = token_in((await read_newest_mail(mail_world, "new@example.org", "Confirm")).text)
    (await mail_world.request("POST", "/auth/verify", json={"token": token})).ok()
    settings = (await mary.get("/users/@me/email")).ok()
    assert (settings["email"], settings["verified"], settings["pending_email"]) == ("new@example.org", True, None)
    await read_newest_mail(mail_world, MARY_EMAIL, "email address at")


async def test_changing_the_address_requires_the_password(mail_world: World) -> None:
    mary = await register_confirmed(mail_world)

    response = await mary.post("/users/@me/email", json={"password": "guess", "email": "new@example.org"})

    assert response.errors("password") == ["PASSWORD_DOES_NOT_MATCH"]


async def test_a_link_to_an_abandoned_address_is_invalid(mail_world: World) -> None:
    mary = await register_confirmed(mail_world)
    (await mary.post("/users/@me/email", json={"password": PASSWORD, "email": "first@example.org"})).ok()
    token = token_in((await read_newest_mail(mail_world, "first@example.org", "Confirm")).text)
    (await mary.post("/users/@me/email", json={"password": PASSWORD, "email": "second@example.org"})).ok()

    response = await mail_world.request("POST", "/auth/verify", json={"token": token})

    assert response.errors("token") == ["EMAIL_TOKEN_INVALID"]


# Password reset


async def test_a_user_resets_a_forgotten_password(mail_world: World) -> None:
    mary = await register_confirmed(mail_world)

    assert (await request_reset(mail_world, "Mary@Example.org")).status == 204
    token = token_in((await read_newest_mail(mail_world, MARY_EMAIL, "Reset your password")).text)
    (await mail_world.request("POST", "/auth/reset", json={"token": token, "password": "new password"})).ok()

    (await mary.get("/users/@me")).rejected(401, 0)
    assert (await log_in(mail_world, "mary")).errors("login") == ["INVALID_LOGIN"]
    (await log_in(mail_world, "mary", "new password", user_agent="phone/1")).ok()
    await read_newest_mail(mail_world, MARY_EMAIL, "password at")
    used_response = await mail_world.request("POST", "/auth/reset", json={"token": token, "password": "other password"})
    assert used_response.errors("token") == ["EMAIL_TOKEN_INVALID"]


async def test_a_reset_link_expires_after_an_hour(mail_world: World) -> None:
    await register_confirmed(mail_world)
    await request_reset(mail_world)
    token = token_in((await read_newest_mail(mail_world, MARY_EMAIL, "Reset")).text)
    mail_world.clock.advance(HOUR_MS)

    response = await mail_world.request("POST", "/auth/reset", json={"token": token, "password": "new password"})

    assert response.errors("token") == ["EMAIL_TOKEN_INVALID"]


async def test_a_reset_keeps_the_second_factor(mail_world: World) -> None:
    mary = await register_confirmed(mail_world)
    secret, _ = await enable_totp(mail_world, mary)
    await request_reset(mail_world)
    token = token_in((await read_newest_mail(mail_world, MARY_EMAIL, "Reset")).text)

    (await mail_world.request("POST", "/auth/reset", json={"token": token, "password": "new password"})).ok()

    login = (await log_in(mail_world, "mary", "new password")).ok()
    assert (login["mfa"], login["token"]) == (True, None)
    body = {"ticket": login["ticket"], "code": totp_code(mail_world, secret)}
    (await mail_world.request("POST", "/auth/mfa/totp", json=body)).ok()


async def test_a_reset_cancels_a_pending_change_of_the_address(mail_world: World) -> None:
    mary = await register_confirmed(mail_world)
    body = {"email": "attacker@example.com", "password": PASSWORD}
    (await mary.post("/users/@me/email", json=body)).ok()
    change_token = token_in((await read_newest_mail(mail_world, "attacker@example.com", "Confirm")).text)
    await request_reset(mail_world)
    token = token_in((await read_newest_mail(mail_world, MARY_EMAIL, "Reset")).text)

    (await mail_world.request("POST", "/auth/reset", json={"token": token, "password": "new password"})).ok()

    response = await mail_world.request("POST", "/auth/verify", json={"token": change_token})
    assert response.errors("token") == ["EMAIL_TOKEN_INVALID"]
    session = (await log_in(mail_world, MARY_EMAIL, "new password")).ok()
    email = await mail_world.request("GET", "/users/@me/email", headers={"Authorization": session["token"]})
    assert (email.ok()["email"], email.ok()["pending_email"]) == (MARY_EMAIL, None)


async def test_a_reset_request_does_not_reveal_whether_an_account_exists(mail_world: World) -> None:
    await register_confirmed(mail_world)
    await register_with_email(mail_world, "eve", "unconfirmed@example.org")
    mail_count_before = len(await read_mails(mail_world))

    known_response, unknown_response, unconfirmed_response = [
        await request_reset(mail_world, address)
        for address in (MARY_EMAIL, "unknown@example.org", "unconfirmed@example.org")
    ]

    responses = [
        (response.status, response.body) for response in (known_response, unknown_response, unconfirmed_response)
    ]
    assert responses == [(204, b"")] * 3
    # A request stores one job and reads no account, so its duration does not depend on the address.
    assert [mail.to for mail in (await read_mails(mail_world))[mail_count_before:]] == [MARY_EMAIL]


async def test_a_changed_password_invalidates_reset_links(mail_world: World) -> None:
    mary = await register_confirmed(mail_world)
    await request_reset(mail_world)
    token = token_in((await read_newest_mail(mail_world, MARY_EMAIL, "Reset")).text)
    (await mary.post("/auth/password", json={"password": PASSWORD, "new_password": "another password"})).ok()

    response = await mail_world.request("POST", "/auth/reset", json={"token": token, "password": "new password"})

    assert response.errors("token") == ["EMAIL_TOKEN_INVALID"]


async def test_links_are_stored_as_hashes_and_not_in_jobs(mail_world: World) -> None:
    await register_confirmed(mail_world)
    await request_reset(mail_world)
    assert "token" not in str(await mail_world.app.database.read(lambda tx: tx.all("SELECT payload FROM jobs")))
    token = token_in((await read_newest_mail(mail_world, MARY_EMAIL, "Reset")).text)

    rows = await mail_world.app.database.read(lambda tx: tx.all("SELECT * FROM email_tokens"))

    assert len(rows) == 1
    assert token not in str(rows)


# Limits


@pytest.mark.parametrize("address", [MARY_EMAIL, "unknown@example.org"])
async def test_requests_per_address_are_limited_with_and_without_an_account(mail_world: World, address: str) -> None:
    await register_confirmed(mail_world)
    mail_world.clock.advance(limits.WINDOW_MS)

    for _ in range(limits.ADDRESS_MAILS_MAX):
        (await request_reset(mail_world, address)).ok()
    rejected_response = await request_reset(mail_world, address)

    assert rejected_response.rejected(429, 0)["retry_after"] == limits.WINDOW_MS / 1000
    mail_world.clock.advance(limits.WINDOW_MS)
    (await request_reset(mail_world, address)).ok()


async def test_requests_per_ip_address_are_limited(mail_world: World) -> None:
    for number in range(limits.IP_MAILS_MAX):
        (await request_reset(mail_world, f"user{number}@example.org")).ok()

    (await request_reset(mail_world, "another@example.org")).rejected(429, 0)


async def test_requests_per_account_are_limited(mail_world: World) -> None:
    mary = await register_confirmed(mail_world)
    for number in range(limits.ACCOUNT_MAILS_MAX):
        (await mary.post("/users/@me/email", json={"password": PASSWORD, "email": f"{number}@example.org"})).ok()

    body = {"password": PASSWORD, "email": "another@example.org"}
    (await mary.post("/users/@me/email", json=body)).rejected(429, 0)


async def test_registrations_above_the_limit_succeed_without_mail(mail_world: World) -> None:
    for number in range(limits.ADDRESS_MAILS_MAX + 1):
        await register_with_email(mail_world, f"user{number}")

    assert len(await read_mails(mail_world)) == limits.ADDRESS_MAILS_MAX


# Notices


async def test_a_login_from_a_new_client_is_reported(mail_world: World) -> None:
    await register_confirmed(mail_world)
    mail_count_before = len(await read_mails(mail_world))

    (await log_in(mail_world, "mary", user_agent="phone/1")).ok()
    assert len(await read_mails(mail_world)) == mail_count_before
    (await log_in(mail_world, "mary", user_agent="desktop/2")).ok()

    mail = await read_newest_mail(mail_world, MARY_EMAIL, "New login")
    assert "desktop/2" in mail.text
    assert "127.0.0.1" in mail.text
    (await log_in(mail_world, "mary", user_agent="desktop/2")).ok()
    assert len(await read_mails(mail_world)) == mail_count_before + 1


async def test_account_changes_are_reported(mail_world: World) -> None:
    mary = await register_confirmed(mail_world)

    (await mary.post("/auth/password", json={"password": PASSWORD, "new_password": PASSWORD})).ok()
    await read_newest_mail(mail_world, MARY_EMAIL, "password at")
    secret, _ = await enable_totp(mail_world, mary)
    await read_newest_mail(mail_world, MARY_EMAIL, "Two-factor authentication is on")
    body = {"password": PASSWORD, "code": totp_code(mail_world, secret)}
    (await mary.post("/users/@me/mfa/backup-codes", json=body)).ok()
    await read_newest_mail(mail_world, MARY_EMAIL, "Your backup codes")
    mail_world.clock.advance(30_000)
    body = {"password": PASSWORD, "code": totp_code(mail_world, secret)}
    (await mary.post("/users/@me/mfa/totp/disable", json=body)).ok()
    await read_newest_mail(mail_world, MARY_EMAIL, "Two-factor authentication is off")
    (await mary.post("/users/@me/delete", json={"password": PASSWORD})).ok()
    await read_newest_mail(mail_world, MARY_EMAIL, "was deleted")


async def test_passkeys_are_reported(mail_world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    party = relying_party.RelyingParty("chat.example", "https://chat.example")
    monkeypatch.setattr(relying_party, "find_relying_party", lambda web_url: party)
    authenticator = Authenticator(origin=party.origin, rp_id=party.id)
    mary = await register_confirmed(mail_world)

    challenge = (await mary.post("/users/@me/passkeys/challenge", json={"password": PASSWORD})).ok()
    body = {"ticket": challenge["ticket"], "name": "Laptop", "credential": authenticator.create(challenge["options"])}
    passkey = (await mary.post("/users/@me/passkeys", json=body)).ok()
    assert "Laptop" in (await read_newest_mail(mail_world, MARY_EMAIL, "A passkey was added")).text
    (await mary.post(f"/users/@me/passkeys/{passkey['id']}/delete", json={"password": PASSWORD})).ok()
    assert "Laptop" in (await read_newest_mail(mail_world, MARY_EMAIL, "A passkey was deleted")).text


async def test_suspension_and_deletion_by_an_operator_are_reported_in_the_language_of_the_user(
    mail_world: World,
) -> None:
    operator = await create_operator(mail_world, "olga", OperatorRole.MODERATOR)
    mary = await register_confirmed(mail_world)
    (await mary.patch("/users/@me", json={"locale": "de"})).ok()
    path = f"/admin/users/{mary.id}"

    (await operator.post(f"{path}/suspend", json={"reason": "Werbung"})).ok()
    mail = await read_newest_mail(mail_world, MARY_EMAIL, "gesperrt")
    assert "Werbung" in mail.text
    assert "/appeal" in mail.text
    (await operator.post(f"{path}/unsuspend", json={})).ok()
    (await operator.post(f"{path}/delete", json={"reason": "Spam", "grace_days": 3})).ok()
    mail = await read_newest_mail(mail_world, MARY_EMAIL, "wird gelöscht")
    assert "Spam" not in mail.text
    (await operator.post(f"{path}/restore", json={})).ok()
    await read_newest_mail(mail_world, MARY_EMAIL, "wird nicht gelöscht")


async def test_an_unconfirmed_address_receives_no_notices(mail_world: World) -> None:
    mary = await register_with_email(mail_world)
    mail_count_before = len(await read_mails(mail_world))

    (await mary.post("/auth/password", json={"password": PASSWORD, "new_password": PASSWORD})).ok()
    (await log_in(mail_world, "mary", user_agent="desktop/2")).ok()

    assert len(await read_mails(mail_world)) == mail_count_before


async def test_deleting_an_account_deletes_its_links_and_clients(mail_world: World) -> None:
    mary = await register_with_email(mail_world)
    await read_mails(mail_world)
    (await mary.post("/users/@me/delete", json={"password": PASSWORD})).ok()

    def count(tx: Any) -> int:
        return sum(
            len(tx.all(f"SELECT 1 FROM {table}")) for table in ("email_tokens", "email_changes", "known_clients")
        )

    assert await mail_world.app.database.read(count) == 0


# Without mail


async def test_without_mail_links_are_rejected_and_addresses_change_immediately(world: World) -> None:
    mary = await register_with_email(world)

    assert "does not send mail" in (await request_reset(world)).rejected(403, 0)["message"]
    (await mary.post("/auth/verify/resend")).rejected(403, 0)
    settings = (await mary.post("/users/@me/email", json={"password": PASSWORD, "email": "new@example.org"})).ok()
    assert settings == {"email": "new@example.org", "verified": False, "pending_email": None, "mail_enabled": False}
    await register_with_email(world, "eve")
    taken_response = await mary.post("/users/@me/email", json={"password": PASSWORD, "email": MARY_EMAIL})
    assert taken_response.errors("email") == ["EMAIL_ALREADY_REGISTERED"]


# The queue


async def test_mail_is_retried_until_the_server_accepts_it(store_config: Config) -> None:
    async with run_smtp_server() as receiver:
        settings = MailConfig(host="127.0.0.1", port=receiver.port, security="none", sender="chat@example.org")
        app, client, world = await start_world(store_config, settings)
        assert app.worker is not None
        receiver.data_responses = ["451 Try later", "451 Try later"]
        await register_with_email(world)
        await app.worker.run_due()
        assert receiver.mails == []
        for delay_ms in (1_000, 2_000):
            world.clock.advance(delay_ms)
            await app.worker.run_due()

        (mail,) = receiver.mails
        assert mail["To"] == MARY_EMAIL
        (await world.request("POST", "/auth/verify", json={"token": token_in(text_of(mail))})).ok()
        await world.close()
        await client.close()
        await app.stop()


async def test_a_rejected_recipient_is_not_retried_and_an_old_reset_is_dropped(store_config: Config) -> None:
    async with run_smtp_server() as receiver:
        settings = MailConfig(host="127.0.0.1", port=receiver.port, security="none", sender="chat@example.org")
        app, client, world = await start_world(store_config, settings)
        assert app.worker is not None
        await register_with_email(world)
        await app.worker.run_due()
        token = token_in(text_of(receiver.mails[0]))
        (await world.request("POST", "/auth/verify", json={"token": token})).ok()
        receiver.recipient_response = "550 No such mailbox"
        await request_reset(world)
        await app.worker.run_due()
        failed_jobs = await app.database.read(list_failed)
        assert [job.kind for job in failed_jobs] == ["send_reset"]
        recipient_count = receiver.recipient_count

        receiver.recipient_response = "450 Busy"
        await request_reset(world)
        await app.worker.run_due()
        assert receiver.recipient_count == recipient_count + 1
        world.clock.advance(HOUR_MS)
        await app.worker.run_due()
        assert receiver.recipient_count == recipient_count + 1
        assert await app.database.read(lambda tx: tx.all("SELECT 1 FROM jobs WHERE state = 'waiting'")) == []
        await world.close()
        await client.close()
        await app.stop()


async def test_a_slow_mail_server_does_not_delay_requests(store_config: Config) -> None:
    stuck_server = await asyncio.start_server(lambda reader, writer: asyncio.sleep(3600), "127.0.0.1", 0)
    port = stuck_server.sockets[0].getsockname()[1]
    settings = MailConfig(host="127.0.0.1", port=port, security="none", sender="chat@example.org", timeout_ms=200)
    app, client, world = await start_world(store_config, settings)

    mary = await register_with_email(world)

    (await mary.get("/users/@me")).ok()
    await world.close()
    await client.close()
    await app.stop()
    stuck_server.close()
