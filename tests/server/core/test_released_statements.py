"""The statements of every release are valid on the current schema, so that its processes run beside newer ones."""

import psycopg
import pytest

from hubbub.server.core import migrations
from tests.fixtures.postgres import DatabasePool
from tests.released_statements import FOLDER, find_invalid, load_statements
from tests.server.core.test_migrations import RELEASED_CHECKSUMS

LAST_RELEASE = list(RELEASED_CHECKSUMS)[-1]


def test_the_last_release_has_recorded_statements() -> None:
    """A rolling upgrade starts from the last release; statements of earlier ones may be deleted."""
    assert (FOLDER / f"{LAST_RELEASE}.json").exists()
    assert len(load_statements(LAST_RELEASE)) > 300


def test_the_statements_of_the_last_release_are_valid_on_the_current_schema(migrated_databases: DatabasePool) -> None:
    with migrated_databases.acquire() as url, psycopg.connect(url, autocommit=True) as connection:
        assert find_invalid(connection, load_statements(LAST_RELEASE)) == {}


@pytest.mark.parametrize(
    "change",
    [
        "ALTER TABLE messages RENAME COLUMN content TO body",
        "ALTER TABLE members DROP COLUMN nick",
        "ALTER TABLE thread_members RENAME TO thread_participants",
    ],
)
def test_a_change_that_breaks_the_last_release_is_found(postgres_database: str, change: str) -> None:
    with psycopg.connect(postgres_database, autocommit=True) as connection:
        migrations.migrate_postgres(connection)
        connection.execute(change.encode())

        assert find_invalid(connection, load_statements(LAST_RELEASE))
