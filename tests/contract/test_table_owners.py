"""Every table has one owner: only its slice writes it, and all other modules of the server declare why they read it.

A slice declares its tables in `TABLES` and the tables of others that it reads in `READS`, both in its `store.py`.
A sub-package with its own `store.py` declares its tables there. A module outside of the slices has its own `READS`.
"""

import ast
import importlib
import itertools
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

from hubbub.server import composition
from hubbub.server.core import migrations
from hubbub.server.transfer import records
from tests.contract.tables import SOURCE, TIERS, display_path, parse_file, python_files, slice_files, slice_of

SERVER = SOURCE / "server"

CORE_TABLES = {"jobs", "meta", "process_leases", "quotas", "schema_migrations", "tokens"}
"""Tables that modules of `server/core` write."""

DECLARED_READS = {
    "identity.accounts": "tokens users",
    "identity.applications": "authorizations installations",
    "identity.identities": "tokens",
    "identity.oauth2": "tokens",
    "places.activity_instances": "recipients",
    "places.channels": "guilds messages roles users",
    "places.expressions": "guilds members voice_states",
    "places.guilds": "members",
    "places.invites": "channels guilds",
    "places.members": "bans guilds member_roles roles users voice_states",
    "places.role_connections": "members",
    "places.roles": "guilds",
    "places.standing": (
        "applications channels guilds member_roles members overwrites recipients roles thread_members users"
    ),
    "places.vanity_urls": "invites",
    "places.voice_states": "channels members",
    "play.interactions": "applications channels guilds installations members skus users",
    "talk.auto_moderation": "channels guilds members messages",
    "talk.direct_messages": "channels guilds members recipients users",
    "talk.messages": "channels guilds members poll_counts poll_votes reactions recipients roles users",
    "talk.pins": "messages",
    "talk.private_calls": "recipients",
    "talk.read_states": "channels members recipients",
    "talk.search": "channels messages thread_members users",
    "talk.threads": "channels thread_members",
    "backups.drill": "account_bans accounts members",
    "backups.references": (
        "accounts activity_links application_assets applications channels emojis ephemeral_messages "
        "guilds member_roles members message_files roles scheduled_events sounds stickers teams users "
        "webhooks"
    ),
}
"""Tables in the `READS` of each slice, and of each module outside of the slices. Entries may only be removed."""

UPWARD_READS = {
    # The newest message is a column of every channel row, in READY and in each request for a channel. As a second statement
    # through a port, reading 50 channels takes 144 instead of 95 us on SQLite, and one channel 5.9 instead of 4.4 us. A
    # column of the channel would let all writers of a channel conflict on its row.
    ("places.channels", "messages"),
}
"""Slices that read a table of a higher tier, with the table."""

INSERTED_NAMES = {
    "backups/creation.py": "counts the rows of all tables",
    "backups/references.py": "tables of its `READS`",
    "backups/restoration.py": "counts the rows of all tables",
    "core/archives.py": "tables that their owners declare in `archive=`",
    "doctor.py": "catalogs of the database",
    "places/expressions/store.py": "tables of its `TABLES`",
    "talk/messages/store.py": "tables of its `TABLES`",
    "talk/search/store.py": "subqueries over its own tables",
}
"""Files that insert other table names into SQL than those of a loop over literals, with what they name."""

_CREATE_PATTERN = re.compile(r"CREATE (?:VIRTUAL )?TABLE (\w+)")
_WRITE_PATTERN = re.compile(r"\b(?:INSERT INTO|UPDATE|DELETE FROM)\s+(\w+)")
_READ_PATTERN = re.compile(r"(?<!DELETE )\b(?:FROM|JOIN)\s+(\w+)")
_BEFORE_NAME_PATTERN = re.compile(r'\b(?:INSERT INTO|UPDATE|FROM|JOIN)\s+"?$')
_BEFORE_INSERTED_PATTERN = re.compile(r'\bINSERT INTO\s+"?$')


def all_tables() -> set[str]:
    return {name for path in migrations.DIRECTORY.glob("*.sql") for name in _CREATE_PATTERN.findall(path.read_text())}


def table_uses(path: Path) -> Iterator[tuple[str, bool]]:
    """Yield the tables that the SQL of a file names, with whether it writes them.

    The name of a table in a loop counts as a write if the loop inserts it into statements."""
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
            yield from ((name, True) for name in _WRITE_PATTERN.findall(node.value) if name in tables)
            yield from ((name, False) for name in _READ_PATTERN.findall(node.value) if name in tables)
        elif isinstance(node, ast.For) and any(True for _ in inserted_names(node)):
            names = {constant.value for constant in ast.walk(node.iter) if isinstance(constant, ast.Constant)}
            yield from ((name, True) for name in names & tables)


def inserted_names(tree: ast.AST, name_prefix: re.Pattern[str] = _BEFORE_NAME_PATTERN) -> Iterator[ast.expr]:
    """Yield the expressions that f-strings insert into SQL as names of tables."""
    for node in ast.walk(tree):
        if isinstance(node, ast.JoinedStr):
            for text, inserted_value in itertools.pairwise(node.values):
                if isinstance(text, ast.Constant) and isinstance(inserted_value, ast.FormattedValue):
                    if name_prefix.search(text.value):
                        yield inserted_value.value


def literal_names(tree: ast.AST) -> set[int]:
    """Return the identities of the inserted names that are variables of a loop over literals or over `TABLES`."""
    name_identities = set()
    for node in ast.walk(tree):
        if not isinstance(node, ast.For):
            continue
        if isinstance(node.iter, ast.Tuple | ast.List) or ast.unparse(node.iter) == "TABLES":
            targets = {name.id for name in ast.walk(node.target) if isinstance(name, ast.Name)}
            name_identities |= {
                id(name) for name in inserted_names(node) if isinstance(name, ast.Name) and name.id in targets
            }
    return name_identities


def other_files() -> list[Path]:
    """Return every Python file of the server that belongs neither to a slice nor to `core`."""
    files_of_slices = set(slice_files())
    return [
        path
        for path in python_files(SERVER)
        if path not in files_of_slices and not path.is_relative_to(SERVER / "core")
    ]


def import_file(path: Path) -> ModuleType:
    return importlib.import_module(display_path(path).removesuffix(".py").removesuffix("/__init__").replace("/", "."))


def declared_tables(name: str) -> dict[str, set[str]]:
    """Return the values of `TABLES` or `READS` by slice."""
    tables_by_slice: dict[str, set[str]] = {}
    for path in slice_files():
        if path.name == "store.py":
            tables_by_slice.setdefault(slice_of(path), set()).update(getattr(import_file(path), name, ()))
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
    assert {table: count for table, count in owners.items() if count != 1} == {}


def test_slices_write_only_their_own_tables() -> None:
    own_tables = declared_tables("TABLES")

    assert {name: tables - own_tables.get(name, set()) for name, tables in used_tables(writes=True).items()} == {
        name: set() for name in used_tables(writes=True)
    }


def test_slices_declare_the_tables_of_others_that_they_read() -> None:
    own_tables, reads = declared_tables("TABLES"), declared_tables("READS")
    actual = {name: tables - own_tables.get(name, set()) for name, tables in used_tables(writes=False).items()}

    assert {name: tables for name, tables in actual.items() if tables} == {
        name: tables for name, tables in reads.items() if tables
    }


def test_modules_outside_of_slices_write_no_tables() -> None:
    writes = {display_path(path): {table for table, is_write in table_uses(path) if is_write} for path in other_files()}

    assert {path: tables for path, tables in writes.items() if tables} == {}


def test_modules_outside_of_slices_declare_the_tables_that_they_read() -> None:
    undeclared_tables = {}
    for path in other_files():
        if tables := {table for table, _ in table_uses(path)} - set(getattr(import_file(path), "READS", ())):
            undeclared_tables[display_path(path)] = tables

    assert undeclared_tables == {}


def test_names_of_tables_are_literals_except_in_declared_files() -> None:
    files = set()
    for path in python_files(SERVER):
        tree = parse_file(path)
        literals = literal_names(tree)
        if any(id(name) not in literals for name in inserted_names(tree)):
            files.add(path.relative_to(SERVER).as_posix())

    assert files == INSERTED_NAMES.keys()


def test_only_the_declaration_of_an_archived_table_inserts_into_a_table_of_any_name() -> None:
    files = {
        path.relative_to(SERVER).as_posix()
        for path in python_files(SERVER)
        if any(True for _ in inserted_names(parse_file(path), _BEFORE_INSERTED_PATTERN))
    }

    assert files == {"core/archives.py", "places/expressions/store.py"}


def test_archived_tables_are_declared_by_their_owners() -> None:
    own_tables = {name.partition(".")[2]: tables for name, tables in declared_tables("TABLES").items()}

    for slice_ in composition.SLICES:
        assert {table.name for table in slice_.archive} <= own_tables.get(slice_.name, set()), slice_.name


def test_exports_and_imports_use_only_the_declarations_of_the_owners() -> None:
    declared_tables = [table for part in composition.SLICES for table in part.archive]
    codec_tables = [
        table
        for codec in records.CODECS.values()
        for table in (codec.table, *(child.table for child in codec.children))
    ]

    # Users are read and written with functions of the slice `users`.
    assert [table.name for table in codec_tables if not any(table is other for other in declared_tables)] == ["users"]


def test_the_check_finds_inserted_names() -> None:
    tree = ast.parse(
        'for table in ("a", "b"):\n    run(f"DELETE FROM {table}")\n'
        'run(f"INSERT INTO {name} (id) VALUES ({values})")\nrun(f\'SELECT 1 FROM "{other}" JOIN c\')\n'
    )
    literals = literal_names(tree)

    assert [ast.unparse(name) for name in inserted_names(tree) if id(name) not in literals] == ["name", "other"]
    assert [ast.unparse(name) for name in inserted_names(tree, _BEFORE_INSERTED_PATTERN)] == ["name"]


def declared_reads() -> set[tuple[str, str]]:
    """Return the slices and modules that declare reads, with each table."""
    modules = {".".join(path.relative_to(SERVER).with_suffix("").parts): import_file(path) for path in other_files()}
    reads_of_modules = {name: set(getattr(module, "READS", ())) for name, module in modules.items()}
    return {(name, table) for name, tables in (declared_tables("READS") | reads_of_modules).items() for table in tables}


def test_declared_reads_are_only_removed() -> None:
    assert declared_reads() == {(name, table) for name, tables in DECLARED_READS.items() for table in tables.split()}


def test_every_declared_read_has_a_reason() -> None:
    paths = [path for path in slice_files() if path.name == "store.py"] + other_files()
    reads_by_file = {display_path(path): getattr(import_file(path), "READS", {}) for path in paths}

    assert {name for name, reads in reads_by_file.items() if not isinstance(reads, dict)} == set()
    assert {
        (name, table)
        for name, reads in reads_by_file.items()
        for table, reason in reads.items()
        if not isinstance(reason, str) or not reason.strip()
    } == set()


def test_slices_read_no_tables_of_higher_tiers() -> None:
    tiers = {
        table: TIERS.index(name.partition(".")[0])
        for name, own_tables in declared_tables("TABLES").items()
        for table in own_tables
    }
    upward = {
        (name, table)
        for name, tables in declared_tables("READS").items()
        for table in tables
        if table in tiers and tiers[table] < TIERS.index(name.partition(".")[0])
    }

    assert upward == UPWARD_READS


def test_core_uses_no_tables_of_slices() -> None:
    tables = {table for path in python_files(SOURCE / "server" / "core") for table, _ in table_uses(path)}

    assert tables - CORE_TABLES == set()
