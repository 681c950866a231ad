"""What the users slice tells upper floors, inside the transaction."""

import msgspec

from hubbub.protocol.ids import UserId
from hubbub.server.resources.users.store import UserRow


class UserChanged(msgspec.Struct, frozen=True):
    """A user changed how they look: the guilds they are in hear of it."""

    row: UserRow


class UserDeleted(msgspec.Struct, frozen=True):
    """An account is gone for good: whoever keeps something of it lets it go, and what others wrote to it stays."""

    user_id: UserId
