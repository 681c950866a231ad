"""The people of the control API in voice channels: joining, playing and hearing, over HTTP and UDP."""

import asyncio
import base64

import pytest

from hubbub.people import ogg
from hubbub.protocol.permissions import Permissions
from hubbub.server.core.config import VoiceConfig
from tests.rehearsal import Rehearsal, start_rehearsal

CELT_20_MS = b"\xfc"
"""First byte of an Opus packet with one frame of 20 ms."""


def opus_packets(count: int, size: int = 300) -> list[bytes]:
    """Return packets that differ from each other; the voice server does not decode them."""
    return [CELT_20_MS + number.to_bytes(2, "big") + b"\x55" * size for number in range(count)]


def ogg_file(packets: list[bytes]) -> str:
    """Return an Ogg Opus file as base64."""
    return base64.b64encode(ogg.encode_file(packets)).decode()


@pytest.mark.parametrize("size", [0, 252, 253, 254, 600])
def test_a_written_file_contains_its_packets(size: int) -> None:
    packets = opus_packets(3, size)
    assert ogg.read_packets(ogg.encode_file(packets)) == packets
    assert ogg.compute_duration_ms(packets) == 60


@pytest.mark.parametrize("data", [b"", b"RIFF....WAVE", b"OggS", ogg.encode_file([])[:60]])
def test_other_files_are_rejected(data: bytes) -> None:
    with pytest.raises(ogg.OggError, match="not Ogg Opus"):
        ogg.read_packets(data)


async def test_people_receive_the_audio_that_others_play(rehearsal: Rehearsal) -> None:
    for name in ("alice", "bob"):
        credentials = (await rehearsal.act(name, "voice/join", channel="Lounge")).ok()
        assert set(credentials) == {"endpoint", "token", "session_id"}
    packets = opus_packets(10)

    playing_task = asyncio.create_task(rehearsal.act("alice", "voice/play", file=ogg_file(packets)))
    recorded_audio = (await rehearsal.act("bob", "voice/hear", user="alice", quiet_ms=1000)).ok()

    assert (await playing_task).ok() == {"frames": 10, "duration_ms": 200}
    assert (recorded_audio["user"], recorded_audio["frames"], recorded_audio["duration_ms"]) == ("alice", 10, 200)
    assert ogg.read_packets(base64.b64decode(recorded_audio["file"])) == packets
    # The recording was returned, so it is not returned again.
    response = await rehearsal.act("bob", "voice/hear", timeout_ms=50)
    assert (response.status, response.json["message"]) == (409, "bob heard nothing within 0.05 s")
    assert (await rehearsal.act("alice", "voice/leave")).status == 204
    (await rehearsal.act("bob", "expect", event="VOICE_STATE_UPDATE", fields={"channel_id": None})).ok()


async def test_a_channel_without_voice_and_a_missing_permission_are_reported(rehearsal: Rehearsal) -> None:
    response = await rehearsal.act("alice", "voice/join", channel="general")
    [error] = response.json["errors"]["channel"]["_errors"]
    assert (response.status, error["message"]) == (400, "general is not a voice channel")
    guild_id = rehearsal.control.built_world.guilds["Town Square"].id
    connect = str(int(Permissions.CONNECT))
    lounge_id = rehearsal.control.built_world.guilds["Town Square"].channels["Lounge"]
    overwrite = {"type": 0, "deny": connect}
    (await rehearsal.actor("alice").put(f"/channels/{lounge_id}/permissions/{guild_id}", json=overwrite)).ok()

    response = await rehearsal.act("carol", "voice/join", channel="Lounge", timeout_ms=200)

    assert response.status == 409
    assert response.json["message"].startswith(
        "carol did not join Lounge within 0.2 s: the platform ignores the request"
    )


async def test_audio_is_recorded_from_the_join_on(rehearsal: Rehearsal) -> None:
    for name in ("alice", "bob", "carol"):
        (await rehearsal.act(name, "voice/join", channel="Lounge")).ok()
    packets = opus_packets(5)
    (await rehearsal.act("carol", "voice/play", file=ogg_file(packets))).ok()
    for name in ("alice", "bob"):
        recorded_audio = (await rehearsal.act(name, "voice/hear")).ok()
        assert (recorded_audio["user"], ogg.read_packets(base64.b64decode(recorded_audio["file"]))) == (
            "carol",
            packets,
        )


async def test_a_join_without_a_voice_server_is_rejected_with_the_reason() -> None:
    async with start_rehearsal(voice=VoiceConfig()) as rehearsal:
        response = await rehearsal.act("alice", "voice/join", channel="Lounge")
    assert response.json["errors"]["_errors"][0]["message"] == "this platform has no voice server"


async def test_failures_in_voice_name_their_cause(rehearsal: Rehearsal) -> None:
    response = await rehearsal.act("alice", "voice/hear")
    assert response.json["errors"]["_errors"][0]["message"] == "alice is not in a voice channel"
    (await rehearsal.act("alice", "voice/join", channel="Lounge")).ok()
    response = await rehearsal.act("alice", "voice/play", file=ogg_file(opus_packets(1)), timeout_ms=50)
    assert response.json["message"] == "alice cannot play: no other user is connected to the call"
    response = await rehearsal.act("alice", "voice/play", file=base64.b64encode(b"RIFF").decode())
    assert "the file is not Ogg Opus" in response.json["errors"]["file"]["_errors"][0]["message"]
