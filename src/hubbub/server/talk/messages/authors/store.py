"""SQL for the authors of messages: users with their memberships."""

from collections.abc import Sequence
from typing import Any, Final

from hubbub.protocol.ids import Snowflake
from hubbub.server.core.batches import batches
from hubbub.server.core.call import Call
from hubbub.server.core.query_cache import CachedQuery
from hubbub.server.core.store import Tx, placeholders
from hubbub.server.identity import users
from hubbub.server.places import members
from hubbub.server.talk.messages.content.records import Author

_USER_COLUMN_COUNT: Final = len(users.PUBLIC_FIELDS)
AUTHOR_COLUMN_COUNT: Final = _USER_COLUMN_COUNT + len(members.VIEW_COLUMNS)
AUTHOR_GUILD_COLUMNS: Final = "g.verification_level, g.premium_tier, g.moderated"
"""Guild columns that `read_author` needs; the alias of the table is `g`."""


def author_columns(user: str = "u", member: str = "m") -> str:
    """Return the user and member columns that `read_author` needs, with `user` and `member` as table aliases."""
    return ", ".join(
        [*(f"{user}.{name}" for name in users.PUBLIC_FIELDS), *(f"{member}.{name}" for name in members.VIEW_COLUMNS)]
    )


_SELECT_AUTHOR: Final = (
    f"SELECT {author_columns()}, {AUTHOR_GUILD_COLUMNS} "
    "FROM users u LEFT JOIN members m ON m.guild_id = ? AND m.user_id = u.id LEFT JOIN guilds g ON g.id = ? WHERE u.id "
)
_SELECT_CHANNEL_AUTHOR: Final = CachedQuery(
    f"SELECT {author_columns()}, {AUTHOR_GUILD_COLUMNS} FROM users u LEFT JOIN channels c ON c.id = ? "
    "LEFT JOIN members m ON m.guild_id = c.guild_id AND m.user_id = u.id LEFT JOIN guilds g ON g.id = c.guild_id "
    "WHERE u.id = ?"
)


def find_author(tx: Tx, guild_id: int | None, user_id: int) -> Author | None:
    """Return a user with their membership in a guild in one query, or None if the user does not exist."""
    row = tx.one(f"{_SELECT_AUTHOR}= ?", guild_id, guild_id, user_id)
    return None if row is None else read_author(row[:AUTHOR_COLUMN_COUNT], row[AUTHOR_COLUMN_COUNT:])


def prefetch_channel_author(tx: Tx, channel_id: int, user_id: int) -> None:
    """Prefetch the query of `find_channel_author`, so that it needs no round trip of its own."""
    tx.prefetch(_SELECT_CHANNEL_AUTHOR, channel_id, user_id)


def find_channel_author(tx: Tx, channel_id: int, user_id: int) -> Author | None:
    """Return a user with their membership in the guild of a channel in one query, or None if the user does not exist."""
    row = tx.one(_SELECT_CHANNEL_AUTHOR, channel_id, user_id)
    return None if row is None else read_author(row[:AUTHOR_COLUMN_COUNT], row[AUTHOR_COLUMN_COUNT:])


def find_two_authors(tx: Tx, guild_id: int | None, user_id: int, other_id: int) -> tuple[Author | None, Author | None]:
    """Return two users with their memberships in one query; None for a user who does not exist."""
    rows = tx.all(f"{_SELECT_AUTHOR}IN (?, ?)", guild_id, guild_id, user_id, other_id)
    authors_by_id = {row[0]: read_author(row[:AUTHOR_COLUMN_COUNT], row[AUTHOR_COLUMN_COUNT:]) for row in rows}
    return authors_by_id.get(user_id), authors_by_id.get(other_id)


def read_author(author_values: Sequence[Any], guild_values: Sequence[Any]) -> Author:
    """Build an author from the values of the columns of `author_columns` and of `AUTHOR_GUILD_COLUMNS`."""
    return Author(
        users.UserRow(*author_values[:_USER_COLUMN_COUNT]),
        None if author_values[_USER_COLUMN_COUNT] is None else members.MemberRow(*author_values[_USER_COLUMN_COUNT:]),
        guild_values[0] or 0,
        guild_values[1] or 0,
        moderation_rule_bits=guild_values[2] or 0,
    )


def find_active_author_ids(call: Call, guild_id: int, user_ids: Sequence[int], since_ms: int) -> set[int]:
    """Return the IDs of the given users who sent a message in a guild since `since_ms` (Unix milliseconds)."""
    author_ids: set[int] = set()
    for batch in batches(user_ids):
        rows = call.tx.all(
            "SELECT DISTINCT m.author_id FROM messages m JOIN channels c ON c.id = m.channel_id "
            f"WHERE m.author_id IN ({placeholders(batch)}) AND m.id >= ? AND c.guild_id = ?",
            *batch,
            int(Snowflake.at(since_ms)),
            guild_id,
        )
        author_ids.update(row[0] for row in rows)
    return author_ids
