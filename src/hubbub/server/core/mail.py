"""Outgoing mail: the interface of a mailer, the SMTP client, and the mailbox of a rehearsal.

Only jobs send mail, so that a slow or unreachable SMTP server delays no request and every mail is retried.
"""

import asyncio
import ssl
from collections import deque
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from email.errors import MessageError
from email.headerregistry import Address
from email.message import EmailMessage
from email.utils import format_datetime, make_msgid, parseaddr
from typing import TYPE_CHECKING, Final, Protocol

import msgspec

from hubbub.protocol import codec
from hubbub.protocol.control.mail import ReceivedMail
from hubbub.server.core.clock import Clock
from hubbub.server.core.config import Config, ConfigError
from hubbub.server.core.config_sections import MailConfig

if TYPE_CHECKING:
    import aiosmtplib

MAILBOX_MAILS_MAX: Final = 500
"""Maximum number of mails that the mailbox of a rehearsal keeps."""
SMTP_CONNECTIONS_MAX: Final = 8
"""Maximum number of simultaneous connections to the SMTP server."""


class Mail(msgspec.Struct, frozen=True, kw_only=True):
    """A mail to one recipient, in plain text and HTML."""

    to: str
    """Address of the recipient."""
    subject: str
    text: str
    html: str


class MailError(Exception):
    """The SMTP server is not configured, is unreachable or did not accept a mail; a later attempt may succeed."""


class MailRejected(Exception):
    """An address of a mail is invalid, or the SMTP server rejected the recipient or the content permanently."""


class Mailer(Protocol):
    """The interface that jobs use to send mail."""

    async def send(self, mail: Mail) -> None:
        """Send a mail. Raise MailError if a retry may help, and MailRejected if it will not."""
        ...


class NoMailer:
    """The mailer of a server that is not configured to send mail."""

    async def send(self, mail: Mail) -> None:
        """Raise MailError; the mail is sent after the operator has configured an SMTP server."""
        raise MailError("mail.host is not set")


class Mailbox:
    """The mailer of a rehearsal, which keeps the newest mails in memory."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._mails: deque[ReceivedMail] = deque(maxlen=MAILBOX_MAILS_MAX)
        self._next_id = 1

    def __iter__(self) -> Iterator[ReceivedMail]:
        """Iterate over the mails, oldest first."""
        return iter(list(self._mails))

    async def send(self, mail: Mail) -> None:
        """Add a mail to the mailbox; a full mailbox drops its oldest mail."""
        received_mail = ReceivedMail(
            id=self._next_id,
            sent_at=codec.timestamp(self._clock.now_ms()),
            to=mail.to,
            subject=mail.subject,
            text=mail.text,
            html=mail.html,
        )
        self._next_id += 1
        self._mails.append(received_mail)

    def find(self, mail_id: int) -> ReceivedMail | None:
        """Return the mail with this number, or None."""
        return next((mail for mail in self._mails if mail.id == mail_id), None)

    def replace(self, mails: Iterable[ReceivedMail]) -> None:
        """Replace all mails; the number of the next mail follows the highest of them."""
        self._mails = deque(mails, maxlen=MAILBOX_MAILS_MAX)
        self._next_id = max((mail.id for mail in self._mails), default=self._next_id - 1) + 1


class SmtpMailer:
    """Sends mail over SMTP, with one connection per mail."""

    def __init__(self, config: MailConfig, clock: Clock) -> None:
        """Create a mailer. Raise ConfigError if the certificate authority cannot be read."""
        self._config = config
        self._clock = clock
        self._tls_context = new_tls_context(config)
        self._connection_slots = asyncio.Semaphore(SMTP_CONNECTIONS_MAX)

    async def send(self, mail: Mail) -> None:
        # The import is local, because most processes never send mail.
        import aiosmtplib

        message = self._build_message(mail)
        try:
            async with self._connection_slots, self._new_client() as client:
                await client.send_message(message, sender=parseaddr(self._config.sender or "")[1], recipients=[mail.to])
        except aiosmtplib.SMTPRecipientsRefused as error:
            if all(500 <= refusal.code < 600 for refusal in error.recipients):
                raise MailRejected(_describe_error(error)) from error
            raise MailError(_describe_error(error)) from error
        except aiosmtplib.SMTPDataError as error:
            if 500 <= error.code < 600:
                raise MailRejected(_describe_error(error)) from error
            raise MailError(_describe_error(error)) from error
        except aiosmtplib.SMTPNotSupported as error:
            # The address needs SMTPUTF8, or the server does not support STARTTLS or login.
            raise (MailError if mail.to.isascii() else MailRejected)(_describe_error(error)) from error
        except (aiosmtplib.SMTPException, OSError, TimeoutError) as error:
            raise MailError(_describe_error(error)) from error

    async def check(self) -> None:
        """Connect, encrypt and log in, but send nothing. Raise MailError if that fails."""
        import aiosmtplib

        try:
            async with self._new_client() as client:
                await client.noop()
        except (aiosmtplib.SMTPException, OSError, TimeoutError) as error:
            raise MailError(_describe_error(error)) from error

    def _new_client(self) -> "aiosmtplib.SMTP":
        import aiosmtplib

        config = self._config
        return aiosmtplib.SMTP(
            hostname=config.host,
            port=config.server_port,
            username=config.username,
            password=config.password,
            timeout=config.timeout_ms / 1000,
            use_tls=config.security == "tls",
            start_tls=config.security == "starttls",
            tls_context=None if config.security == "none" else self._tls_context,
        )

    def _build_message(self, mail: Mail) -> EmailMessage:
        name, address = parseaddr(self._config.sender or "")
        message = EmailMessage()
        try:
            message["From"] = Address(name, addr_spec=address)
            message["To"] = Address(addr_spec=mail.to)
        except (ValueError, IndexError, MessageError) as error:
            raise MailRejected(f"an address is invalid: {error}") from error
        message["Subject"] = mail.subject
        message["Date"] = format_datetime(datetime.fromtimestamp(self._clock.now_ms() / 1000, UTC))
        message["Message-ID"] = make_msgid(domain=address.rpartition("@")[2])
        # Automatic responders do not reply to such mail (RFC 3834).
        message["Auto-Submitted"] = "auto-generated"
        message.set_content(mail.text)
        message.add_alternative(mail.html, subtype="html")
        return message


def open_mailer(config: Config, clock: Clock) -> Mailer:
    """Return the mailer that the configuration selects. Raise ConfigError if it cannot be used."""
    if config.mail.host is not None:
        return SmtpMailer(config.mail, clock)
    return Mailbox(clock) if config.mail.keep_in_memory else NoMailer()


def new_tls_context(config: MailConfig) -> ssl.SSLContext:
    """Return the TLS context for the SMTP server. Raise ConfigError if `mail.ca_file` cannot be read."""
    try:
        return ssl.create_default_context(cafile=config.ca_file)
    except (OSError, ssl.SSLError) as error:
        problem = f"cannot be read as a PEM file: {error.strerror or error}"
        raise ConfigError("mail.ca_file", config.ca_file or "", problem) from error


def _describe_error(error: Exception) -> str:
    return f"{type(error).__name__}: {error}"[:500]
