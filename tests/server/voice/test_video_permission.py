"""Cameras and shared screens need the permission STREAM, also while they are sent (decisions/0185)."""

from collections.abc import Awaitable, Callable

import pytest

from hubbub.protocol import codec
from hubbub.protocol.enums import OverwriteType
from hubbub.protocol.permissions import Permissions
from hubbub.protocol.voice import VoiceOpcode
from tests.server.voice.caller import Caller, dropped_packet_count, fake_encrypted_frame
from tests.server.voice.conftest import MakeCaller
from tests.world import NOW_MS, Actor, Guild, World

STREAM = str(int(Permissions.STREAM))
BASE = str(int(Permissions.VIEW_CHANNEL | Permissions.CONNECT | Permissions.SPEAK))
"""Permissions of @everyone with which members join calls without video."""


@pytest.fixture
async def streamer(guild: Guild) -> Actor:
    """A member who has STREAM from one role only."""
    (await guild.owner.patch(f"/guilds/{guild.id}/roles/{guild.id}", json={"permissions": BASE})).ok()
    return await guild.member(Permissions.STREAM)


async def role_of(guild: Guild, streamer: Actor) -> str:
    """Return the ID of the role that grants STREAM to the member."""
    [role_id] = (await guild.owner.get(f"/guilds/{guild.id}/members/{streamer.id}")).ok()["roles"]
    return str(role_id)


async def deny_in_channel(guild: Guild, streamer: Actor) -> None:
    """Deny STREAM to the member in the voice channel."""
    path = f"/channels/{guild.channels['Lounge']}/permissions/{streamer.id}"
    (await guild.owner.put(path, json={"type": OverwriteType.MEMBER, "deny": STREAM})).ok()


async def change_role(guild: Guild, streamer: Actor) -> None:
    """Remove STREAM from the role."""
    path = f"/guilds/{guild.id}/roles/{await role_of(guild, streamer)}"
    (await guild.owner.patch(path, json={"permissions": "0"})).ok()


async def delete_role(guild: Guild, streamer: Actor) -> None:
    """Delete the role that grants STREAM."""
    (await guild.owner.delete(f"/guilds/{guild.id}/roles/{await role_of(guild, streamer)}")).ok()


async def remove_role(guild: Guild, streamer: Actor) -> None:
    """Remove the role from the member."""
    path = f"/guilds/{guild.id}/members/{streamer.id}/roles/{await role_of(guild, streamer)}"
    (await guild.owner.delete(path)).ok()


async def time_out(guild: Guild, streamer: Actor) -> None:
    """Time the member out."""
    body = {"communication_disabled_until": codec.timestamp(NOW_MS + 86_400_000)}
    (await guild.owner.patch(f"/guilds/{guild.id}/members/{streamer.id}", json=body)).ok()


Revoke = Callable[[Guild, Actor], Awaitable[None]]
REVOCATIONS: list[Revoke] = [deny_in_channel, change_role, delete_role, remove_role, time_out]


async def announce_video(caller: Caller, stream_type: str = "screen") -> int:
    """Announce a video and return its SSRC; the server has handled the announcement."""
    ssrc: int = caller.ready["ssrc"] + 1
    stream = {"type": stream_type, "rid": "100", "quality": 100, "active": True, "ssrc": ssrc, "rtx_ssrc": 0}
    await caller.send_json(
        VoiceOpcode.VIDEO, {"audio_ssrc": ssrc - 1, "video_ssrc": ssrc, "rtx_ssrc": 0, "streams": [stream]}
    )
    await caller.heartbeat()
    return ssrc


def send_picture(caller: Caller, text: str) -> None:
    """Send a packet of the caller's video."""
    caller.send_datagram(caller.build_packet(fake_encrypted_frame(text), ssrc=caller.ready["ssrc"] + 1))


async def assert_next_packet_is_audio(sender: Caller, viewer: Caller, world: World) -> None:
    """Assert that the server drops the sender's video and still forwards their audio."""
    dropped_count = dropped_packet_count(world, "muted")
    send_picture(sender, "hidden")
    sender.send_frame(fake_encrypted_frame("voice"))
    assert await viewer.receive_media() == (sender.ready["ssrc"], fake_encrypted_frame("voice"))
    assert dropped_packet_count(world, "muted") == dropped_count + 1


async def next_state(viewer: Caller, user_id: int) -> tuple[bool, bool]:
    """Return `self_video` and whether the user streams, from their next voice state."""
    state = await viewer.session.next("VOICE_STATE_UPDATE", lambda state: state["user_id"] == str(user_id))
    return state["self_video"], state.get("self_stream", False)


@pytest.mark.parametrize("stream_type", ["screen", "video"])
async def test_video_of_a_member_without_the_permission_is_neither_announced_nor_forwarded(
    world: World, guild: Guild, streamer: Actor, make_caller: MakeCaller, stream_type: str
) -> None:
    await remove_role(guild, streamer)
    viewer, sender = await make_caller(), await make_caller(streamer)
    await viewer.join_and_connect(guild.channels["Lounge"])
    await sender.join_and_connect(guild.channels["Lounge"])
    await sender.update_voice_state(guild.channels["Lounge"], self_mute=True, self_video=True, self_stream=True)
    while await next_state(viewer, streamer.id) != (False, False):
        pass
    await sender.update_voice_state(guild.channels["Lounge"])
    await sender.session.wait_processed()
    await announce_video(sender, stream_type)
    await viewer.heartbeat()
    assert VoiceOpcode.VIDEO not in viewer.opcodes()
    await assert_next_packet_is_audio(sender, viewer, world)


@pytest.mark.parametrize("revoke", REVOCATIONS, ids=lambda revoke: revoke.__name__)
async def test_a_stream_ends_when_its_member_loses_the_permission(
    world: World, guild: Guild, streamer: Actor, make_caller: MakeCaller, revoke: Revoke
) -> None:
    viewer, sender = await make_caller(), await make_caller(streamer)
    await viewer.join_and_connect(guild.channels["Lounge"])
    await sender.join_and_connect(guild.channels["Lounge"])
    await sender.update_voice_state(guild.channels["Lounge"], self_stream=True)
    ssrc = await announce_video(sender)
    assert (await viewer.next(VoiceOpcode.VIDEO))["video_ssrc"] == ssrc
    send_picture(sender, "picture")
    assert await viewer.receive_media() == (ssrc, fake_encrypted_frame("picture"))
    while await next_state(viewer, streamer.id) != (False, True):
        pass

    await revoke(guild, streamer)
    assert (await viewer.next(VoiceOpcode.VIDEO))["video_ssrc"] == 0
    assert await next_state(viewer, streamer.id) == (False, False)
    await assert_next_packet_is_audio(sender, viewer, world)
    await announce_video(sender)
    await assert_next_packet_is_audio(sender, viewer, world)


async def test_a_member_who_gets_the_permission_back_may_send_video_again(
    guild: Guild, streamer: Actor, make_caller: MakeCaller
) -> None:
    viewer, sender = await make_caller(), await make_caller(streamer)
    await viewer.join_and_connect(guild.channels["Lounge"])
    await sender.join_and_connect(guild.channels["Lounge"])
    await announce_video(sender)
    await viewer.next(VoiceOpcode.VIDEO)
    await deny_in_channel(guild, streamer)
    assert (await viewer.next(VoiceOpcode.VIDEO))["video_ssrc"] == 0
    (await guild.owner.delete(f"/channels/{guild.channels['Lounge']}/permissions/{streamer.id}")).ok()
    ssrc = await announce_video(sender)
    assert (await viewer.next(VoiceOpcode.VIDEO))["video_ssrc"] == ssrc
    send_picture(sender, "again")
    assert await viewer.receive_media() == (ssrc, fake_encrypted_frame("again"))


async def test_other_changes_of_permissions_do_not_interrupt_a_stream(
    guild: Guild, streamer: Actor, make_caller: MakeCaller
) -> None:
    viewer, sender = await make_caller(), await make_caller(streamer)
    await viewer.join_and_connect(guild.channels["Lounge"])
    await sender.join_and_connect(guild.channels["Lounge"])
    ssrc = await announce_video(sender)
    assert (await viewer.next(VoiceOpcode.VIDEO))["video_ssrc"] == ssrc
    (await guild.owner.patch(f"/channels/{guild.channels['Lounge']}", json={"name": "Salon"})).ok()
    (await guild.owner.patch(f"/guilds/{guild.id}/members/{viewer.actor.id}", json={"nick": "viewer"})).ok()
    await sender.heartbeat()
    send_picture(sender, "picture")
    assert await viewer.receive_media() == (ssrc, fake_encrypted_frame("picture"))
    await viewer.heartbeat()
    assert viewer.opcodes().count(VoiceOpcode.VIDEO) == 1


async def test_a_move_to_a_channel_without_the_permission_ends_the_stream(
    world: World, guild: Guild, streamer: Actor, make_caller: MakeCaller
) -> None:
    path = f"/channels/{guild.channels['Den']}/permissions/{streamer.id}"
    (await guild.owner.put(path, json={"type": OverwriteType.MEMBER, "deny": STREAM})).ok()
    viewer, sender = await make_caller(), await make_caller(streamer)
    await viewer.join_and_connect(guild.channels["Den"])
    await sender.join_and_connect(guild.channels["Lounge"])
    await sender.update_voice_state(guild.channels["Lounge"], self_stream=True)
    while await next_state(viewer, streamer.id) != (False, True):
        pass
    move = {"channel_id": str(guild.channels["Den"])}
    (await guild.owner.patch(f"/guilds/{guild.id}/members/{streamer.id}", json=move)).ok()
    assert await next_state(viewer, streamer.id) == (False, False)
    await sender.receive_ticket()
    await sender.connect_with_ticket()
    await announce_video(sender)
    await assert_next_packet_is_audio(sender, viewer, world)
