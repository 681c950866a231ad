"""The bitrate limit of a video: how it follows lost packets; also losses in RTCP reports and in received packets."""

import struct

from hypothesis import given
from hypothesis import strategies as st

from hubbub.media import rtp
from hubbub.server.transports.voice.bitrate import BITRATE_MAX, BITRATE_MIN, BitrateLimit
from hubbub.server.transports.voice.reception import Reception


def send_for_a_second(limit: BitrateLimit, capacity: int) -> None:
    """Send at the limit over a link with a capacity in bits per second, and update the limit."""
    sent_bits = limit.bits_per_second
    for _ in range(100):
        limit.record_packet(sent_bits // 800)
    limit.record_loss(max(0.0, 1 - capacity / sent_bits))
    limit.update(1.0)


@given(capacity=st.integers(2 * BITRATE_MIN, BITRATE_MAX))
def test_a_limit_falls_below_the_capacity_of_a_link_within_two_seconds_and_rises_again(capacity: int) -> None:
    limit = BitrateLimit()
    for _ in range(2):
        send_for_a_second(limit, capacity)
    # A loss of up to 15 % keeps the limit, so the limit may exceed the capacity by this share.
    assert limit.bits_per_second * 0.84 < capacity
    assert limit.bits_per_second >= min(capacity // 2, BITRATE_MAX)
    for _ in range(20):
        send_for_a_second(limit, BITRATE_MAX)
    assert limit.bits_per_second == BITRATE_MAX


def test_moderate_losses_keep_the_limit_and_a_link_without_capacity_reduces_it_to_the_minimum() -> None:
    limit = BitrateLimit()
    limit.record_packet(300_000)
    limit.record_loss(0.1)
    assert limit.update(1.0) == BITRATE_MAX
    limit.record_loss(1.0)
    assert limit.update(1.0) == BITRATE_MIN
    assert limit.is_lowest


def test_losses_are_read_from_receiver_and_sender_reports() -> None:
    def block(ssrc: int, loss: int) -> bytes:
        return struct.pack(">IB", ssrc, loss) + bytes(19)

    receiver_report = struct.pack(">BBHI", 0x82, 201, 13, 5) + block(7, 64) + block(8, 0)
    sender_report = struct.pack(">BBHI", 0x81, 200, 12, 5) + bytes(20) + block(9, 128)
    feedback = rtp.build_picture_loss(7)
    assert rtp.reported_losses(receiver_report + feedback + sender_report) == [(7, 0.25), (8, 0.0), (9, 0.5)]
    assert rtp.key_frame_request_ssrcs(receiver_report + feedback) == [7]
    # A report may announce more blocks than it has, or be cut off: only the complete blocks are read.
    assert rtp.reported_losses(b"\x9f" + receiver_report[1:]) == [(7, 0.25), (8, 0.0)]
    assert rtp.reported_losses(receiver_report[:40]) == [(7, 0.25)]


@given(compound=st.binary(max_size=200))
def test_any_rtcp_packet_is_read_without_an_error(compound: bytes) -> None:
    assert all(0 <= loss < 1 for _, loss in rtp.reported_losses(compound))
    rtp.key_frame_request_ssrcs(compound)


def test_received_packets_show_the_loss_since_it_was_last_read() -> None:
    reception = Reception()
    assert reception.take_loss() == 0.0
    for sequence in range(65_500, 65_536):
        reception.record(sequence)
    assert reception.take_loss() == 0.0
    for sequence in (0, 1, 3):
        reception.record(sequence)
    assert reception.take_loss() == 0.25
    # A packet that arrives late was counted as lost before.
    reception.record(2)
    assert reception.take_loss() == 0.0
