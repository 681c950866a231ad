"""`hubbub export` writes a guild with its content and files to an archive."""

import hashlib
import json
import zipfile
from pathlib import Path

import pytest

from hubbub.server.transfer.export import ExportError
from tests.server.archives import export_archive, fill_guild, read_archive
from tests.world import World


async def test_an_archive_contains_the_guild_with_its_messages_and_files(world: World, tmp_path: Path) -> None:
    guild = await world.guild()
    ids_by_name = await fill_guild(world, guild)

    summary = await export_archive(world, guild.id, tmp_path / "guild.zip")

    records = read_archive(tmp_path / "guild.zip")
    assert summary.counts == {name: len(entries) for name, entries in records.items()}
    assert records["guilds"][0] | {"id": str(guild.id), "name": "Guild"} == records["guilds"][0]
    assert {channel["name"] for channel in records["channels"]} >= {"paintings", "Studio", "ideas", "talk", "An idea"}
    messages = {int(message["id"]): message for message in records["messages"]}
    first_message = messages[ids_by_name["first"]]
    assert first_message["embeds"][0]["title"] == "Hi"
    assert first_message["pinned_ms"] == world.clock.now_ms()
    assert [reaction["emoji"] for reaction in first_message["reactions"]] == ["👍"]
    assert messages[ids_by_name["reply"]]["reference"]["message_id"] == str(ids_by_name["first"])
    assert messages[ids_by_name["poll_message"]]["poll_votes"] == [{"user_id": str(ids_by_name["bob"]), "answer_id": 1}]
    assert {"auto_moderation_rules", "bans", "emojis", "member_roles", "scheduled_events", "webhooks"} <= set(records)


async def test_files_have_their_size_and_hash(world: World, tmp_path: Path) -> None:
    guild = await world.guild()
    ids_by_name = await fill_guild(world, guild)

    await export_archive(world, guild.id, tmp_path / "guild.zip")

    index = {entry["path"]: entry for entry in read_archive(tmp_path / "guild.zip")["files"]}
    path = f"attachments/{ids_by_name['attachment']}"
    assert index[path]["sha256"] == hashlib.sha256(b"some text").hexdigest()
    with zipfile.ZipFile(tmp_path / "guild.zip") as archive:
        assert archive.read(f"files/{path}") == b"some text"
        assert {f"files/{name}" for name in index} <= set(archive.namelist())


async def test_tokens_of_webhooks_and_invites_are_not_exported_by_default(world: World, tmp_path: Path) -> None:
    guild = await world.guild()
    await fill_guild(world, guild)

    await export_archive(world, guild.id, tmp_path / "guild.zip")
    await export_archive(world, guild.id, tmp_path / "with-invites.zip", with_invites=True)

    assert "salt" not in read_archive(tmp_path / "guild.zip")["webhooks"][0]
    assert "invites" not in read_archive(tmp_path / "guild.zip")
    assert len(read_archive(tmp_path / "with-invites.zip")["invites"]) == 1


async def test_a_missing_file_is_listed_and_does_not_stop_the_export(world: World, tmp_path: Path) -> None:
    guild = await world.guild()
    ids_by_name = await fill_guild(world, guild)
    await world.app.files.delete(f"attachments/{ids_by_name['attachment']}")

    summary = await export_archive(world, guild.id, tmp_path / "guild.zip")

    assert summary.missing_file_count == 1
    entries = read_archive(tmp_path / "guild.zip")["files"]
    assert {"path": f"attachments/{ids_by_name['attachment']}", "missing": True} in entries


async def test_an_unknown_guild_leaves_no_file(world: World, tmp_path: Path) -> None:
    with pytest.raises(ExportError, match="no guild"):
        await export_archive(world, 123, tmp_path / "guild.zip")

    assert list(tmp_path.iterdir()) == []


async def test_the_manifest_names_the_format_and_the_guild(world: World, tmp_path: Path) -> None:
    guild = await world.guild()

    await export_archive(world, guild.id, tmp_path / "guild.zip")

    with zipfile.ZipFile(tmp_path / "guild.zip") as archive:
        manifest = json.loads(archive.read("manifest.json"))
    assert (manifest["format"], manifest["version"]) == ("hubbub-guild", 1)
    assert manifest["guild"] == {"id": str(guild.id), "name": "Guild"}
