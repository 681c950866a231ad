"""Outgoing mail with a real SMTP server, and the mailbox of rehearsals."""

import ssl
from pathlib import Path
from typing import Any

import pytest

from hubbub.server.commands import certificates
from hubbub.server.core.clock import ControlledClock
from hubbub.server.core.config import ConfigError, MailConfig
from hubbub.server.core.mail import Mail, Mailbox, MailError, MailRejected, SmtpMailer
from tests.smtp import SmtpReceiver, html_of, run_smtp_server, text_of
from tests.world import NOW_MS

MAIL = Mail(to="mary@example.org", subject="Grüße", text="Hello Mary\n", html="<p>Hello Mary</p>")


def new_mailer(receiver: SmtpReceiver, **settings: Any) -> SmtpMailer:
    """Return a mailer for a running server; `settings` are fields of MailConfig."""
    values = {"host": "127.0.0.1", "port": receiver.port, "security": "none", "sender": "Test Chat <chat@example.org>"}
    return SmtpMailer(MailConfig(**(values | settings)), ControlledClock(NOW_MS))


def issue_certificate(folder: Path) -> tuple[ssl.SSLContext, str]:
    """Return the TLS context of a server, and the path of the CA certificate that clients must trust."""
    files = certificates.issue(folder, ["127.0.0.1"])
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(files.certificate_path, files.key_path)
    return context, str(files.authority_path)


async def test_a_mail_has_text_and_html_and_complete_headers() -> None:
    async with run_smtp_server() as receiver:
        await new_mailer(receiver).send(MAIL)

    (received,) = receiver.mails
    assert (received["From"], received["To"]) == ("Test Chat <chat@example.org>", "mary@example.org")
    assert received["Subject"] == "Grüße"
    assert (text_of(received).strip(), html_of(received).strip()) == ("Hello Mary", "<p>Hello Mary</p>")
    assert received["Auto-Submitted"] == "auto-generated"
    assert received["Message-ID"].endswith("@example.org>")
    assert received["Date"].startswith("Wed, 18 Nov 2026")
    assert receiver.senders == ["chat@example.org"]


@pytest.mark.parametrize("security", ["starttls", "tls"])
async def test_the_connection_is_encrypted_and_the_server_is_verified(security: str, tmp_path: Path) -> None:
    context, authority = issue_certificate(tmp_path)
    async with run_smtp_server(tls_context=context, uses_implicit_tls=security == "tls") as receiver:
        await new_mailer(receiver, security=security, ca_file=authority).send(MAIL)
        with pytest.raises(MailError, match=r"(?i)certificate"):
            await new_mailer(receiver, security=security).send(MAIL)

    assert len(receiver.mails) == 1
    # aiosmtpd reports STARTTLS only; with implicit TLS the handshake above was the check.
    assert receiver.tls_flags == [True] or security == "tls"


async def test_a_server_without_starttls_receives_no_unencrypted_mail() -> None:
    async with run_smtp_server() as receiver:
        with pytest.raises(MailError, match="STARTTLS"):
            await new_mailer(receiver, security="starttls").send(MAIL)

    assert receiver.mails == []


async def test_the_mailer_logs_in(tmp_path: Path) -> None:
    context, authority = issue_certificate(tmp_path)
    tls = {"security": "starttls", "ca_file": authority}
    async with run_smtp_server(tls_context=context, requires_login=True) as receiver:
        await new_mailer(receiver, username="chat", password="secret", **tls).send(MAIL)
        with pytest.raises(MailError, match="Authentication"):
            await new_mailer(receiver, username="chat", password="wrong", **tls).check()

    assert receiver.logins[0] == ("chat", "secret")
    assert len(receiver.mails) == 1


@pytest.mark.parametrize(
    ("response", "error"),
    [("550 No such mailbox", MailRejected), ("450 Mailbox busy", MailError)],
)
async def test_a_rejected_recipient_is_permanent_only_with_a_permanent_code(
    response: str, error: type[Exception]
) -> None:
    async with run_smtp_server() as receiver:
        receiver.recipient_response = response
        with pytest.raises(error):
            await new_mailer(receiver).send(MAIL)


@pytest.mark.parametrize(("response", "error"), [("554 Spam", MailRejected), ("451 Try later", MailError)])
async def test_rejected_content_is_permanent_only_with_a_permanent_code(response: str, error: type[Exception]) -> None:
    async with run_smtp_server() as receiver:
        receiver.data_responses = [response]
        with pytest.raises(error):
            await new_mailer(receiver).send(MAIL)


async def test_an_unreachable_server_can_be_retried() -> None:
    async with run_smtp_server() as receiver:
        mailer = new_mailer(receiver)
    with pytest.raises(MailError):
        await mailer.send(MAIL)
    with pytest.raises(MailError):
        await mailer.check()


@pytest.mark.parametrize("address", ["no-domain", "a b@example.org", "a@b@example.org", "a@example.org\nBcc: x@y"])
async def test_an_invalid_address_is_rejected_before_a_connection(address: str) -> None:
    async with run_smtp_server() as receiver:
        with pytest.raises(MailRejected):
            await new_mailer(receiver).send(Mail(to=address, subject="", text="", html=""))

    assert receiver.recipient_count == 0


def test_an_unreadable_authority_names_the_setting(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"mail\.ca_file"):
        SmtpMailer(MailConfig(host="localhost", ca_file=str(tmp_path / "missing.pem")), ControlledClock(NOW_MS))


async def test_the_mailbox_keeps_mail_in_order() -> None:
    mailbox = Mailbox(ControlledClock(NOW_MS, running=False))
    await mailbox.send(MAIL)
    await mailbox.send(MAIL)

    assert [mail.id for mail in mailbox] == [1, 2]
    second_mail = mailbox.find(2)
    assert second_mail is not None
    assert (second_mail.to, second_mail.sent_at[:10]) == ("mary@example.org", "2026-11-18")
    mailbox.replace([])
    await mailbox.send(MAIL)
    assert [mail.id for mail in mailbox] == [3]
