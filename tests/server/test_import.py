"""`hubbub import` of archives: nothing is lost, and an interrupted import continues."""

from pathlib import Path
from typing import Any

from hubbub.server.moving.importer import Importer, ImportSummary
from hubbub.server.moving.sources import ArchiveSource
from tests.server.archives import export_archive, fill_guild
from tests.world import Actor, World


async def import_archive(world: World, path: Path, owner: Actor) -> ImportSummary:
    source = ArchiveSource(path)
    try:
        return await Importer(world.app, source, owner.id).run()
    finally:
        source.close()


async def test_an_imported_guild_shows_the_same_to_its_owner(world: World, tmp_path: Path) -> None:
    guild = await world.guild()
    await fill_guild(world, guild)
    await export_archive(world, guild.id, tmp_path / "guild.zip")
    owner = await world.user("mover")
    session = await owner.connect()

    summary = await import_archive(world, tmp_path / "guild.zip", owner)

    created = await session.next("GUILD_CREATE")
    assert created["id"] == str(summary.guild_id)
    assert summary.skipped == 0
    original = (await guild.owner.get(f"/guilds/{guild.id}/channels")).ok()
    imported = (await owner.get(f"/guilds/{summary.guild_id}/channels")).ok()
    assert [channel["name"] for channel in imported] == [channel["name"] for channel in original]
    for before, after in zip(original, imported, strict=True):
        old = (await guild.owner.get(f"/channels/{before['id']}/messages?limit=100")).json
        new = (await owner.get(f"/channels/{after['id']}/messages?limit=100")).json
        if isinstance(old, list):
            assert [describe_message(message) for message in new] == [describe_message(message) for message in old]


def describe_message(message: dict[str, Any]) -> Any:
    """Return what a message shows, without IDs."""
    return (
        message["timestamp"],
        message["type"],
        len(message["content"]),
        [embed.get("title") for embed in message["embeds"]],
        [(reaction["emoji"]["name"], reaction["count"]) for reaction in message.get("reactions", ())],
        [file["filename"] for file in message["attachments"]],
        message["pinned"],
    )
