"""What the users slice tells upper floors, inside the transaction."""

from typing import Any

import msgspec

from hubbub.protocol.ids import UserId
from hubbub.server.resources.users.store import UserRow


class UserChanged(msgspec.Struct, frozen=True):
    """A user changed how they look: the guilds they are in hear of it."""

    row: UserRow
    tag_only: bool = False
    """That name and pictures stayed: guilds change the tags of many at once."""


class UserDeletionAsked(msgspec.Struct, frozen=True):
    """A person wants their account deleted: whoever knows why that cannot be raises."""

    user_id: UserId


class DataAsked(msgspec.Struct, frozen=True):
    """A person wants to see what is kept of them: each slice adds its part, by its name."""

    user_id: UserId
    records: dict[str, Any]


class UserDeleted(msgspec.Struct, frozen=True):
    """An account is gone for good: whoever keeps something of it lets it go, and what others wrote to it stays."""

    user_id: UserId
