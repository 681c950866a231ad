"""Guild stickers and the standard pack: formats, validation, permissions, limits, and stickers in messages."""

import json as jsonlib
from typing import Any

import pytest

from hubbub.protocol import changes
from hubbub.protocol.enums import AuditLogAction, MessageReferenceType, StickerFormatType, StickerType
from hubbub.protocol.ids import StickerId
from hubbub.protocol.permissions import Permissions
from tests import media
from tests.server.places.expressions import upload_sticker
from tests.world import World

CREATE_PERMISSION, MANAGE_PERMISSION = Permissions.CREATE_GUILD_EXPRESSIONS, Permissions.MANAGE_GUILD_EXPRESSIONS
LOTTIE_ANIMATION: dict[str, Any] = {
    "v": "5.5.2",
    "fr": 60,
    "ip": 0,
    "op": 120,
    "w": 320,
    "h": 320,
    "layers": [],
    "assets": [],
}


async def test_a_new_sticker_is_stored_published_audited_and_served(world: World) -> None:
    guild = await world.guild()
    bot = await world.bot(guild)
    session = await bot.connect()

    response = await upload_sticker(guild.owner, guild)

    assert response.status == 201
    sticker = response.ok()
    view_without_user = {
        "id": sticker["id"],
        "name": "wave",
        "tags": "hello, hi",
        "type": StickerType.GUILD,
        "format_type": StickerFormatType.PNG,
        "description": "a hand",
        "available": True,
        "guild_id": str(guild.id),
    }
    assert sticker == view_without_user | {"user": sticker["user"]}
    assert sticker["user"]["id"] == str(guild.owner.id)
    assert await session.next("GUILD_STICKERS_UPDATE") == {"guild_id": str(guild.id), "stickers": [view_without_user]}
    audit_entry = await guild.last_audit_entry(AuditLogAction.STICKER_CREATE)
    assert audit_entry["target_id"] == sticker["id"]
    assert {"key": "tags", "new_value": "hello, hi"} in audit_entry["changes"]
    file = await world.request("GET", f"{world.url}/cdn/stickers/{sticker['id']}.png")
    assert media.open_image(file.body).size == (320, 320)
    assert (await guild.owner.get(f"/guilds/{guild.id}")).ok()["stickers"] == [view_without_user]
    assert (await bot.connect()).guilds[str(guild.id)]["stickers"] == [view_without_user]


@pytest.mark.parametrize(
    ("file", "format_type", "extension"),
    [(media.png(), 1, "png"), (media.animated_image("PNG"), 2, "png"), (media.animated_image("GIF"), 4, "gif")],
    ids=["png", "apng", "gif"],
)
async def test_the_format_is_detected_from_the_bytes(
    world: World, file: bytes, format_type: int, extension: str
) -> None:
    guild = await world.guild()
    sticker = (await upload_sticker(guild.owner, guild, file)).ok()
    assert sticker["format_type"] == format_type
    cdn_response = await world.request("GET", f"{world.url}/cdn/stickers/{sticker['id']}.{extension}")
    assert getattr(media.open_image(cdn_response.body), "n_frames", 1) == (1 if format_type == 1 else 3)


async def test_lottie_stickers_require_a_verified_or_partnered_guild(world: World) -> None:
    guild = await world.guild()
    lottie = jsonlib.dumps(LOTTIE_ANIMATION).encode()
    (await upload_sticker(guild.owner, guild, lottie)).rejected(400, 50123)
    await world.grant_to_guild(guild, "VERIFIED")
    sticker = (await upload_sticker(guild.owner, guild, lottie)).ok()
    assert sticker["format_type"] == 3
    cdn_response = await world.request("GET", f"{world.url}/cdn/stickers/{sticker['id']}.json")
    assert (cdn_response.headers["Content-Type"], cdn_response.json) == ("application/json", LOTTIE_ANIMATION)


@pytest.mark.one_postgres_case
@pytest.mark.parametrize(
    ("animation_change", "code"),
    [
        ({"layers": None}, 170001),
        ({"fr": "60"}, 170001),
        ({"op": 10**400, "ip": 0.5}, 170001),
        ({"assets": 7}, 170001),
        ({"assets": True}, 170001),
        ({"assets": {"p": "photo.png"}}, 170001),
        ({"assets": [{"p": "photo.png"}]}, 170002),
        ({"fr": 61}, 170003),
        ({"op": 1001}, 170004),
        ({"w": 321}, 170005),
        ({"h": 0}, 170005),
        ({"fr": 0.5}, 170006),
        ({"op": 301}, 170007),
    ],
    ids=str,
)
async def test_invalid_lottie_files_are_rejected(world: World, animation_change: Any, code: int) -> None:
    guild = await world.guild()
    await world.grant_to_guild(guild, "PARTNERED")
    (await upload_sticker(guild.owner, guild, jsonlib.dumps(LOTTIE_ANIMATION | animation_change).encode())).rejected(
        400, code
    )
    (await upload_sticker(guild.owner, guild, b"{" * 5000)).rejected(400, 170001)


async def test_invalid_sticker_fields_are_rejected(world: World) -> None:
    guild = await world.guild()
    owner = guild.owner
    (await upload_sticker(owner, guild, media.jpeg())).rejected(400, 50123)
    (await upload_sticker(owner, guild, b"hello")).rejected(400, 50123)
    (await upload_sticker(owner, guild, media.animated_image("GIF", frame_count=51, frame_ms=100))).rejected(
        400, 170007
    )
    assert (await upload_sticker(owner, guild, b"")).errors("file") == ["BASE_TYPE_REQUIRED"]
    assert (await upload_sticker(owner, guild, media.png()[:50])).errors("file") == ["IMAGE_INVALID"]
    assert (await upload_sticker(owner, guild, media.decompression_bomb(30_000))).errors("file") == ["IMAGE_INVALID"]
    assert (await upload_sticker(owner, guild, media.png() + bytes(524_288))).errors("file") == ["BINARY_TYPE_MAX_SIZE"]
    assert (await upload_sticker(owner, guild, name="x")).errors("name") == ["BASE_TYPE_BAD_LENGTH"]
    assert (await upload_sticker(owner, guild, name="x" * 31)).errors("name") == ["BASE_TYPE_BAD_LENGTH"]
    assert (await upload_sticker(owner, guild, tags="")).errors("tags") == ["BASE_TYPE_BAD_LENGTH"]
    assert (await upload_sticker(owner, guild, tags="x" * 201)).errors("tags") == ["BASE_TYPE_BAD_LENGTH"]
    assert (await upload_sticker(owner, guild, description="x")).errors("description") == ["BASE_TYPE_BAD_LENGTH"]
    assert (await upload_sticker(owner, guild, description="x" * 101)).errors("description") == ["BASE_TYPE_MAX_LENGTH"]
    response = await owner.post(f"/guilds/{guild.id}/stickers", json={"name": "wave", "tags": "hi"})
    assert response.errors("file") == ["BASE_TYPE_REQUIRED"]
    for rejected_response in (
        await upload_sticker(owner, guild, b"", name="x", tags=""),
        await owner.post(f"/guilds/{guild.id}/stickers", json={"name": "x"}),
        await owner.post(f"/guilds/{guild.id}/stickers"),
    ):
        assert sorted(rejected_response.json["errors"]) == ["file", "name", "tags"]
    assert sorted((await upload_sticker(owner, guild, b"", description="x")).json["errors"]) == ["description", "file"]
    assert sorted((await upload_sticker(owner, guild, name="x")).json["errors"]) == ["name"]
    assert (await owner.get(f"/guilds/{guild.id}/stickers")).ok() == []
    assert (await upload_sticker(owner, guild, description="")).ok()["description"] is None


async def test_members_list_stickers_and_any_user_gets_one_by_id(world: World) -> None:
    guild = await world.guild()
    sticker = (await upload_sticker(guild.owner, guild)).ok()
    member, creator, stranger = await guild.member(), await guild.member(CREATE_PERMISSION), await world.user()
    sticker_path, list_path = f"/guilds/{guild.id}/stickers/{sticker['id']}", f"/guilds/{guild.id}/stickers"
    for actor, sees_user in ((member, False), (creator, True), (guild.owner, True)):
        sticker_view = (await actor.get(sticker_path)).ok()
        assert ("user" in sticker_view) is sees_user
        assert (await actor.get(list_path)).ok() == [sticker_view]
        assert (await actor.get(f"/stickers/{sticker['id']}")).ok() == sticker_view
    assert "user" not in (await stranger.get(f"/stickers/{sticker['id']}")).ok()
    for path in (sticker_path, list_path):
        (await stranger.get(path)).rejected(403, 50001)
    (await member.get(f"{list_path}/1")).rejected(404, 10060)
    (await member.get("/stickers/1")).rejected(404, 10060)
    other_guild = await world.guild(guild.owner)
    for method in ("GET", "PATCH", "DELETE"):
        body = {"json": {}} if method == "PATCH" else {}
        response = await guild.owner.request(method, f"/guilds/{other_guild.id}/stickers/{sticker['id']}", **body)
        response.rejected(404, 10060)


async def test_updates_and_deletion_are_published_and_audited(world: World) -> None:
    guild = await world.guild()
    sticker = (await upload_sticker(guild.owner, guild)).ok()
    session = await (await world.bot(guild)).connect()
    path = f"/guilds/{guild.id}/stickers/{sticker['id']}"

    changed_sticker = (await guild.owner.patch(path, json={"name": "bye", "tags": "end", "description": None})).ok()

    assert (changed_sticker["name"], changed_sticker["tags"], changed_sticker["description"]) == ("bye", "end", None)
    assert (await session.next("GUILD_STICKERS_UPDATE"))["stickers"][0]["name"] == "bye"
    audit_entry = await guild.last_audit_entry(AuditLogAction.STICKER_UPDATE)
    assert {"key": "name", "old_value": "wave", "new_value": "bye"} in audit_entry["changes"]
    assert {"key": "description", "old_value": "a hand"} in audit_entry["changes"]
    (await guild.owner.patch(path, json={"name": "bye"})).ok()
    await session.assert_not_received("GUILD_STICKERS_UPDATE")
    assert (await guild.owner.patch(path, json={"description": "x"})).errors("description") == ["BASE_TYPE_BAD_LENGTH"]
    assert (await guild.owner.delete(path)).status == 204
    assert (await session.next("GUILD_STICKERS_UPDATE"))["stickers"] == []
    assert (await guild.last_audit_entry(AuditLogAction.STICKER_DELETE))["target_id"] == sticker["id"]
    (await guild.owner.get(path)).rejected(404, 10060)
    assert (await world.request("GET", f"{world.url}/cdn/stickers/{sticker['id']}.png")).status == 404


@pytest.mark.parametrize(
    ("side_of_split", "permissions", "allowed_actions"),
    [
        ("after", 0, ""),
        ("after", CREATE_PERMISSION, "create own"),
        ("after", MANAGE_PERMISSION, "own other"),
        ("before", 0, ""),
        ("before", CREATE_PERMISSION, "create own"),
        ("before", MANAGE_PERMISSION, "create own other"),
    ],
)
async def test_each_action_requires_its_permission_before_and_after_the_split(
    world: World, side_of_split: str, permissions: int, allowed_actions: str
) -> None:
    world.clock.set(changes.PERMISSION_SPLITS.at_ms - (1 if side_of_split == "before" else 0))
    guild = await world.guild()
    actor = await guild.member(permissions)
    response = await upload_sticker(actor, guild)
    response.ok() if "create" in allowed_actions else response.rejected(403, 50013)
    for creator in ("own", "other"):
        sticker = (await upload_sticker(guild.owner, guild)).ok()["id"]
        if creator == "own":
            await world.write(
                lambda call, sticker=sticker: call.tx.run(
                    "UPDATE stickers SET user_id = ? WHERE id = ?", actor.id, int(sticker)
                )
            )
        path = f"/guilds/{guild.id}/stickers/{sticker}"
        for response in (await actor.patch(path, json={"name": "other"}), await actor.delete(path)):
            response.ok() if creator in allowed_actions.split() else response.rejected(403, 50013)
    stranger = await world.user()
    (await upload_sticker(stranger, guild)).rejected(403, 50001)


async def test_slots_grow_with_the_tier(world: World) -> None:
    guild = await world.guild()

    async def insert_stickers(count: int) -> None:
        def step(call: Any) -> None:
            rows = [(call.new_id(StickerId), guild.id, 1, "x", "y", 1, "z") for _ in range(count)]
            call.tx.run_many(
                "INSERT INTO stickers (id, guild_id, user_id, name, tags, format_type, image) VALUES (?, ?, ?, ?, ?, ?, ?)",
                rows,
            )

        await world.write(step)

    await insert_stickers(5)
    (await upload_sticker(guild.owner, guild)).rejected(400, 30039)
    await world.grant_to_guild(guild, tier=3)
    await insert_stickers(54)
    (await upload_sticker(guild.owner, guild)).ok()
    (await upload_sticker(guild.owner, guild)).rejected(400, 30039)


# The standard pack


async def test_the_standard_pack_is_public(world: World) -> None:
    alice = await world.user()
    [pack] = (await world.request("GET", "/sticker-packs")).ok()["sticker_packs"]
    assert (await alice.get(f"/sticker-packs/{pack['id']}")).ok() == pack
    (await alice.get("/sticker-packs/1")).rejected(404, 10061)
    assert pack["cover_sticker_id"] == pack["stickers"][0]["id"]
    format_types = set()
    for sticker in pack["stickers"]:
        assert (await alice.get(f"/stickers/{sticker['id']}")).ok() == sticker
        assert (sticker["type"], sticker["pack_id"]) == (1, pack["id"])
        extension = {1: "png", 2: "png", 4: "gif"}[sticker["format_type"]]
        cdn_response = await world.request("GET", f"{world.url}/cdn/stickers/{sticker['id']}.{extension}")
        image = media.open_image(cdn_response.body)
        assert image.size == (320, 320)
        assert (getattr(image, "n_frames", 1) > 1) is (sticker["format_type"] != 1)
        assert len(cdn_response.body) <= 524_288
        format_types.add(sticker["format_type"])
    assert format_types == {1, 2, 4}


# In messages


async def test_a_message_contains_stickers(world: World) -> None:
    bob = await world.user()
    guild = await world.guild(None, bob)
    sticker = (await upload_sticker(guild.owner, guild)).ok()
    session = await (await world.bot(guild)).connect()

    message = (await bob.post(f"/channels/{guild.general}/messages", json={"sticker_ids": [sticker["id"], "101"]})).ok()

    expected_items = [
        {"id": sticker["id"], "name": "wave", "format_type": 1},
        {"id": "101", "name": "Happy", "format_type": 1},
    ]
    assert (message["content"], message["sticker_items"]) == ("", expected_items)
    assert (await session.next("MESSAGE_CREATE"))["sticker_items"] == expected_items
    path = f"/channels/{guild.general}/messages/{message['id']}"
    assert (await bob.get(path)).ok()["sticker_items"] == expected_items
    edited_message = (await bob.patch(path, json={"content": "look"})).ok()
    assert edited_message["sticker_items"] == expected_items
    assert (await bob.patch(path, json={"content": ""})).ok()["content"] == ""
    (await bob.patch(path, json={"content": "x", "sticker_ids": ["102"]})).rejected(400, 50080)
    message_reference = {
        "type": MessageReferenceType.FORWARD,
        "message_id": message["id"],
        "channel_id": str(guild.general),
    }
    forwarded_message = (
        await bob.post(f"/channels/{guild.general}/messages", json={"message_reference": message_reference})
    ).ok()
    assert forwarded_message["message_snapshots"][0]["message"]["sticker_items"] == expected_items


async def test_an_external_sticker_requires_membership_and_permission(world: World) -> None:
    bob = await world.user()
    guild, other_guild = await world.guild(None, bob), await world.guild(None, bob)
    sticker = (await upload_sticker(other_guild.owner, other_guild)).ok()
    path, body = f"/channels/{guild.general}/messages", {"sticker_ids": [sticker["id"]]}

    (await bob.post(path, json=body)).ok()
    (await guild.owner.post(path, json=body)).rejected(400, 50081)
    (await bob.post(path, json={"sticker_ids": ["1"]})).rejected(400, 50081)
    permissions_without_external = Permissions.DEFAULT_EVERYONE & ~Permissions.USE_EXTERNAL_STICKERS
    (
        await guild.owner.patch(
            f"/guilds/{guild.id}/roles/{guild.id}", json={"permissions": str(int(permissions_without_external))}
        )
    ).ok()
    (await bob.post(path, json=body)).rejected(403, 50600)
    (await bob.post(path, json={"sticker_ids": ["101"]})).ok()
    response = await bob.post(path, json={"sticker_ids": ["101", "102", "103", "104"]})
    assert response.errors("sticker_ids") == ["BASE_TYPE_BAD_LENGTH"]
    direct_channel = (await bob.post("/users/@me/channels", json={"recipient_id": str(guild.owner.id)})).ok()
    (await bob.post(f"/channels/{direct_channel['id']}/messages", json=body)).ok()
