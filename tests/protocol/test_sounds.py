"""Media types and durations of sounds, which are read from their bytes, and data URIs of sounds."""

import pytest

from hubbub.protocol.sounds import SoundData, inspect_audio
from tests import media


def type_and_duration(data: bytes) -> tuple[str | None, int | None]:
    """Return the media type and the duration in milliseconds of a sound."""
    audio = inspect_audio(data)
    return audio.content_type, audio.duration_ms


def test_the_last_page_gives_the_duration_of_an_ogg_stream() -> None:
    assert type_and_duration(media.ogg(1234)) == ("audio/ogg", 1234)
    assert type_and_duration(media.ogg(1234, sample_rate=8000)) == ("audio/ogg", 1234)


def test_opus_is_measured_at_48_kilohertz_without_its_pre_skip() -> None:
    head = b"OpusHead\x01\x02" + (480).to_bytes(2, "little") + (16000).to_bytes(4, "little") + b"\0" * 3
    data = media.ogg_page(head, granule=0, flags=2, sequence=0) + media.ogg_page(
        b"x", granule=48_480, flags=4, sequence=1
    )
    assert inspect_audio(data).duration_ms == 1000


def test_flac_in_ogg_is_measured_by_its_stream_information() -> None:
    head = b"\x7fFLAC\x01\x00\x00\x01fLaC\x00\x00\x00\x22" + b"\0" * 10 + (22050 << 4).to_bytes(3, "big") + b"\0" * 21
    data = media.ogg_page(head, granule=0, flags=2, sequence=0) + media.ogg_page(
        b"x", granule=11025, flags=4, sequence=1
    )
    assert inspect_audio(data).duration_ms == 500


@pytest.mark.parametrize(
    "data",
    [
        media.ogg()[:-1],
        media.ogg() + b"x",
        media.ogg().replace(b"vorbis", b"theora"),
        media.ogg(0),
        b"OggS",
        media.ogg(page_count=2) + media.ogg_page(b"x", granule=5, flags=0, sequence=9),
    ],
    ids=["truncated", "trailing data", "not audio", "empty", "magic only", "decreasing position"],
)
def test_an_ogg_that_cannot_be_measured_has_no_duration(data: bytes) -> None:
    assert type_and_duration(data) == ("audio/ogg", None)


def test_an_mp3_is_measured_by_its_frames_without_tags() -> None:
    tag = b"ID3\x04\x00\x00\x00\x00\x01\x00" + b"t" * 128
    tail = b"TAG" + b"x" * 125
    plain = inspect_audio(media.mp3(100))
    assert (plain.content_type, plain.duration_ms) == ("audio/mpeg", 2612)
    assert inspect_audio(media.mp3(100, tag=tag) + tail) == plain


def test_data_between_frames_makes_an_mp3_unmeasurable() -> None:
    assert inspect_audio(media.mp3(3) + b"\0" * 5000).duration_ms is None
    assert type_and_duration(b"ID3\x04\x00\x00\x00\x00\x00\x00" + b"x" * 100) == ("audio/mpeg", None)


@pytest.mark.parametrize("data", [b"", b"RIFF\0\0\0\0WAVE", b"\xff\xfb", b"fLaC", b"hello"])
def test_other_formats_are_not_sounds(data: bytes) -> None:
    assert inspect_audio(data).content_type is None


def test_a_sound_data_uri_is_parsed_and_encoded() -> None:
    sound = SoundData.from_data_uri(media.data_uri(media.ogg(), "audio/mpeg"))
    assert (sound.content_type, sound.duration_ms) == ("audio/ogg", 1000)
    assert SoundData.from_data_uri(sound.to_wire()) == sound
    for text in ("data:image/png;base64,QQ==", "data:audio/ogg;base64,#", "OggS"):
        with pytest.raises(ValueError, match="Invalid"):
            SoundData.from_data_uri(text)
