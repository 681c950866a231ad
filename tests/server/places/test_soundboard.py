"""The soundboard: guild sounds, default sounds, and played sounds."""

from typing import Any

import pytest

from hubbub.protocol import changes
from hubbub.protocol.enums import AuditLogAction, ChannelType, GatewayOpcode
from hubbub.protocol.ids import SoundId
from hubbub.protocol.permissions import Permissions
from hubbub.protocol.sounds import inspect_audio
from tests import media
from tests.server.places.expressions import OGG_DATA_URI
from tests.world import Actor, Guild, Session, World

CREATE_PERMISSION, MANAGE_PERMISSION = Permissions.CREATE_GUILD_EXPRESSIONS, Permissions.MANAGE_GUILD_EXPRESSIONS
MP3_DATA_URI = media.data_uri(media.mp3(), "audio/mpeg")


async def create_sound(actor: Actor, guild: Guild, **body: Any) -> Any:
    fields = {"name": "honk", "sound": OGG_DATA_URI} | body
    return (await actor.post(f"/guilds/{guild.id}/soundboard-sounds", json=fields)).ok()


async def test_a_new_sound_is_stored_published_audited_and_served(world: World) -> None:
    guild = await world.guild()
    bot = await world.bot(guild)
    session = await bot.connect()

    response = await guild.owner.post(
        f"/guilds/{guild.id}/soundboard-sounds",
        json={"name": "honk", "sound": OGG_DATA_URI, "volume": 0.5, "emoji_name": "📣"},
    )

    assert response.status == 201
    sound = response.ok()
    view_without_user = {
        "name": "honk",
        "sound_id": sound["sound_id"],
        "volume": 0.5,
        "emoji_id": None,
        "emoji_name": "📣",
        "available": True,
        "guild_id": str(guild.id),
    }
    assert sound == view_without_user | {"user": sound["user"]}
    assert await session.next("GUILD_SOUNDBOARD_SOUND_CREATE") == view_without_user
    audit_entry = await guild.last_audit_entry(AuditLogAction.SOUNDBOARD_SOUND_CREATE)
    assert audit_entry["target_id"] == sound["sound_id"]
    assert {"key": "volume", "new_value": 0.5} in audit_entry["changes"]
    cdn_response = await world.request("GET", f"{world.url}/cdn/soundboard-sounds/{sound['sound_id']}")
    assert (cdn_response.headers["Content-Type"], cdn_response.body) == ("audio/ogg", media.ogg())
    assert (await bot.connect()).guilds[str(guild.id)]["soundboard_sounds"] == [view_without_user]
    await session.send(GatewayOpcode.REQUEST_SOUNDBOARD_SOUNDS, {"guild_ids": [str(guild.id), "1"]})
    assert await session.next("SOUNDBOARD_SOUNDS") == {
        "guild_id": str(guild.id),
        "soundboard_sounds": [view_without_user],
    }
    await session.assert_not_received("SOUNDBOARD_SOUNDS")


async def test_mp3_sounds_are_accepted_and_the_default_volume_is_one(world: World) -> None:
    guild = await world.guild()
    sound = await create_sound(guild.owner, guild, sound=MP3_DATA_URI, volume=None)
    assert sound["volume"] == 1.0
    cdn_response = await world.request("GET", f"{world.url}/cdn/soundboard-sounds/{sound['sound_id']}")
    assert cdn_response.headers["Content-Type"] == "audio/mpeg"


@pytest.mark.one_postgres_case
@pytest.mark.parametrize(
    ("sound", "code"),
    [
        (media.data_uri(b"RIFF\0\0\0\0WAVE", "audio/ogg"), 50123),
        (media.data_uri(media.ogg()[:-3], "audio/ogg"), 50192),
        (media.data_uri(media.ogg(5201), "audio/ogg"), 50124),
        (media.data_uri(media.mp3(200), "audio/mpeg"), 50124),
    ],
    ids=["other type", "truncated", "long ogg", "long mp3"],
)
async def test_a_sound_is_validated_by_its_bytes(world: World, sound: str, code: int) -> None:
    guild = await world.guild()
    path = f"/guilds/{guild.id}/soundboard-sounds"
    (await guild.owner.post(path, json={"name": "honk", "sound": sound})).rejected(400, code)
    (await guild.owner.post(path, json={"name": "honk", "sound": media.data_uri(media.ogg(5200), "audio/ogg")})).ok()


@pytest.mark.one_postgres_case
@pytest.mark.parametrize(
    ("body", "path", "code"),
    [
        ({"name": "x"}, "name", "BASE_TYPE_BAD_LENGTH"),
        ({"name": "x" * 33}, "name", "BASE_TYPE_BAD_LENGTH"),
        ({"volume": 1.1}, "volume", "NUMBER_TYPE_MAX"),
        ({"volume": -0.1}, "volume", "NUMBER_TYPE_MIN"),
        ({"sound": "data:audio/ogg;base64,?"}, "sound", "BASE_TYPE_BAD_VALUE"),
        ({"sound": media.data_uri(bytes(524_289), "audio/ogg")}, "sound", "BINARY_TYPE_MAX_SIZE"),
        ({"emoji_name": "horn"}, "emoji_name", "INVALID_EMOJI"),
    ],
    ids=["short name", "long name", "volume too high", "volume too low", "not base64", "too large", "not an emoji"],
)
async def test_invalid_sound_fields_are_rejected(world: World, body: Any, path: str, code: str) -> None:
    guild = await world.guild()
    response = await guild.owner.post(
        f"/guilds/{guild.id}/soundboard-sounds", json={"name": "honk", "sound": OGG_DATA_URI} | body
    )
    assert response.errors(path) == [code]


async def test_members_read_sounds_and_creators_also_see_the_uploader(world: World) -> None:
    guild = await world.guild()
    sound = await create_sound(guild.owner, guild)
    member, creator, stranger = await guild.member(), await guild.member(CREATE_PERMISSION), await world.user()
    list_path = f"/guilds/{guild.id}/soundboard-sounds"
    sound_path = f"{list_path}/{sound['sound_id']}"
    for actor, sees_user in ((member, False), (creator, True), (guild.owner, True)):
        sound_view = (await actor.get(sound_path)).ok()
        assert ("user" in sound_view) is sees_user
        assert (await actor.get(list_path)).ok() == {"items": [sound_view]}
    for path in (sound_path, list_path):
        (await stranger.get(path)).rejected(403, 50001)
    (await member.get(f"{list_path}/1")).rejected(404, 10097)
    other_guild = await world.guild(guild.owner)
    for method in ("GET", "PATCH", "DELETE"):
        body = {"json": {}} if method == "PATCH" else {}
        response = await guild.owner.request(
            method, f"/guilds/{other_guild.id}/soundboard-sounds/{sound['sound_id']}", **body
        )
        response.rejected(404, 10097)


async def test_updates_and_deletion_are_published_and_audited(world: World) -> None:
    guild = await world.guild()
    emoji = (
        await guild.owner.post(
            f"/guilds/{guild.id}/emojis", json={"name": "horn", "image": media.data_uri(media.png())}
        )
    ).ok()
    sound = await create_sound(guild.owner, guild, emoji_name="📣")
    session = await (await world.bot(guild)).connect()
    path = f"/guilds/{guild.id}/soundboard-sounds/{sound['sound_id']}"

    changed_sound = (await guild.owner.patch(path, json={"name": "toot", "volume": 0.25, "emoji_id": emoji["id"]})).ok()

    assert (changed_sound["name"], changed_sound["volume"]) == ("toot", 0.25)
    assert (changed_sound["emoji_id"], changed_sound["emoji_name"]) == (emoji["id"], None)
    event = await session.next("GUILD_SOUNDBOARD_SOUND_UPDATE")
    assert event == {key: value for key, value in changed_sound.items() if key != "user"}
    audit_entry = await guild.last_audit_entry(AuditLogAction.SOUNDBOARD_SOUND_UPDATE)
    assert {"key": "name", "old_value": "honk", "new_value": "toot"} in audit_entry["changes"]
    (await guild.owner.patch(path, json={"name": "toot"})).ok()
    await session.assert_not_received("GUILD_SOUNDBOARD_SOUND_UPDATE")
    changed_again = (await guild.owner.patch(path, json={"emoji_name": "🎺", "volume": None})).ok()
    assert (changed_again["emoji_id"], changed_again["emoji_name"], changed_again["volume"]) == (None, "🎺", 1.0)
    assert (await guild.owner.patch(path, json={"emoji_name": None})).ok()["emoji_name"] is None
    (await guild.owner.patch(path, json={"emoji_id": "1"})).rejected(404, 10014)
    assert (await guild.owner.delete(path)).status == 204
    deletion_payload = {"guild_id": str(guild.id), "sound_id": sound["sound_id"]}
    assert await session.next("GUILD_SOUNDBOARD_SOUND_DELETE") == deletion_payload
    assert (await guild.last_audit_entry(AuditLogAction.SOUNDBOARD_SOUND_DELETE))["target_id"] == sound["sound_id"]
    (await guild.owner.get(path)).rejected(404, 10097)
    assert (await world.request("GET", f"{world.url}/cdn/soundboard-sounds/{sound['sound_id']}")).status == 404


async def test_deleting_an_emoji_removes_it_from_sounds(world: World) -> None:
    guild = await world.guild()
    emoji = (
        await guild.owner.post(
            f"/guilds/{guild.id}/emojis", json={"name": "horn", "image": media.data_uri(media.png())}
        )
    ).ok()
    for name in ("one", "two"):
        await create_sound(guild.owner, guild, name=name, emoji_id=emoji["id"])
    session = await (await world.bot(guild)).connect()

    (await guild.owner.delete(f"/guilds/{guild.id}/emojis/{emoji['id']}")).ok()

    event = await session.next("GUILD_SOUNDBOARD_SOUNDS_UPDATE")
    assert [sound["emoji_id"] for sound in event["soundboard_sounds"]] == [None, None]
    assert event["guild_id"] == str(guild.id)


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
    path = f"/guilds/{guild.id}/soundboard-sounds"
    response = await actor.post(path, json={"name": "mine", "sound": OGG_DATA_URI})
    response.ok() if "create" in allowed_actions else response.rejected(403, 50013)
    for creator in ("own", "other"):
        sound = (await create_sound(guild.owner, guild))["sound_id"]
        if creator == "own":
            await world.write(
                lambda call, sound=sound: call.tx.run(
                    "UPDATE sounds SET user_id = ? WHERE id = ?", actor.id, int(sound)
                )
            )
        for response in (
            await actor.patch(f"{path}/{sound}", json={"name": "other"}),
            await actor.delete(f"{path}/{sound}"),
        ):
            response.ok() if creator in allowed_actions.split() else response.rejected(403, 50013)
    (await (await world.user()).post(path, json={"name": "mine", "sound": OGG_DATA_URI})).rejected(403, 50001)


async def test_slots_grow_with_the_tier_and_the_feature(world: World) -> None:
    guild = await world.guild()

    async def insert_sounds(count: int) -> None:
        def step(call: Any) -> None:
            rows = [(call.new_id(SoundId), guild.id, 1, "x", "y") for _ in range(count)]
            call.tx.run_many("INSERT INTO sounds (id, guild_id, user_id, name, file) VALUES (?, ?, ?, ?, ?)", rows)

        await world.write(step)

    path, body = f"/guilds/{guild.id}/soundboard-sounds", {"name": "more", "sound": OGG_DATA_URI}
    await insert_sounds(8)
    (await guild.owner.post(path, json=body)).rejected(400, 30045)
    await world.grant_to_guild(guild, tier=2)
    await insert_sounds(27)
    (await guild.owner.post(path, json=body)).ok()
    (await guild.owner.post(path, json=body)).rejected(400, 30045)
    await world.grant_to_guild(guild, "MORE_SOUNDBOARD")
    (await guild.owner.post(path, json=body)).ok()


# Default sounds


async def test_the_default_sounds_are_served(world: World) -> None:
    alice = await world.user()
    sounds = (await alice.get("/soundboard-default-sounds")).ok()
    assert len(sounds) >= 3
    for sound in sounds:
        assert "guild_id" not in sound
        cdn_response = await world.request("GET", f"{world.url}/cdn/soundboard-sounds/{sound['sound_id']}")
        assert cdn_response.headers["Content-Type"] == "audio/ogg"
        assert 0 < (inspect_audio(cdn_response.body).duration_ms or 0) <= 5200
    assert (await world.request("GET", "/soundboard-default-sounds")).status == 401


# Playing


async def connect_to_voice(actor: Actor, guild: Guild, channel_id: int, **state: Any) -> Session:
    session = await actor.connect()
    await session.join_voice(guild, channel_id, **state)
    return session


async def test_a_played_sound_reaches_members_in_the_channel(world: World) -> None:
    bob, carol = await world.user(), await world.user()
    guild = await world.guild(None, bob, carol)
    voice_channel_id = await guild.channel("voice", type=ChannelType.GUILD_VOICE)
    sound = await create_sound(guild.owner, guild, volume=0.5, emoji_name="📣")
    speaker, listener = (
        await connect_to_voice(bob, guild, voice_channel_id),
        await connect_to_voice(guild.owner, guild, voice_channel_id),
    )
    outside_session = await carol.connect()

    response = await bob.post(
        f"/channels/{voice_channel_id}/send-soundboard-sound", json={"sound_id": sound["sound_id"]}
    )

    assert response.status == 204
    expected_effect = {
        "channel_id": str(voice_channel_id),
        "guild_id": str(guild.id),
        "user_id": str(bob.id),
        "emoji": {"id": None, "name": "📣"},
        "sound_id": sound["sound_id"],
        "sound_volume": 0.5,
    }
    for session in (speaker, listener):
        assert await session.next("VOICE_CHANNEL_EFFECT_SEND") == expected_effect
    await outside_session.assert_not_received("VOICE_CHANNEL_EFFECT_SEND")
    (await bob.post(f"/channels/{voice_channel_id}/send-soundboard-sound", json={"sound_id": "1"})).ok()
    # The ID of a default sound is a number.
    assert (await listener.next("VOICE_CHANNEL_EFFECT_SEND"))["sound_id"] == 1
    for body in ({"sound_id": "2000"}, {"sound_id": sound["sound_id"], "source_guild_id": "5"}):
        (await bob.post(f"/channels/{voice_channel_id}/send-soundboard-sound", json=body)).rejected(404, 10097)


async def test_playing_requires_a_connected_member_who_is_not_deafened_or_server_muted(world: World) -> None:
    bob = await world.user()
    guild = await world.guild(None, bob)
    voice_channel_id, other_channel_id = (
        await guild.channel("voice", type=ChannelType.GUILD_VOICE),
        await guild.channel("other", type=ChannelType.GUILD_VOICE),
    )
    path = f"/channels/{voice_channel_id}/send-soundboard-sound"

    (await bob.post(path, json={"sound_id": "1"})).rejected(400, 40032)
    (await bob.post("/channels/1/send-soundboard-sound", json={"sound_id": "1"})).rejected(404, 10003)
    response = await guild.owner.post(f"/channels/{guild.general}/send-soundboard-sound", json={"sound_id": "1"})
    response.rejected(400, 50024)
    session = await connect_to_voice(bob, guild, other_channel_id)
    (await bob.post(path, json={"sound_id": "1"})).rejected(400, 40032)
    await session.send(
        GatewayOpcode.VOICE_STATE_UPDATE,
        {"guild_id": str(guild.id), "channel_id": str(voice_channel_id), "self_mute": False, "self_deaf": True},
    )
    await session.next("VOICE_STATE_UPDATE", lambda voice_state: voice_state["self_deaf"])
    (await bob.post(path, json={"sound_id": "1"})).rejected(403, 50167)
    await session.send(
        GatewayOpcode.VOICE_STATE_UPDATE,
        {"guild_id": str(guild.id), "channel_id": str(voice_channel_id), "self_mute": True, "self_deaf": False},
    )
    await session.next("VOICE_STATE_UPDATE", lambda voice_state: not voice_state["self_deaf"])
    (await bob.post(path, json={"sound_id": "1"})).ok()
    for field in ("mute", "deaf"):
        (await guild.owner.patch(f"/guilds/{guild.id}/members/{bob.id}", json={field: True})).ok()
        (await bob.post(path, json={"sound_id": "1"})).rejected(403, 50167)
        (await guild.owner.patch(f"/guilds/{guild.id}/members/{bob.id}", json={field: False})).ok()
    await world.write(lambda call: call.tx.run("UPDATE voice_states SET suppress = 1 WHERE user_id = ?", bob.id))
    (await bob.post(path, json={"sound_id": "1"})).rejected(403, 50167)


@pytest.mark.parametrize("missing_permission", [Permissions.SPEAK, Permissions.USE_SOUNDBOARD])
async def test_playing_requires_both_permissions(world: World, missing_permission: int) -> None:
    bob, stranger = await world.user(), await world.user()
    guild = await world.guild(None, bob)
    voice_channel_id = await guild.channel("voice", type=ChannelType.GUILD_VOICE)
    await connect_to_voice(bob, guild, voice_channel_id)
    path = f"/channels/{voice_channel_id}/send-soundboard-sound"
    (await bob.post(path, json={"sound_id": "1"})).ok()
    await guild.overwrite(voice_channel_id, bob.id, deny=missing_permission)
    (await bob.post(path, json={"sound_id": "1"})).rejected(403, 50013)
    (await stranger.post(path, json={"sound_id": "1"})).rejected(403, 50001)


async def test_an_external_sound_requires_membership_and_permission(world: World) -> None:
    bob = await world.user()
    guild, other_guild = await world.guild(None, bob), await world.guild(None, bob)
    voice_channel_id = await guild.channel("voice", type=ChannelType.GUILD_VOICE)
    sound = await create_sound(other_guild.owner, other_guild)
    session = await connect_to_voice(bob, guild, voice_channel_id)
    await connect_to_voice(guild.owner, guild, voice_channel_id)
    path = f"/channels/{voice_channel_id}/send-soundboard-sound"
    body = {"sound_id": sound["sound_id"], "source_guild_id": str(other_guild.id)}

    (await bob.post(path, json=body)).ok()
    assert (await session.next("VOICE_CHANNEL_EFFECT_SEND"))["sound_id"] == sound["sound_id"]
    (await guild.owner.post(path, json=body)).rejected(404, 10097)
    await guild.overwrite(voice_channel_id, bob.id, deny=Permissions.USE_EXTERNAL_SOUNDS)
    (await bob.post(path, json=body)).rejected(403, 50013)
