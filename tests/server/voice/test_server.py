"""The voice gateway: the handshake from a ticket to a call, announcements of other callers, versions, and rejections."""

from typing import Any

import pytest

from hubbub.protocol import changes
from hubbub.protocol.enums import ChannelType, VoiceCloseCode
from hubbub.protocol.voice import VoiceOpcode
from tests.server.voice.caller import AES, XCHACHA
from tests.server.voice.conftest import ENDPOINT, MakeCaller
from tests.world import Guild, World

ANNOUNCEMENTS = {
    VoiceOpcode.CLIENTS_CONNECT,
    VoiceOpcode.CLIENT_FLAGS,
    VoiceOpcode.CLIENT_PLATFORM,
    VoiceOpcode.SPEAKING,
}
"""Opcodes that announce other callers of the channel."""


async def test_a_join_leads_to_an_encryption_key(world: World, guild: Guild, make_caller: MakeCaller) -> None:
    caller = await make_caller()
    await caller.join(guild.channels["Lounge"])
    assert caller.voice_server["endpoint"] == ENDPOINT
    assert await caller.open_socket() == {"v": 8, "heartbeat_interval": 13_750}
    ready = await caller.identify()
    assert ready["modes"] == [AES, XCHACHA]
    assert (ready["ip"], ready["experiments"], ready["streams"]) == ("127.0.0.1", [], [])
    assert (await caller.discover_ip())[0] == "127.0.0.1"
    description = await caller.select_protocol(XCHACHA)
    assert (description["mode"], len(description["secret_key"])) == (XCHACHA, 32)
    assert description["audio_codec"] == "opus"
    assert description["dave_protocol_version"] == 1
    assert await caller.heartbeat() == {"t": 7}


async def test_new_and_present_callers_are_announced_to_each_other(guild: Guild, make_caller: MakeCaller) -> None:
    first_caller, second_caller = await make_caller(), await make_caller()
    await first_caller.join_and_connect(guild.channels["Lounge"])
    await first_caller.heartbeat()
    await second_caller.join_and_connect(guild.channels["Lounge"])
    other_id = str(first_caller.actor.id)
    assert [
        frame for frame in second_caller.frames if not isinstance(frame, tuple) and frame["op"] in ANNOUNCEMENTS
    ] == [
        {"op": VoiceOpcode.CLIENTS_CONNECT, "d": {"user_ids": [other_id]}, "seq": 1},
        {"op": VoiceOpcode.CLIENT_FLAGS, "d": {"user_id": other_id, "flags": None}, "seq": 2},
        {"op": VoiceOpcode.CLIENT_PLATFORM, "d": {"user_id": other_id, "platform": None}, "seq": 3},
        {
            "op": VoiceOpcode.SPEAKING,
            "d": {"speaking": 1, "ssrc": first_caller.ready["ssrc"], "user_id": other_id},
            "seq": 4,
        },
    ]
    # Ready comes first, and the session description after the list of users.
    assert (
        second_caller.opcodes().index(VoiceOpcode.READY)
        < second_caller.opcodes().index(VoiceOpcode.CLIENTS_CONNECT)
        < second_caller.opcodes().index(VoiceOpcode.SESSION_DESCRIPTION)
    )
    assert (await first_caller.next(VoiceOpcode.CLIENTS_CONNECT))["user_ids"] == [str(second_caller.actor.id)]
    speaking = await first_caller.next(VoiceOpcode.SPEAKING)
    assert speaking == {"speaking": 1, "ssrc": second_caller.ready["ssrc"], "user_id": str(second_caller.actor.id)}
    await second_caller.send_json(
        VoiceOpcode.SPEAKING, {"speaking": 0, "delay": 0, "ssrc": second_caller.ready["ssrc"]}
    )
    assert (await first_caller.next(VoiceOpcode.SPEAKING))["speaking"] == 0
    await second_caller.socket.close(code=1000)
    assert (await first_caller.next(VoiceOpcode.CLIENT_DISCONNECT)) == {"user_id": str(second_caller.actor.id)}


async def test_changes_during_the_handshake_are_sent_with_the_session_description(
    guild: Guild, make_caller: MakeCaller
) -> None:
    lounge_id = guild.channels["Lounge"]
    leaving_caller, quicker_caller, slower_caller = await make_caller(), await make_caller(), await make_caller()
    await leaving_caller.join_and_connect(lounge_id)
    for caller in (slower_caller, quicker_caller):
        await caller.join(lounge_id)
        await caller.open_socket()
        await caller.identify()
    assert (await slower_caller.next(VoiceOpcode.CLIENTS_CONNECT))["user_ids"] == [str(leaving_caller.actor.id)]
    await quicker_caller.discover_ip()
    await quicker_caller.select_protocol()
    await quicker_caller.send_json(
        VoiceOpcode.SPEAKING, {"speaking": 1, "delay": 0, "ssrc": quicker_caller.ready["ssrc"]}
    )
    await leaving_caller.socket.close(code=1000)
    assert (await quicker_caller.next(VoiceOpcode.CLIENT_DISCONNECT))["user_id"] == str(leaving_caller.actor.id)
    assert VoiceOpcode.CLIENT_DISCONNECT not in slower_caller.opcodes()

    await slower_caller.select_protocol()

    frames = {frame["op"]: frame["d"] for frame in slower_caller.frames if not isinstance(frame, tuple)}
    assert frames[VoiceOpcode.CLIENT_DISCONNECT] == {"user_id": str(leaving_caller.actor.id)}
    assert frames[VoiceOpcode.CLIENTS_CONNECT] == {"user_ids": [str(quicker_caller.actor.id)]}
    assert frames[VoiceOpcode.SPEAKING] == {
        "speaking": 1,
        "ssrc": quicker_caller.ready["ssrc"],
        "user_id": str(quicker_caller.actor.id),
    }
    assert (await quicker_caller.next(VoiceOpcode.CLIENTS_CONNECT))["user_ids"] == [str(slower_caller.actor.id)]


async def test_callers_in_other_channels_are_not_announced(guild: Guild, make_caller: MakeCaller) -> None:
    first_caller, second_caller = await make_caller(), await make_caller()
    await first_caller.join_and_connect(guild.channels["Lounge"])
    await second_caller.join_and_connect(guild.channels["Den"])
    await first_caller.heartbeat()
    assert not ANNOUNCEMENTS & set(first_caller.opcodes() + second_caller.opcodes())


async def test_the_server_responds_with_its_versions_and_sends_no_response_to_other_opcodes(
    guild: Guild, make_caller: MakeCaller
) -> None:
    caller = await make_caller()
    await caller.join_and_connect(guild.channels["Lounge"])
    await caller.send_json(VoiceOpcode.BACKEND_VERSION, {})
    assert set(await caller.next(VoiceOpcode.BACKEND_VERSION)) == {"voice", "rtc_worker"}
    # The server sends no response to these opcodes.
    for opcode, data in (
        (VoiceOpcode.SESSION_UPDATE, {"codecs": []}),
        (VoiceOpcode.MEDIA_SINK_WANTS, {"any": 100}),
        (VoiceOpcode.NO_ROUTE, {}),
    ):
        await caller.send_json(opcode, data)
    assert await caller.heartbeat() == {"t": 7}


@pytest.mark.parametrize("version", [4, 5, 6, 7])
async def test_older_versions_have_no_sequence_numbers_and_plain_heartbeats(
    guild: Guild, make_caller: MakeCaller, version: int
) -> None:
    first_caller, second_caller = await make_caller(), await make_caller()
    await first_caller.join_and_connect(guild.channels["Lounge"])
    await second_caller.join_and_connect(guild.channels["Lounge"], query=f"?v={version}")
    assert second_caller.hello["v"] == version
    await second_caller.send_json(VoiceOpcode.HEARTBEAT, 1234)
    assert await second_caller.next(VoiceOpcode.HEARTBEAT_ACK) == 1234
    assert all("seq" not in frame for frame in second_caller.frames if not isinstance(frame, tuple))


async def test_version_9_requires_the_channel_id(guild: Guild, make_caller: MakeCaller) -> None:
    caller = await make_caller()
    lounge_id = guild.channels["Lounge"]
    await caller.join_and_connect(lounge_id, query="?v=9", channel_id=str(lounge_id))
    other_caller = await make_caller()
    await other_caller.join(lounge_id)
    await other_caller.open_socket("?v=9")
    await other_caller.send_json(
        VoiceOpcode.IDENTIFY, other_caller.identify_payload(channel_id=str(guild.channels["Den"]))
    )
    assert await other_caller.wait_close_code() == VoiceCloseCode.SESSION_NO_LONGER_VALID


async def test_video_is_announced_with_the_assigned_ssrcs(guild: Guild, make_caller: MakeCaller) -> None:
    first_caller, second_caller = await make_caller(), await make_caller()
    await first_caller.join_and_connect(guild.channels["Lounge"])
    await second_caller.join_and_connect(
        guild.channels["Lounge"], video=True, streams=[{"type": "video", "rid": "100", "quality": 100}]
    )
    (stream,) = second_caller.ready["streams"]
    ssrc = second_caller.ready["ssrc"]
    assert (stream["ssrc"], stream["rtx_ssrc"]) == (ssrc + 1, ssrc + 2)
    await second_caller.send_json(
        VoiceOpcode.VIDEO, {"audio_ssrc": ssrc, "video_ssrc": ssrc + 1, "rtx_ssrc": ssrc + 2, "streams": [stream]}
    )
    announcement = await first_caller.next(VoiceOpcode.VIDEO)
    assert (announcement["user_id"], announcement["video_ssrc"]) == (str(second_caller.actor.id), ssrc + 1)
    await second_caller.send_json(
        VoiceOpcode.VIDEO, {"audio_ssrc": ssrc, "video_ssrc": 99, "rtx_ssrc": 0, "streams": []}
    )
    assert (await first_caller.next(VoiceOpcode.VIDEO))["video_ssrc"] == 0


INVALID_IDENTIFIES: list[tuple[str, Any, int]] = [
    ("wrong token", {"token": "0" * 32}, VoiceCloseCode.AUTHENTICATION_FAILED),
    ("another user", {"user_id": "1"}, VoiceCloseCode.AUTHENTICATION_FAILED),
    ("another session", {"session_id": "0" * 32}, VoiceCloseCode.SESSION_NO_LONGER_VALID),
    ("another server", {"server_id": "1"}, VoiceCloseCode.SERVER_NOT_FOUND),
    ("no end-to-end encryption", {"max_dave_protocol_version": 0}, VoiceCloseCode.E2EE_REQUIRED),
    ("missing version", {"max_dave_protocol_version": None}, VoiceCloseCode.E2EE_REQUIRED),
    ("not a number", {"max_dave_protocol_version": "one"}, VoiceCloseCode.DECODE_ERROR),
    ("not an ID", {"user_id": "alice"}, VoiceCloseCode.DECODE_ERROR),
]


@pytest.mark.parametrize(
    ("fields", "code"), [case[1:] for case in INVALID_IDENTIFIES], ids=[case[0] for case in INVALID_IDENTIFIES]
)
async def test_an_invalid_identify_is_rejected(guild: Guild, make_caller: MakeCaller, fields: Any, code: int) -> None:
    caller = await make_caller()
    await caller.join(guild.channels["Lounge"])
    await caller.open_socket()
    await caller.send_json(VoiceOpcode.IDENTIFY, caller.identify_payload(**fields))
    assert await caller.wait_close_code() == code


@pytest.mark.one_postgres_case
@pytest.mark.parametrize(
    ("frame", "code"),
    [
        ('{"op": 1, "d": {}}', VoiceCloseCode.NOT_AUTHENTICATED),
        ('{"op": 5, "d": {}}', VoiceCloseCode.NOT_AUTHENTICATED),
        ('{"op": 99, "d": {}}', VoiceCloseCode.NOT_AUTHENTICATED),
        ('{"op": ', VoiceCloseCode.DECODE_ERROR),
        ("[]", VoiceCloseCode.DECODE_ERROR),
        ('{"op": 0, "d": null}', VoiceCloseCode.DECODE_ERROR),
        ('{"op": 3, "d": "now"}', VoiceCloseCode.DECODE_ERROR),
        ('{"op": 7, "d": {"server_id": "1", "session_id": "x", "token": "y"}}', VoiceCloseCode.SESSION_NO_LONGER_VALID),
        (b'{"op": 0, "d": {}}', VoiceCloseCode.DECODE_ERROR),
        (b"", VoiceCloseCode.DECODE_ERROR),
        (b"\x1a" + b"key package", VoiceCloseCode.NOT_AUTHENTICATED),
    ],
)
async def test_invalid_first_frames_close_the_connection(
    world: World, guild: Guild, make_caller: MakeCaller, frame: Any, code: int
) -> None:
    caller = await make_caller()
    await caller.open_socket()
    await (caller.socket.send_str(frame) if isinstance(frame, str) else caller.socket.send_bytes(frame))
    assert await caller.wait_close_code() == code


@pytest.mark.parametrize(
    ("opcode", "data", "code"),
    [
        (VoiceOpcode.IDENTIFY, None, VoiceCloseCode.ALREADY_AUTHENTICATED),
        (VoiceOpcode.RESUME, {"server_id": "1", "session_id": "x", "token": "y"}, VoiceCloseCode.ALREADY_AUTHENTICATED),
        (VoiceOpcode.SELECT_PROTOCOL, {"protocol": "quic", "data": "sdp"}, VoiceCloseCode.UNKNOWN_PROTOCOL),
        (VoiceOpcode.SELECT_PROTOCOL, {"protocol": "webrtc", "data": "sdp"}, VoiceCloseCode.DECODE_ERROR),
        (
            VoiceOpcode.SELECT_PROTOCOL,
            {"protocol": "udp", "data": {"address": "1.2.3.4", "port": 1, "mode": "rot13"}},
            VoiceCloseCode.UNKNOWN_ENCRYPTION_MODE,
        ),
        (
            VoiceOpcode.SELECT_PROTOCOL,
            {"protocol": "udp", "data": {"address": "1.2.3.4", "port": 1, "mode": "xsalsa20_poly1305"}},
            VoiceCloseCode.UNKNOWN_ENCRYPTION_MODE,
        ),
        (VoiceOpcode.SELECT_PROTOCOL, {"protocol": "udp"}, VoiceCloseCode.DECODE_ERROR),
        (VoiceOpcode.SPEAKING, {"speaking": -1}, VoiceCloseCode.DECODE_ERROR),
        (VoiceOpcode.SPEAKING, {"speaking": "loud"}, VoiceCloseCode.DECODE_ERROR),
        (99, {}, VoiceCloseCode.UNKNOWN_OPCODE),
        (VoiceOpcode.READY, {}, VoiceCloseCode.UNKNOWN_OPCODE),
    ],
)
async def test_invalid_later_frames_close_the_connection(
    guild: Guild, make_caller: MakeCaller, opcode: int, data: Any, code: int
) -> None:
    caller = await make_caller()
    await caller.join(guild.channels["Lounge"])
    await caller.open_socket()
    await caller.identify()
    await caller.send_json(opcode, caller.identify_payload() if data is None else data)
    assert await caller.wait_close_code() == code


async def test_too_many_frames_close_the_connection(guild: Guild, make_caller: MakeCaller) -> None:
    caller = await make_caller()
    await caller.open_socket()
    for _ in range(601):
        await caller.send_json(VoiceOpcode.HEARTBEAT, {"t": 1, "seq_ack": -1})
    assert await caller.wait_close_code() == VoiceCloseCode.RATE_LIMITED


async def test_pings_before_identify_count_as_frames(guild: Guild, make_caller: MakeCaller) -> None:
    caller = await make_caller()
    await caller.open_socket()
    for _ in range(601):
        await caller.socket.ping()
    assert await caller.wait_close_code() == VoiceCloseCode.RATE_LIMITED


async def test_a_reset_after_a_ping_is_not_an_error(
    guild: Guild, make_caller: MakeCaller, caplog: pytest.LogCaptureFixture
) -> None:
    caller, other_caller = await make_caller(), await make_caller()
    await caller.open_socket()
    for _ in range(20):
        await caller.socket.ping(b"x" * 100)
    caller.socket._response.connection.transport.abort()
    await other_caller.open_socket()
    await other_caller.send_json(VoiceOpcode.HEARTBEAT, {"t": 1, "seq_ack": -1})
    await other_caller.next(VoiceOpcode.HEARTBEAT_ACK)
    assert not [record for record in caplog.records if record.exc_info]


@pytest.mark.one_postgres_case
@pytest.mark.parametrize("query", ["?v=10", "?v=0", "?v=-1", "?v=eight", "?v=8.0", "?v=٨"])
async def test_unknown_versions_are_rejected(guild: Guild, make_caller: MakeCaller, query: str) -> None:
    caller = await make_caller()
    with pytest.raises(AssertionError, match="4020"):
        await caller.open_socket(query)


@pytest.mark.dated(changes.VOICE_VERSIONS)
@pytest.mark.parametrize("query", ["", "?v=1", "?v=3"])
async def test_old_versions_are_rejected_since_the_change(
    world: World, guild: Guild, make_caller: MakeCaller, query: str
) -> None:
    caller = await make_caller()
    world.clock.set(changes.VOICE_VERSIONS.at_ms - 1)
    hello = await caller.open_socket(query)
    assert hello == {"v": int(query.removeprefix("?v=") or 1), "heartbeat_interval": 13_750}
    await caller.close()
    world.clock.set(changes.VOICE_VERSIONS.at_ms)
    with pytest.raises(AssertionError, match="4020"):
        await caller.open_socket(query)
    await caller.open_socket("?v=4")


@pytest.mark.dated(changes.E2EE_VOICE_ONLY)
@pytest.mark.parametrize("version", [0, None])
async def test_end_to_end_encryption_is_required_since_the_change(
    world: World, guild: Guild, make_caller: MakeCaller, version: int | None
) -> None:
    lounge_id = guild.channels["Lounge"]
    earlier_caller, later_caller = await make_caller(), await make_caller()
    world.clock.set(changes.E2EE_VOICE_ONLY.at_ms - 1)
    await earlier_caller.join_and_connect(lounge_id, max_dave_protocol_version=version)
    assert earlier_caller.session_description["dave_protocol_version"] == 0
    world.clock.set(changes.E2EE_VOICE_ONLY.at_ms)
    await later_caller.join(lounge_id)
    await later_caller.open_socket()
    await later_caller.send_json(VoiceOpcode.IDENTIFY, later_caller.identify_payload(max_dave_protocol_version=version))
    assert await later_caller.wait_close_code() == VoiceCloseCode.E2EE_REQUIRED
    # A rejected client leaves the channel.
    left_state = await later_caller.session.next(
        "VOICE_STATE_UPDATE", lambda state: state["user_id"] == str(later_caller.actor.id)
    )
    assert left_state["channel_id"] is None


async def test_stages_need_no_end_to_end_encryption(world: World, guild: Guild, make_caller: MakeCaller) -> None:
    stage_channel_id = await guild.channel("Stage", type=ChannelType.GUILD_STAGE_VOICE)
    caller = await make_caller()
    await caller.join_and_connect(stage_channel_id, max_dave_protocol_version=0)
    assert caller.session_description["dave_protocol_version"] == 0
