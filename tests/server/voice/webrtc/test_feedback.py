"""RTCP of browsers: requests and reports cause a bounded number of packets and a bounded state. Also deafened browsers."""

import struct
from typing import Any

import pytest

from hubbub.protocol.voice import VoiceOpcode
from hubbub.server.transports.voice import server, sfu
from hubbub.server.transports.voice.peers import Peer
from hubbub.server.transports.voice.webrtc import browsers
from tests.server.voice.caller import dropped_packet_count, fake_encrypted_frame
from tests.server.voice.conftest import MakeCaller
from tests.server.voice.test_packets import wait_voice_state_applied
from tests.server.voice.webrtc.browser import Browser
from tests.server.voice.webrtc.conftest import MakeBrowser
from tests.server.voice.webrtc.test_browsers import PAYLOAD_FEEDBACK, PICTURE_LOSS, start_video, wait_dropped
from tests.world import Guild, World, wait_until

RECEIVER_REPORT = 201
PING, PONG = b"\x13\x37\xca\xfemark", b"\x13\x37\xf0\x0dmark"
BLOCKS_MAX = 31
"""Maximum number of streams in one report."""


def get_peer(world: World, browser: Browser) -> Peer:
    """Return the media state of a browser on the server."""
    assert world.app.voice is not None
    return world.app.voice.calls._sessions[browser.caller.guild.id, browser.caller.actor.id].peer


def send_control(browser: Browser, packet: bytes) -> None:
    """Encrypt an RTCP packet and send it."""
    assert browser.dtls.srtp_session is not None
    browser.send(browser.dtls.srtp_session.protect_control(packet))


def build_report(sender_ssrc: int, ssrcs: list[int], lost_share: int = 250) -> bytes:
    """Build a receiver report about several streams; `lost_share` is in parts of 256."""
    blocks = b"".join(struct.pack(">IB19x", ssrc, lost_share) for ssrc in ssrcs)
    return struct.pack(">BBHI", 0x80 | len(ssrcs), RECEIVER_REPORT, 1 + 6 * len(ssrcs), sender_ssrc) + blocks


def build_picture_loss(sender_ssrc: int, ssrc: int) -> bytes:
    """Build a picture loss indication."""
    return struct.pack(">BBHII", 0x80 | PICTURE_LOSS, PAYLOAD_FEEDBACK, 2, sender_ssrc, ssrc)


async def test_many_key_frame_requests_cause_one_request_per_interval(
    guild: Guild, make_caller: MakeCaller, make_browser: MakeBrowser, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sfu, "KEY_FRAME_INTERVAL_SECONDS", 3600.0)
    native, viewers = await make_caller(), [await make_browser() for _ in range(2)]
    await native.join_and_connect(guild.channels["Lounge"])
    ssrc = native.ready["ssrc"] + 1
    await native.send_json(
        VoiceOpcode.VIDEO, {"audio_ssrc": ssrc - 1, "video_ssrc": ssrc, "rtx_ssrc": 0, "streams": []}
    )
    await native.heartbeat()
    for viewer in viewers:
        await viewer.join_and_connect(guild.channels["Lounge"])
        for _ in range(50):
            send_control(viewer, build_picture_loss(5, ssrc))
            # One full intra request for many streams.
            entries = struct.pack(">IBxxx", ssrc, 1) * 20
            send_control(viewer, struct.pack(">BBHII", 0x84, PAYLOAD_FEEDBACK, 42, 5, 0) + entries)
        viewer.send(PING)
        await viewer.receive(lambda data: data == PONG)
    assert [data[1] for data in await native.wait_packets_read()].count(PAYLOAD_FEEDBACK) == 1


async def test_reports_with_many_sender_ssrcs_have_a_bounded_state(
    world: World,
    guild: Guild,
    make_caller: MakeCaller,
    make_browser: MakeBrowser,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(browsers, "CONTROL_STREAMS_MAX", 4)
    native, browser = await make_caller(), await make_browser()
    await native.join_and_connect(guild.channels["Lounge"])
    await browser.join_and_connect(guild.channels["Lounge"])
    for sender_ssrc in range(1, 11):
        send_control(browser, build_report(sender_ssrc, [1000 + sender_ssrc]))
    await wait_dropped(world, "unknown", 6)
    transport = get_peer(world, browser).browser
    assert transport is not None
    assert transport._control_ssrcs == {1, 2, 3, 4}
    # Forged packets have no state, and the known SSRCs still work.
    for sender_ssrc in range(100, 110):
        browser.send(struct.pack(">BBHI", 0x80, RECEIVER_REPORT, 1, sender_ssrc) + bytes(30))
    await wait_dropped(world, "unknown", 16)
    forged_count = dropped_packet_count(world, "forged")
    browser.send(struct.pack(">BBHI", 0x80, RECEIVER_REPORT, 1, 1) + bytes(30))
    await wait_dropped(world, "forged", forged_count + 1)
    send_control(browser, build_report(4, [1004]))
    browser.send_frame(fake_encrypted_frame("still connected"))
    assert (await native.receive_media())[1] == fake_encrypted_frame("still connected")
    assert transport._control_ssrcs == {1, 2, 3, 4}


async def test_reports_about_streams_that_a_browser_does_not_receive_change_nothing(
    world: World,
    guild: Guild,
    make_caller: MakeCaller,
    make_browser: MakeBrowser,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(sfu, "BITRATE_INTERVAL_SECONDS", 3600.0)
    native, outsider, sender, viewer = (
        await make_caller(),
        await make_caller(),
        await make_browser(),
        await make_browser(),
    )
    await native.join_and_connect(guild.channels["Lounge"])
    await outsider.join_and_connect(guild.channels["Den"])
    ssrc = await start_video(sender, guild)
    own_ssrc = await start_video(viewer, guild)
    viewer_peer, sender_peer = get_peer(world, viewer), get_peer(world, sender)
    # The bitrates are so low that a reported loss would pause the video.
    for peer in (viewer_peer, sender_peer):
        peer.bitrate_limit.bits_per_second = 1
    others = [outsider.ready["ssrc"] + 1, own_ssrc, ssrc - 1, ssrc + 1, native.ready["ssrc"], 0xFFFFFFFF]
    for number in range(20):
        unknown_ssrcs = [number * BLOCKS_MAX + offset for offset in range(BLOCKS_MAX - len(others))]
        send_control(viewer, build_report(5, others + unknown_ssrcs))
    # A number of blocks above the size of the packet.
    send_control(viewer, b"\x9f" + build_report(5, others)[1:])
    viewer.send(PING)
    await viewer.receive(lambda data: data == PONG)
    assert viewer_peer.pause_timers == sender_peer.pause_timers == {}
    send_control(viewer, build_report(5, [ssrc]))
    await wait_until(lambda: viewer_peer.pause_timers)
    assert set(viewer_peer.pause_timers) == {ssrc}


async def test_a_client_refuses_a_bounded_number_of_streams(
    world: World, guild: Guild, make_browser: MakeBrowser, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(server, "UNWANTED_STREAMS_MAX", 8)
    browser = await make_browser()
    await browser.join_and_connect(guild.channels["Lounge"])
    wants: dict[str, Any] = {str(ssrc): 0 for ssrc in range(5000)}
    await browser.caller.send_json(VoiceOpcode.MEDIA_SINK_WANTS, wants | {"any": 100})
    await browser.caller.heartbeat()
    assert get_peer(world, browser).unwanted_ssrcs == set(range(8))


async def test_a_deafened_browser_receives_no_audio_packets(
    world: World, guild: Guild, make_caller: MakeCaller, make_browser: MakeBrowser
) -> None:
    native, browser = await make_caller(), await make_browser()
    await native.join_and_connect(guild.channels["Lounge"])
    await browser.join_and_connect(guild.channels["Lounge"])
    lounge = guild.channels["Lounge"]
    path = f"/guilds/{guild.id}/members/{browser.caller.actor.id}"
    for deafen, undeafen in (
        (
            lambda: browser.caller.update_voice_state(lounge, self_deaf=True),
            lambda: browser.caller.update_voice_state(lounge),
        ),
        (lambda: guild.owner.patch(path, json={"deaf": True}), lambda: guild.owner.patch(path, json={"deaf": False})),
    ):
        await deafen()
        await wait_voice_state_applied(world, browser.caller, is_deaf=True)
        native.send_frame(fake_encrypted_frame("to a deafened user"))
        await native.wait_packets_read()
        await undeafen()
        await wait_voice_state_applied(world, browser.caller, is_deaf=False)
        native.send_frame(fake_encrypted_frame("heard"))
        # The first packet that arrives is the one after the end of the deafening.
        assert (await browser.receive_media())[1] == fake_encrypted_frame("heard")
