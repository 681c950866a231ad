"""Message attachments: media types, metadata, embeds and components, edits, voice messages, signed URLs and deletion."""

import asyncio
from typing import Any

import pytest

from hubbub.protocol import changes
from hubbub.protocol.enums import ComponentType, MessageReferenceType, OverwriteType
from hubbub.protocol.flags import AttachmentFlags, MessageFlags
from hubbub.protocol.permissions import Permissions
from hubbub.protocol.resources.attachments import ATTACHMENT_URL_SECONDS
from hubbub.server.core import cdn_urls, media
from hubbub.server.talk.attachments import clean_filename
from tests.server.talk.uploads import PNG, send_files
from tests.world import WAIT_TIMEOUT_SECONDS, Actor, ApiResponse, Guild, World

GIF = b"GIF89a\x05\x00\x07\x00\x00\x00\x00" + b"\x21\xff\x0bNETSCAPE2.0"
JPEG = b"\xff\xd8\xff\xe0\x00\x04ab\xff\xc0\x00\x11\x08\x00\x09\x00\x0b\x03" + bytes(10)
WEBP = b"RIFF\x00\x00\x00\x00WEBPVP8X\x0a\x00\x00\x00\x02\x00\x00\x00\x0f\x00\x00\x1f\x00\x00"
OGG = b"OggS" + bytes(60)
WEBM = b"\x1a\x45\xdf\xa3" + bytes(60)


def messages_path(guild: Guild) -> str:
    """Return the path of the messages in #general."""
    return f"/channels/{guild.general}/messages"


@pytest.mark.parametrize(
    ("data", "filename", "expected"),
    [
        (PNG, "a.exe", media.Media("image/png", 128, 128)),
        (GIF, "", media.Media("image/gif", 5, 7, True)),
        (JPEG, "", media.Media("image/jpeg", 11, 9)),
        (WEBP, "", media.Media("image/webp", 16, 32, True)),
        (b"RIFF\x00\x00\x00\x00WEBPVP8L\x00\x00\x00\x00\x2f\x04\x80\x02\x00", "", media.Media("image/webp", 5, 11)),
        (
            b"RIFF\x00\x00\x00\x00WEBPVP8 \x00\x00\x00\x00\x00\x00\x00\x9d\x01\x2a\x08\x00\x09\x00",
            "",
            media.Media("image/webp", 8, 9),
        ),
        (b"\x89PNG\r\n\x1a\n", "", media.Media("image/png")),
        (b"\xff\xd8\xff\xe0", "", media.Media("image/jpeg")),
        (OGG, "", media.Media("audio/ogg")),
        (WEBM + b"\x86\x86A_OPUS", "", media.Media("audio/webm")),
        (WEBM + b"\x86\x85V_VP8\x86\x86A_OPUS", "", media.Media("video/webm")),
        (WEBM, "", media.Media("video/webm")),
        (b"\x00\x00\x00\x18ftypmp42", "", media.Media("video/mp4")),
        (b"hello", "a.txt", media.Media("text/plain; charset=utf-8")),
        (b"{}", "a.json", media.Media("application/json; charset=utf-8")),
        (b"<script>", "a.png", media.Media("text/plain; charset=utf-8")),
        (b"\x00\x01", "a.png", media.Media(None)),
        (b"", "", media.Media(None)),
    ],
)
def test_the_media_type_is_detected_from_the_content(data: bytes, filename: str, expected: media.Media) -> None:
    assert media.inspect_file(data, filename) == expected


def test_a_filename_is_sanitized() -> None:
    assert clean_filename("my cat (1).png") == "my_cat_1.png"
    assert clean_filename("../..//x") == "x"
    assert clean_filename("катя.png") == "катя.png"
    assert clean_filename("???") == "unknown"


async def test_an_attachment_has_its_requested_and_detected_metadata(world: World) -> None:
    guild = await world.guild()
    message = await send_files(
        guild.owner,
        messages_path(guild),
        ("my cat.png", PNG),
        ("b.txt", b"words"),
        attachments=[{"id": "1", "description": "words"}, {"id": 0, "description": "a cat", "is_spoiler": True}],
    )
    text_file, cat = message.ok()["attachments"]
    assert (text_file["filename"], text_file["description"], text_file["size"]) == ("b.txt", "words", 5)
    assert text_file["content_type"] == "text/plain; charset=utf-8"
    assert (cat["filename"], cat["title"], cat["content_type"]) == ("my_cat.png", "my cat", "image/png")
    assert (cat["width"], cat["height"], cat["flags"]) == (128, 128, AttachmentFlags.IS_SPOILER)
    assert cat["url"].startswith(f"{world.url}/cdn/attachments/{guild.general}/{cat['id']}/my_cat.png?ex=")
    assert cat["proxy_url"] == cat["url"].replace("/cdn/", "/cdn/media/")
    assert await world.app.files.get(cdn_urls.attachment_key(int(cat["id"]))) == PNG


@pytest.mark.dated(changes.ATTACHMENT_SPOILER)
async def test_is_spoiler_marks_spoilers_from_the_date_and_the_prefix_always(world: World) -> None:
    guild = await world.guild()

    async def sent_flags(filename: str, **metadata: Any) -> int:
        message = (
            await send_files(guild.owner, messages_path(guild), (filename, PNG), attachments=[{"id": 0, **metadata}])
        ).ok()
        flags: int = message["attachments"][0].get("flags", 0)
        return flags

    assert await sent_flags("a.png") == 0
    assert await sent_flags("SPOILER_a.png") == AttachmentFlags.IS_SPOILER
    assert await sent_flags("a.png", is_spoiler=True) == AttachmentFlags.IS_SPOILER
    world.clock.set(changes.ATTACHMENT_SPOILER.at_ms - 1)
    assert await sent_flags("a.png", is_spoiler=True) == 0
    assert await sent_flags("SPOILER_a.png") == AttachmentFlags.IS_SPOILER


async def test_invalid_files_are_rejected(world: World) -> None:
    bob = await world.user()
    guild = await world.guild(None, bob)
    rejected_response = await send_files(bob, messages_path(guild), ("a.png", PNG), attachments=[{"id": 5}])
    assert rejected_response.errors("attachments.0.id") == ["ATTACHMENT_NOT_FOUND"]
    rejected_response = await send_files(
        bob, messages_path(guild), ("a.png", PNG), attachments=[{"id": 0, "description": "x" * 1025}]
    )
    assert rejected_response.errors("attachments.0.description") == ["BASE_TYPE_MAX_LENGTH"]
    (await send_files(bob, messages_path(guild), *[("a.png", PNG)] * 11)).rejected(400, 30015)
    (await send_files(bob, messages_path(guild), ("a.bin", bytes((10 << 20) + 1)))).rejected(413, 50045)
    await guild.overwrite(guild.general, guild.id, deny=Permissions.ATTACH_FILES, target_type=OverwriteType.ROLE)
    (await send_files(bob, messages_path(guild), ("a.png", PNG))).rejected(403, 50013)


async def test_a_file_inside_an_embed_is_not_listed(world: World) -> None:
    guild = await world.guild()
    message = await send_files(
        guild.owner,
        messages_path(guild),
        ("my cat.png", PNG),
        ("b.txt", b"words"),
        embeds=[
            {"image": {"url": "attachment://my cat.png"}, "footer": {"text": "f", "icon_url": "attachment://b.txt"}}
        ],
    )
    message_view = message.ok()
    assert [attachment["filename"] for attachment in message_view["attachments"]] == ["b.txt"]
    image = message_view["embeds"][0]["image"]
    assert "/my_cat.png?ex=" in image["url"]
    assert image["proxy_url"] == image["url"].replace("/cdn/", "/cdn/media/")
    assert (image["width"], image["height"]) == (128, 128)
    assert message_view["embeds"][0]["footer"]["icon_url"] == "attachment://b.txt"


async def test_a_file_inside_a_component_is_shown_with_its_url(world: World) -> None:
    guild = await world.guild()
    bot = await world.bot(guild)
    message = await send_files(
        bot,
        messages_path(guild),
        ("my cat.png", PNG),
        flags=MessageFlags.IS_COMPONENTS_V2,
        components=[
            {"type": ComponentType.MEDIA_GALLERY, "items": [{"media": {"url": "attachment://my cat.png"}}]},
            {"type": ComponentType.FILE, "file": {"url": "attachment://my_cat.png"}},
        ],
    )
    gallery, file = message.ok()["components"]
    assert "/my_cat.png?ex=" in gallery["items"][0]["media"]["url"]
    assert "/cdn/media/attachments/" in gallery["items"][0]["media"]["proxy_url"]
    assert (file["name"], file["size"]) == ("my_cat.png", len(PNG))


async def test_an_edit_retains_exactly_the_files_it_lists(world: World) -> None:
    guild = await world.guild()
    message = (await send_files(guild.owner, messages_path(guild), ("a.png", PNG), ("b.png", PNG), content="x")).ok()
    message_path = f"{messages_path(guild)}/{message['id']}"
    first_file, second_file = message["attachments"]

    async def edited_filenames(**body: Any) -> list[str]:
        edited_message_view = (await guild.owner.patch(message_path, json=body)).ok()
        return [attachment["filename"] for attachment in edited_message_view["attachments"]]

    assert await edited_filenames(content="y") == ["a.png", "b.png"]
    extended_message = (await send_files(guild.owner, message_path, ("c.png", PNG), method="PATCH")).ok()
    assert [attachment["filename"] for attachment in extended_message["attachments"]] == ["a.png", "b.png", "c.png"]
    metadata = [{"id": second_file["id"], "description": "retained"}, {"id": 0}]
    edited_message = (
        await send_files(guild.owner, message_path, ("d.png", PNG), method="PATCH", attachments=metadata)
    ).ok()
    assert [
        (attachment["filename"], attachment.get("description")) for attachment in edited_message["attachments"]
    ] == [
        ("b.png", "retained"),
        ("d.png", None),
    ]
    rejected_response = await guild.owner.patch(message_path, json={"attachments": [{"id": first_file["id"]}]})
    assert rejected_response.errors("attachments.0.id") == ["ATTACHMENT_NOT_FOUND"]
    assert await edited_filenames(attachments=[]) == []


async def test_a_voice_message_is_a_single_sound_file(world: World) -> None:
    bob = await world.user()
    guild = await world.guild(None, bob)
    voice: dict[str, Any] = {"flags": MessageFlags.IS_VOICE_MESSAGE}
    metadata = [{"id": 0, "duration_secs": 1.5, "waveform": "AAAA"}]
    voice_message = (await send_files(bob, messages_path(guild), ("v.ogg", OGG), **voice, attachments=metadata)).ok()
    assert voice_message["flags"] == MessageFlags.IS_VOICE_MESSAGE
    assert (voice_message["attachments"][0]["duration_secs"], voice_message["attachments"][0]["waveform"]) == (
        1.5,
        "AAAA",
    )
    too_long = {"content": "x", "attachments": [{"id": 0, "duration_secs": 1e300}]}
    rejected_response = await guild.owner.post(f"/channels/{guild.general}/messages", json=too_long)
    assert rejected_response.errors("attachments.0.duration_secs") == ["NUMBER_TYPE_MAX"]
    (await bob.patch(f"{messages_path(guild)}/{voice_message['id']}", json={"content": "x"})).rejected(400, 50162)
    (await send_files(bob, messages_path(guild), ("v.ogg", OGG), **voice, attachments=metadata, content="x")).rejected(
        400, 50159
    )
    (await send_files(bob, messages_path(guild), ("v.ogg", PNG), **voice, attachments=metadata)).rejected(400, 50160)
    (await send_files(bob, messages_path(guild), ("v.ogg", OGG), **voice)).rejected(400, 50161)
    await guild.overwrite(guild.general, guild.id, deny=Permissions.SEND_VOICE_MESSAGES, target_type=OverwriteType.ROLE)
    (await send_files(bob, messages_path(guild), ("v.ogg", OGG), **voice, attachments=metadata)).rejected(403, 50173)


async def test_attachment_urls_are_refreshed(world: World) -> None:
    alice, outsider = await world.user(), await world.user()
    guild = await world.guild(alice)
    message = (await send_files(alice, messages_path(guild), ("a.png", PNG))).ok()
    signed_url = message["attachments"][0]["url"]
    world.clock.advance(2 * 86_400_000)
    fetched_message = (await alice.get(f"{messages_path(guild)}/{message['id']}")).ok()
    fresh_url = fetched_message["attachments"][0]["url"]
    assert fresh_url != signed_url

    async def refresh(actor: Actor, url: str) -> ApiResponse:
        return await actor.post("/attachments/refresh-urls", json={"attachment_urls": [url]})

    unsigned_url = signed_url.partition("?")[0]
    for actor, url in ((alice, unsigned_url), (alice, signed_url)):
        response = (await refresh(actor, url)).ok()
        assert response == {"refreshed_urls": [{"original": url, "refreshed": fresh_url}]}
    forged_url = unsigned_url + "?ex=ffffffff&is=1&hm=" + "0" * 64
    for url in (
        unsigned_url,
        signed_url,
        forged_url,
        "https://example.org/attachments/1/2/a.png",
        f"{world.url}/cdn/attachments/1/x/y",
    ):
        assert (await refresh(outsider, url)).errors("attachment_urls.0") == ["URL_TYPE_INVALID_URL"]
    (await alice.post("/attachments/refresh-urls", json={"attachment_urls": [unsigned_url] * 51})).rejected(400, 50035)


async def test_attachment_urls_are_refreshed_only_for_the_channel_of_the_attachment(world: World) -> None:
    guild = await world.guild()
    bob = await guild.member()
    secret_channel_id = await guild.channel("secret")
    message = (await send_files(guild.owner, f"/channels/{secret_channel_id}/messages", ("a.png", PNG))).ok()
    signed_url = message["attachments"][0]["url"]
    unsigned_url = signed_url.partition("?")[0]
    (await bob.post("/attachments/refresh-urls", json={"attachment_urls": [signed_url, unsigned_url]})).ok()
    await guild.overwrite(secret_channel_id, bob.id, deny=Permissions.VIEW_CHANNEL)
    # Rejected: URLs of a channel that the member lost access to, of another channel, and with another file name.
    for url in (
        signed_url,
        unsigned_url,
        unsigned_url.replace(str(secret_channel_id), str(guild.general)),
        unsigned_url.replace("a.png", "b.png"),
    ):
        response = await bob.post("/attachments/refresh-urls", json={"attachment_urls": [url]})
        assert response.errors("attachment_urls.0") == ["URL_TYPE_INVALID_URL"]
    other_name = unsigned_url.replace("a.png", "b.html")
    response = await guild.owner.post("/attachments/refresh-urls", json={"attachment_urls": [other_name]})
    assert response.errors("attachment_urls.0") == ["URL_TYPE_INVALID_URL"]


async def test_a_forward_contains_the_attachments(world: World) -> None:
    guild = await world.guild()
    other_channel_id = await guild.channel("other")
    message = (await send_files(guild.owner, messages_path(guild), ("a.png", PNG))).ok()
    reference = {"type": MessageReferenceType.FORWARD, "message_id": message["id"], "channel_id": str(guild.general)}
    copy = (
        await guild.owner.post(f"/channels/{other_channel_id}/messages", json={"message_reference": reference})
    ).ok()
    assert copy["attachments"] == []
    assert copy["message_snapshots"][0]["message"]["attachments"][0]["url"] == message["attachments"][0]["url"]


async def test_a_boosted_guild_accepts_larger_files(world: World) -> None:
    guild = await world.guild()
    large_file = ("large.bin", bytes((10 << 20) + 1))
    (await send_files(guild.owner, messages_path(guild), large_file)).rejected(413, 50045)

    await world.grant_to_guild(guild, tier=2)
    sent_message = (await send_files(guild.owner, messages_path(guild), large_file)).ok()
    assert sent_message["attachments"][0]["size"] == (10 << 20) + 1
    larger_file = ("other.bin", bytes((10 << 20) + 2))
    edited_message = (
        await send_files(
            guild.owner,
            f"{messages_path(guild)}/{sent_message['id']}",
            larger_file,
            method="PATCH",
            attachments=[{"id": 0}],
        )
    ).ok()
    assert [attachment["size"] for attachment in edited_message["attachments"]] == [(10 << 20) + 2]


async def files_exist(world: World, *sent_messages: Any) -> list[bool]:
    """Return for each message whether the file of its first attachment exists."""
    file_ids = [int(message["attachments"][0]["id"]) for message in sent_messages]
    return [await world.app.files.exists(cdn_urls.attachment_key(file_id)) for file_id in file_ids]


async def wait_until_files_exist(world: World, expected: list[bool], *sent_messages: Any) -> None:
    """Wait until `files_exist` returns `expected`."""
    async with asyncio.timeout(WAIT_TIMEOUT_SECONDS):
        while await files_exist(world, *sent_messages) != expected:
            await asyncio.sleep(0.01)


async def test_files_are_deleted_a_day_after_their_messages(world: World) -> None:
    guild = await world.guild()
    deleted_channel_id = await guild.channel("deleted")
    first_message, second_message, third_message, remaining_message = [
        (await send_files(guild.owner, messages_path(guild), ("a.png", PNG))).ok() for _ in range(4)
    ]
    message_in_deleted_channel = (
        await send_files(guild.owner, f"/channels/{deleted_channel_id}/messages", ("a.png", PNG))
    ).ok()
    (await guild.owner.delete(f"{messages_path(guild)}/{first_message['id']}")).ok()
    bulk = {"messages": [second_message["id"], third_message["id"]]}
    (await guild.owner.post(f"{messages_path(guild)}/bulk-delete", json=bulk)).ok()
    (await guild.owner.delete(f"/channels/{deleted_channel_id}")).ok()
    sent_messages = (first_message, second_message, third_message, remaining_message, message_in_deleted_channel)
    count_sql = "SELECT COUNT(*) FROM messages WHERE channel_id = ?"
    async with asyncio.timeout(WAIT_TIMEOUT_SECONDS):
        while await world.write(lambda call: call.tx.value(count_sql, deleted_channel_id)):
            await asyncio.sleep(0.01)

    # Signed URLs are valid for a day.
    world.clock.advance(ATTACHMENT_URL_SECONDS * 1000 - 1000)
    assert await files_exist(world, *sent_messages) == [True] * 5
    world.clock.advance(1000)

    await wait_until_files_exist(world, [False, False, False, True, False], *sent_messages)


async def test_files_of_a_forwarded_message_are_not_deleted(world: World) -> None:
    guild = await world.guild()
    other_channel_id = await guild.channel("other")
    forwarded_messages, not_forwarded = [
        (await send_files(guild.owner, messages_path(guild), ("a.png", PNG))).ok() for _ in range(2)
    ]
    reference = {
        "type": MessageReferenceType.FORWARD,
        "message_id": forwarded_messages["id"],
        "channel_id": str(guild.general),
    }
    (await guild.owner.post(f"/channels/{other_channel_id}/messages", json={"message_reference": reference})).ok()

    for message in (forwarded_messages, not_forwarded):
        (await guild.owner.delete(f"{messages_path(guild)}/{message['id']}")).ok()
    world.clock.advance(ATTACHMENT_URL_SECONDS * 1000)

    await wait_until_files_exist(world, [True, False], forwarded_messages, not_forwarded)
