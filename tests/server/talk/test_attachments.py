"""Tests of message attachments: metadata, embedding, edits, signed URLs and deletion."""

import asyncio
import json
from typing import Any

import aiohttp
import pytest

from hubbub.protocol import changes
from hubbub.protocol.flags import AttachmentFlags, MessageFlags
from hubbub.protocol.permissions import Permissions
from hubbub.protocol.resources.attachments import ATTACHMENT_URL_SECONDS
from hubbub.server.core import cdn_urls, media
from hubbub.server.talk.attachments import clean_filename
from hubbub.server.transports.cdn import default_avatar
from tests.world import WAIT_TIMEOUT_SECONDS, Actor, ApiResponse, Guild, World

PNG = default_avatar(0)
GIF = b"GIF89a\x05\x00\x07\x00\x00\x00\x00" + b"\x21\xff\x0bNETSCAPE2.0"
JPEG = b"\xff\xd8\xff\xe0\x00\x04ab\xff\xc0\x00\x11\x08\x00\x09\x00\x0b\x03" + bytes(10)
WEBP = b"RIFF\x00\x00\x00\x00WEBPVP8X\x0a\x00\x00\x00\x02\x00\x00\x00\x0f\x00\x00\x1f\x00\x00"
OGG = b"OggS" + bytes(60)


async def send(
    actor: Actor, path: str, *files: tuple[str, bytes], method: str = "POST", name: str = "files[{}]", **body: Any
) -> ApiResponse:
    """Send a multipart message with files."""
    form = aiohttp.FormData(quote_fields=False)
    form.add_field("payload_json", json.dumps(body), content_type="application/json")
    for index, (filename, data) in enumerate(files):
        form.add_field(name.format(index), data, filename=filename, content_type="text/html")
    return await actor.request(method, path, data=form)


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


async def test_an_attachment_has_its_given_and_detected_metadata(world: World) -> None:
    guild = await world.guild()
    message = await send(
        guild.owner,
        messages_path(guild),
        ("my cat.png", PNG),
        ("b.txt", b"words"),
        attachments=[{"id": "1", "description": "words"}, {"id": 0, "description": "a cat", "is_spoiler": True}],
    )
    words, cat = message.ok()["attachments"]
    assert (words["filename"], words["description"], words["size"]) == ("b.txt", "words", 5)
    assert words["content_type"] == "text/plain; charset=utf-8"
    assert (cat["filename"], cat["title"], cat["content_type"]) == ("my_cat.png", "my cat", "image/png")
    assert (cat["width"], cat["height"], cat["flags"]) == (128, 128, AttachmentFlags.IS_SPOILER)
    assert cat["url"].startswith(f"{world.url}/cdn/attachments/{guild.general}/{cat['id']}/my_cat.png?ex=")
    assert cat["proxy_url"] == cat["url"].replace("/cdn/", "/cdn/media/")
    assert await world.app.files.get(cdn_urls.attachment_key(int(cat["id"]))) == PNG


@pytest.mark.dated(changes.ATTACHMENT_SPOILER)
async def test_is_spoiler_marks_spoilers_from_the_date_and_the_prefix_always(world: World) -> None:
    guild = await world.guild()

    async def flags(name: str, **metadata: Any) -> int:
        shown = (await send(guild.owner, messages_path(guild), (name, PNG), attachments=[{"id": 0, **metadata}])).ok()
        found: int = shown["attachments"][0].get("flags", 0)
        return found

    assert await flags("a.png") == 0
    assert await flags("SPOILER_a.png") == AttachmentFlags.IS_SPOILER
    assert await flags("a.png", is_spoiler=True) == AttachmentFlags.IS_SPOILER
    world.clock.set(changes.ATTACHMENT_SPOILER.at_ms - 1)
    assert await flags("a.png", is_spoiler=True) == 0
    assert await flags("SPOILER_a.png") == AttachmentFlags.IS_SPOILER


async def test_invalid_files_are_rejected(world: World) -> None:
    bob = await world.user()
    guild = await world.guild(None, bob)
    refused = await send(bob, messages_path(guild), ("a.png", PNG), attachments=[{"id": 5}])
    assert refused.errors("attachments.0.id") == ["ATTACHMENT_NOT_FOUND"]
    refused = await send(bob, messages_path(guild), ("a.png", PNG), attachments=[{"id": 0, "description": "x" * 1025}])
    assert refused.errors("attachments.0.description") == ["BASE_TYPE_MAX_LENGTH"]
    (await send(bob, messages_path(guild), *[("a.png", PNG)] * 11)).rejected(400, 30015)
    (await send(bob, messages_path(guild), ("a.bin", bytes((10 << 20) + 1)))).rejected(413, 50045)
    await guild.overwrite(guild.general, guild.id, deny=Permissions.ATTACH_FILES, kind=0)
    (await send(bob, messages_path(guild), ("a.png", PNG))).rejected(403, 50013)


async def test_a_file_inside_an_embed_is_not_listed(world: World) -> None:
    guild = await world.guild()
    message = await send(
        guild.owner,
        messages_path(guild),
        ("my cat.png", PNG),
        ("b.txt", b"words"),
        embeds=[
            {"image": {"url": "attachment://my cat.png"}, "footer": {"text": "f", "icon_url": "attachment://b.txt"}}
        ],
    )
    shown = message.ok()
    assert [each["filename"] for each in shown["attachments"]] == ["b.txt"]
    image = shown["embeds"][0]["image"]
    assert "/my_cat.png?ex=" in image["url"]
    assert image["proxy_url"] == image["url"].replace("/cdn/", "/cdn/media/")
    assert (image["width"], image["height"]) == (128, 128)
    assert shown["embeds"][0]["footer"]["icon_url"] == "attachment://b.txt"


async def test_a_file_inside_a_component_is_shown_with_its_url(world: World) -> None:
    guild = await world.guild()
    bot = await world.bot(guild)
    message = await send(
        bot,
        messages_path(guild),
        ("my cat.png", PNG),
        flags=MessageFlags.IS_COMPONENTS_V2,
        components=[
            {"type": 12, "items": [{"media": {"url": "attachment://my cat.png"}}]},
            {"type": 13, "file": {"url": "attachment://my_cat.png"}},
        ],
    )
    gallery, file = message.ok()["components"]
    assert "/my_cat.png?ex=" in gallery["items"][0]["media"]["url"]
    assert "/cdn/media/attachments/" in gallery["items"][0]["media"]["proxy_url"]
    assert (file["name"], file["size"]) == ("my_cat.png", len(PNG))


async def test_an_edit_keeps_exactly_the_files_it_lists(world: World) -> None:
    guild = await world.guild()
    message = (await send(guild.owner, messages_path(guild), ("a.png", PNG), ("b.png", PNG), content="x")).ok()
    message_path = f"{messages_path(guild)}/{message['id']}"
    first, second = message["attachments"]

    async def names(**body: Any) -> list[str]:
        shown = (await guild.owner.patch(message_path, json=body)).ok()
        return [each["filename"] for each in shown["attachments"]]

    assert await names(content="y") == ["a.png", "b.png"]
    more = (await send(guild.owner, message_path, ("c.png", PNG), method="PATCH")).ok()
    assert [each["filename"] for each in more["attachments"]] == ["a.png", "b.png", "c.png"]
    listed = [{"id": second["id"], "description": "kept"}, {"id": 0}]
    edited = (await send(guild.owner, message_path, ("d.png", PNG), method="PATCH", attachments=listed)).ok()
    assert [(each["filename"], each.get("description")) for each in edited["attachments"]] == [
        ("b.png", "kept"),
        ("d.png", None),
    ]
    refused = await guild.owner.patch(message_path, json={"attachments": [{"id": first["id"]}]})
    assert refused.errors("attachments.0.id") == ["ATTACHMENT_NOT_FOUND"]
    assert await names(attachments=[]) == []


async def test_a_voice_message_is_a_single_sound_file(world: World) -> None:
    bob = await world.user()
    guild = await world.guild(None, bob)
    voice: dict[str, Any] = {"flags": MessageFlags.IS_VOICE_MESSAGE}
    metadata = [{"id": 0, "duration_secs": 1.5, "waveform": "AAAA"}]
    shown = (await send(bob, messages_path(guild), ("v.ogg", OGG), **voice, attachments=metadata)).ok()
    assert shown["flags"] == MessageFlags.IS_VOICE_MESSAGE
    assert (shown["attachments"][0]["duration_secs"], shown["attachments"][0]["waveform"]) == (1.5, "AAAA")
    far = {"content": "x", "attachments": [{"id": 0, "duration_secs": 1e300}]}
    refused = await guild.owner.post(f"/channels/{guild.general}/messages", json=far)
    assert refused.errors("attachments.0.duration_secs") == ["NUMBER_TYPE_MAX"]
    (await bob.patch(f"{messages_path(guild)}/{shown['id']}", json={"content": "x"})).rejected(400, 50162)
    (await send(bob, messages_path(guild), ("v.ogg", OGG), **voice, attachments=metadata, content="x")).rejected(
        400, 50159
    )
    (await send(bob, messages_path(guild), ("v.ogg", PNG), **voice, attachments=metadata)).rejected(400, 50160)
    (await send(bob, messages_path(guild), ("v.ogg", OGG), **voice)).rejected(400, 50161)
    await guild.overwrite(guild.general, guild.id, deny=Permissions.SEND_VOICE_MESSAGES, kind=0)
    (await send(bob, messages_path(guild), ("v.ogg", OGG), **voice, attachments=metadata)).rejected(403, 50173)


async def test_attachment_urls_are_refreshed(world: World) -> None:
    alice, stranger = await world.user(), await world.user()
    guild = await world.guild(alice)
    message = (await send(alice, messages_path(guild), ("a.png", PNG))).ok()
    signed = message["attachments"][0]["url"]
    world.clock.advance(2 * 86_400_000)
    read = (await alice.get(f"{messages_path(guild)}/{message['id']}")).ok()
    fresh = read["attachments"][0]["url"]
    assert fresh != signed

    async def refresh(actor: Actor, url: str) -> ApiResponse:
        return await actor.post("/attachments/refresh-urls", json={"attachment_urls": [url]})

    bare = signed.partition("?")[0]
    for actor, url in ((alice, bare), (alice, signed), (stranger, signed)):
        response = (await refresh(actor, url)).ok()
        assert response == {"refreshed_urls": [{"original": url, "refreshed": fresh}]}
    forged = bare + "?ex=ffffffff&is=1&hm=" + "0" * 64
    for url in (bare, forged, "https://example.org/attachments/1/2/a.png", f"{world.url}/cdn/attachments/1/x/y"):
        assert (await refresh(stranger, url)).errors("attachment_urls.0") == ["URL_TYPE_INVALID_URL"]
    (await alice.post("/attachments/refresh-urls", json={"attachment_urls": [bare] * 51})).rejected(400, 50035)


async def test_a_forward_contains_the_attachments(world: World) -> None:
    guild = await world.guild()
    other = await guild.channel("other")
    message = (await send(guild.owner, messages_path(guild), ("a.png", PNG))).ok()
    reference = {"type": 1, "message_id": message["id"], "channel_id": str(guild.general)}
    copy = (await guild.owner.post(f"/channels/{other}/messages", json={"message_reference": reference})).ok()
    assert copy["attachments"] == []
    assert copy["message_snapshots"][0]["message"]["attachments"][0]["url"] == message["attachments"][0]["url"]


async def test_a_boosted_guild_accepts_larger_files(world: World) -> None:
    guild = await world.guild()
    large = ("large.bin", bytes((10 << 20) + 1))
    (await send(guild.owner, messages_path(guild), large)).rejected(413, 50045)

    await world.grant_to_guild(guild, tier=2)
    created = (await send(guild.owner, messages_path(guild), large)).ok()
    assert created["attachments"][0]["size"] == (10 << 20) + 1
    other = ("other.bin", bytes((10 << 20) + 2))
    edited = (
        await send(
            guild.owner, f"{messages_path(guild)}/{created['id']}", other, method="PATCH", attachments=[{"id": 0}]
        )
    ).ok()
    assert [each["size"] for each in edited["attachments"]] == [(10 << 20) + 2]


async def files_left(world: World, *sent: Any) -> list[bool]:
    """Return for each message whether its file still exists."""
    files = [int(message["attachments"][0]["id"]) for message in sent]
    return [await world.app.files.exists(cdn_urls.attachment_key(each)) for each in files]


async def wait_until_files(world: World, wanted: list[bool], *sent: Any) -> None:
    """Wait until exactly these files exist."""
    async with asyncio.timeout(WAIT_TIMEOUT_SECONDS):
        while await files_left(world, *sent) != wanted:
            await asyncio.sleep(0.01)


async def test_files_are_deleted_a_day_after_their_messages(world: World) -> None:
    guild = await world.guild()
    deleted = await guild.channel("deleted")
    one, two, three, remaining = [
        (await send(guild.owner, messages_path(guild), ("a.png", PNG))).ok() for _ in range(4)
    ]
    in_deleted = (await send(guild.owner, f"/channels/{deleted}/messages", ("a.png", PNG))).ok()
    (await guild.owner.delete(f"{messages_path(guild)}/{one['id']}")).ok()
    bulk = {"messages": [two["id"], three["id"]]}
    (await guild.owner.post(f"{messages_path(guild)}/bulk-delete", json=bulk)).ok()
    (await guild.owner.delete(f"/channels/{deleted}")).ok()
    sent = (one, two, three, remaining, in_deleted)
    count = "SELECT COUNT(*) FROM messages WHERE channel_id = ?"
    async with asyncio.timeout(WAIT_TIMEOUT_SECONDS):
        while await world.write(lambda call: call.tx.value(count, deleted)):
            await asyncio.sleep(0.01)

    # Signed URLs are valid for a day.
    world.clock.advance(ATTACHMENT_URL_SECONDS * 1000 - 1000)
    assert await files_left(world, *sent) == [True] * 5
    world.clock.advance(1000)

    await wait_until_files(world, [False, False, False, True, False], *sent)


async def test_files_of_a_forwarded_message_are_not_deleted(world: World) -> None:
    guild = await world.guild()
    other = await guild.channel("other")
    forwarded, alone = [(await send(guild.owner, messages_path(guild), ("a.png", PNG))).ok() for _ in range(2)]
    reference = {"type": 1, "message_id": forwarded["id"], "channel_id": str(guild.general)}
    (await guild.owner.post(f"/channels/{other}/messages", json={"message_reference": reference})).ok()

    for message in (forwarded, alone):
        (await guild.owner.delete(f"{messages_path(guild)}/{message['id']}")).ok()
    world.clock.advance(ATTACHMENT_URL_SECONDS * 1000)

    await wait_until_files(world, [True, False], forwarded, alone)
