"""Statements of the PostgreSQL store: placeholders, conversion of values, and the prepared statements of a connection."""

import re
from collections.abc import Sequence
from functools import lru_cache
from typing import Any, Final

import psycopg
from psycopg.abc import AdaptContext, Buffer
from psycopg.adapt import Dumper, Loader
from psycopg.types.numeric import Int8Dumper

PREPARE_USES_MIN: Final = 2
"""Number of unprepared uses, on all connections, after which a statement is prepared."""
PREPARED_MAX: Final = 512
"""Maximum number of prepared statements of a connection."""

_TOKEN_PATTERN = re.compile(
    r"""
    (?P<verbatim> '(?:[^']|'')*' | "(?:[^"]|"")*" | --[^\n]* | /\*.*?\*/ )
    | (?P<placeholder> \? )
    """,
    re.VERBOSE | re.DOTALL,
)

_WORD_PATTERN: Final = re.compile(r"\w+")
_INSERT_PATTERN: Final = re.compile(
    r"INSERT INTO (\w+) \([^()]*\) VALUES \([?, ]*\)(?: RETURNING \w+| ON CONFLICT \([^()]*\) DO NOTHING)?\Z"
)
_WRITE_PATTERN: Final = re.compile(r"\b(?:INSERT INTO|UPDATE|DELETE FROM)\b")


def translate_placeholders(sql: str) -> bytes:
    """Convert `?` placeholders to `$1`, `$2` and so on, except in literals and comments."""
    number = 0

    def translate(token: re.Match[str]) -> str:
        nonlocal number
        if token["placeholder"] is None:
            return token[0]
        number += 1
        return f"${number}"

    return _TOKEN_PATTERN.sub(translate, sql).encode()


class Statement:
    """A statement of the platform in the syntax of PostgreSQL, shared by all connections."""

    __slots__ = ("insert_table", "is_write", "may_wait", "text", "unprepared_use_count", "words")

    def __init__(self, sql: str) -> None:
        self.text = translate_placeholders(sql)
        self.is_write = not sql.startswith("SELECT") and (
            not sql.startswith("WITH") or _WRITE_PATTERN.search(sql) is not None
        )
        """Whether the statement may change rows: every statement except SELECT, and WITH without a write. PostgreSQL then
        assigns a transaction ID."""
        self.may_wait = self.is_write and (not sql.startswith("INSERT ") or " ON CONFLICT" in sql)
        """Whether the statement waits if another transaction locks a row. A plain INSERT does not count: it waits only if another
        transaction inserts the same unique key at the same time, which is rare."""
        insert = _INSERT_PATTERN.match(sql)
        self.insert_table = None if insert is None else insert[1]
        """The table into which an INSERT adds a row of parameters, if it changes no existing row; None for other statements."""
        self.words = frozenset(_WORD_PATTERN.findall(sql))
        """The words of the statement, among which are the tables that it reads."""
        self.unprepared_use_count = 0
        """Number of uses before the statement was prepared."""


@lru_cache(maxsize=4096)
def intern_statement(sql: str) -> Statement:
    """Return the statement object of an SQL text, which all connections share."""
    return Statement(sql)


class PreparedStatement:
    """A statement prepared on a connection, for parameters of certain types."""

    __slots__ = ("name", "statement", "types")

    def __init__(self, name: bytes, statement: Statement, types: tuple[int, ...]) -> None:
        self.name = name
        self.statement = statement
        self.types = types
        """The type OID of each parameter; 0 where the server infers the type."""

    def accepts(self, types: tuple[int, ...], parameters: Sequence[Any]) -> bool:
        """Return whether parameters of these types can be used: NULL has any type."""
        return all(
            prepared_type == parameter_type or parameter is None
            for prepared_type, parameter_type, parameter in zip(self.types, types, parameters, strict=True)
        )


class StatementCache:
    """The prepared statements of a connection. They stay valid after the end of a transaction."""

    def __init__(self) -> None:
        self._by_types: dict[tuple[Statement, tuple[int, ...]], PreparedStatement] = {}
        self._by_statement: dict[Statement, list[PreparedStatement]] = {}
        self._count = 0
        self._last_number = 0

    def find(self, statement: Statement, types: tuple[int, ...], parameters: Sequence[Any]) -> PreparedStatement | None:
        """Return the prepared statement for parameters of these types, or None."""
        prepared = self._by_types.get((statement, types))
        if prepared is None:
            for candidate in self._by_statement.get(statement, ()):
                if candidate.accepts(types, parameters):
                    self._by_types[statement, types] = candidate
                    return candidate
        return prepared

    def add(self, statement: Statement, types: tuple[int, ...], parameters: Sequence[Any]) -> PreparedStatement:
        """Return a new prepared statement, which the caller prepares on the server.

        A parameter that is NULL gets the type it had before, so that few combinations of types are prepared."""
        for earlier in self._by_statement.get(statement, ()):
            types = tuple(
                prepared_type if parameter is None else parameter_type
                for prepared_type, parameter_type, parameter in zip(earlier.types, types, parameters, strict=True)
            )
        self._last_number += 1
        prepared = PreparedStatement(b"s%d" % self._last_number, statement, types)
        self._by_types[statement, types] = prepared
        self._by_statement.setdefault(statement, []).append(prepared)
        self._count += 1
        return prepared

    def remove(self, prepared: PreparedStatement) -> None:
        """Remove a prepared statement; do nothing if it was already removed."""
        same_statement = self._by_statement.get(prepared.statement, [])
        if prepared not in same_statement:
            return
        same_statement.remove(prepared)
        if not same_statement:
            del self._by_statement[prepared.statement]
        for key in [key for key, cached in self._by_types.items() if cached is prepared]:
            del self._by_types[key]
        self._count -= 1

    def remove_oldest(self) -> PreparedStatement | None:
        """If the cache is full, remove and return a preparation of the statement that was prepared first; otherwise return None."""
        if self._count < PREPARED_MAX:
            return None
        prepared = next(iter(self._by_statement.values()))[0]
        self.remove(prepared)
        return prepared


class _BoolDumper(Dumper):
    """Stores booleans as 0 or 1, as SQLite does: boolean columns are SMALLINT or INTEGER in both stores."""

    oid = psycopg.adapters.types["int8"].oid

    def dump(self, obj: Any) -> bytes:
        """Return the text of the number."""
        return b"1" if obj else b"0"


class _BoolLoader(Loader):
    """Loads the result of a comparison as 0 or 1, as SQLite does."""

    def load(self, data: Buffer) -> int:
        """Return 1 for `t`, otherwise 0."""
        return 1 if bytes(data) == b"t" else 0


class _NumericLoader(Loader):
    """Loads the SUM of BIGINT columns, which is NUMERIC, as an integer, as SQLite does."""

    def load(self, data: Buffer) -> int | float:
        """Return an int, or a float if there are decimals."""
        text = bytes(data).decode()
        return int(text) if text.lstrip("-").isdigit() else float(text)


def register_adapters(context: AdaptContext) -> None:
    """Register dumpers and loaders so that values behave as on SQLite."""
    adapters = context.adapters
    assert adapters is not None
    # One integer width, so that a statement is prepared once and not once per parameter size.
    adapters.register_dumper(int, Int8Dumper)
    adapters.register_dumper(bool, _BoolDumper)
    adapters.register_loader("bool", _BoolLoader)
    adapters.register_loader("numeric", _NumericLoader)
