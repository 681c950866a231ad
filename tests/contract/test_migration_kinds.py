"""Migrations expand the schema, or name the schema since which programs do not use removed parts (decisions/0148)."""

import ast
import re

import pytest

from hubbub.server.core import migrations
from hubbub.server.core.migrations import Migration
from tests.contract.migration_kinds import contract_reasons
from tests.contract.tables import SOURCE, display_path, parse_file, python_files

FIRST_RELEASE_SCHEMA = 17
"""Number of the last migration of release 0.1.0. No released program uses an earlier schema, so the rule begins after it."""
CONTRACTS_OF_THE_FIRST_RELEASE = {3, 5}
"""Numbers of the migrations of release 0.1.0 that contract the schema."""

_COLUMN_DEPENDENCY_PATTERN = re.compile(
    r"SELECT (?:DISTINCT )?\*|\b\w+\.\*\s*(?:,|FROM)|RETURNING \*|NATURAL JOIN|INSERT INTO \w+ (?:VALUES|SELECT)\b"
)


def later_migrations() -> list[Migration]:
    return [migration for migration in migrations.load() if migration.number > FIRST_RELEASE_SCHEMA]


def test_migrations_that_contract_the_schema_declare_it() -> None:
    undeclared_contracts = {
        f"{migration.number:04d}_{migration.name}": reasons
        for migration in later_migrations()
        if (reasons := contract_reasons(migration)) and not migration.oldest_schema
    }

    assert undeclared_contracts == {}, (
        "split these migrations: expand now, and contract in a later release with `-- contract:`"
    )


def test_only_migrations_that_contract_the_schema_declare_it() -> None:
    declared_numbers = [migration.number for migration in migrations.load() if migration.oldest_schema]

    assert [number for number in declared_numbers if not contract_reasons(migrations.load()[number - 1])] == []


def test_programs_of_an_earlier_schema_run_on_each_contracted_one() -> None:
    impossible_numbers = [
        migration.number for migration in later_migrations() if migration.oldest_schema >= migration.number
    ]

    assert impossible_numbers == []


def test_migrations_of_the_first_release_are_classified() -> None:
    released_migrations = [migration for migration in migrations.load() if 1 < migration.number <= FIRST_RELEASE_SCHEMA]

    assert {
        migration.number for migration in released_migrations if contract_reasons(migration)
    } == CONTRACTS_OF_THE_FIRST_RELEASE


@pytest.mark.parametrize(
    "text",
    [
        "CREATE TABLE a (id BIGINT NOT NULL); CREATE UNIQUE INDEX a_id ON a (id); INSERT INTO a (id) VALUES (1);",
        "CREATE INDEX users_name ON users (username);",
        "ALTER TABLE users ADD COLUMN color TEXT; UPDATE users SET color = 'red' WHERE id = 1;",
        "ALTER TABLE users ADD COLUMN size INTEGER NOT NULL DEFAULT 0;",
        "-- only: postgres\nALTER TABLE users ADD COLUMN size INTEGER;",
        "CREATE TABLE a (id BIGINT); ALTER TABLE a ADD COLUMN b TEXT NOT NULL; DELETE FROM a;",
    ],
)
def test_additions_expand_the_schema(text: str) -> None:
    assert contract_reasons(Migration(2, "second", text)) == []


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("DROP TABLE users;", "DROP TABLE users"),
        ("DROP INDEX users_email;", "DROP INDEX users_email"),
        ("ALTER TABLE users DROP COLUMN email;", "ALTER TABLE users DROP COLUMN email"),
        ("ALTER TABLE users\n RENAME COLUMN email TO mail;", "ALTER TABLE users RENAME COLUMN email"),
        ("ALTER TABLE users ALTER COLUMN email SET NOT NULL;", "ALTER TABLE users ALTER COLUMN email"),
        ("ALTER TABLE users ADD COLUMN a TEXT NOT NULL;", "the column users.a is required and has no default"),
        ("ALTER TABLE users ADD COLUMN a TEXT UNIQUE;", "the column users.a has a constraint"),
        ("CREATE UNIQUE INDEX a ON users (email);", "a unique index restricts the existing table users"),
        ("UPDATE users SET email = NULL;", "rows of the existing table users change"),
        (
            "ALTER TABLE users ADD COLUMN a TEXT; UPDATE users SET a = '', email = '';",
            "rows of the existing table users",
        ),
        ("DELETE FROM jobs WHERE kind = 'a';", "rows of the existing table jobs change"),
        ("-- only: postgres\nVACUUM;", "VACUUM"),
    ],
)
def test_other_statements_contract_the_schema(text: str, reason: str) -> None:
    [contract_reason] = contract_reasons(Migration(2, "second", text))
    assert contract_reason.startswith(reason)


def test_statements_name_their_columns_so_that_added_columns_do_not_change_them() -> None:
    statements = [
        f"{display_path(path)}: {node.value}"
        for path in python_files(SOURCE / "server")
        for node in ast.walk(parse_file(path))
        if isinstance(node, ast.Constant)
        and isinstance(node.value, str)
        and _COLUMN_DEPENDENCY_PATTERN.search(node.value)
    ]

    assert statements == []
