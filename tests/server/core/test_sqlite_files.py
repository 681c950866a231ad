"""Checks of the file of the embedded database."""

import sqlite3
from pathlib import Path

from hubbub.server.core.sqlite_files import find_damage

PAGE_BYTES = 4096


def create_database(path: Path) -> None:
    """Create a database with a table whose primary key has another order of columns than the table."""
    connection = sqlite3.connect(path)
    connection.execute(
        "CREATE TABLE joins (guild_id BIGINT NOT NULL, user_id BIGINT NOT NULL, joined_ms BIGINT NOT NULL,"
        " PRIMARY KEY (guild_id, joined_ms, user_id)) WITHOUT ROWID"
    )
    connection.executemany("INSERT INTO joins VALUES (?, ?, ?)", [(1, number, number) for number in range(1000)])
    connection.commit()
    connection.close()


def test_a_sound_database_has_no_damage(tmp_path: Path) -> None:
    create_database(tmp_path / "sound.sqlite3")

    assert find_damage(sqlite3.connect(tmp_path / "sound.sqlite3")) is None


def test_an_overwritten_page_is_found(tmp_path: Path) -> None:
    path = tmp_path / "damaged.sqlite3"
    create_database(path)
    content = bytearray(path.read_bytes())
    content[2 * PAGE_BYTES : 2 * PAGE_BYTES + 200] = b"\xff" * 200
    path.write_bytes(content)

    assert find_damage(sqlite3.connect(path))
