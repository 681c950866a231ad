"""An SMTP server (aiosmtpd) that records or rejects mail, and functions that read text, HTML and token of a mail."""

import asyncio
import email
import re
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from email.message import EmailMessage
from email.policy import default
from typing import Any

from aiosmtpd.smtp import SMTP, AuthResult, Envelope, LoginPassword, Session

ACCEPTED_RESPONSE = "250 OK"


class SmtpReceiver:
    """A running SMTP server and the mail it has received."""

    def __init__(self) -> None:
        self.mails: list[EmailMessage] = []
        self.senders: list[str] = []
        """Envelope senders, in the order of `mails`."""
        self.recipient_response = ACCEPTED_RESPONSE
        """Response to every RCPT command; each one except `ACCEPTED_RESPONSE` rejects the recipient."""
        self.data_responses: list[str] = []
        """Responses to the next mails, which are not recorded; if the list is empty, mails are accepted."""
        self.recipient_count = 0
        """Number of RCPT commands received."""
        self.logins: list[tuple[str, str]] = []
        self.tls_flags: list[bool] = []
        """Whether each mail arrived over TLS."""
        self.port = 0

    async def handle_RCPT(self, server: SMTP, session: Session, envelope: Envelope, address: str, options: Any) -> str:
        """Count a recipient and respond with `recipient_response`."""
        self.recipient_count += 1
        if self.recipient_response == ACCEPTED_RESPONSE:
            envelope.rcpt_tos.append(address)
        return self.recipient_response

    async def handle_DATA(self, server: SMTP, session: Session, envelope: Envelope) -> str:
        """Record a mail and accept it, or return the next of `data_responses`."""
        if self.data_responses:
            return self.data_responses.pop(0)
        assert isinstance(envelope.content, bytes)
        message = email.message_from_bytes(envelope.content, policy=default)
        assert isinstance(message, EmailMessage)
        self.mails.append(message)
        self.senders.append(str(envelope.mail_from))
        self.tls_flags.append(session.ssl is not None)
        return ACCEPTED_RESPONSE

    def authenticate(self, server: Any, session: Any, envelope: Any, mechanism: str, data: Any) -> AuthResult:
        """Record a login and accept it if the password is "secret"."""
        assert isinstance(data, LoginPassword)
        self.logins.append((data.login.decode(), data.password.decode()))
        return AuthResult(success=data.password == b"secret", handled=False)


@asynccontextmanager
async def run_smtp_server(
    *, tls_context: ssl.SSLContext | None = None, uses_implicit_tls: bool = False, requires_login: bool = False
) -> AsyncIterator[SmtpReceiver]:
    """Run a server on a free port and yield it.

    With `tls_context` the server requires STARTTLS, or with `uses_implicit_tls` uses TLS from the start."""
    receiver = SmtpReceiver()
    starttls_context = None if uses_implicit_tls else tls_context

    def new_protocol() -> SMTP:
        return SMTP(
            receiver,
            hostname="mail.test",
            tls_context=starttls_context,
            require_starttls=starttls_context is not None,
            auth_required=requires_login,
            auth_require_tls=tls_context is not None and not uses_implicit_tls,
            authenticator=receiver.authenticate,
        )

    server = await asyncio.get_running_loop().create_server(
        new_protocol, "127.0.0.1", 0, ssl=tls_context if uses_implicit_tls else None
    )
    receiver.port = server.sockets[0].getsockname()[1]
    try:
        yield receiver
    finally:
        server.close()
        await server.wait_closed()


def text_of(message: EmailMessage) -> str:
    """Return the plain text of a mail."""
    text_part = message.get_body(("plain",))
    assert text_part is not None
    return str(text_part.get_content())


def html_of(message: EmailMessage) -> str:
    """Return the HTML of a mail."""
    html_part = message.get_body(("html",))
    assert html_part is not None
    return str(html_part.get_content())


def token_in(text: str) -> str:
    """Return the token in the link of a mail's text or HTML."""
    match = re.search(r"token=([\w-]+)", text)
    assert match is not None, text
    return match[1]
