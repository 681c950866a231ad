"""Archives are untrusted: invalid and malicious ones are rejected with the place of the problem, and nothing is stored."""

import hashlib
import json
import zipfile
from pathlib import Path
from typing import Any

import pytest

from hubbub.server.transfer.detection import open_source
from hubbub.server.transfer.importer import Importer, check
from hubbub.server.transfer.records import InvalidArchive
from hubbub.server.transfer.sources import ArchiveSource
from tests.media import png
from tests.world import NOW_MS, World

GUILD_ID = "400000000000000000"
MANIFEST = {"format": "hubbub-guild", "version": 1}
RECORDS_BY_TABLE: dict[str, list[Any]] = {
    "guilds": [{"id": GUILD_ID, "name": "G", "owner_id": "300000000000000001", "features": []}],
    "roles": [{"id": GUILD_ID, "name": "@everyone", "permissions": "0"}],
    "users": [{"id": "300000000000000001", "username": "owner"}, {"id": "300000000000000002", "username": "bob"}],
    "channels": [{"id": "400000000000000005", "type": 0, "name": "general"}],
}
MESSAGE_RECORD = {
    "channel_id": "400000000000000005",
    "id": "400000000000000009",
    "author_id": "300000000000000002",
    "content": "hi",
}


def write_archive(path: Path, contents: dict[str, bytes] | None = None, **tables: list[Any]) -> Path:
    """Write an archive of a minimal guild. `tables` adds or replaces files with records, and `contents` adds other files."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("manifest.json", json.dumps(MANIFEST))
        for name, records in (RECORDS_BY_TABLE | tables).items():
            archive.writestr(f"{name}.jsonl", "".join(json.dumps(record) + "\n" for record in records))
        for name, content in (contents or {}).items():
            archive.writestr(name, content)
    return path


def check_file(path: Path) -> Any:
    return check(open_source(path), NOW_MS)


def test_a_minimal_archive_is_valid(tmp_path: Path) -> None:
    report = check_file(write_archive(tmp_path / "a.zip", messages=[MESSAGE_RECORD]))

    assert report.counts == {"users": 2, "guilds": 1, "roles": 1, "channels": 1, "messages": 1}


@pytest.mark.parametrize("name", ["../evil", "/etc/passwd", "files/../../x", "files/images/nothash", "evil.jsonl"])
def test_unexpected_names_of_files_are_rejected(tmp_path: Path, name: str) -> None:
    with pytest.raises(InvalidArchive, match="no such file"):
        check_file(write_archive(tmp_path / "a.zip", {name: b"x"}))


def test_contents_that_are_too_large_for_their_archive_are_rejected(tmp_path: Path) -> None:
    bomb = {"files/images/" + "0" * 32: bytes(200 << 20)}

    with pytest.raises(InvalidArchive, match="suspiciously large"):
        check_file(write_archive(tmp_path / "a.zip", bomb))


@pytest.mark.parametrize(
    ("tables", "problem"),
    [
        (
            {"messages": [MESSAGE_RECORD | {"content": 5}]},
            "messages.jsonl, line 1, field content: Expected `str`, got `int`",
        ),
        ({"messages": [MESSAGE_RECORD, MESSAGE_RECORD | {"id": "x"}]}, "messages.jsonl, line 2, field id"),
        ({"messages": [MESSAGE_RECORD | {"content": "x" * 6001}]}, "field content: Expected `str` of length <= 6000"),
        ({"messages": [MESSAGE_RECORD | {"embeds": [{"title": 1}]}]}, r"field embeds\[0\].title"),
        ({"messages": [MESSAGE_RECORD | {"id": "9000000000000000000"}]}, "in the future"),
        ({"messages": [MESSAGE_RECORD | {"reactions": [{"user_id": "1"}]}]}, r"field reactions\[0\]"),
        ({"roles": [{"id": GUILD_ID, "name": "r", "permissions": "-1"}]}, "roles.jsonl, line 1, field permissions"),
        ({"channels": [{"id": "5", "type": 1, "name": "dm"}]}, "field type: 1 is not the type of a guild channel"),
        ({"guilds": []}, "contains no guild"),
        ({"users": [{"id": "3", "username": "a", "avatar": "../x"}]}, "field avatar"),
    ],
)
def test_an_invalid_record_is_named_with_file_line_and_field(
    tmp_path: Path, tables: dict[str, list[Any]], problem: str
) -> None:
    with pytest.raises(InvalidArchive, match=problem):
        check_file(write_archive(tmp_path / "a.zip", **tables))


@pytest.mark.parametrize(
    ("manifest", "problem"),
    [
        (b"{}", "manifest.json: Object missing required field"),
        (b'{"format": "other", "version": 1}', "manifest.json, field format"),
        (b'{"format": "hubbub-guild", "version": 99}', "update Hubbub"),
        (b"[" * 100_000, "manifest.json"),
    ],
)
def test_an_unknown_format_is_rejected(tmp_path: Path, manifest: bytes, problem: str) -> None:
    with zipfile.ZipFile(tmp_path / "a.zip", "w") as archive:
        archive.writestr("manifest.json", manifest)

    with pytest.raises(InvalidArchive, match=problem):
        open_source(tmp_path / "a.zip")


def test_a_damaged_archive_is_rejected(tmp_path: Path) -> None:
    path = write_archive(tmp_path / "a.zip", messages=[MESSAGE_RECORD] * 500)
    archive_bytes = bytearray(path.read_bytes())
    position = archive_bytes.index(b"messages.jsonl") + 40
    archive_bytes[position : position + 20] = bytes(20)
    path.write_bytes(archive_bytes)

    with pytest.raises(InvalidArchive):
        check_file(path)


@pytest.mark.parametrize("data", [b"", b"PK\x03\x04", b"hello", b'{"a": 1}', b"\xff\xfe"])
def test_a_file_of_another_kind_is_rejected(tmp_path: Path, data: bytes) -> None:
    (tmp_path / "file").write_bytes(data)

    with pytest.raises(InvalidArchive):
        open_source(tmp_path / "file")


async def test_a_file_cannot_replace_another_one(world: World, tmp_path: Path) -> None:
    name = hashlib.sha256(png()).hexdigest()[:32]
    await world.app.files.put(f"images/{name}", png(), "image/png")
    key = f"images/{name}"
    index = [{"path": key, "size": 3, "sha256": hashlib.sha256(b"bad").hexdigest()}]
    path = write_archive(tmp_path / "a.zip", {f"files/{key}": b"bad"}, files=index)
    owner = await world.user("mover")

    summary = await Importer(world.app, ArchiveSource(path), owner.id).run()

    assert summary.missing_file_count == 1
    assert await world.app.files.get(key) == png()


async def test_records_cannot_refer_to_objects_of_the_server(world: World, tmp_path: Path) -> None:
    guild = await world.guild()
    owner = await world.user("mover")
    foreign_record = MESSAGE_RECORD | {"channel_id": str(guild.general)}
    member_role = {"user_id": str(guild.owner.id), "role_id": str(guild.id)}
    path = write_archive(tmp_path / "a.zip", messages=[foreign_record, MESSAGE_RECORD], member_roles=[member_role])

    summary = await Importer(world.app, ArchiveSource(path), owner.id).run()

    assert summary.skipped_count == 2
    assert (await guild.owner.get(f"/channels/{guild.general}/messages")).ok() == []


async def test_an_invalid_archive_stores_nothing(world: World, tmp_path: Path) -> None:
    owner = await world.user("mover")
    path = write_archive(tmp_path / "a.zip", messages=[MESSAGE_RECORD, MESSAGE_RECORD | {"content": 5}])

    with pytest.raises(InvalidArchive):
        await Importer(world.app, ArchiveSource(path), owner.id).run()

    assert await world.app.database.read(lambda tx: tx.value("SELECT COUNT(*) FROM imports")) == 0
