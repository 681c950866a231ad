"""JSON encoding and decoding of models and timestamps."""

import re
from datetime import UTC, datetime, timedelta, timezone

import msgspec
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from msgspec import UNSET, Struct, UnsetType

from hubbub.protocol import codec
from hubbub.protocol.enums import ChannelType
from hubbub.protocol.ids import ChannelId


class ModifyChannel(Struct, kw_only=True):
    name: str | UnsetType = UNSET
    topic: str | UnsetType | None = UNSET
    parent_id: ChannelId | UnsetType | None = UNSET
    type: ChannelType | UnsetType = UNSET


def test_absent_and_null_are_different() -> None:
    assert codec.decode("{}", ModifyChannel).topic is UNSET
    assert codec.decode('{"topic": null}', ModifyChannel).topic is None
    assert codec.encode(ModifyChannel(name="general")) == b'{"name":"general"}'
    assert codec.encode(ModifyChannel(parent_id=None)) == b'{"parent_id":null}'


def test_unknown_keys_are_ignored() -> None:
    assert codec.decode('{"name": "a", "of_the_future": 1}', ModifyChannel).name == "a"


def test_an_optional_id_is_decoded_from_a_string_or_a_number() -> None:
    assert codec.decode('{"parent_id": "5"}', ModifyChannel).parent_id == 5
    assert codec.decode('{"parent_id": 5}', ModifyChannel).parent_id == 5
    assert type(codec.decode('{"parent_id": 5}', ModifyChannel).parent_id) is ChannelId


@pytest.mark.parametrize("body", ['{"name": 5}', '{"name": null}', '{"type": 99}', '{"type": "0"}', "[]", '"x"'])
def test_wrong_types_are_rejected(body: str) -> None:
    with pytest.raises(msgspec.ValidationError):
        codec.decode(body, ModifyChannel)


@pytest.mark.parametrize("body", ["", "{", '{"name": "a"} x', "nope"])
def test_invalid_json_is_rejected(body: str) -> None:
    with pytest.raises(msgspec.DecodeError):
        codec.decode(body, ModifyChannel)


def test_builtin_values_are_converted_to_models() -> None:
    assert codec.convert({"parent_id": "7", "type": 0}, ModifyChannel) == ModifyChannel(
        parent_id=ChannelId(7), type=ChannelType.GUILD_TEXT
    )


def test_decoders_are_cached() -> None:
    assert codec.decoder(ModifyChannel) is codec.decoder(ModifyChannel)


@pytest.mark.parametrize(
    ("ms", "text"),
    [
        (1767323045678, "2026-01-02T03:04:05.678000+00:00"),
        (1767323045000, "2026-01-02T03:04:05.000000+00:00"),
        (1420070400001, "2015-01-01T00:00:00.001000+00:00"),
        (0, "1970-01-01T00:00:00.000000+00:00"),
    ],
)
def test_timestamps_have_microseconds_and_an_offset(ms: int, text: str) -> None:
    assert codec.timestamp(ms) == text


@given(st.integers(0, 4_102_444_800_000))
# Times for which `int(time.timestamp() * 1000)` is one millisecond too low.
@example(1_086_048_092_031)
@example(2_196_196_091_457)
def test_a_timestamp_survives_a_round_trip(ms: int) -> None:
    text = codec.timestamp(ms)
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}\+00:00", text)
    assert codec.milliseconds(datetime.fromisoformat(text)) == ms


def test_a_time_without_offset_is_utc_and_others_are_converted() -> None:
    naive = datetime(2026, 1, 2, 3, 4, 5)
    assert codec.milliseconds(naive) == codec.milliseconds(naive.replace(tzinfo=UTC))
    east = naive.replace(tzinfo=timezone(timedelta(hours=2)))
    assert codec.milliseconds(naive) - codec.milliseconds(east) == 2 * 3600 * 1000


@pytest.mark.parametrize("data", [b"[" * 5000 + b"]" * 5000, b'"\xff"', '"\ud800"', b"{"])
def test_undecodable_data_raises_a_decode_error(data: bytes | str) -> None:
    with pytest.raises(msgspec.DecodeError):
        codec.decode_any(data)
