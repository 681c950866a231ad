"""The parts of the voice connection: packets, jitter buffer, voice activity, audio, recordings and encryption."""

import random
import struct
import wave
from array import array
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hubbub.media import datagrams
from hubbub.media.ciphers import CIPHERS, PacketError
from hubbub.media.rtp import SILENCE_FRAME
from hubbub.protocol.voice import AES_GCM, XCHACHA20
from hubbub.sdk import AudioModeType
from hubbub.sdk.audio import FRAME_BYTES, FRAME_SAMPLES
from hubbub.sdk.media import samples
from hubbub.sdk.media.aec_dump import FILENAMES, AecDump
from hubbub.sdk.media.encryption import CallEncryption, GroupError
from hubbub.sdk.media.jitter_buffer import BUFFERED_FRAMES_MAX, EMPTY_READS_MAX, PLAYOUT_DELAY_FRAMES, JitterBuffer
from hubbub.sdk.media.opus import Decoder, Encoder, OpusError
from hubbub.sdk.media.packets import PacketCodec
from hubbub.sdk.media.voice_gate import HANGOVER_FRAMES, VoiceGate
from tests.sdk.audio import Tone, tone_share

KEY = bytes(range(32))


# Packets


@pytest.mark.parametrize("mode", [AES_GCM, XCHACHA20])
def test_client_and_server_decrypt_each_others_packets(mode: str) -> None:
    client_codec, server_cipher = PacketCodec(mode, KEY, 77), CIPHERS[mode](KEY)

    packet = client_codec.seal(b"frame", 960)
    assert server_cipher.decrypt(packet, 12) == (b"frame", 1)
    assert struct.unpack(">BBHII", packet[:12]) == (0x80, 0x78, 1, 960, 77)

    header = struct.pack(">BBHII", 0x90, 0x78, 9, 0, 5) + b"\xbe\xde\x00\x01"
    assert client_codec.open(server_cipher.encrypt(header, b"extnframe")) == (5, 9, b"frame")
    report = server_cipher.encrypt(struct.pack(">BBHI", 0x80, 201, 1, 5), b"report")
    assert client_codec.open(report) is None


def test_padding_is_removed_and_an_invalid_length_is_rejected() -> None:
    client_codec, server_cipher = PacketCodec(AES_GCM, KEY, 77), CIPHERS[AES_GCM](KEY)

    padded_header = struct.pack(">BBHII", 0xA0, 0x78, 9, 0, 5)
    assert client_codec.open(server_cipher.encrypt(padded_header, b"frame\0\0\3")) == (5, 9, b"frame")
    with pytest.raises(PacketError):
        client_codec.open(server_cipher.encrypt(padded_header, b"frame\x63"))


@given(st.binary(max_size=200))
def test_data_that_is_not_encrypted_with_the_key_is_rejected(data: bytes) -> None:
    with pytest.raises(PacketError):
        PacketCodec(AES_GCM, KEY, 77).open(data)


def test_only_a_matching_discovery_response_sets_the_address() -> None:
    request = datagrams.discovery_request(7)
    assert len(request) == 74
    response = struct.pack(">HHI64sH", 2, 70, 7, b"192.0.2.7", 5000)

    assert datagrams.parse_discovery_response(response, 7) == ("192.0.2.7", 5000)
    assert datagrams.parse_discovery_response(response, 8) is None
    assert datagrams.parse_discovery_response(request, 7) is None
    assert datagrams.parse_discovery_response(response[:-1], 7) is None


# Jitter buffer


def take_frames(buffer: JitterBuffer, count: int) -> list[bytes | str | None]:
    """Take frames from the jitter buffer; "lost" stands for a lost frame, and None for no frame."""
    return [("lost" if is_lost else frame) for frame, is_lost in (buffer.take() for _ in range(count))]


def test_frames_are_played_in_sequence_order() -> None:
    buffer = JitterBuffer()
    for sequence in (65535, 65534, 0, 2, 1):
        buffer.put(sequence, b"%d" % sequence)

    assert take_frames(buffer, 5) == [b"65534", b"65535", b"0", b"1", b"2"]


def test_a_missing_frame_is_skipped_and_a_late_one_dropped() -> None:
    buffer = JitterBuffer()
    for sequence in (1, 2, 4, 5):
        buffer.put(sequence, b"%d" % sequence)

    assert take_frames(buffer, 4) == [b"1", b"2", "lost", b"4"]
    buffer.put(3, b"3")
    assert take_frames(buffer, 2) == [b"5", "lost"]


def test_playback_waits_for_a_few_frames_with_a_limit() -> None:
    buffer = JitterBuffer()
    buffer.put(1, b"1")

    assert take_frames(buffer, PLAYOUT_DELAY_FRAMES) == [None] * (PLAYOUT_DELAY_FRAMES - 1) + [b"1"]
    # After a pause the buffer fills again before playback.
    take_frames(buffer, EMPTY_READS_MAX)
    buffer.put(2, b"2")
    assert take_frames(buffer, PLAYOUT_DELAY_FRAMES) == [None] * (PLAYOUT_DELAY_FRAMES - 1) + [b"2"]


@given(st.lists(st.integers(0, 0xFFFF) | st.just(-1), max_size=400), st.randoms())
def test_the_buffer_stays_small_for_any_input(sequences: list[int], random_source: random.Random) -> None:
    buffer = JitterBuffer()
    for sequence in sequences:
        if sequence < 0 or random_source.random() < 0.3:
            buffer.take()
        else:
            buffer.put(sequence, b"x")
        assert len(buffer) <= BUFFERED_FRAMES_MAX


def test_a_jump_in_sequence_numbers_is_followed() -> None:
    buffer = JitterBuffer()
    for sequence in (1, 2, 3):
        buffer.put(sequence, b"old")
    take_frames(buffer, 3)
    for sequence in (30000, 30001, 30002):
        buffer.put(sequence, b"new")

    assert b"new" in take_frames(buffer, PLAYOUT_DELAY_FRAMES)


# Voice activity detection


class VoiceSettings:
    """The voice settings of a call."""

    audio_mode = AudioModeType.MODE_VAD
    is_ptt_active = False
    ptt_release_delay_ms = 0
    vad_threshold: tuple[bool, float] = (False, -60.0)


def test_the_gate_opens_above_the_threshold_and_holds_briefly() -> None:
    gate = VoiceGate(VoiceSettings())

    assert [gate.passes(level) for level in (-80.0, -59.0, -80.0)] == [False, True, True]
    assert [gate.passes(-80.0) for _ in range(HANGOVER_FRAMES)] == [True] * (HANGOVER_FRAMES - 1) + [False]


def test_the_automatic_threshold_separates_voice_from_background_noise() -> None:
    settings = VoiceSettings()
    settings.vad_threshold = (True, -60.0)
    gate = VoiceGate(settings)

    assert not any(gate.passes(-55.0) for _ in range(100))
    assert gate.passes(-40.0)


def test_push_to_talk_stays_open_for_the_release_delay() -> None:
    settings = VoiceSettings()
    settings.audio_mode, settings.ptt_release_delay_ms = AudioModeType.MODE_PTT, 30
    gate = VoiceGate(settings)

    assert not gate.passes(0.0)
    settings.is_ptt_active = True
    assert gate.passes(-100.0)
    settings.is_ptt_active = False
    assert [gate.passes(0.0) for _ in range(3)] == [True, True, False]


# Audio


def test_a_tone_survives_opus_encoding() -> None:
    encoder, decoder, tone, decoded_samples = Encoder(), Decoder(), Tone(440.0), b""
    for _ in range(20):
        frame = samples.silence()
        tone(frame, FRAME_SAMPLES // 2, 48_000, 2)
        for encoded in encoder.encode(frame):
            assert len(encoded) < 1000
            decoded_samples += decoder.decode(encoded)

    assert len(decoded_samples) == 20 * FRAME_BYTES
    assert tone_share(array("h", decoded_samples[-10 * FRAME_BYTES :]), 440.0) > 0.99


@given(st.binary(max_size=100))
def test_any_opus_input_decodes_or_raises(data: bytes) -> None:
    try:
        assert len(Decoder().decode(data)) % 4 == 0
    except OpusError:
        pass


def test_scaling_and_mixing_clip_to_the_sample_range() -> None:
    loud = array("h", [30000, -30000] * (FRAME_SAMPLES // 2))

    assert set(samples.scale(loud, 2.0)) == {32767, -32768}
    assert set(samples.scale(loud, 0.5)) == {15000, -15000}
    assert set(samples.mix(loud, loud)) == {32767, -32768}
    assert samples.level(samples.silence()) == -100.0
    assert samples.level(loud) == pytest.approx(-0.77, abs=0.01)
    assert len(samples.to_frame(b"\1")) == len(samples.to_frame(bytes(9 * FRAME_BYTES))) == FRAME_SAMPLES


def test_recordings_are_written_up_to_a_limit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("hubbub.sdk.media.aec_dump.FRAMES_MAX", 2)
    recording = AecDump(tmp_path)
    for _ in range(3):
        recording.write(b"\1" * FRAME_BYTES, None)
    recording.close()

    with (
        wave.open(str(tmp_path / FILENAMES[0])) as received_file,
        wave.open(str(tmp_path / FILENAMES[1])) as captured_file,
    ):
        assert (received_file.getnframes(), captured_file.getnframes(), received_file.getframerate()) == (
            1920,
            1920,
            48_000,
        )
        assert set(received_file.readframes(9999)) == {1}
        assert set(captured_file.readframes(9999)) == {0}
    AecDump(None).write(None, None)
    AecDump(tmp_path / "nowhere").write(None, None)


# End-to-end encryption


def test_frames_need_a_group_to_be_encrypted_or_decrypted() -> None:
    encryption = CallEncryption(5, 7)

    assert (encryption.ready, encryption.privacy_code) == (False, "")
    assert encryption.seal(b"frame") is None
    assert encryption.open(6, b"plain") is None
    assert encryption.open(6, b"forged\xfa\xfa") is None
    assert encryption.open(6, SILENCE_FRAME) == SILENCE_FRAME


@given(st.binary(max_size=120))
def test_an_invalid_group_message_raises_only_the_expected_error(data: bytes) -> None:
    encryption = CallEncryption(5, 7)
    handlers: list[Any] = [
        encryption.set_external_sender,
        encryption.process_commit,
        encryption.process_welcome,
        lambda proposals: encryption.process_proposals(proposals, {5}),
    ]
    for handle in handlers:
        try:
            handle(data)
        except GroupError:
            pass
    assert encryption.reset()
