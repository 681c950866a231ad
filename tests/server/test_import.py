"""`hubbub import` of archives: nothing is lost, and an interrupted import continues."""

import asyncio
import contextlib
from pathlib import Path
from typing import Any

import pytest

from hubbub.server.transfer import importer
from hubbub.server.transfer.importer import Importer, ImportSummary
from hubbub.server.transfer.sources import ArchiveSource
from tests.server.archives import export_archive, fill_guild, read_archive, replace_ids
from tests.server.identity.operators import create_operator
from tests.world import Actor, World


async def import_archive(world: World, path: Path, owner: Actor) -> ImportSummary:
    source = ArchiveSource(path)
    try:
        return await Importer(world.app, source, owner.id).run()
    finally:
        source.close()


async def test_an_imported_guild_shows_the_same_content_to_its_owner(world: World, tmp_path: Path) -> None:
    guild = await world.guild()
    await fill_guild(world, guild)
    await export_archive(world, guild.id, tmp_path / "guild.zip")
    owner = await world.user("mover")
    session = await owner.connect()

    summary = await import_archive(world, tmp_path / "guild.zip", owner)

    guild_event = await session.next("GUILD_CREATE")
    assert guild_event["id"] == str(summary.guild_id)
    assert summary.skipped_count == 0
    original_channels = (await guild.owner.get(f"/guilds/{guild.id}/channels")).ok()
    imported_channels = (await owner.get(f"/guilds/{summary.guild_id}/channels")).ok()
    assert [channel["name"] for channel in imported_channels] == [channel["name"] for channel in original_channels]
    for original_channel, imported_channel in zip(original_channels, imported_channels, strict=True):
        original_messages = (await guild.owner.get(f"/channels/{original_channel['id']}/messages?limit=100")).json
        imported_messages = (await owner.get(f"/channels/{imported_channel['id']}/messages?limit=100")).json
        if isinstance(original_messages, list):
            assert [describe_message(message) for message in imported_messages] == [
                describe_message(message) for message in original_messages
            ]


def describe_message(message: dict[str, Any]) -> Any:
    """Return the visible properties of a message, without IDs."""
    return (
        message["timestamp"],
        message["type"],
        len(message["content"]),
        [embed.get("title") for embed in message["embeds"]],
        [(reaction["emoji"]["name"], reaction["count"]) for reaction in message.get("reactions", ())],
        [file["filename"] for file in message["attachments"]],
        message["pinned"],
    )


async def test_the_files_of_an_imported_guild_count_as_its_storage(world: World, tmp_path: Path) -> None:
    guild = await world.guild()
    await fill_guild(world, guild)
    await export_archive(world, guild.id, tmp_path / "guild.zip")
    operator = await create_operator(world, "ann")

    summary = await import_archive(world, tmp_path / "guild.zip", await world.user("mover"))

    original_storage = (await operator.get(f"/admin/guilds/{guild.id}/storage")).ok()
    imported_storage = (await operator.get(f"/admin/guilds/{summary.guild_id}/storage")).ok()
    assert original_storage["file_count"] > 0
    assert imported_storage["file_count"] == original_storage["file_count"]


async def test_exporting_an_imported_guild_gives_an_equal_archive(world: World, tmp_path: Path) -> None:
    guild = await world.guild()
    await fill_guild(world, guild)
    await export_archive(world, guild.id, tmp_path / "first.zip", with_invites=True)

    # On the same server the codes of the invites are in use, so an archive without them is imported.
    await export_archive(world, guild.id, tmp_path / "guild.zip")
    summary = await import_archive(world, tmp_path / "guild.zip", guild.owner)
    await export_archive(world, summary.guild_id, tmp_path / "again.zip")

    assert replace_ids(read_archive(tmp_path / "again.zip")) == replace_ids(read_archive(tmp_path / "guild.zip"))


async def test_importing_an_archive_again_changes_nothing(world: World, tmp_path: Path) -> None:
    guild = await world.guild()
    await fill_guild(world, guild)
    await export_archive(world, guild.id, tmp_path / "guild.zip")
    owner = await world.user("mover")

    first_summary = await import_archive(world, tmp_path / "guild.zip", owner)
    second_summary = await import_archive(world, tmp_path / "guild.zip", owner)

    assert (second_summary.guild_id, second_summary.is_new) == (first_summary.guild_id, False)
    assert [entry["id"] for entry in (await owner.get("/users/@me/guilds")).ok()] == [str(first_summary.guild_id)]


@pytest.mark.parametrize("failures", range(1, 12))
async def test_an_interrupted_import_continues_without_duplicates_and_gaps(
    world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, failures: int
) -> None:
    guild = await world.guild()
    await fill_guild(world, guild)
    await export_archive(world, guild.id, tmp_path / "guild.zip")
    for name in ("ID_BATCH_SIZE", "ROW_BATCH_SIZE", "FILE_BATCH_SIZE"):
        monkeypatch.setattr(importer, name, 7)
    write, count, task = world.app.database.write, 0, asyncio.current_task()

    class Interrupted(Exception):
        pass

    async def interrupted_write(work: Any, **options: Any) -> Any:
        nonlocal count
        if asyncio.current_task() is not task:
            # The App writes in tasks of its own, for example to renew its lease.
            return await write(work, **options)
        count += 1
        if count % failures == 0 and count < 60:
            raise Interrupted
        return await write(work, **options)

    monkeypatch.setattr(world.app.database, "write", interrupted_write)
    summary = None
    while summary is None:
        with contextlib.suppress(Interrupted):
            summary = await import_archive(world, tmp_path / "guild.zip", guild.owner)
    monkeypatch.undo()

    await export_archive(world, summary.guild_id, tmp_path / "again.zip")
    assert replace_ids(read_archive(tmp_path / "again.zip")) == replace_ids(read_archive(tmp_path / "guild.zip"))


async def test_history_pages_by_message_id_in_the_original_order(world: World, tmp_path: Path) -> None:
    guild = await world.guild()
    sent_contents = [(await guild.send_message(guild.owner, f"message {number}"))["content"] for number in range(25)]
    await export_archive(world, guild.id, tmp_path / "guild.zip")
    owner = await world.user("mover")
    summary = await import_archive(world, tmp_path / "guild.zip", owner)
    channels = (await owner.get(f"/guilds/{summary.guild_id}/channels")).ok()
    (general_channel_id,) = (channel["id"] for channel in channels if channel["name"] == "general")

    paged_ids: list[str] = []
    last_message_id = "0"
    while page := (await owner.get(f"/channels/{general_channel_id}/messages?limit=10&after={last_message_id}")).ok():
        paged_ids += [message["content"] for message in reversed(page)]
        last_message_id = page[0]["id"]

    assert paged_ids == sent_contents


async def test_an_imported_guild_is_read_and_searchable(world: World, tmp_path: Path) -> None:
    guild = await world.guild()
    await guild.send_message(guild.owner, "a hidden pearl")
    await export_archive(world, guild.id, tmp_path / "guild.zip")
    owner = await world.user("mover")

    summary = await import_archive(world, tmp_path / "guild.zip", owner)

    session = await owner.connect()
    states = {entry["id"]: entry for entry in session.ready["read_state"]["entries"]}
    (general,) = (
        channel
        for channel in (await owner.get(f"/guilds/{summary.guild_id}/channels")).ok()
        if channel["name"] == "general"
    )
    assert states[general["id"]]["last_message_id"] == general["last_message_id"]
    assert states[general["id"]]["mention_count"] == 0
    search_path = f"/guilds/{summary.guild_id}/messages/search?content=pearl"
    assert (await owner.get(search_path)).status == 202
    await world.run_due_jobs()
    assert (await owner.get(search_path)).ok()["total_results"] == 1


async def test_placeholders_cannot_log_in_and_do_not_occupy_names(world: World, tmp_path: Path) -> None:
    guild = await world.guild()
    bob = await guild.member()
    await export_archive(world, guild.id, tmp_path / "guild.zip")

    summary = await import_archive(world, tmp_path / "guild.zip", await world.user("mover"))

    members = await world.app.database.read(
        lambda tx: tx.all("SELECT user_id FROM members WHERE guild_id = ?", summary.guild_id)
    )
    assert len(members) == 2
    assert (bob.id,) not in members
    assert (guild.owner.id,) not in members
