"""Signals that the users slice raises inside the transaction."""

from typing import Any

import msgspec

from hubbub.protocol.ids import UserId
from hubbub.server.identity.users.store import UserRow


class UserChanged(msgspec.Struct, frozen=True):
    """Raised after a user's profile changed, so that their guilds publish it."""

    row: UserRow
    tag_only: bool = False
    """Whether only the guild tag changed. Guilds change the tags of many users at once."""


class UserDeletionRequested(msgspec.Struct, frozen=True):
    """Raised before a user deletes their account; a listener that forbids it raises an error."""

    user_id: UserId


class DataExportRequested(msgspec.Struct, frozen=True):
    """Raised to export a user's data; each slice adds its records under its own name."""

    user_id: UserId
    records: dict[str, Any]


class UserDeleted(msgspec.Struct, frozen=True):
    """Raised when an account is deleted; listeners delete its data. Messages of other users to it stay."""

    user_id: UserId
