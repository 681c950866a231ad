"""Cached results of frequent queries on tables that are rarely written, for the only connection that writes (decisions/0135)."""

import re
from functools import lru_cache
from typing import Any, Final, Self

ROWS_MAX: Final = 50_000
"""Maximum number of cached rows; each result counts as one more row. The cache is emptied when it is full."""

_READ_PATTERN: Final = re.compile(r"\b(?:FROM|JOIN)\s+(\w+)")
_WRITE_PATTERN: Final = re.compile(
    r"\s*(?:(?:INSERT|REPLACE)(?:\s+OR\s+\w+)?\s+INTO|UPDATE(?:\s+OR\s+\w+)?|DELETE\s+FROM)\s+(\w+)"
)

Rows = list[tuple[Any, ...]]


class CachedQuery(str):
    """A SELECT statement whose result a store may cache until one of its tables is written.

    It suits queries that run for every message and whose tables are written much less often. The tables are read from the
    SQL: the words after FROM and JOIN, in capitals. The PostgreSQL store does not cache the result, but may send the query
    in advance."""

    __slots__ = ("tables",)
    tables: frozenset[str]

    def __new__(cls, sql: str) -> Self:
        query = super().__new__(cls, sql)
        query.tables = frozenset(_READ_PATTERN.findall(sql))
        return query


class QueryCache:
    """Cached results of one connection, which must be the only one that writes.

    The connection reports every write and every rollback, so a cached result is what the query would return now,
    including the writes of the open transaction."""

    __slots__ = ("_queries_by_table", "_results_by_query", "_row_count", "_rows_max")

    def __init__(self, rows_max: int = ROWS_MAX) -> None:
        self._rows_max = rows_max
        self._row_count = 0
        self._results_by_query: dict[CachedQuery, dict[tuple[Any, ...], Rows]] = {}
        self._queries_by_table: dict[str, set[CachedQuery]] = {}
        """The keys of `_results_by_query`, by each table that they read."""

    def find(self, query: CachedQuery, parameters: tuple[Any, ...]) -> Rows | None:
        """Return the rows of a query, or None if they are not cached."""
        rows_by_parameters = self._results_by_query.get(query)
        rows = None if rows_by_parameters is None else rows_by_parameters.get(parameters)
        # Return a copy, because the caller may change the list.
        return None if rows is None else rows.copy()

    def add(self, query: CachedQuery, parameters: tuple[Any, ...], rows: Rows) -> None:
        """Cache the rows of a query; empty the cache first if it is full."""
        # An empty result occupies memory too.
        self._row_count += len(rows) + 1
        if self._row_count > self._rows_max:
            self.clear()
            self._row_count = len(rows) + 1
        if query not in self._results_by_query:
            self._results_by_query[query] = {}
            for table in query.tables:
                self._queries_by_table.setdefault(table, set()).add(query)
        self._results_by_query[query][parameters] = rows.copy()

    def invalidate(self, sql: str) -> None:
        """Remove the results that a statement may change."""
        table = find_written_table(sql)
        for query in self._results_by_query if table is None else self._queries_by_table.get(table, ()):
            rows_by_parameters = self._results_by_query[query]
            if rows_by_parameters:
                self._row_count -= sum(len(rows) + 1 for rows in rows_by_parameters.values())
                rows_by_parameters.clear()

    def clear(self) -> None:
        """Remove all results: the cache is full, or a rollback or a restore changed the data."""
        self._results_by_query.clear()
        self._queries_by_table.clear()
        self._row_count = 0


@lru_cache(maxsize=2048)
def find_written_table(sql: str) -> str | None:
    """Return the table that a statement writes, or None if the statement may write any table."""
    match = _WRITE_PATTERN.match(sql)
    return None if match is None else match[1]
