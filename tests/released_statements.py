"""SQL statements of a release, which must stay valid on the schema of the next one (decisions/0148).

`python -m tests.released_statements RELEASE FILE` stores the statements that a run of the tests recorded in FILE.
"""

import json
import re
import sys
import tempfile
from pathlib import Path

import psycopg

from hubbub.server.core import migrations
from tests.fixtures.postgres import start_postgres, stop_postgres

FOLDER = Path(__file__).parent / "fixtures" / "released_statements"
"""Folder with a file for each release."""

_LIST_PATTERN = re.compile(r"\$\d+(?:, \$\d+)+")
_PARAMETER_PATTERN = re.compile(r"\$\d+")


def load_statements(release: str) -> list[str]:
    """Return the statements of a release."""
    statements: list[str] = json.loads((FOLDER / f"{release}.json").read_text())
    return statements


def find_invalid(connection: psycopg.Connection, statements: list[str]) -> dict[str, str]:
    """Return the reasons for which PostgreSQL does not accept statements, by statement.

    PostgreSQL resolves the tables, columns and types of a statement when it prepares it."""
    problems: dict[str, str] = {}
    for statement in statements:
        try:
            connection.execute(f"PREPARE checked AS {statement}".encode())
            connection.execute("DEALLOCATE checked")
        except psycopg.Error as error:
            problems[statement] = str(error).splitlines()[0]
    return problems


def shorten(recorded: set[str]) -> list[str]:
    """Return one statement of those that differ only in the number of their parameters, the shortest."""
    shortest: dict[str, str] = {}
    for statement in sorted(recorded, key=lambda text: (len(text), text)):
        shortest.setdefault(_PARAMETER_PATTERN.sub("$", _LIST_PATTERN.sub("$", statement)), statement)
    return sorted(shortest.values())


def store_statements(release: str, recording: str) -> None:
    """Store the recorded statements that can be checked, and print the number of those that cannot."""
    recorded_statements = {json.loads(line) for line in Path(recording).read_text().splitlines()}
    statements = [text for text in shorten(recorded_statements) if re.match(r"SELECT|INSERT|UPDATE|DELETE|WITH", text)]
    with tempfile.TemporaryDirectory(prefix="hubbub-statements-") as folder:
        url = start_postgres(Path(folder), is_durable=False)
        try:
            with psycopg.connect(url, autocommit=True) as connection:
                migrations.migrate_postgres(connection)
                # The type of some parameters is known only with their values.
                untyped_statements = find_invalid(connection, statements)
        finally:
            stop_postgres(Path(folder))
    kept_statements = [text for text in statements if text not in untyped_statements]
    FOLDER.mkdir(exist_ok=True)
    (FOLDER / f"{release}.json").write_text(json.dumps(kept_statements, indent=0, ensure_ascii=False) + "\n")
    print(
        f"{len(kept_statements)} statements of {release}; {len(untyped_statements)} cannot be checked without their values"
    )


if __name__ == "__main__":
    store_statements(*sys.argv[1:])
