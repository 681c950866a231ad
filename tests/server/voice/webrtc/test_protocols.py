"""The protocols of browsers, with known bytes: STUN, DTLS, SRTP and SDP."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hubbub.media.ciphers import PacketError
from hubbub.protocol.voice import Codec
from hubbub.server.transports.voice.webrtc import sdp, stun
from hubbub.server.transports.voice.webrtc.dtls import (
    DtlsAssociation,
    DtlsClosed,
    DtlsError,
    DtlsIdentity,
    pack_records,
)
from hubbub.server.transports.voice.webrtc.sdp import Offer, OfferError
from hubbub.server.transports.voice.webrtc.srtp import PROFILES, ReplayError, SrtpCipher, SrtpSession
from tests.server.voice.webrtc.browser import DtlsClient, binding_request, binding_response

ADDRESS = ("192.0.2.1", 32853)

# RFC 5769, 2.1 and 2.2.
SAMPLE_PASSWORD = "VOkJxbRl1RmTxUk/WvJxBt"
SAMPLE_REQUEST = bytes.fromhex(
    "000100582112a442b7e7a701bc34d686fa87dfae802200105354554e207465737420636c69656e74002400046e0001ff80290008932ff9b1"
    "51263b36000600096576746a3a683676592020200008" + "00149aeaa70cbfd8cb56781ef2b5b2d3f249c1b571a280280004e57a3bcf"
)


# STUN


def test_the_sample_request_of_the_specification_is_parsed_and_verified() -> None:
    assert stun.is_stun(SAMPLE_REQUEST)
    request = stun.parse_binding_request(SAMPLE_REQUEST)
    assert request is not None
    assert (request.local_ufrag, request.has_use_candidate) == ("evtj", False)
    assert request.is_authentic(SAMPLE_PASSWORD)
    assert not request.is_authentic("another password")


def test_a_response_contains_the_address_and_is_smaller_than_the_request() -> None:
    request = stun.parse_binding_request(SAMPLE_REQUEST)
    assert request is not None
    response = stun.build_binding_response(request, ADDRESS, SAMPLE_PASSWORD)
    assert response[:2] == b"\x01\x01"
    assert response[4:20] == SAMPLE_REQUEST[4:20]
    # RFC 5769, 2.2: XOR-MAPPED-ADDRESS of 192.0.2.1 port 32853.
    assert response[20:32] == bytes.fromhex("002000080001a147e112a643")
    assert (response[32:36], response[56:60]) == (b"\x00\x08\x00\x14", b"\x80\x28\x00\x04")
    assert len(response) == 64 < len(SAMPLE_REQUEST)
    assert int.from_bytes(response[2:4], "big") == 44


def test_a_request_of_the_server_has_the_attributes_of_a_full_agent_and_is_not_larger_than_a_check() -> None:
    request = stun.build_binding_request(bytes(range(12)), "theirs:ours", "pass")
    parsed = stun.parse_binding_request(request)
    assert parsed is not None
    assert (parsed.local_ufrag, parsed.transaction_id) == ("theirs", bytes(range(12)))
    assert parsed.is_authentic("pass")
    # PRIORITY, and ICE-CONTROLLED with a tie-breaker of eight bytes (RFC 8445).
    assert b"\x00\x24\x00\x04" in request
    assert b"\x80\x29\x00\x08" in request
    assert len(request) <= len(binding_request("ours:theirs", "pass", use_candidate=True))


def test_a_response_of_a_browser_is_parsed_and_verified() -> None:
    request = stun.build_binding_request(bytes(range(12)), "theirs:ours", "pass")
    response = stun.parse_binding_response(binding_response(request, "pass"))
    assert response is not None
    assert response.transaction_id == bytes(range(12))
    assert response.is_authentic("pass")
    assert not response.is_authentic("other")
    assert stun.parse_binding_response(request) is None
    # A success response without MESSAGE-INTEGRITY.
    assert stun.parse_binding_response(b"\x01\x01\x00\x00" + stun.MAGIC_COOKIE + bytes(12)) is None


@pytest.mark.parametrize(
    "change",
    [
        lambda packet: packet[:-1] + bytes((packet[-1] ^ 1,)),
        lambda packet: b"\x01" + packet[1:],
        lambda packet: packet[:4] + bytes(4) + packet[8:],
        lambda packet: packet[:-4],
        lambda packet: packet[:3] + b"\x57" + packet[4:],
        lambda packet: packet[:22] + b"\xff\xff" + packet[24:],
        lambda packet: packet + bytes(4),
    ],
)
def test_malformed_requests_are_rejected(change: object) -> None:
    assert callable(change)
    assert stun.parse_binding_request(change(SAMPLE_REQUEST)) is None


def test_requests_need_username_and_integrity_and_no_unknown_required_attribute() -> None:
    request = stun.parse_binding_request(
        binding_request("ours:theirs", "pass", use_candidate=True, has_fingerprint=False)
    )
    assert request is not None
    assert (request.local_ufrag, request.has_use_candidate, request.is_authentic("pass")) == ("ours", True, True)
    assert stun.parse_binding_request(binding_request("ours", "pass")) is None
    assert stun.parse_binding_request(binding_request("ours:x", "pass", extra=b"\x00\x33\x00\x00")) is None
    assert stun.parse_binding_request(SAMPLE_REQUEST[:3] + b"\x00" + SAMPLE_REQUEST[4:20]) is None
    # USE-CANDIDATE after MESSAGE-INTEGRITY is not authenticated.
    late = binding_request("ours:theirs", "pass", has_fingerprint=False) + b"\x00\x25\x00\x00"
    request = stun.parse_binding_request(late[:2] + (len(late) - 20).to_bytes(2, "big") + late[4:])
    assert request is not None
    assert not request.has_use_candidate


@given(st.binary(max_size=120))
def test_any_bytes_can_be_parsed_as_stun(tail: bytes) -> None:
    packet = b"\x00\x01" + len(tail).to_bytes(2, "big") + stun.MAGIC_COOKIE + bytes(12) + tail
    assert stun.is_stun(packet)
    stun.parse_binding_request(packet)
    stun.parse_binding_response(b"\x01\x01" + packet[2:])


def test_a_discovery_request_is_not_stun() -> None:
    assert not stun.is_stun(b"\x00\x01\x00\x46" + bytes(70))


# DTLS


def connect(client: DtlsClient, server: DtlsAssociation, *, lost_number: int | None = None) -> int:
    """Run a handshake and return the number of datagrams of the server; the one with the number `lost_number` is lost."""
    count = 0
    queue = client.advance()
    while queue:
        responses = server.receive(queue.pop(0), ADDRESS)
        for response in responses:
            count += 1
            assert len(response) <= 1200
            if count != lost_number:
                queue += client.advance(response)
    return count


@pytest.mark.parametrize("profile", PROFILES)
def test_both_sides_of_a_handshake_have_the_same_keys(profile: bytes) -> None:
    client = DtlsClient(profile)
    server = DtlsAssociation(DtlsIdentity(), client.fingerprint)
    connect(client, server)
    assert server.srtp_session is not None
    assert client.srtp_session is not None
    packet = bytes.fromhex("8078000100000001000000aa") + b"frame"
    protected = client.srtp_session.protect(packet)
    assert server.srtp_session.unprotect(protected) == packet
    assert client.srtp_session.unprotect(server.srtp_session.protect(packet)) == packet
    with pytest.raises(ReplayError):
        server.srtp_session.unprotect(protected)
    with pytest.raises(PacketError):
        server.srtp_session.unprotect(protected[:-1] + bytes((protected[-1] ^ 1,)))
    control = bytes.fromhex("80c9000100000001")
    assert server.srtp_session.unprotect_control(client.srtp_session.protect_control(control)) == control


def test_the_first_response_is_a_small_cookie_request() -> None:
    client = DtlsClient()
    server = DtlsAssociation(DtlsIdentity(), client.fingerprint)
    (hello,) = client.advance()
    (response,) = server.receive(hello, ADDRESS)
    # The response is a handshake record with HelloVerifyRequest.
    assert (response[0], response[13]) == (22, 3)
    assert len(response) < len(hello)
    # The certificate is sent to the address that has proven to receive the cookie.
    (second_hello,) = client.advance(response)
    assert server.receive(second_hello, ("198.51.100.7", 1))
    assert server.destination == ADDRESS


def test_a_wrong_cookie_ends_the_association() -> None:
    client, server = DtlsClient(), DtlsAssociation(DtlsIdentity(), "AA")
    (hello,) = client.advance()
    (response,) = DtlsAssociation(DtlsIdentity(), "AA").receive(hello, ADDRESS)
    (second_hello,) = client.advance(response)
    server.receive(hello, ADDRESS)
    with pytest.raises(DtlsError):
        server.receive(second_hello, ADDRESS)


def test_another_certificate_than_the_announced_one_is_rejected() -> None:
    client, other_client = DtlsClient(), DtlsClient()
    server = DtlsAssociation(DtlsIdentity(), other_client.fingerprint)
    with pytest.raises(DtlsError):
        connect(client, server)
    assert server.srtp_session is None


def test_a_lost_flight_has_a_timeout() -> None:
    client = DtlsClient()
    server = DtlsAssociation(DtlsIdentity(), client.fingerprint)
    connect(client, server, lost_number=2)
    assert server.srtp_session is None
    timeout = server.find_timeout_seconds()
    assert timeout is not None
    assert 0 < timeout <= 1.5


def test_the_end_of_an_association_is_reported() -> None:
    client = DtlsClient()
    server = DtlsAssociation(DtlsIdentity(), client.fingerprint)
    connect(client, server)
    client.connection.shutdown()
    with pytest.raises(DtlsClosed):
        server.receive(client.connection.bio_read(2000), ADDRESS)


@given(st.lists(st.integers(0, 1100), max_size=12))
def test_records_are_packed_without_splitting(sizes: list[int]) -> None:
    records = [b"\x16\xfe\xfd" + bytes(8) + size.to_bytes(2, "big") + bytes(size) for size in sizes]
    datagrams = pack_records(b"".join(records))
    assert b"".join(datagrams) == b"".join(records)
    assert all(0 < len(datagram) <= 1200 for datagram in datagrams)
    assert all(datagram[:3] == b"\x16\xfe\xfd" for datagram in datagrams)


@given(st.binary(min_size=1, max_size=200))
def test_no_datagram_causes_another_error_than_the_end_of_the_association(data: bytes) -> None:
    server = DtlsAssociation(DtlsIdentity(), "AA")
    try:
        server.receive(data, ADDRESS)
    except DtlsError:
        pass


# SRTP


def srtp_pair() -> tuple[SrtpSession, SrtpSession]:
    profile = PROFILES[b"SRTP_AEAD_AES_128_GCM"]
    keying = bytes(range(profile.keying_bytes))
    return SrtpSession(profile, keying, is_server=True), SrtpSession(profile, keying, is_server=False)


def test_a_packet_to_a_browser_has_its_payload_type_and_no_extension() -> None:
    server, browser = srtp_pair()
    cipher = SrtpCipher(server, {120: 109, 101: 96})
    plain = cipher.encrypt(bytes.fromhex("8078000100000001000000aa"), b"frame")
    assert browser.unprotect(plain) == bytes.fromhex("806d000100000001000000aa") + b"frame"
    marked = cipher.encrypt(bytes.fromhex("80e5000200000001000000ab"), b"video")
    assert browser.unprotect(marked) == bytes.fromhex("80e0000200000001000000ab") + b"video"
    header = bytes.fromhex("b178000300000001000000aa0000000bbede0001")
    extended = cipher.encrypt(header, b"\x10\xff\x00\x00" + b"frame" + b"\x00\x02")
    assert browser.unprotect(extended) == bytes.fromhex("806d000300000001000000aa") + b"frame"


def test_packets_that_a_browser_cannot_receive_are_not_encrypted() -> None:
    server, _ = srtp_pair()
    cipher = SrtpCipher(server, {120: 111})
    header = bytes.fromhex("8078000100000001000000aa")
    cipher.encrypt(header, b"frame")
    for first, body in ((header, b"again"), (b"\x80\x65" + header[2:], b"video"), (header, bytes(3000))):
        with pytest.raises(PacketError):
            cipher.encrypt(first, body)
    with pytest.raises(PacketError):
        cipher.decrypt(header + bytes(30), 12)


# SDP

DIGEST = ":".join(["AB"] * 32)
OFFER = f"""v=0
o=- 77 2 IN IP4 127.0.0.1
a=fingerprint:sha-256 {DIGEST.lower()}
m=audio 9 UDP/TLS/RTP/SAVPF 109 9
a=ice-ufrag:abcd
a=rtpmap:109 opus/48000/2
m=video 9 UDP/TLS/RTP/SAVPF 120 124
a=ice-ufrag:abcd
a=rtpmap:120 VP8/90000
a=rtpmap:124 rtx/90000
a=fmtp:124 apt=120
"""


def test_an_offer_has_fingerprint_ufrag_and_payload_types() -> None:
    offer = Offer.parse(OFFER.replace("\n", "\r\n"), None)
    assert (offer.session_id, offer.fingerprint, offer.ufrag) == ("77", DIGEST, "abcd")
    assert offer.payload_types.codecs == {"opus": 109, "VP8": 120}
    assert offer.payload_types.by_native() == {120: 109, 103: 120, 104: 124}
    assert offer.payload_types.video_codec == "VP8"


def test_an_offer_has_an_ice_password_or_none() -> None:
    password = "0123456789abcdef012345"
    assert Offer.parse(OFFER, None).password is None
    assert Offer.parse(f"{OFFER}a=ice-pwd:{password}\na=ice-pwd:{password}\n", None).password == password


def test_listed_codecs_replace_those_of_the_offer() -> None:
    codecs = [
        Codec(name="VP8", type="video", priority=2000, payload_type=96, rtx_payload_type=97),
        Codec(name="H264", type="video", priority=1000, payload_type=102),
        Codec(name="opus", payload_type=111),
        Codec(name="unknown", payload_type=5),
    ]
    types = Offer.parse(OFFER, codecs).payload_types
    assert types.by_native() == {120: 111, 101: 102, 103: 96, 104: 97}
    assert types.video_codec == "H264"


@pytest.mark.parametrize(
    ("text", "codecs"),
    [
        ("", None),
        (OFFER.replace("sha-256", "sha-1"), None),
        (OFFER.replace("ab:ab", "zz:ab", 1), None),
        (OFFER + "a=fingerprint:sha-256 " + ":".join(["CD"] * 32), None),
        (OFFER.replace("a=ice-ufrag:abcd", "a=ice-ufrag:ab"), None),
        (OFFER.replace("a=ice-ufrag:abcd", "a=ice-ufrag:abcd", 1) + "a=ice-ufrag:efgh\n", None),
        (OFFER + "a=ice-pwd:too short\n", None),
        (OFFER + "a=ice-pwd:0123456789abcdef012345\na=ice-pwd:0123456789abcdef012346\n", None),
        (OFFER.replace("opus", "PCMU"), None),
        (OFFER.replace("109 opus", "72 opus"), None),
        (OFFER, []),
        (OFFER, [Codec(name="opus", payload_type=200)]),
        (OFFER, [Codec(name="opus", payload_type=111), Codec(name="VP8", payload_type=111)]),
        (OFFER, [Codec(name="opus", payload_type=111)] * 100),
        (OFFER + "a=x\n" * 3000, None),
        (OFFER + "a=" + "x" * 70_000, None),
    ],
)
def test_invalid_offers_are_rejected(text: str, codecs: list[Codec] | None) -> None:
    with pytest.raises(OfferError):
        Offer.parse(text, codecs)


@given(st.text(max_size=300))
def test_any_text_can_be_parsed_as_an_offer(text: str) -> None:
    for candidate in (text, OFFER + text):
        try:
            Offer.parse(candidate, None)
        except OfferError:
            pass


def test_the_description_of_the_server_has_the_fields_of_the_specification() -> None:
    assert sdp.build_server_description(("203.0.113.5", 50004), "ufrag", "password", DIGEST) == (
        "m=audio 50004 ICE/SDP\nc=IN IP4 203.0.113.5\na=rtcp:50004\na=ice-ufrag:ufrag\na=ice-pwd:password\n"
        f"a=fingerprint:sha-256 {DIGEST}\na=candidate:1 1 UDP 2130706431 203.0.113.5 50004 typ host\n"
    )
