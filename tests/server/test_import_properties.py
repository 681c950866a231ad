"""An archive of any guild survives an import into an empty server."""

import asyncio
import hashlib
import tempfile
from collections import Counter
from itertools import zip_longest
from pathlib import Path
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from hubbub.server.app import App
from hubbub.server.core.clock import ControlledClock
from hubbub.server.identity import accounts
from hubbub.server.transfer.export import export_guild
from hubbub.server.transfer.importer import Importer
from hubbub.server.transfer.sources import ArchiveSource
from tests.server.archived_guilds import GuildBuilder, describe_archive, guilds, list_files
from tests.server.archives import ID_PATTERN, read_archive, replace_ids
from tests.server.test_import_validation import GUILD_ID, write_archive
from tests.world import NOW_MS, small_config

USER_IDS = [f"30000000000000000{number}" for number in range(1, 5)]
CHANNEL_IDS = [f"40000000000000010{number}" for number in range(1, 4)]
TEXT_STRATEGY = st.text(st.characters(codec="utf-8", exclude_characters="\x00"), max_size=60)
EMOJI_STRATEGY = st.sampled_from(["👍", "🎉"])


@st.composite
def messages(draw: st.DrawFn) -> list[dict[str, Any]]:
    """Generate messages of several channels, some of them in the same millisecond."""
    messages_by_id: dict[str, dict[str, Any]] = {}
    for number in range(draw(st.integers(0, 12))):
        ms = draw(st.integers(95_367_431_640, 95_367_431_643))
        author = draw(st.sampled_from(USER_IDS))
        message = {
            "channel_id": draw(st.sampled_from(CHANNEL_IDS)),
            "id": str(ms << 22 | number),
            "author_id": author,
            "content": draw(TEXT_STRATEGY) + draw(st.sampled_from(["", f" <@{USER_IDS[0]}>", f" <#{CHANNEL_IDS[0]}>"])),
        }
        if draw(st.booleans()):
            message["embeds"] = [{"type": "rich", "title": draw(TEXT_STRATEGY)}]
        if draw(st.booleans()):
            message["pinned_ms"] = NOW_MS
        if draw(st.booleans()):
            message["mentions"] = [USER_IDS[0]]
        if messages_by_id and draw(st.booleans()):
            referenced_id = draw(st.sampled_from(sorted(messages_by_id)))
            message["reference"] = {
                "message_id": referenced_id,
                "channel_id": messages_by_id[referenced_id]["channel_id"],
                "type": 0,
            }
        reactions = draw(st.lists(st.tuples(EMOJI_STRATEGY, st.sampled_from(USER_IDS)), unique=True, max_size=3))
        if reactions:
            message["reacted"] = 1
            message["reactions"] = [
                {"emoji": emoji, "emoji_name": emoji, "user_id": user, "created_ms": NOW_MS}
                for emoji, user in reactions
            ]
        messages_by_id[message["id"]] = message
    return sorted(messages_by_id.values(), key=lambda entry: (entry["channel_id"], int(entry["id"])))


@settings(max_examples=12)
@given(messages=messages(), names=st.lists(TEXT_STRATEGY.filter(str.strip), min_size=3, max_size=3))
def test_an_export_of_an_import_is_equal_to_the_archive(messages: list[dict[str, Any]], names: list[str]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        archive = write_archive(
            Path(folder) / "generated.zip",
            users=[{"id": user, "username": f"user{user[-1]}"} for user in USER_IDS],
            members=[{"user_id": user, "joined_ms": NOW_MS} for user in USER_IDS],
            roles=[
                {"id": GUILD_ID, "name": "@everyone", "permissions": "0"},
                {"id": "400000000000000009", "name": names[0], "permissions": "8", "position": 1},
            ],
            channels=[
                {"id": channel, "type": 0, "name": f"{channel[-1]} {name}"}
                for channel, name in zip(CHANNEL_IDS, names, strict=True)
            ],
            messages=messages,
        )
        first_export = asyncio.run(import_and_export(archive, Path(folder) / "first.zip"))
        second_export = asyncio.run(import_and_export(Path(folder) / "first.zip", Path(folder) / "second.zip"))

        original_records = read_archive(archive)

    assert replace_ids(second_export) == replace_ids(first_export)
    assert describe_messages(first_export) == describe_messages(original_records)


@settings(max_examples=60)
@given(guild=guilds())
def test_an_import_and_its_export_lose_nothing_of_a_guild(guild: GuildBuilder) -> None:
    files = list_files(guild.records, guild.contents)
    index = [
        {"path": path, "size": len(data), "sha256": hashlib.sha256(data).hexdigest()} for path, data in files.items()
    ]
    with tempfile.TemporaryDirectory() as folder:
        archive = write_archive(
            Path(folder) / "generated.zip",
            {f"files/{path}": data for path, data in files.items()},
            **guild.records,
            files=index,
        )
        asyncio.run(import_and_export(archive, Path(folder) / "exported.zip"))

        expected, exported_archive = describe_archive(archive), describe_archive(Path(folder) / "exported.zip")

    differences = [
        (table, index, *pair)
        for table in expected | exported_archive
        for index, pair in enumerate(zip_longest(expected.get(table, []), exported_archive.get(table, [])))
        if pair[0] != pair[1]
    ]
    assert not differences


def describe_messages(records: dict[str, list[Any]]) -> list[Any]:
    """Return the messages of an archive in the order of their channels, without IDs."""
    names = {channel["id"]: channel["name"] for channel in records["channels"]}
    message_records = records.get("messages", [])
    contents = {message["id"]: ID_PATTERN.sub("#", message["content"]) for message in message_records}
    return [
        (
            names[message["channel_id"]],
            contents[message["id"]],
            [embed["title"] for embed in message.get("embeds", [])],
            message.get("pinned_ms"),
            len(message.get("mentions", [])),
            Counter(reaction["emoji"] for reaction in message.get("reactions", [])),
            contents.get(message["reference"]["message_id"]) if "reference" in message else None,
        )
        for message in sorted(message_records, key=lambda message: (names[message["channel_id"]], int(message["id"])))
    ]


async def import_and_export(archive: Path, output: Path) -> dict[str, list[Any]]:
    """Import an archive into an empty server, export the guild again, and return the records of the new archive."""
    app = App(small_config(), clock=ControlledClock(NOW_MS, running=False))
    await app.database.start()
    try:
        owner = await app.database.write(lambda tx: accounts.create_user(app.make_call(tx), "user1"))
        source = ArchiveSource(archive)
        summary = await Importer(app, source, owner.id).run()
        source.close()
        assert summary.skipped_count == 0
        await export_guild(
            lambda work: app.database.read(work, long=True), app.files, summary.guild_id, output, now_ms=NOW_MS
        )
        return read_archive(output)
    finally:
        await app.database.close()
