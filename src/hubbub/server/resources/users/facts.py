"""What the users slice tells upper floors, inside the transaction."""

import msgspec

from hubbub.server.resources.users.store import UserRow


class UserChanged(msgspec.Struct, frozen=True):
    """A user changed how they look: the guilds they are in hear of it."""

    row: UserRow
