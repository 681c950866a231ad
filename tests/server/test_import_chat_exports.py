"""`hubbub import` of DiscordChatExporter's JSON files."""

import json
from pathlib import Path
from typing import Any

import pytest

from hubbub.protocol.enums import ChannelType
from hubbub.server.transfer.chat_exports import ChatExportSource
from hubbub.server.transfer.importer import Importer, ImportSummary, check
from hubbub.server.transfer.records import InvalidArchive
from tests.media import png
from tests.server.archived_guilds import LOTTIE
from tests.world import NOW_MS, Actor, World

GUILD_ID = 400_000_000_000_000_000
EMOJI_ID = 400_000_000_000_000_077


def user(number: int, name: str, **fields: Any) -> dict[str, Any]:
    return {
        "id": str(300_000_000_000_000_000 + number),
        "name": name,
        "discriminator": "0000",
        "nickname": name.title(),
        "color": "#FF0000",
        "isBot": False,
        "roles": [{"id": "400000000000000009", "name": "crew", "color": "#00FF00", "position": 3}],
        "avatarUrl": "export_Files/avatar.png",
        **fields,
    }


def message(number: int, author: dict[str, Any], content: str = "hello", **fields: Any) -> dict[str, Any]:
    return {
        "id": str(500_000_000_000_000_000 + (number << 22)),
        "type": "Default",
        "timestamp": "2018-10-11T18:51:41.797+00:00",
        "timestampEdited": None,
        "callEndedTimestamp": None,
        "isPinned": False,
        "content": content,
        "author": author,
        "attachments": [],
        "embeds": [],
        "stickers": [],
        "reactions": [],
        "mentions": [],
        **fields,
    }


def export_document(channel_id: int, messages: list[Any], **channel: Any) -> dict[str, Any]:
    return {
        "guild": {"id": str(GUILD_ID), "name": "Old place", "iconUrl": "export_Files/avatar.png"},
        "channel": {
            "id": str(channel_id),
            "type": "GuildTextChat",
            "categoryId": "400000000000000050",
            "category": "Rooms",
            "name": "lobby",
            "topic": "talk",
            **channel,
        },
        "dateRange": {"after": None, "before": None},
        "exportedAt": "2024-01-01T00:00:00+00:00",
        "messages": messages,
        "messageCount": len(messages),
    }


def write_export(folder: Path) -> Path:
    """Write an export of a channel and a thread with media files to a new folder, and return the folder."""
    alice, bob = user(1, "alice"), user(2, "bob")
    media = folder / "export_Files"
    media.mkdir(parents=True)
    (media / "avatar.png").write_bytes(png())
    (media / "plan.txt").write_text("the plan")
    first_message = message(
        1,
        alice,
        f"see <@{bob['id']}>",
        isPinned=True,
        mentions=[bob],
        attachments=[
            {"id": "500000000000000001", "url": "export_Files/plan.txt", "fileName": "plan.txt", "fileSizeBytes": 8}
        ],
        embeds=[{"title": "T", "url": None, "description": "D", "color": "#123456", "fields": [], "images": []}],
    )
    custom = {"id": str(EMOJI_ID), "name": "wave", "isAnimated": False, "imageUrl": "export_Files/avatar.png"}
    reply = message(
        2,
        bob,
        "ok",
        type="Reply",
        reference={"messageId": first_message["id"], "channelId": "400000000000000100", "guildId": str(GUILD_ID)},
        timestampEdited="2018-10-12T00:00:00+00:00",
        reactions=[
            {"emoji": {"id": "", "name": "👍", "code": "thumbsup"}, "count": 2, "users": [alice, bob]},
            {"emoji": custom, "count": 1, "users": [alice]},
        ],
    )
    (folder / "lobby.json").write_text(
        json.dumps(export_document(400_000_000_000_000_100, [first_message, reply]), indent=2)
    )
    thread = export_document(
        500_000_000_004_194_304,
        [message(7, bob, "in the thread")],
        type="GuildPublicThread",
        categoryId="400000000000000100",
        category="lobby",
        name="details",
    )
    (folder / "details.json").write_text(json.dumps(thread, indent=2))
    return folder


async def import_export(world: World, path: Path, owner: Actor) -> ImportSummary:
    return await Importer(world.app, ChatExportSource(path), owner.id).run()


async def test_an_export_becomes_a_guild_with_placeholders(world: World, tmp_path: Path) -> None:
    owner = await world.user("mover")

    summary = await import_export(world, write_export(tmp_path / "export"), owner)

    guild = (await owner.get(f"/guilds/{summary.guild_id}")).ok()
    assert (guild["name"], guild["owner_id"]) == ("Old place", str(owner.id))
    assert [role["name"] for role in guild["roles"]] == ["@everyone", "crew"]
    assert [(emoji["name"], bool(emoji["id"])) for emoji in guild["emojis"]] == [("wave", True)]
    channels = {channel["name"]: channel for channel in (await owner.get(f"/guilds/{summary.guild_id}/channels")).ok()}
    assert channels["lobby"]["parent_id"] == channels["Rooms"]["id"]
    reply, first_message = (await owner.get(f"/channels/{channels['lobby']['id']}/messages")).ok()
    assert first_message["author"]["global_name"] == "alice"
    member = (await owner.get(f"/guilds/{summary.guild_id}/members/{first_message['author']['id']}")).ok()
    assert member["nick"] == "Alice"
    assert first_message["timestamp"].startswith("2018-10-")
    assert first_message["content"] == f"see <@{first_message['mentions'][0]['id']}>"
    assert first_message["mentions"][0]["global_name"] == "bob"
    assert (first_message["embeds"][0]["title"], first_message["embeds"][0]["color"]) == ("T", 0x123456)
    assert reply["referenced_message"]["id"] == first_message["id"]
    assert reply["edited_timestamp"] is not None
    assert [(entry["emoji"]["name"], entry["count"]) for entry in reply["reactions"]] == [("wave", 1), ("👍", 2)]
    assert [pin["message"]["id"] for pin in (await fetch_pins(owner, channels["lobby"]["id"]))] == [first_message["id"]]
    async with world.client.get(first_message["attachments"][0]["url"]) as response:
        assert await response.text() == "the plan"


async def fetch_pins(owner: Actor, channel_id: str) -> list[Any]:
    items: list[Any] = (await owner.get(f"/channels/{channel_id}/messages/pins")).ok()["items"]
    return items


async def test_a_thread_is_below_its_channel(world: World, tmp_path: Path) -> None:
    owner = await world.user("mover")

    summary = await import_export(world, write_export(tmp_path / "export"), owner)

    channels = {channel["name"]: channel for channel in (await owner.get(f"/guilds/{summary.guild_id}/channels")).ok()}
    archived_page = await owner.get(f"/channels/{channels['lobby']['id']}/threads/archived/public")
    (thread,) = archived_page.ok()["threads"]
    assert (thread["name"], thread["message_count"]) == ("details", 1)
    assert [entry["content"] for entry in (await owner.get(f"/channels/{thread['id']}/messages")).ok()] == [
        "in the thread"
    ]


async def test_posts_are_below_a_forum(world: World, tmp_path: Path) -> None:
    owner = await world.user("mover")
    post_id = 500_000_000_000_000_000 + (20 << 22)
    forum = {"type": "GuildPublicThread", "categoryId": "400000000000000200", "category": "ideas"}
    question = message(20, user(1, "alice"), "What do you think?")
    answer = message(21, user(2, "bob"), "Good idea")
    folder = write_export(tmp_path / "export")
    document = export_document(post_id, [question, answer], name="A new game", **forum)
    (folder / "post.json").write_text(json.dumps(document))

    summary = await import_export(world, folder, owner)

    channels = {channel["name"]: channel for channel in (await owner.get(f"/guilds/{summary.guild_id}/channels")).ok()}
    assert channels["ideas"]["type"] == ChannelType.GUILD_FORUM
    archived_page = await owner.get(f"/channels/{channels['ideas']['id']}/threads/archived/public")
    (post,) = archived_page.ok()["threads"]
    contents = [entry["content"] for entry in (await owner.get(f"/channels/{post['id']}/messages")).ok()]
    assert (post["name"], contents) == ("A new game", ["Good idea", "What do you think?"])


async def test_stickers_with_downloaded_files_are_imported(world: World, tmp_path: Path) -> None:
    owner = await world.user("mover")
    folder = write_export(tmp_path / "export")
    (folder / "export_Files" / "dance.json").write_bytes(LOTTIE)
    stickers = [
        {"id": "600000000000000000", "name": "Wave", "format": "Png", "sourceUrl": "export_Files/avatar.png"},
        {"id": "600000000000000001", "name": "Dance", "format": "Lottie", "sourceUrl": "export_Files/dance.json"},
        {"id": "600000000000000002", "name": "Lost", "format": "Png", "sourceUrl": "https://cdn.example/602.png"},
    ]
    document = export_document(400_000_000_000_000_101, [message(30, user(1, "alice"), "", stickers=stickers)])
    document["channel"]["name"] = "stickers"
    (folder / "stickers.json").write_text(json.dumps(document))

    summary = await import_export(world, folder, owner)

    guild_stickers = {
        sticker["name"]: sticker for sticker in (await owner.get(f"/guilds/{summary.guild_id}/stickers")).ok()
    }
    assert {name: sticker["format_type"] for name, sticker in guild_stickers.items()} == {"Wave": 1, "Dance": 3}
    channels = {channel["name"]: channel for channel in (await owner.get(f"/guilds/{summary.guild_id}/channels")).ok()}
    [sent_messages] = (await owner.get(f"/channels/{channels['stickers']['id']}/messages")).ok()
    assert [item["id"] for item in sent_messages["sticker_items"]] == [
        guild_stickers["Wave"]["id"],
        guild_stickers["Dance"]["id"],
    ]


async def test_a_thread_in_several_files_counts_all_messages(world: World, tmp_path: Path) -> None:
    owner = await world.user("mover")
    folder = write_export(tmp_path / "export")
    second_file = json.loads((folder / "details.json").read_text())
    second_file["messages"] = [message(8, user(1, "alice"), "second part"), message(9, user(1, "alice"), "more")]
    (folder / "details [part 2].json").write_text(json.dumps(second_file))
    source = ChatExportSource(folder)

    summary = await Importer(world.app, source, owner.id).run()

    assert source.totals["channels"] == 2
    channels = {channel["name"]: channel for channel in (await owner.get(f"/guilds/{summary.guild_id}/channels")).ok()}
    archived_page = await owner.get(f"/channels/{channels['lobby']['id']}/threads/archived/public")
    (thread,) = archived_page.ok()["threads"]
    assert (thread["message_count"], thread["total_message_sent"]) == (3, 3)


async def test_importing_an_export_again_changes_nothing(world: World, tmp_path: Path) -> None:
    owner = await world.user("mover")
    folder = write_export(tmp_path / "export")

    first_summary = await import_export(world, folder, owner)
    second_summary = await import_export(world, folder, owner)

    assert (second_summary.guild_id, second_summary.is_new) == (first_summary.guild_id, False)
    assert len((await owner.get("/users/@me/guilds")).ok()) == 1


def test_a_dry_run_reports_what_cannot_be_imported(tmp_path: Path) -> None:
    folder = write_export(tmp_path / "export")
    (folder / "export_Files" / "plan.txt").unlink()

    report = check(ChatExportSource(folder), NOW_MS)

    assert report.counts["messages"] == 3
    assert any("Attachments that the export does not contain: 1." in note for note in report.notes)


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ({"id": "x"}, r"lobby.json, line \d+, field id: not an ID"),
        ({"timestamp": "yesterday"}, r"lobby.json, line \d+, field timestamp: Invalid"),
        ({"author": {"name": "x"}}, r"lobby.json, line \d+, field author: .*missing required field `id`"),
        ({"content": 5}, r"lobby.json, line \d+, field content: Expected `str`"),
    ],
)
def test_an_invalid_message_is_named_with_file_line_and_field(
    tmp_path: Path, change: dict[str, Any], problem: str
) -> None:
    document = export_document(400_000_000_000_000_100, [message(1, user(1, "alice")) | change])
    path = tmp_path / "lobby.json"
    path.write_text(json.dumps(document, indent=2))

    with pytest.raises(InvalidArchive, match=problem):
        check(ChatExportSource(path), NOW_MS)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("{}", "no list of messages"),
        ('{"guild": 1, "messages": []}', "Expected `object`"),
        ('{"messages": [', "required field"),
        ("[" * 100_000, "no list of messages"),
    ],
)
def test_a_file_of_another_format_is_rejected(tmp_path: Path, text: str, problem: str) -> None:
    path = tmp_path / "lobby.json"
    path.write_text(text)

    with pytest.raises(InvalidArchive, match=problem):
        ChatExportSource(path)


def test_a_truncated_file_is_rejected(tmp_path: Path) -> None:
    document = json.dumps(export_document(400_000_000_000_000_100, [message(1, user(1, "alice"))]))
    path = tmp_path / "lobby.json"
    path.write_text(document[: document.index('"isPinned"')])

    with pytest.raises(InvalidArchive, match="not valid JSON"):
        check(ChatExportSource(path), NOW_MS)


@pytest.mark.parametrize("url", ["../secret.txt", "/etc/passwd", "%2e%2e/secret.txt", "\x00"])
def test_a_file_outside_the_export_is_never_read(tmp_path: Path, url: str) -> None:
    (tmp_path / "secret.txt").write_text("secret")
    attachment = {"id": "500000000000000001", "url": url, "fileName": "a.txt", "fileSizeBytes": 6}
    document = export_document(400_000_000_000_000_100, [message(1, user(1, "alice"), attachments=[attachment])])
    folder = tmp_path / "export"
    folder.mkdir()
    (folder / "lobby.json").write_text(json.dumps(document))

    source = ChatExportSource(folder)

    assert list(source.files()) == []
