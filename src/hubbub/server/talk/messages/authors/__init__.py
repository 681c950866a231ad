"""Lookups of the authors of messages, and the columns of queries that join them, for this slice and other slices."""

from hubbub.server.talk.messages.authors.store import (
    AUTHOR_COLUMN_COUNT,
    AUTHOR_GUILD_COLUMNS,
    author_columns,
    find_active_author_ids,
    find_author,
    find_channel_author,
    find_two_authors,
    prefetch_channel_author,
    read_author,
)

__all__ = [
    "AUTHOR_GUILD_COLUMNS",
    "AUTHOR_COLUMN_COUNT",
    "author_columns",
    "find_active_author_ids",
    "find_author",
    "find_channel_author",
    "find_two_authors",
    "prefetch_channel_author",
    "read_author",
]
