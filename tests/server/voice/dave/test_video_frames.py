"""Encrypted video frames of davey and libdave: bytes that stay clear for each codec (spec/voice.md#8), and their decryption."""

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from hubbub.media.rtp import E2EE_TRAILER
from tests.server.voice.dave.clients import Client
from tests.server.voice.dave.simulated_call import SimulatedCall
from tests.server.voice.dave.video_frames import (
    START_CODE,
    Av1Unit,
    add_last_size,
    assemble_h264,
    av1_frames,
    h264_parameters,
    h264_slices,
    write_av1,
    write_sent_av1,
)

VP8_KEY_FRAME_HEADER_BYTES = 10
Pair = tuple[Client, Client]

many_frames = settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])


@pytest.fixture(params=["davey to libdave", "libdave to davey"])
def pair(request: pytest.FixtureRequest) -> Pair:
    """A sender and a receiver of different implementations in one group."""
    call = SimulatedCall("mixed")
    call.join(2, 1)
    call.advance_time(10)
    davey_client, libdave_client = call.clients[2], call.clients[1]
    return (davey_client, libdave_client) if request.param == "davey to libdave" else (libdave_client, davey_client)


def encrypt(pair: Pair, codec: str, frame: bytes) -> bytes:
    """Encrypt a frame of the sender; it ends with the trailer that the server requires."""
    encrypted_frame = pair[0].encrypt_video(codec, frame)
    assert encrypted_frame.endswith(E2EE_TRAILER)
    return encrypted_frame


def decrypt(pair: Pair, encrypted: bytes) -> bytes:
    sender, receiver = pair
    return receiver.decrypt_video(sender.user_id, encrypted)


@many_frames
@given(body=st.binary(min_size=20, max_size=3000), is_key_frame=st.booleans())
def test_the_header_of_a_vp8_frame_stays_clear(pair: Pair, body: bytes, is_key_frame: bool) -> None:
    frame = bytes((body[0] & 0xFE if is_key_frame else body[0] | 1,)) + body[1:]
    header_length = VP8_KEY_FRAME_HEADER_BYTES if is_key_frame else 1
    encrypted_frame = encrypt(pair, "vp8", frame)
    assert encrypted_frame[:header_length] == frame[:header_length]
    assert frame[header_length:] not in encrypted_frame
    assert decrypt(pair, encrypted_frame) == frame


@many_frames
@given(frame=st.binary(min_size=12, max_size=3000))
def test_a_vp9_frame_is_encrypted_completely(pair: Pair, frame: bytes) -> None:
    encrypted_frame = encrypt(pair, "vp9", frame)
    assert frame not in encrypted_frame
    assert decrypt(pair, encrypted_frame) == frame


@many_frames
@given(parameters=st.lists(h264_parameters, max_size=3), slices=st.lists(h264_slices, min_size=1, max_size=3))
def test_parameters_and_slice_headers_of_an_h264_frame_stay_clear(
    pair: Pair, parameters: list[bytes], slices: list[bytes]
) -> None:
    units = [*parameters, *slices]
    encrypted_frame = encrypt(pair, "h264", b"".join(b"\0\0\1" + unit for unit in units))
    clear = b"".join(START_CODE + unit for unit in parameters) + START_CODE + slices[0][:2]
    assert encrypted_frame.startswith(clear)
    # Receivers find the same units although the content is encrypted.
    assembled_frame = assemble_h264(encrypted_frame)
    assert assembled_frame == encrypted_frame
    assert decrypt(pair, assembled_frame) == b"".join(START_CODE + unit for unit in units)


@many_frames
@given(units=av1_frames)
def test_headers_of_av1_units_stay_clear_and_the_last_one_loses_its_size(pair: Pair, units: list[Av1Unit]) -> None:
    encrypted_frame = encrypt(pair, "av1", write_av1(units))
    sent_frame = write_sent_av1(units)
    assert encrypted_frame[0] == sent_frame[0]
    assert decrypt(pair, encrypted_frame) == sent_frame


@many_frames
@given(units=av1_frames)
def test_an_av1_frame_with_the_size_that_browsers_add_is_not_authentic(pair: Pair, units: list[Av1Unit]) -> None:
    assembled_frame = add_last_size(encrypt(pair, "av1", write_av1(units)))
    with pytest.raises((ValueError, AssertionError)):
        decrypt(pair, assembled_frame)
