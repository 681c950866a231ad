"""The mail that a rehearsal keeps instead of sending it."""

from typing import Final

import msgspec

from hubbub.protocol import errors
from hubbub.protocol.control.declaration import control_operation


class ReceivedMail(msgspec.Struct, frozen=True, kw_only=True):
    """A mail in the mailbox of a rehearsal."""

    id: int
    """Number of the mail, ascending from 1."""
    sent_at: str
    """Time of the rehearsal's clock, ISO 8601."""
    to: str
    subject: str
    text: str
    html: str


class MailQuery(msgspec.Struct, kw_only=True):
    """Query parameters for listing mail."""

    to: str | None = None
    """Address of the recipient; null for all recipients."""


LIST_MAIL: Final = control_operation("GET", "/mail", errors.NOT_FOUND, query=MailQuery, result=list[ReceivedMail])
CLEAR_MAIL: Final = control_operation("DELETE", "/mail", errors.NOT_FOUND)
