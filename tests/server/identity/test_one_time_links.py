"""Tokens of one-time links are stored as hashes only, and appear neither in logs nor in referrers and pages of operators."""

import logging

import pytest

from hubbub.server.core.config import LogConfig, MailConfig
from hubbub.server.core.logs import Secrets
from hubbub.server.core.mail import Mailbox
from hubbub.server.core.registration_config import RegistrationConfig
from tests.pages import Browser
from tests.server.identity.accounts import PASSWORD, log_in, request_registration
from tests.server.identity.operators import create_operator
from tests.server.personal_rows import read_schema
from tests.smtp import token_in
from tests.world import World, run_with_settings, small_config

EMAIL = "mary@example.org"


async def read_mail(world: World, to: str) -> str:
    """Run all due jobs and return the text of the newest mail to an address."""
    await world.run_due_jobs()
    assert isinstance(world.app.mailer, Mailbox)
    return [mail.text for mail in world.app.mailer if mail.to == to][-1]


async def read_database(world: World) -> str:
    """Return all values of all tables."""
    return await world.write(
        lambda call: "\n".join(
            str(row) for table in sorted(read_schema()) for row in call.tx.all(f"SELECT * FROM {table}")
        )
    )


async def test_tokens_of_links_are_neither_stored_nor_logged(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    config = small_config(
        log=LogConfig(level="debug", requests=True, slow_ms=1),
        mail=MailConfig(keep_in_memory=True),
        registration=RegistrationConfig(mode="invite", allow_member_invites=True, member_invites_max=5),
    )
    async with run_with_settings(config) as world:
        olga, browser = await create_operator(world, "olga"), Browser(world)
        browser.sign_in_as(olga)
        tokens: dict[str, str] = {}

        created_invite = (await olga.post("/admin/registration-invites", json={"note": "For Mary"})).ok()
        tokens["invite"] = created_invite["code"]
        (await olga.post("/admin/registration-invites", json={"email": "carl@example.org"})).ok()
        tokens["mailed invite"] = (
            (await read_mail(world, "carl@example.org")).partition("/register?invite=")[2].split()[0]
        )
        (await request_registration(world, invite=tokens["invite"], email=EMAIL)).ok()
        tokens["confirmation"] = token_in(await read_mail(world, EMAIL))
        visitor = Browser(world)
        for path, name in (("/register?invite=", "mailed invite"), ("/confirm-email?token=", "confirmation")):
            page = await visitor.open(path + tokens[name])
            assert (page.status, page.headers["Referrer-Policy"]) == (200, "strict-origin")
        await visitor.submit(page, "Confirm email address")
        (await world.request("POST", "/auth/forgot", json={"email": EMAIL})).ok()
        tokens["reset"] = token_in(await read_mail(world, EMAIL))
        page = await visitor.open(f"/reset-password?token={tokens['reset']}")
        assert page.headers["Referrer-Policy"] == "strict-origin"
        assert tokens["reset"] not in str(page.links)
        (await visitor.submit(page, "Change password", password="short")).form("Change password")

        database = await read_database(world)
        operator_pages = [
            (await browser.open(path)).body for path in ("/admin/registrations", "/admin/audit-log", "/admin/users")
        ]
        operator_pages += [
            str((await olga.get("/admin/audit-log")).ok()),
            str((await olga.get("/admin/registration-invites")).ok()),
        ]

        assert "carl@example.org" in operator_pages[0]
        assert "mary" in database
        for name, token in tokens.items():
            assert token not in database, name
            assert token not in "".join(operator_pages), name
            assert token not in caplog.text, name
        (await log_in(world, "mary", PASSWORD)).ok()


async def test_a_page_without_secret_in_its_address_sends_its_path_to_this_server_only(world: World) -> None:
    assert (await Browser(world).open("/login")).headers["Referrer-Policy"] == "same-origin"


@pytest.mark.parametrize(
    "text",
    [
        "GET /register?invite=abcdefghijklmnopqrstuvwx failed",
        "https://chat.example.org/reset-password?token=abcdefghijklmnopqrstuvwx",
        "https://chat.example.org/confirm-email?token=abcdefghijklmnopqrstuvwx&a=1",
        "https://chat.example.org/activate?user_code=ABCD-EFGH abcdefghijklmnopqrstuvw",
    ],
)
def test_logs_do_not_contain_the_tokens_of_links(text: str) -> None:
    cleaned_text = Secrets().clean(text)

    assert "abcdefghijklmnopqrstuvwx" not in cleaned_text
    assert "ABCD-EFGH" not in cleaned_text
