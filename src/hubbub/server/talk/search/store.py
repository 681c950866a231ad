"""SQL for the search index (FTS5 on SQLite, tsvector and GIN on PostgreSQL) and for its state.

Each guild and each private channel has its own index after its first search. The ID of an index, in columns named
`guild_id`, is the ID of the guild or private channel (decisions/0123)."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Final, NamedTuple

import msgspec

from hubbub.protocol.enums import THREAD_TYPES, ChannelType
from hubbub.server.core.batches import batches
from hubbub.server.core.query_cache import CachedQuery
from hubbub.server.core.store import Tx, placeholders
from hubbub.server.talk.search import documents
from hubbub.server.talk.search.documents import Document
from hubbub.server.talk.search.tokens import Phrase, window_size

TABLES: Final = (
    "search_builds",
    "search_changes",
    "search_documents",
    "search_guilds",
    "search_terms",
)
"""Tables that only this slice writes."""
READS: Final = {
    "channels": "searchable channels and threads",
    "messages": "the last message of a thread, by which threads are sorted",
    "thread_members": "private threads that the caller joined",
    "users": "bots among authors",
}
"""Tables of other slices that this slice reads, with the reason."""


_THREAD_TYPES: Final = f"({', '.join(str(int(thread_type)) for thread_type in sorted(THREAD_TYPES))})"
"""SQL list of the channel types that are threads."""

_POSITION_MAX: Final = 1 << 30
"""A word position greater than the position of any word of a message."""


class Query(msgspec.Struct, frozen=True, kw_only=True):
    """A query for messages of one index."""

    index_id: int
    phrases: tuple[Phrase, ...] = ()
    """Words and phrases that must all be present."""
    slop: int = 0
    """Maximum number of other words among the matched words."""
    required_groups: tuple[tuple[str, ...], ...] = ()
    """Groups of marks; one mark of each group must be present."""
    excluded_marks: tuple[str, ...] = ()
    """Marks that must not be present."""
    private_thread_marks: tuple[str, ...] | None = None
    """Marks of which one must be present on messages in private threads; None searches all private threads."""
    after_id: int = 0
    """Lower bound of message IDs, exclusive."""
    before_id: int | None = None
    """Upper bound of message IDs, exclusive; None for no bound."""

    @property
    def needs_proximity(self) -> bool:
        """Whether the query has several words, which must be near each other."""
        return sum(len(phrase) for phrase in self.phrases) > 1


class IndexState(NamedTuple):
    """The progress of an index: whether it is built, and whether it is up to date."""

    is_ready: bool
    """Whether all existing messages are indexed."""
    document_count: int
    """Number of indexed messages while the index is not ready."""
    has_pending_changes: bool
    """Whether there are changes that are not indexed yet."""


# Indexes


def find_state(tx: Tx, index_id: int) -> IndexState | None:
    """Return the state of an index, or None if it does not exist."""
    row = tx.one(
        "SELECT b.guild_id, b.documents, EXISTS (SELECT 1 FROM search_changes c WHERE c.guild_id = g.guild_id) "
        "FROM search_guilds g LEFT JOIN search_builds b ON b.guild_id = g.guild_id WHERE g.guild_id = ?",
        index_id,
    )
    return None if row is None else IndexState(row[0] is None, row[1] or 0, bool(row[2]))


def insert_index(tx: Tx, index_id: int) -> bool:
    """Insert an index that is to be built, and return whether it is new."""
    if not tx.run("INSERT INTO search_guilds (guild_id) VALUES (?) ON CONFLICT (guild_id) DO NOTHING", index_id):
        return False
    tx.run("INSERT INTO search_builds (guild_id) VALUES (?)", index_id)
    return True


def add_indexed_count(tx: Tx, index_id: int, message_count: int) -> None:
    """Add `message_count` to the number of indexed messages of an index."""
    tx.run("UPDATE search_builds SET documents = documents + ? WHERE guild_id = ?", message_count, index_id)


def finish_build(tx: Tx, index_id: int) -> None:
    """Mark an index as complete."""
    tx.run("DELETE FROM search_builds WHERE guild_id = ?", index_id)


def is_building(tx: Tx, index_id: int) -> bool:
    """Return whether existing messages are still to be indexed."""
    return tx.value("SELECT 1 FROM search_builds WHERE guild_id = ?", index_id) is not None


def delete_index(tx: Tx, index_id: int) -> None:
    """Delete the state of an index. Its documents are deleted with its channels."""
    for table in ("search_guilds", "search_builds", "search_changes"):
        tx.run(f"DELETE FROM {table} WHERE guild_id = ?", index_id)


def find_next_channel_id(tx: Tx, index_id: int, after_id: int) -> int | None:
    """Return the ID of the next channel or thread of an index after the ID `after_id`, or None."""
    channel_id: int | None = tx.value("SELECT MIN(id) FROM channels WHERE guild_id = ? AND id > ?", index_id, after_id)
    if channel_id is None and after_id < index_id:
        channel_id = tx.value("SELECT id FROM channels WHERE id = ? AND guild_id IS NULL", index_id)
    return channel_id


# Changes

_SELECT_PENDING: Final = CachedQuery("SELECT pending FROM search_guilds WHERE guild_id = ?")
_INSERT_CHANGE: Final = (
    "INSERT INTO search_changes (guild_id, message_id, channel_id) VALUES (?, ?, ?) "
    "ON CONFLICT (guild_id, message_id) DO NOTHING"
)


def record_change(tx: Tx, index_id: int, channel_id: int, message_id: int) -> bool:
    """Record a changed message if its index exists; return whether a job must be scheduled.

    This runs for every message, so a message without an index costs one small query only."""
    pending_flag = tx.value(_SELECT_PENDING, index_id)
    if pending_flag is None:
        return False
    return tx.run(_INSERT_CHANGE, index_id, message_id, channel_id) > 0 and not pending_flag


def set_pending(tx: Tx, index_id: int, is_pending: bool) -> None:
    """Record whether a job to index changes is scheduled."""
    tx.run("UPDATE search_guilds SET pending = ? WHERE guild_id = ?", int(is_pending), index_id)


def take_changes(tx: Tx, index_id: int, limit: int) -> list[tuple[int, int]]:
    """Delete a batch of recorded changes and return them as (channel ID, message ID)."""
    rows = tx.all(
        "SELECT channel_id, message_id FROM search_changes WHERE guild_id = ? ORDER BY message_id LIMIT ?",
        index_id,
        limit,
    )
    for message_ids in batches([message_id for _, message_id in rows]):
        tx.run(
            f"DELETE FROM search_changes WHERE guild_id = ? AND message_id IN ({placeholders(message_ids)})",
            index_id,
            *message_ids,
        )
    return [(channel_id, message_id) for channel_id, message_id in rows]


# Documents

_COLUMNS: Final = ", ".join(Document._fields)
_DELETE_TERMS: Final = "INSERT INTO search_terms (search_terms, rowid, terms) VALUES ('delete', ?, ?)"


def find_documents(tx: Tx, message_ids: Sequence[int]) -> dict[int, Document]:
    """Return documents by ID; IDs that are not indexed are absent."""
    documents_by_id: dict[int, Document] = {}
    for batch in batches(message_ids):
        for row in tx.all(f"SELECT {_COLUMNS} FROM search_documents WHERE id IN ({placeholders(batch)})", *batch):
            documents_by_id[row[0]] = Document(*row)
    return documents_by_id


def replace_documents(tx: Tx, message_ids: Sequence[int], new_documents: Iterable[Document]) -> None:
    """Replace the documents of `message_ids` by `new_documents`; documents without a replacement are deleted."""
    new_documents_by_id = {document.id: document for document in new_documents}
    old_documents_by_id = find_documents(tx, message_ids)
    _delete_documents(
        tx, [document for document in old_documents_by_id.values() if new_documents_by_id.get(document.id) != document]
    )
    _insert_documents(
        tx, [document for document in new_documents_by_id.values() if old_documents_by_id.get(document.id) != document]
    )


def delete_channel_documents(tx: Tx, channel_id: int, limit: int) -> int:
    """Delete up to `limit` documents of a channel and return their number."""
    rows = tx.fetch(
        Document, f"SELECT {_COLUMNS} FROM search_documents WHERE channel_id = ? ORDER BY id LIMIT ?", channel_id, limit
    )
    _delete_documents(tx, rows)
    return len(rows)


def filter_indexed_channels(tx: Tx, channel_ids: Sequence[int]) -> list[int]:
    """Return the IDs of channels that have documents."""
    indexed_ids: list[int] = []
    for batch in batches(channel_ids):
        rows = tx.all(
            f"SELECT DISTINCT channel_id FROM search_documents WHERE channel_id IN ({placeholders(batch)})", *batch
        )
        indexed_ids += [channel_id for (channel_id,) in rows]
    return indexed_ids


def _insert_documents(tx: Tx, new_documents: Sequence[Document]) -> None:
    if not new_documents:
        return
    if tx.dialect == "sqlite":
        tx.run_many(f"INSERT INTO search_documents ({_COLUMNS}) VALUES (?, ?, ?, ?, ?)", new_documents)
        # FTS5 inserts fastest in the order of row IDs.
        rows = sorted((document.id, " ".join(documents.build_terms(document))) for document in new_documents)
        tx.run_many("INSERT INTO search_terms (rowid, terms) VALUES (?, ?)", rows)
    else:
        tx.run_many(
            f"INSERT INTO search_documents ({_COLUMNS}, terms) VALUES (?, ?, ?, ?, ?, CAST(? AS tsvector))",
            [
                (*document, " ".join(f"'{term}'" for term in documents.build_terms(document)))
                for document in new_documents
            ],
        )


def _delete_documents(tx: Tx, old_documents: Sequence[Document]) -> None:
    if not old_documents:
        return
    if tx.dialect == "sqlite":
        # The FTS5 table is contentless, so deleting requires the original terms.
        rows = [(document.id, " ".join(documents.build_terms(document))) for document in old_documents]
        tx.run_many(_DELETE_TERMS, rows)
    for document_ids in batches([document.id for document in old_documents]):
        tx.run(f"DELETE FROM search_documents WHERE id IN ({placeholders(document_ids)})", *document_ids)


# Message authors


def filter_bots(tx: Tx, user_ids: Iterable[int]) -> set[int]:
    """Return the IDs of users who are bots."""
    distinct_ids = list(dict.fromkeys(user_ids))
    bot_ids: set[int] = set()
    for batch in batches(distinct_ids):
        rows = tx.all(f"SELECT id FROM users WHERE bot = 1 AND id IN ({placeholders(batch)})", *batch)
        bot_ids.update(user_id for (user_id,) in rows)
    return bot_ids


# Search


def find_message_ids(tx: Tx, query: Query, *, newest_first: bool, limit: int) -> list[int]:
    """Return the IDs of at most `limit` matching messages, ordered by time."""
    direction = "DESC" if newest_first else "ASC"
    if tx.dialect == "sqlite":
        id_condition = f"rowid > ?{'' if query.before_id is None else ' AND rowid < ?'}"
        joined_ids = _fetch_joined(
            tx,
            "SELECT group_concat(id) FROM (SELECT rowid AS id FROM search_terms "
            f"WHERE search_terms MATCH ? AND {id_condition} ORDER BY rowid {direction} LIMIT ?) AS found",
            _to_fts5(query),
            *_id_bounds(query),
            limit,
        )
        return list(map(int, joined_ids.split(","))) if joined_ids else []
    condition = "guild_id = ? AND terms @@ CAST(? AS tsquery) AND id > ?" + (
        "" if query.before_id is None else " AND id < ?"
    )
    parameters: tuple[Any, ...] = (query.index_id, _to_tsquery(query), *_id_bounds(query))
    if query.needs_proximity:
        # tsquery supports exact distances only, so proximity is checked for each message that has all words, in order
        # of time until enough are found: the limit counts hits (decisions/0023).
        proximity, proximity_parameters = _proximity_condition(query)
        condition += f" AND {proximity}"
        parameters += proximity_parameters
    joined_ids = _fetch_joined(
        tx,
        "SELECT string_agg(CAST(id AS text), ',') FROM "
        f"(SELECT id FROM search_documents AS candidates WHERE {condition} ORDER BY id {direction} LIMIT ?) AS found",
        *parameters,
        limit,
    )
    return list(map(int, joined_ids.split(","))) if joined_ids else []


def iterate_words(tx: Tx, message_ids: Sequence[int]) -> Iterator[tuple[int, list[str]]]:
    """Yield the ID and the words of each message, one message at a time to limit garbage collection."""
    joined_expression = "group_concat(id || ' ' || words, char(10))"
    if tx.dialect != "sqlite":
        joined_expression = "string_agg(id || ' ' || words, chr(10))"
    for batch in batches(message_ids):
        joined_documents = _fetch_joined(
            tx, f"SELECT {joined_expression} FROM search_documents WHERE id IN ({placeholders(batch)})", *batch
        )
        for document_text in joined_documents.split("\n") if joined_documents else ():
            message_id, *words = document_text.split(" ")
            yield int(message_id), words


def _fetch_joined(tx: Tx, sql: str, *parameters: Any) -> str | None:
    """Return many values as one text, or None without values; fetching thousands of rows would be slow (decisions/0003)."""
    joined_values: str | None = tx.value(sql, *parameters)
    return joined_values


def _id_bounds(query: Query) -> tuple[int, ...]:
    return (query.after_id,) if query.before_id is None else (query.after_id, query.before_id)


def _to_fts5(query: Query) -> str:
    """Return the query in FTS5 syntax."""
    index_prefix = documents.build_index_prefix(query.index_id)

    def quote_mark(mark: str) -> str:
        return f'"{documents.mark_term(index_prefix, mark)}"'

    conditions = []
    if query.phrases:
        phrases = [
            f'"{" ".join(documents.word_term(index_prefix, word) for word in phrase)}"' for phrase in query.phrases
        ]
        if len(phrases) == 1:
            conditions += phrases
        else:
            conditions.append(f"NEAR({' '.join(phrases)}, {window_size(query.phrases, query.slop)})")
    conditions += [f"({' OR '.join(quote_mark(mark) for mark in group)})" for group in query.required_groups]
    if not conditions:
        conditions.append(f'"{index_prefix}"')
    condition = " AND ".join(conditions)
    excluded_terms = [quote_mark(mark) for mark in query.excluded_marks]
    if query.private_thread_marks is not None:
        private_condition = quote_mark(documents.PRIVATE_THREAD_MARK)
        if query.private_thread_marks:
            private_condition = (
                f"({private_condition} NOT ({' OR '.join(quote_mark(mark) for mark in query.private_thread_marks)}))"
            )
        excluded_terms.append(private_condition)
    return f"({condition}) NOT ({' OR '.join(excluded_terms)})" if excluded_terms else condition


def _to_tsquery(query: Query) -> str:
    """Return the query as a PostgreSQL tsquery, without proximity."""
    index_prefix = documents.build_index_prefix(query.index_id)

    def quote_mark(mark: str) -> str:
        return f"'{documents.mark_term(index_prefix, mark)}'"

    conditions = [f"'{documents.word_term(index_prefix, word)}'" for phrase in query.phrases for word in phrase]
    conditions += [f"({' | '.join(quote_mark(mark) for mark in group)})" for group in query.required_groups]
    if not conditions:
        conditions.append(f"'{index_prefix}'")
    conditions += [f"!{quote_mark(mark)}" for mark in query.excluded_marks]
    if query.private_thread_marks is not None:
        private_condition = quote_mark(documents.PRIVATE_THREAD_MARK)
        if query.private_thread_marks:
            private_condition = (
                f"({private_condition} & !({' | '.join(quote_mark(mark) for mark in query.private_thread_marks)}))"
            )
        conditions.append(f"!{private_condition}")
    return " & ".join(conditions)


def _proximity_condition(query: Query) -> tuple[str, tuple[Any, ...]]:
    """Return the SQL equivalent of `tokens.is_near` for the message `candidates.id` on PostgreSQL, and its parameters.

    The SQL uses the window of `window_size`, in one pass from the last word backward, so the cost is linear in the
    length of the message."""
    position_queries, phrase_texts = [], []
    for number, phrase in enumerate(query.phrases):
        if len(phrase) == 1:
            positions_source = "unnest(array_positions(tokens, CAST(? AS text))) AS ordinal"
        else:
            word_run = f"string_agg(word, ' ') OVER (ORDER BY ordinal ROWS BETWEEN CURRENT ROW AND {len(phrase) - 1} FOLLOWING)"
            word_runs_query = (
                f"SELECT ordinal, {word_run} AS run FROM unnest(tokens) WITH ORDINALITY AS entry (word, ordinal)"
            )
            positions_source = f"({word_runs_query}) AS runs WHERE run = ?"
        position_queries.append(f"SELECT ordinal, {number} AS number, {len(phrase)} AS size FROM {positions_source}")
        phrase_texts.append(" ".join(phrase))
    next_positions = ", ".join(
        f"COALESCE(MIN(ordinal) FILTER (WHERE number = {phrase_number}) OVER back, {_POSITION_MAX})"
        for phrase_number in range(len(position_queries))
    )
    return (
        "EXISTS (SELECT 1 FROM (SELECT string_to_array(candidates.words, ' ') AS tokens) "
        f"AS text CROSS JOIN LATERAL (SELECT ordinal, size, GREATEST({next_positions}) AS last "
        f"FROM ({' UNION ALL '.join(position_queries)}) AS marks "
        "WINDOW back AS (ORDER BY ordinal DESC, number DESC ROWS UNBOUNDED PRECEDING)) AS spans WHERE last <= ordinal + size + ?)"
    ), (*phrase_texts, window_size(query.phrases, query.slop))


# Channels


class SearchedChannel(NamedTuple):
    """The columns of a guild channel that decide whether a search covers it."""

    type: int
    is_nsfw: bool
    """Whether the channel is age-restricted."""


def find_guild_channels(tx: Tx, guild_id: int) -> dict[int, SearchedChannel]:
    """Return every channel of a guild by ID, without threads."""
    rows = tx.all(f"SELECT id, type, nsfw FROM channels WHERE guild_id = ? AND type NOT IN {_THREAD_TYPES}", guild_id)
    return {channel_id: SearchedChannel(channel_type, bool(nsfw)) for channel_id, channel_type, nsfw in rows}


def list_joined_private_thread_ids(tx: Tx, guild_id: int, user_id: int) -> list[int]:
    """Return the IDs of the private threads of a guild that a user is a member of."""
    rows = tx.all(
        "SELECT c.id FROM thread_members m JOIN channels c ON c.id = m.thread_id "
        f"WHERE m.user_id = ? AND c.guild_id = ? AND c.type = {int(ChannelType.PRIVATE_THREAD)}",
        user_id,
        guild_id,
    )
    return [thread_id for (thread_id,) in rows]


class ThreadRow(NamedTuple):
    """The columns of a thread that a search needs."""

    id: int
    type: int
    name: str | None
    applied_tags: str | None
    archive_changed_ms: int | None
    created_ms: int | None
    last_message_id: int | None


def list_threads(
    tx: Tx, parent_id: int, *, archived: bool | None, after_id: int, before_id: int | None, with_last_message: bool
) -> list[ThreadRow]:
    """Return the threads of a channel with IDs between `after_id` and `before_id`, newest first.

    `archived` restricts the list to archived or active threads. `with_last_message` includes the ID of each thread's
    last message."""
    last_message = "(SELECT MAX(m.id) FROM messages m WHERE m.channel_id = c.id)" if with_last_message else "NULL"
    conditions = "" if archived is None else " AND c.archived = ?"
    conditions += "" if before_id is None else " AND c.id < ?"
    return tx.fetch(
        ThreadRow,
        f"SELECT c.id, c.type, c.name, c.applied_tags, c.archive_changed_ms, c.created_ms, {last_message} FROM channels c "
        f"WHERE c.parent_id = ? AND c.id > ? AND c.type IN {_THREAD_TYPES}{conditions} ORDER BY c.id DESC",
        parent_id,
        after_id,
        *(() if archived is None else (int(archived),)),
        *(() if before_id is None else (before_id,)),
    )
