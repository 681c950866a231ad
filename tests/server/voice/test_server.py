"""The voice gateway: from a ticket to a call, and every rejection."""

from typing import Any

import pytest

from hubbub.protocol import changes
from tests.server.voice.caller import AES, XCHACHA
from tests.server.voice.conftest import ENDPOINT, MakeCaller
from tests.world import Guild, World


async def test_a_join_leads_to_an_encryption_key(world: World, guild: Guild, call: MakeCaller) -> None:
    caller = await call()
    await caller.join(guild.channels["Lounge"])
    assert caller.server["endpoint"] == ENDPOINT
    assert await caller.open() == {"v": 8, "heartbeat_interval": 13_750}
    ready = await caller.identify()
    assert ready["modes"] == [AES, XCHACHA]
    assert (ready["ip"], ready["experiments"], ready["streams"]) == ("127.0.0.1", [], [])
    assert (await caller.discover())[0] == "127.0.0.1"
    description = await caller.select(XCHACHA)
    assert (description["mode"], len(description["secret_key"])) == (XCHACHA, 32)
    assert description["audio_codec"] == "opus"
    assert description["dave_protocol_version"] == 1
    assert await caller.heartbeat() == {"t": 7}


async def test_new_and_present_callers_are_announced_to_each_other(guild: Guild, call: MakeCaller) -> None:
    first, second = await call(), await call()
    await first.join_and_connect(guild.channels["Lounge"])
    await first.heartbeat()
    await second.join_and_connect(guild.channels["Lounge"])
    other = str(first.actor.id)
    assert [frame for frame in second.frames if not isinstance(frame, tuple) and frame["op"] in (11, 18, 20, 5)] == [
        {"op": 11, "d": {"user_ids": [other]}, "seq": 1},
        {"op": 18, "d": {"user_id": other, "flags": None}, "seq": 2},
        {"op": 20, "d": {"user_id": other, "platform": None}, "seq": 3},
        {"op": 5, "d": {"speaking": 1, "ssrc": first.ready["ssrc"], "user_id": other}, "seq": 4},
    ]
    # Ready comes first, and the session description after the list of users.
    assert second.ops().index(2) < second.ops().index(11) < second.ops().index(4)
    assert (await first.next(11))["user_ids"] == [str(second.actor.id)]
    speaking = await first.next(5)
    assert speaking == {"speaking": 1, "ssrc": second.ready["ssrc"], "user_id": str(second.actor.id)}
    await second.send_json(5, {"speaking": 0, "delay": 0, "ssrc": second.ready["ssrc"]})
    assert (await first.next(5))["speaking"] == 0
    await second.socket.close(code=1000)
    assert (await first.next(13)) == {"user_id": str(second.actor.id)}


async def test_changes_during_the_handshake_are_sent_with_the_session_description(
    guild: Guild, call: MakeCaller
) -> None:
    lounge = guild.channels["Lounge"]
    leaving, quicker, slower = await call(), await call(), await call()
    await leaving.join_and_connect(lounge)
    for caller in (slower, quicker):
        await caller.join(lounge)
        await caller.open()
        await caller.identify()
    assert (await slower.next(11))["user_ids"] == [str(leaving.actor.id)]
    await quicker.discover()
    await quicker.select()
    await quicker.send_json(5, {"speaking": 1, "delay": 0, "ssrc": quicker.ready["ssrc"]})
    await leaving.socket.close(code=1000)
    assert (await quicker.next(13))["user_id"] == str(leaving.actor.id)
    assert 13 not in slower.ops()

    await slower.select()

    frames = {frame["op"]: frame["d"] for frame in slower.frames if not isinstance(frame, tuple)}
    assert frames[13] == {"user_id": str(leaving.actor.id)}
    assert frames[11] == {"user_ids": [str(quicker.actor.id)]}
    assert frames[5] == {"speaking": 1, "ssrc": quicker.ready["ssrc"], "user_id": str(quicker.actor.id)}
    assert (await quicker.next(11))["user_ids"] == [str(slower.actor.id)]


async def test_callers_in_other_channels_are_not_announced(guild: Guild, call: MakeCaller) -> None:
    first, second = await call(), await call()
    await first.join_and_connect(guild.channels["Lounge"])
    await second.join_and_connect(guild.channels["Den"])
    await first.heartbeat()
    assert not {11, 5, 18, 20} & set(first.ops() + second.ops())


async def test_the_server_responds_with_its_versions(guild: Guild, call: MakeCaller) -> None:
    caller = await call()
    await caller.join_and_connect(guild.channels["Lounge"])
    await caller.send_json(16, {})
    assert set(await caller.next(16)) == {"voice", "rtc_worker"}
    # Clients send these opcodes; the server ignores them.
    for op, d in ((14, {"codecs": []}), (15, {"any": 100}), (32, {})):
        await caller.send_json(op, d)
    assert await caller.heartbeat() == {"t": 7}


@pytest.mark.parametrize("version", [4, 5, 6, 7])
async def test_older_versions_have_no_sequence_numbers_and_plain_heartbeats(
    guild: Guild, call: MakeCaller, version: int
) -> None:
    first, second = await call(), await call()
    await first.join_and_connect(guild.channels["Lounge"])
    await second.join_and_connect(guild.channels["Lounge"], query=f"?v={version}")
    assert second.hello["v"] == version
    await second.send_json(3, 1234)
    assert await second.next(6) == 1234
    assert all("seq" not in frame for frame in second.frames if not isinstance(frame, tuple))


async def test_version_9_requires_the_channel_id(guild: Guild, call: MakeCaller) -> None:
    caller = await call()
    lounge = guild.channels["Lounge"]
    await caller.join_and_connect(lounge, query="?v=9", channel_id=str(lounge))
    wrong = await call()
    await wrong.join(lounge)
    await wrong.open("?v=9")
    await wrong.send_json(0, wrong.identify_payload(channel_id=str(guild.channels["Den"])))
    assert await wrong.closed() == 4006


async def test_video_is_announced_with_the_assigned_ssrcs(guild: Guild, call: MakeCaller) -> None:
    first, second = await call(), await call()
    await first.join_and_connect(guild.channels["Lounge"])
    await second.join_and_connect(
        guild.channels["Lounge"], video=True, streams=[{"type": "video", "rid": "100", "quality": 100}]
    )
    (stream,) = second.ready["streams"]
    ssrc = second.ready["ssrc"]
    assert (stream["ssrc"], stream["rtx_ssrc"]) == (ssrc + 1, ssrc + 2)
    await second.send_json(12, {"audio_ssrc": ssrc, "video_ssrc": ssrc + 1, "rtx_ssrc": ssrc + 2, "streams": [stream]})
    announced = await first.next(12)
    assert (announced["user_id"], announced["video_ssrc"]) == (str(second.actor.id), ssrc + 1)
    await second.send_json(12, {"audio_ssrc": ssrc, "video_ssrc": 99, "rtx_ssrc": 0, "streams": []})
    assert (await first.next(12))["video_ssrc"] == 0


INVALID_IDENTIFIES: list[tuple[str, Any, int]] = [
    ("wrong token", {"token": "0" * 32}, 4004),
    ("another user", {"user_id": "1"}, 4004),
    ("another session", {"session_id": "0" * 32}, 4006),
    ("another server", {"server_id": "1"}, 4011),
    ("no end-to-end encryption", {"max_dave_protocol_version": 0}, 4017),
    ("missing version", {"max_dave_protocol_version": None}, 4017),
    ("not a number", {"max_dave_protocol_version": "one"}, 4002),
    ("not an id", {"user_id": "alice"}, 4002),
]


@pytest.mark.parametrize(
    ("wrong", "code"), [case[1:] for case in INVALID_IDENTIFIES], ids=[case[0] for case in INVALID_IDENTIFIES]
)
async def test_an_invalid_identify_is_rejected(guild: Guild, call: MakeCaller, wrong: Any, code: int) -> None:
    caller = await call()
    await caller.join(guild.channels["Lounge"])
    await caller.open()
    await caller.send_json(0, caller.identify_payload(**wrong))
    assert await caller.closed() == code


@pytest.mark.parametrize(
    ("frame", "code"),
    [
        ('{"op": 1, "d": {}}', 4003),
        ('{"op": 5, "d": {}}', 4003),
        ('{"op": 99, "d": {}}', 4003),
        ('{"op": ', 4002),
        ("[]", 4002),
        ('{"op": 0, "d": null}', 4002),
        ('{"op": 3, "d": "now"}', 4002),
        ('{"op": 7, "d": {"server_id": "1", "session_id": "x", "token": "y"}}', 4006),
        (b'{"op": 0, "d": {}}', 4002),
        (b"", 4002),
        (b"\x1a" + b"key package", 4003),
    ],
)
async def test_invalid_first_frames_close_the_connection(
    world: World, guild: Guild, call: MakeCaller, frame: Any, code: int
) -> None:
    caller = await call()
    await caller.open()
    await (caller.socket.send_str(frame) if isinstance(frame, str) else caller.socket.send_bytes(frame))
    assert await caller.closed() == code


@pytest.mark.parametrize(
    ("op", "d", "code"),
    [
        (0, None, 4005),
        (7, {"server_id": "1", "session_id": "x", "token": "y"}, 4005),
        (1, {"protocol": "webrtc", "data": "sdp"}, 4012),
        (1, {"protocol": "udp", "data": {"address": "1.2.3.4", "port": 1, "mode": "rot13"}}, 4016),
        (1, {"protocol": "udp", "data": {"address": "1.2.3.4", "port": 1, "mode": "xsalsa20_poly1305"}}, 4016),
        (1, {"protocol": "udp"}, 4002),
        (5, {"speaking": -1}, 4002),
        (5, {"speaking": "loud"}, 4002),
        (99, {}, 4001),
        (2, {}, 4001),
    ],
)
async def test_invalid_later_frames_close_the_connection(
    guild: Guild, call: MakeCaller, op: int, d: Any, code: int
) -> None:
    caller = await call()
    await caller.join(guild.channels["Lounge"])
    await caller.open()
    await caller.identify()
    await caller.send_json(op, caller.identify_payload() if d is None else d)
    assert await caller.closed() == code


async def test_too_many_frames_close_the_connection(guild: Guild, call: MakeCaller) -> None:
    caller = await call()
    await caller.open()
    for _ in range(601):
        await caller.send_json(3, {"t": 1, "seq_ack": -1})
    assert await caller.closed() == 4021


@pytest.mark.parametrize("query", ["?v=10", "?v=0", "?v=-1", "?v=eight", "?v=8.0", "?v=٨"])
async def test_unknown_versions_are_rejected(guild: Guild, call: MakeCaller, query: str) -> None:
    caller = await call()
    with pytest.raises(AssertionError, match="4020"):
        await caller.open(query)


@pytest.mark.dated(changes.VOICE_VERSIONS)
@pytest.mark.parametrize("query", ["", "?v=1", "?v=3"])
async def test_old_versions_are_rejected_since_the_change(
    world: World, guild: Guild, call: MakeCaller, query: str
) -> None:
    caller = await call()
    world.clock.set(changes.VOICE_VERSIONS.at_ms - 1)
    hello = await caller.open(query)
    assert hello == {"v": int(query.removeprefix("?v=") or 1), "heartbeat_interval": 13_750}
    await caller.close()
    world.clock.set(changes.VOICE_VERSIONS.at_ms)
    with pytest.raises(AssertionError, match="4020"):
        await caller.open(query)
    await caller.open("?v=4")


@pytest.mark.dated(changes.E2EE_VOICE_ONLY)
@pytest.mark.parametrize("version", [0, None])
async def test_end_to_end_encryption_is_required_since_the_change(
    world: World, guild: Guild, call: MakeCaller, version: int | None
) -> None:
    lounge = guild.channels["Lounge"]
    old, new = await call(), await call()
    world.clock.set(changes.E2EE_VOICE_ONLY.at_ms - 1)
    await old.join_and_connect(lounge, max_dave_protocol_version=version)
    assert old.description["dave_protocol_version"] == 0
    world.clock.set(changes.E2EE_VOICE_ONLY.at_ms)
    await new.join(lounge)
    await new.open()
    await new.send_json(0, new.identify_payload(max_dave_protocol_version=version))
    assert await new.closed() == 4017
    # A rejected client leaves the channel.
    left = await new.session.next("VOICE_STATE_UPDATE", lambda state: state["user_id"] == str(new.actor.id))
    assert left["channel_id"] is None


async def test_stages_need_no_end_to_end_encryption(world: World, guild: Guild, call: MakeCaller) -> None:
    stage = await guild.channel("Stage", type=13)
    caller = await call()
    await caller.join_and_connect(stage, max_dave_protocol_version=0)
    assert caller.description["dave_protocol_version"] == 0
