"""Signals that the users slice sends inside the transaction."""

import msgspec

from hubbub.protocol.ids import UserId
from hubbub.server.identity.users.store import UserRow


class UserChanged(msgspec.Struct, frozen=True):
    """A user's profile or displayed guild tag changed. Listeners publish the change to other users."""

    row: UserRow
    is_tag_only: bool = False
    """Whether only the guild tag changed. Guilds change the tags of many users at once."""


class UserDeleting(msgspec.Struct, frozen=True):
    """An account is being deleted. Listeners delete its data, except messages that it sent or received."""

    user_id: UserId
