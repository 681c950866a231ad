"""Ports of the imports slice: the membership and the messages of a placeholder account."""

from collections.abc import Sequence

from hubbub.protocol.ids import UserId
from hubbub.server.core.call import Call
from hubbub.server.core.ports import multi_port, port
from hubbub.server.identity.imports.store import ImportedMessageKey


@port
def transfer_membership(call: Call, guild_id: int, placeholder_id: UserId, user_id: UserId) -> None:
    """Give a user the membership of a placeholder account, with its roles and its nickname.

    Raise an error if the user may not join the guild."""


@port
def list_authored_messages(call: Call, placeholder_id: UserId, limit: int) -> list[tuple[int, int]]:
    """Return the channel ID and message ID of at most `limit` messages whose author is a placeholder account."""


@multi_port
def reassign_messages(
    call: Call, guild_id: int, keys: Sequence[ImportedMessageKey], placeholder_id: UserId, user_id: UserId
) -> None:
    """Replace a placeholder account by a user in messages, or in the reactions or poll votes of these messages."""
