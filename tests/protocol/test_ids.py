"""Snowflakes and other wide integers."""

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hubbub.protocol import codec
from hubbub.protocol.ids import EPOCH_MS, WIDE_MAX, ChannelId, Snowflake, UserId, WideInt, parse_wide


class Typing(msgspec.Struct):
    channel_id: ChannelId
    user_ids: list[UserId]


@pytest.mark.parametrize("value", ["0", "1", "175928847299117063", 175928847299117063, 0, str(WIDE_MAX), "007"])
def test_strings_and_numbers_are_parsed(value: object) -> None:
    parsed_id = parse_wide(ChannelId, value)
    assert type(parsed_id) is ChannelId
    assert parsed_id == int(str(value))


@pytest.mark.parametrize(
    "value",
    [
        pytest.param("", id="empty"),
        pytest.param("abc", id="word"),
        pytest.param("-1", id="negative string"),
        pytest.param(-1, id="negative number"),
        pytest.param("+1", id="signed"),
        pytest.param(" 1", id="space"),
        pytest.param("1_000", id="underscore"),
        pytest.param("1.0", id="point"),
        pytest.param(1.0, id="float"),
        pytest.param("١٢٣", id="arabic digits"),
        pytest.param("１２", id="full-width digits"),
        pytest.param("²", id="superscript"),
        pytest.param(True, id="true"),
        pytest.param(False, id="false"),
        pytest.param(None, id="null"),
        pytest.param([1], id="list"),
        pytest.param(WIDE_MAX + 1, id="too large"),
        pytest.param(str(WIDE_MAX + 1), id="too large as a string"),
        pytest.param("9" * 5000, id="very long"),
    ],
)
def test_other_values_are_rejected_with_the_documented_message(value: object) -> None:
    with pytest.raises(ValueError, match=r"is not snowflake\.$") as caught:
        parse_wide(Snowflake, value)
    assert len(str(caught.value)) < 100


def test_models_encode_ids_as_strings_and_hold_them_as_distinct_ints() -> None:
    typing = codec.decode('{"channel_id": "10", "user_ids": [20, "30"]}', Typing)
    assert type(typing.channel_id) is ChannelId
    assert [type(user) for user in typing.user_ids] == [UserId, UserId]
    assert codec.encode(typing) == b'{"channel_id":"10","user_ids":["20","30"]}'


def test_a_bad_id_in_a_model_is_a_validation_error_with_its_path() -> None:
    with pytest.raises(msgspec.ValidationError, match=r"\$\.user_ids\[1\]"):
        codec.decode('{"channel_id": "10", "user_ids": ["1", "x"]}', Typing)


@given(st.integers(0, WIDE_MAX))
def test_a_wide_integer_round_trips(number: int) -> None:
    assert codec.decode(codec.encode(WideInt(number)), WideInt) == number


@given(st.integers(EPOCH_MS, EPOCH_MS + (1 << 41) - 1))
def test_an_id_contains_its_creation_time(ms: int) -> None:
    assert Snowflake.at(ms).created_ms == ms
    assert Snowflake(Snowflake.at(ms) | (1 << 22) - 1).created_ms == ms


def test_the_documented_example_has_its_documented_time() -> None:
    assert Snowflake(175928847299117063).created_ms == 1462015105796


def test_the_id_of_a_time_before_the_epoch_is_zero() -> None:
    assert ChannelId.at(0) == 0
    assert type(ChannelId.at(EPOCH_MS + 1)) is ChannelId
