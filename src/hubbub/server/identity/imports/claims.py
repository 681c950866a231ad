"""Claims of placeholder accounts: a user proves with a code that an imported account is theirs (decisions/0128)."""

from collections.abc import Iterator
from typing import Final, NamedTuple

from hubbub.server.core.store import Tx
from hubbub.server.identity import users
from hubbub.server.identity.imports import placeholder_accounts, store

PAGE_SIZE: Final = 500


class OpenClaim(NamedTuple):
    """A placeholder account that no user has claimed."""

    user_id: int
    username: str
    code: str


def list_open(tx: Tx, guild_id: int) -> Iterator[OpenClaim]:
    """Yield the placeholder accounts of a guild that no user has claimed; bots cannot be claimed."""
    after_id = 0
    while rows := store.list_placeholders(tx, guild_id, after_id=after_id, limit=PAGE_SIZE):
        accounts = users.find_many(tx, [row.user_id for row in rows])
        for row in rows:
            account = accounts.get(row.user_id)
            if row.claimed_by is None and account is not None and not account.bot:
                yield OpenClaim(row.user_id, row.username, placeholder_accounts.find_code(tx, row.user_id))
        after_id = rows[-1].user_id
