"""Browsers in calls with native clients: signaling, ICE, DTLS, audio, video and key frame requests."""

import asyncio
import struct
from typing import Any

import pytest

from hubbub.protocol.enums import OverwriteType, VoiceCloseCode
from hubbub.protocol.permissions import Permissions
from hubbub.protocol.voice import VoiceOpcode
from hubbub.server.transports.voice.bitrate import BITRATE_MIN
from hubbub.server.transports.voice.webrtc import browsers
from hubbub.server.transports.voice.webrtc.srtp import PROFILES
from tests.server.voice.caller import (
    AES,
    abort_connection,
    decrypt_packet,
    dropped_packet_count,
    encrypt_packet,
    fake_encrypted_frame,
    last_seq,
    resume_payload,
    wait_connection_lost,
)
from tests.server.voice.conftest import MakeCaller
from tests.server.voice.webrtc.browser import (
    CODECS,
    OPUS_PAYLOAD_TYPE,
    Browser,
    binding_request,
    is_dtls,
    is_rtcp,
    is_rtp,
)
from tests.server.voice.webrtc.conftest import MakeBrowser
from tests.world import WAIT_TIMEOUT_SECONDS, Guild, World, wait_until

DTLS_ALERT = 21
"""Content type of a DTLS record with an alert."""
PAYLOAD_FEEDBACK = 206
"""RTCP packet type of payload-specific feedback."""
PICTURE_LOSS, APPLICATION_FEEDBACK = 1, 15
"""Formats of payload-specific feedback."""


async def wait_dropped(world: World, reason: str, count: float) -> None:
    """Wait until at least this number of packets was dropped for a reason."""
    async with asyncio.timeout(WAIT_TIMEOUT_SECONDS):
        while dropped_packet_count(world, reason) < count:
            await asyncio.sleep(0.001)


@pytest.mark.parametrize("profile", PROFILES)
async def test_a_browser_and_a_native_client_exchange_audio(
    guild: Guild, make_caller: MakeCaller, make_browser: MakeBrowser, profile: bytes
) -> None:
    native, browser = await make_caller(), await make_browser(profiles=profile)
    await native.join_and_connect(guild.channels["Lounge"])
    await browser.join_and_connect(guild.channels["Lounge"])
    ssrc = browser.caller.ready["ssrc"]
    for number in range(20):
        browser.send_frame(fake_encrypted_frame(f"question {number}"))
        assert await native.receive_media() == (ssrc, fake_encrypted_frame(f"question {number}"))
        native.send_frame(fake_encrypted_frame(f"answer {number}"))
        packet = await browser.receive_packet()
        assert (packet[0], packet[1]) == (0x80, OPUS_PAYLOAD_TYPE)
        assert packet[8:] == struct.pack(">I", native.ready["ssrc"]) + fake_encrypted_frame(f"answer {number}")


async def test_two_browsers_exchange_audio_with_their_own_payload_types(
    guild: Guild, make_browser: MakeBrowser
) -> None:
    first_browser, second_browser = await make_browser(), await make_browser()
    await first_browser.join_and_connect(guild.channels["Lounge"])
    second_codecs = [{"name": "opus", "type": "audio", "priority": 1000, "payload_type": 109}]
    await second_browser.caller.join(guild.channels["Lounge"])
    await second_browser.caller.open_socket()
    await second_browser.caller.identify()
    await second_browser.select_protocol(codecs=second_codecs)
    await second_browser.open_udp()
    await second_browser.send_connectivity_check()
    await second_browser.handshake()
    first_browser.send_frame(fake_encrypted_frame("hello"))
    packet = await second_browser.receive_packet()
    assert (packet[1], packet[8:12]) == (109, struct.pack(">I", first_browser.caller.ready["ssrc"]))


async def test_the_description_has_the_fields_of_the_specification(guild: Guild, make_browser: MakeBrowser) -> None:
    browser = await make_browser()
    await browser.caller.join(guild.channels["Lounge"])
    await browser.caller.open_socket()
    await browser.caller.identify()
    description = await browser.select_protocol()
    assert set(description) == {"sdp", "audio_codec", "video_codec", "dave_protocol_version", "media_session_id"}
    assert (description["audio_codec"], description["dave_protocol_version"]) == ("opus", 1)
    assert browser.described_attribute("candidate").endswith(f"127.0.0.1 {browser.caller.ready['port']} typ host")
    assert "secret_key" not in description


@pytest.mark.parametrize(
    ("fields", "code"),
    [
        ({"data": "sdp"}, VoiceCloseCode.DECODE_ERROR),
        ({"data": {"mode": AES}}, VoiceCloseCode.DECODE_ERROR),
        ({"codecs": [{"name": "opus", "payload_type": 0}]}, VoiceCloseCode.DECODE_ERROR),
        ({"codecs": "opus"}, VoiceCloseCode.DECODE_ERROR),
        ({"protocol": "quic"}, VoiceCloseCode.UNKNOWN_PROTOCOL),
    ],
)
async def test_an_invalid_offer_closes_the_connection(
    guild: Guild, make_browser: MakeBrowser, fields: dict[str, Any], code: int
) -> None:
    browser = await make_browser()
    await browser.caller.join(guild.channels["Lounge"])
    await browser.caller.open_socket()
    await browser.caller.identify()
    selection = {"protocol": "webrtc", "data": browser.offer(), "codecs": CODECS}
    await browser.caller.send_json(VoiceOpcode.SELECT_PROTOCOL, selection | fields)
    assert await browser.caller.wait_close_code() == code


async def test_another_certificate_than_the_announced_one_ends_the_session(
    guild: Guild, make_browser: MakeBrowser, make_caller: MakeCaller
) -> None:
    native, browser = await make_caller(), await make_browser()
    await native.join_and_connect(guild.channels["Lounge"])
    await browser.caller.join(guild.channels["Lounge"])
    await browser.caller.open_socket()
    await browser.caller.identify()
    other_fingerprint = ":".join(["AB"] * 32)
    await browser.select_protocol(data=browser.offer(fingerprint=other_fingerprint))
    await browser.open_udp()
    await browser.send_connectivity_check()
    handshake = asyncio.create_task(browser.handshake())
    assert await browser.caller.wait_close_code() == VoiceCloseCode.WEBRTC_CRASHED
    handshake.cancel()
    await asyncio.gather(handshake, return_exceptions=True)
    assert browser.dtls.srtp_session is None
    assert (await native.next(VoiceOpcode.CLIENT_DISCONNECT))["user_id"] == str(browser.caller.actor.id)


async def test_nothing_is_sent_to_an_address_without_an_authentic_check(
    guild: Guild, make_caller: MakeCaller, make_browser: MakeBrowser
) -> None:
    native, browser = await make_caller(), await make_browser()
    await native.join_and_connect(guild.channels["Lounge"])
    await browser.caller.join(guild.channels["Lounge"])
    await browser.caller.open_socket()
    await browser.caller.identify()
    await browser.select_protocol()
    await browser.open_udp()
    username = f"{browser.described_attribute('ice-ufrag')}:{browser.ufrag}"
    browser.send(binding_request(username, "wrong password", use_candidate=True))
    browser.send(binding_request("unknown:user", browser.described_attribute("ice-pwd"), use_candidate=True))
    for datagram in browser.dtls.advance():
        browser.send(datagram)
    native.send_frame(fake_encrypted_frame("not for strangers"))
    # The response to a ping is the first datagram that arrives.
    browser.send(b"\x13\x37\xca\xfe" + b"mark")
    assert await browser.receive() == b"\x13\x37\xf0\x0dmark"


async def test_only_announced_streams_of_a_browser_are_forwarded(
    world: World, guild: Guild, make_caller: MakeCaller, make_browser: MakeBrowser
) -> None:
    native, browser = await make_caller(), await make_browser()
    await native.join_and_connect(guild.channels["Lounge"])
    await browser.join_and_connect(guild.channels["Lounge"])
    browser.send_frame(fake_encrypted_frame("first"))
    assert (await native.receive_media())[1] == fake_encrypted_frame("first")
    browser.send(browser.build_packet(fake_encrypted_frame("another SSRC"), ssrc=browser.ssrc ^ 1))
    browser.send(browser.build_packet(fake_encrypted_frame("another type"), payload_type=96))
    await wait_dropped(world, "unknown", 2)
    packet = browser.send_frame(fake_encrypted_frame("second"))
    assert (await native.receive_media())[1] == fake_encrypted_frame("second")
    browser.send(packet)
    await wait_dropped(world, "replayed", 1)
    packet = browser.build_packet(fake_encrypted_frame("forged"))
    browser.send(packet[:-1] + bytes((packet[-1] ^ 1,)))
    await wait_dropped(world, "forged", 1)


async def test_header_extensions_are_removed_in_both_directions(
    guild: Guild, make_caller: MakeCaller, make_browser: MakeBrowser
) -> None:
    native, browser = await make_caller(), await make_browser()
    await native.join_and_connect(guild.channels["Lounge"])
    await browser.join_and_connect(guild.channels["Lounge"])
    assert browser.dtls.srtp_session is not None
    header = (
        struct.pack(">BBHII", 0x90, 0x80 | OPUS_PAYLOAD_TYPE, 1, 960, browser.ssrc)
        + b"\xbe\xde\x00\x01\x10\xff\x00\x00"
    )
    browser.send(browser.dtls.srtp_session.protect(header + fake_encrypted_frame("from the browser")))
    data = await native.receive_datagram(lambda data: data[1] == 0xF8)
    assert data[:12] == struct.pack(">BBHII", 0x80, 0xF8, 1, 960, browser.caller.ready["ssrc"])
    header = struct.pack(">BBHII", 0x90, 0x78, 7, 6720, native.ready["ssrc"]) + b"\xbe\xde\x00\x01"
    body = b"\x10\xff\x00\x00" + fake_encrypted_frame("to the browser")
    native.send_datagram(encrypt_packet(AES, native.secret_key, header, body, 9))
    packet = await browser.receive_packet()
    assert packet == struct.pack(
        ">BBHII", 0x80, OPUS_PAYLOAD_TYPE, 7, 6720, native.ready["ssrc"]
    ) + fake_encrypted_frame("to the browser")


async def test_a_browser_moves_to_another_address_by_a_check(
    guild: Guild, make_caller: MakeCaller, make_browser: MakeBrowser
) -> None:
    native, browser = await make_caller(), await make_browser()
    await native.join_and_connect(guild.channels["Lounge"])
    await browser.join_and_connect(guild.channels["Lounge"])
    old_transport, old_datagrams = browser.transport, browser.datagrams
    assert old_transport is not None
    browser.datagrams = type(old_datagrams)()
    await browser.open_udp()
    # Packets from an address without a check are not accepted, and a check without USE-CANDIDATE does not nominate it.
    browser.send(browser.build_packet(fake_encrypted_frame("too early")))
    await browser.send_connectivity_check(use_candidate=False)
    native.send_frame(fake_encrypted_frame("old address"))
    async with asyncio.timeout(WAIT_TIMEOUT_SECONDS):
        while not is_rtp(packet := await old_datagrams.received.get()):
            pass
    assert browser.dtls.srtp_session is not None
    assert browser.dtls.srtp_session.unprotect(packet)[12:] == fake_encrypted_frame("old address")
    await browser.send_connectivity_check()
    native.send_frame(fake_encrypted_frame("new address"))
    assert await browser.receive_media() == (native.ready["ssrc"], fake_encrypted_frame("new address"))
    browser.send_frame(fake_encrypted_frame("moved"))
    assert (await native.receive_media())[1] == fake_encrypted_frame("moved")
    old_transport.close()


async def test_an_ice_restart_keeps_the_keys(guild: Guild, make_caller: MakeCaller, make_browser: MakeBrowser) -> None:
    native, browser = await make_caller(), await make_browser()
    await native.join_and_connect(guild.channels["Lounge"])
    await browser.join_and_connect(guild.channels["Lounge"])
    old_description = browser.description
    await browser.select_protocol(data=browser.offer(ufrag="restarted"))
    assert browser.description["sdp"] != old_description["sdp"]
    await browser.send_connectivity_check()
    browser.send_frame(fake_encrypted_frame("after the restart"))
    assert (await native.receive_media())[1] == fake_encrypted_frame("after the restart")
    native.send_frame(fake_encrypted_frame("answer"))
    assert await browser.receive_media() == (native.ready["ssrc"], fake_encrypted_frame("answer"))


@pytest.mark.parametrize("closes_first", [False, True])
async def test_a_new_peer_connection_replaces_the_old_one(
    world: World, guild: Guild, make_caller: MakeCaller, make_browser: MakeBrowser, closes_first: bool
) -> None:
    native, browser = await make_caller(), await make_browser()
    await native.join_and_connect(guild.channels["Lounge"])
    await browser.join_and_connect(guild.channels["Lounge"])
    if closes_first:
        browser.dtls.connection.shutdown()
        browser.send(browser.dtls.connection.bio_read(2000))
        assert world.app.voice is not None
        async with asyncio.timeout(WAIT_TIMEOUT_SECONDS):
            while world.app.voice.calls.forwarder._browsers.by_address:
                await asyncio.sleep(0.001)
    new_browser = Browser(browser.caller)
    await new_browser.select_protocol(data=new_browser.offer(session="2"))
    await new_browser.open_udp()
    await new_browser.send_connectivity_check()
    await new_browser.handshake()
    new_browser.send_frame(fake_encrypted_frame("again"))
    assert await native.receive_media() == (browser.caller.ready["ssrc"], fake_encrypted_frame("again"))
    await new_browser.close()


async def test_a_resumed_session_keeps_its_media(
    world: World, guild: Guild, make_caller: MakeCaller, make_browser: MakeBrowser
) -> None:
    native, browser = await make_caller(), await make_browser()
    await native.join_and_connect(guild.channels["Lounge"])
    await browser.join_and_connect(guild.channels["Lounge"])
    seq = last_seq(browser.caller)
    abort_connection(browser.caller)
    await wait_connection_lost(world, browser.caller)
    browser.send_frame(fake_encrypted_frame("without a socket"))
    assert (await native.receive_media())[1] == fake_encrypted_frame("without a socket")
    await browser.caller.open_socket()
    await browser.caller.send_json(VoiceOpcode.RESUME, resume_payload(browser.caller, seq_ack=seq))
    await browser.caller.next(VoiceOpcode.RESUMED)
    native.send_frame(fake_encrypted_frame("resumed"))
    assert (await browser.receive_media())[1] == fake_encrypted_frame("resumed")


async def test_media_stops_when_a_browser_sends_no_more_checks(
    world: World,
    guild: Guild,
    make_caller: MakeCaller,
    make_browser: MakeBrowser,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(browsers, "CONSENT_SECONDS", 0.2)
    native, browser = await make_caller(), await make_browser()
    await native.join_and_connect(guild.channels["Lounge"])
    await browser.join_and_connect(guild.channels["Lounge"])
    assert world.app.voice is not None
    peer = world.app.voice.calls._sessions[guild.id, browser.caller.actor.id].peer
    async with asyncio.timeout(WAIT_TIMEOUT_SECONDS):
        while peer.address is not None:
            await asyncio.sleep(0.01)
    assert world.app.voice.calls.forwarder._browsers.by_address == {}
    # Another check renews the consent.
    monkeypatch.setattr(browsers, "CONSENT_SECONDS", 30.0)
    await browser.send_connectivity_check()
    native.send_frame(fake_encrypted_frame("again"))
    assert (await browser.receive_media())[1] == fake_encrypted_frame("again")


async def test_lost_datagrams_of_the_handshake_are_sent_again(
    guild: Guild, make_caller: MakeCaller, make_browser: MakeBrowser
) -> None:
    native, browser = await make_caller(), await make_browser()
    await native.join_and_connect(guild.channels["Lounge"])
    await browser.caller.join(guild.channels["Lounge"])
    await browser.caller.open_socket()
    await browser.caller.identify()
    await browser.select_protocol()
    await browser.open_udp()
    await browser.send_connectivity_check()
    (hello,) = browser.dtls.advance()
    browser.send(hello)
    (second_hello,) = browser.dtls.advance(await browser.receive())
    browser.send(second_hello)
    # The flight with the certificate is lost; the server repeats it after a second.
    lost = await browser.receive()
    assert is_dtls(lost)
    while browser.dtls.srtp_session is None:
        for datagram in browser.dtls.advance(await browser.receive(is_dtls)):
            browser.send(datagram)
    await browser.caller.send_json(VoiceOpcode.SPEAKING, {"speaking": 1, "delay": 0, "ssrc": browser.ssrc})
    browser.send_frame(fake_encrypted_frame("after a loss"))
    assert (await native.receive_media())[1] == fake_encrypted_frame("after a loss")


async def test_a_browser_that_leaves_is_removed(world: World, guild: Guild, make_browser: MakeBrowser) -> None:
    browser = await make_browser()
    await browser.join_and_connect(guild.channels["Lounge"])
    assert world.app.voice is not None
    registry = world.app.voice.calls.forwarder._browsers
    assert len(registry.by_address) == len(registry._by_ufrag) == 1
    await browser.caller.update_voice_state(None)
    assert await browser.caller.wait_close_code() == VoiceCloseCode.DISCONNECTED
    assert registry.by_address == registry._by_ufrag == {}
    # The association ends with an alert.
    assert (await browser.receive(is_dtls))[0] == DTLS_ALERT


async def test_a_browser_may_switch_to_the_native_protocol(
    guild: Guild, make_caller: MakeCaller, make_browser: MakeBrowser
) -> None:
    native, browser = await make_caller(), await make_browser()
    await native.join_and_connect(guild.channels["Lounge"])
    await browser.join_and_connect(guild.channels["Lounge"])
    caller = browser.caller
    await caller.discover_ip()
    await caller.select_protocol()
    caller.send_frame(fake_encrypted_frame("native"))
    assert await native.receive_media() == (caller.ready["ssrc"], fake_encrypted_frame("native"))
    native.send_frame(fake_encrypted_frame("answer"))
    assert await caller.receive_media() == (native.ready["ssrc"], fake_encrypted_frame("answer"))


VIDEO_CODECS = [*CODECS, {"name": "VP8", "type": "video", "priority": 2000, "payload_type": 96}]


async def start_video(sender: Browser, guild: Guild) -> int:
    """Connect a browser that sends video, and return the SSRC that others receive it with."""
    caller = sender.caller
    await caller.join(guild.channels["Lounge"])
    await caller.open_socket()
    await caller.identify()
    assert (await sender.select_protocol(codecs=VIDEO_CODECS))["video_codec"] == "VP8"
    await sender.open_udp()
    await sender.send_connectivity_check()
    await sender.handshake()
    ssrc: int = caller.ready["ssrc"] + 1
    await caller.send_json(
        VoiceOpcode.VIDEO, {"audio_ssrc": ssrc - 1, "video_ssrc": ssrc, "rtx_ssrc": 0, "streams": []}
    )
    await caller.heartbeat()
    return ssrc


async def receive_feedback(browser: Browser, feedback_format: int) -> bytes:
    """Return the next payload-specific feedback of this format (RFC 4585), decrypted."""
    assert browser.dtls.srtp_session is not None
    while True:
        packet = await browser.receive(lambda data: data[1] == PAYLOAD_FEEDBACK)
        plain = browser.dtls.srtp_session.unprotect_control(packet)
        if plain[0] & 0x1F == feedback_format:
            return plain


async def test_video_and_key_frame_requests_are_forwarded(
    guild: Guild, make_caller: MakeCaller, make_browser: MakeBrowser
) -> None:
    native, browser, viewer = await make_caller(), await make_browser(), await make_browser()
    await native.join_and_connect(guild.channels["Lounge"])
    ssrc = await start_video(browser, guild)
    await start_video(viewer, guild)
    own_ssrc = browser.ssrc ^ 7
    browser.send(browser.build_packet(fake_encrypted_frame("picture"), ssrc=own_ssrc, payload_type=0x80 | 96))
    data = await native.receive_datagram(lambda data: data[1] == 0x80 | 103)
    assert int.from_bytes(data[8:12], "big") == ssrc
    packet = await viewer.receive_packet()
    assert (packet[1], packet[8:12]) == (0x80 | 96, struct.pack(">I", ssrc))
    # The viewer uses the SSRC that the server assigned; the sender uses its own SSRC.
    assert viewer.dtls.srtp_session is not None
    viewer.send(viewer.dtls.srtp_session.protect_control(struct.pack(">BBHII", 0x81, PAYLOAD_FEEDBACK, 2, 5, ssrc)))
    assert await receive_feedback(browser, PICTURE_LOSS) == struct.pack(
        ">BBHII", 0x81, PAYLOAD_FEEDBACK, 2, 1, own_ssrc
    )
    # The browser may use more than its initial bitrate.
    limit = await receive_feedback(browser, APPLICATION_FEEDBACK)
    assert 2_400_000 < read_bitrate(limit) <= 2_500_000
    assert limit[20:24] == struct.pack(">I", own_ssrc)


async def test_the_video_of_a_browser_ends_when_its_member_loses_the_permission(
    world: World, guild: Guild, make_caller: MakeCaller, make_browser: MakeBrowser
) -> None:
    viewer, browser = await make_caller(), await make_browser()
    await viewer.join_and_connect(guild.channels["Lounge"])
    ssrc = await start_video(browser, guild)
    own_ssrc = browser.ssrc ^ 7
    browser.send(browser.build_packet(fake_encrypted_frame("picture"), ssrc=own_ssrc, payload_type=0x80 | 96))
    picture = await viewer.receive_datagram(lambda data: data[1] == 0x80 | 103)
    assert int.from_bytes(picture[8:12], "big") == ssrc
    assert (await viewer.next(VoiceOpcode.VIDEO))["video_ssrc"] == ssrc

    path = f"/channels/{guild.channels['Lounge']}/permissions/{browser.caller.actor.id}"
    overwrite = {"type": OverwriteType.MEMBER, "deny": str(int(Permissions.STREAM))}
    (await guild.owner.put(path, json=overwrite)).ok()
    assert (await viewer.next(VoiceOpcode.VIDEO))["video_ssrc"] == 0
    dropped_count = dropped_packet_count(world, "muted")
    browser.send(browser.build_packet(fake_encrypted_frame("hidden"), ssrc=own_ssrc, payload_type=0x80 | 96))
    await browser.caller.send_json(VoiceOpcode.SPEAKING, {"speaking": 1, "delay": 0, "ssrc": ssrc - 1})
    await browser.caller.heartbeat()
    browser.send_frame(fake_encrypted_frame("voice"))
    assert await viewer.receive_media() == (ssrc - 1, fake_encrypted_frame("voice"))
    assert dropped_packet_count(world, "muted") == dropped_count + 1


def read_bitrate(limit: bytes) -> int:
    """Return the bits per second of a REMB message."""
    assert limit[12:16] == b"REMB"
    return (int.from_bytes(limit[17:20], "big") & 0x3FFFF) << (limit[17] >> 2)


async def test_losses_of_a_viewer_reduce_the_bitrate_and_pause_the_video_at_the_lowest_one(
    world: World, guild: Guild, make_caller: MakeCaller, make_browser: MakeBrowser
) -> None:
    native, browser, viewer = await make_caller(), await make_browser(), await make_browser()
    await native.join_and_connect(guild.channels["Lounge"])
    ssrc = await start_video(browser, guild)
    await start_video(viewer, guild)
    assert world.app.voice is not None
    peer = world.app.voice.calls._sessions[guild.id, viewer.caller.actor.id].peer

    def send_picture(text: str) -> None:
        frame = fake_encrypted_frame(text)
        browser.send(browser.build_packet(frame, ssrc=browser.ssrc ^ 7, payload_type=0x80 | 96))

    def report_loss() -> None:
        assert viewer.dtls.srtp_session is not None
        report = struct.pack(">BBHIIB19x", 0x81, 201, 7, 5, ssrc, 250)
        viewer.send(viewer.dtls.srtp_session.protect_control(report))

    send_picture("first")
    await viewer.receive_packet()
    report_loss()
    while read_bitrate(await receive_feedback(browser, APPLICATION_FEEDBACK)) != BITRATE_MIN:
        pass
    assert not peer.pause_timers
    report_loss()
    await wait_until(lambda: peer.pause_timers)
    send_picture("second")
    for _ in range(2):
        data = await native.receive_datagram(lambda data: data[1] == 0x80 | 103)
    assert decrypt_packet(native.mode, native.secret_key, data) == fake_encrypted_frame("second")
    # Native clients receive the picture; the viewer has received nothing except reports.
    while not viewer.datagrams.received.empty():
        data = viewer.datagrams.received.get_nowait()
        assert not is_rtp(data) or is_rtcp(data)
    # The bitrate does not follow a viewer who receives no video.
    report_loss()
    while read_bitrate(await receive_feedback(browser, APPLICATION_FEEDBACK)) == BITRATE_MIN:
        pass


async def test_each_new_video_may_use_a_new_ssrc_up_to_the_limit(
    world: World,
    guild: Guild,
    make_caller: MakeCaller,
    make_browser: MakeBrowser,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(browsers, "STREAMS_MAX", 2)
    native, browser = await make_caller(), await make_browser()
    await native.join_and_connect(guild.channels["Lounge"])
    ssrc = await start_video(browser, guild)
    for number in (1, 2, 3):
        packet = browser.build_packet(fake_encrypted_frame("picture"), ssrc=number, payload_type=0x80 | 96)
        browser.send(packet)
        if number == 3:
            await wait_dropped(world, "unknown", 1)
            break
        data = await native.receive_datagram(lambda data: data[1] == 0x80 | 103)
        assert int.from_bytes(data[8:12], "big") == ssrc
        for video_ssrc in (0, ssrc):
            await browser.caller.send_json(VoiceOpcode.VIDEO, {"audio_ssrc": ssrc - 1, "video_ssrc": video_ssrc})
        await browser.caller.heartbeat()


async def test_key_frame_requests_are_forwarded_to_native_clients_of_the_call_only(
    guild: Guild, make_caller: MakeCaller, make_browser: MakeBrowser
) -> None:
    native, outsider, browser = await make_caller(), await make_caller(), await make_browser()
    await native.join_and_connect(guild.channels["Lounge"])
    await outsider.join_and_connect(guild.channels["Den"])
    for caller in (native, outsider):
        video = {"audio_ssrc": 0, "video_ssrc": caller.ready["ssrc"] + 1, "rtx_ssrc": 0, "streams": []}
        await caller.send_json(VoiceOpcode.VIDEO, video)
        await caller.heartbeat()
    await browser.join_and_connect(guild.channels["Lounge"])
    assert browser.dtls.srtp_session is not None
    for ssrc in (outsider.ready["ssrc"] + 1, native.ready["ssrc"], native.ready["ssrc"] + 1):
        # The request is a full intra request (RFC 5104).
        request = struct.pack(">BBHIIIBxxx", 0x84, PAYLOAD_FEEDBACK, 4, 5, 0, ssrc, 1)
        browser.send(browser.dtls.srtp_session.protect_control(request))
    request = await native.receive_datagram(lambda data: data[1] == PAYLOAD_FEEDBACK)
    assert decrypt_packet(AES, native.secret_key, request, 8) == struct.pack(">I", native.ready["ssrc"] + 1)
    assert all(data[1] != PAYLOAD_FEEDBACK for data in await outsider.wait_packets_read())


@pytest.mark.parametrize("path", ["/voice?v=8", "/voice/?v=8"])
async def test_the_voice_gateway_is_served_by_the_web_listener(
    world: World, guild: Guild, make_caller: MakeCaller, make_browser: MakeBrowser, path: str
) -> None:
    native, browser = await make_caller(), await make_browser()
    await native.join_and_connect(guild.channels["Lounge"])
    caller = browser.caller
    await caller.join(guild.channels["Lounge"])
    caller.socket = await world.client.ws_connect(world.url.replace("http", "ws", 1) + path)
    assert (await caller.next(VoiceOpcode.HELLO))["v"] == 8
    await caller.identify()
    await browser.select_protocol()
    await browser.open_udp()
    await browser.send_connectivity_check()
    await browser.handshake()
    native.send_frame(fake_encrypted_frame("same origin"))
    assert await browser.receive_media() == (native.ready["ssrc"], fake_encrypted_frame("same origin"))
