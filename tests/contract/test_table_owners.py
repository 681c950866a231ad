"""Every table has one owner: only its slice writes it, and other slices declare why they read it.

A slice declares its tables in `TABLES` and the tables of others that it reads in `READS`, both in its `store.py`.
A sub-package with its own `store.py` declares its tables there.
"""

import ast
import importlib
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from hubbub.server.core import migrations
from tests.contract.tables import SOURCE, display_path, parse_file, python_files, slice_files, slice_of

CORE_TABLES = {"jobs", "meta", "process_leases", "quotas", "schema_migrations", "tokens"}
"""Tables that modules of `server/core` write."""

CORE_READS = {
    # A token is looked up with the flags of its application, for every request that is not cached.
    "applications"
}
"""Tables of slices that modules of `server/core` read."""

DECLARED_READS_MAX = 82
"""Maximum number of entries in the `READS` of all slices. It may only decrease."""

_CREATE = re.compile(r"CREATE (?:VIRTUAL )?TABLE (\w+)")
_WRITE = re.compile(r"\b(?:INSERT INTO|UPDATE|DELETE FROM)\s+(\w+)")
_READ = re.compile(r"(?<!DELETE )\b(?:FROM|JOIN)\s+(\w+)")


def all_tables() -> set[str]:
    return {name for path in migrations.DIRECTORY.glob("*.sql") for name in _CREATE.findall(path.read_text())}


def table_uses(path: Path) -> Iterator[tuple[str, bool]]:
    """Yield the tables that the SQL of a file names, with whether it writes them.

    The name of a table in a loop counts as a write: such names are inserted into statements."""
    tables = all_tables()
    declarations = [
        node.value
        for node in parse_file(path).body
        if isinstance(node, ast.AnnAssign) and ast.unparse(node.target) in {"TABLES", "READS"}
    ]
    # The declarations name tables outside of SQL, so they are not uses.
    declaration_nodes = {id(constant) for value in declarations if value is not None for constant in ast.walk(value)}
    for node in ast.walk(parse_file(path)):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in declaration_nodes:
            yield from ((name, True) for name in _WRITE.findall(node.value) if name in tables)
            yield from ((name, False) for name in _READ.findall(node.value) if name in tables)
        elif isinstance(node, ast.For):
            names = {constant.value for constant in ast.walk(node.iter) if isinstance(constant, ast.Constant)}
            yield from ((name, True) for name in names & tables)


def declared_tables(name: str) -> dict[str, set[str]]:
    """Return the values of `TABLES` or `READS` by slice."""
    tables_by_slice: dict[str, set[str]] = {}
    for path in slice_files():
        if path.name == "store.py":
            module = importlib.import_module(display_path(path).removesuffix(".py").replace("/", "."))
            tables_by_slice.setdefault(slice_of(path), set()).update(getattr(module, name, ()))
    return tables_by_slice


def used_tables(*, writes: bool) -> dict[str, set[str]]:
    """Return the tables that slices write or read, by slice."""
    tables_by_slice: dict[str, set[str]] = {}
    for path in slice_files():
        tables_by_slice.setdefault(slice_of(path), set()).update(
            table for table, is_write in table_uses(path) if is_write is writes
        )
    return tables_by_slice


def test_every_table_has_one_owner() -> None:
    owners = Counter(table for tables in declared_tables("TABLES").values() for table in tables) + Counter(CORE_TABLES)

    assert set(owners) == all_tables()
    assert {table: number for table, number in owners.items() if number != 1} == {}


def test_slices_write_only_their_own_tables() -> None:
    own = declared_tables("TABLES")

    assert {name: tables - own.get(name, set()) for name, tables in used_tables(writes=True).items()} == {
        name: set() for name in used_tables(writes=True)
    }


def test_slices_declare_the_tables_of_others_that_they_read() -> None:
    own, reads = declared_tables("TABLES"), declared_tables("READS")
    actual = {name: tables - own.get(name, set()) for name, tables in used_tables(writes=False).items()}

    assert {name: tables for name, tables in actual.items() if tables} == {
        name: tables for name, tables in reads.items() if tables
    }


def test_declared_reads_only_decrease() -> None:
    assert sum(map(len, declared_tables("READS").values())) <= DECLARED_READS_MAX


def test_core_uses_no_tables_of_slices() -> None:
    tables = {table for path in python_files(SOURCE / "server" / "core") for table, _ in table_uses(path)}

    assert tables - CORE_TABLES == CORE_READS
