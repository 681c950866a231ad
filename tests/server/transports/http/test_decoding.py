"""Decoding of request bodies: the code, message and path of validation errors, accepted values, and limits."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hubbub.protocol.errors import ApiError
from hubbub.protocol.resources.messages import CreateMessage
from hubbub.server.transports.http import decoding
from tests.server.transports.http.sample_slice import Search, Toy


def decode_error(body: Any, kind: Any = Toy) -> ApiError:
    """Decode an invalid body and return the error."""
    data = body if isinstance(body, bytes) else json.dumps(body).encode()
    with pytest.raises(ApiError) as caught:
        decoding.decode(data, kind)
    return caught.value


def flatten_errors(tree: dict[str, Any], path: str = "") -> dict[str, list[tuple[str, str]]]:
    """Return the errors of an error tree as (code, message) pairs by path."""
    errors: dict[str, list[tuple[str, str]]] = {}
    for key, value in tree.items():
        if key == "_errors":
            errors[path] = [(error["code"], error["message"]) for error in value]
        else:
            errors |= flatten_errors(value, f"{path}.{key}" if path else key)
    return errors


INVALID_BODIES = [
    ({}, "content", "BASE_TYPE_REQUIRED", "This field is required"),
    ({"content": None}, "content", "BASE_TYPE_REQUIRED", "This field is required"),
    ({"content": 5}, "content", "STRING_TYPE_CONVERT", 'Could not interpret "5" as string.'),
    ({"content": ["x"]}, "content", "STRING_TYPE_CONVERT", "Could not interpret \"['x']\" as string."),
    ({"content": "a" * 11}, "content", "BASE_TYPE_MAX_LENGTH", "Must be 10 or fewer in length."),
    ({"tts": "true"}, "tts", "BOOLEAN_TYPE_CONVERT", "Must be either true or false."),
    ({"tts": 2}, "tts", "BOOLEAN_TYPE_CONVERT", "Must be either true or false."),
    ({"tts": None}, "tts", "BASE_TYPE_REQUIRED", "This field is required"),
    ({"color": 9}, "color", "BASE_TYPE_CHOICES", "Value must be one of (1, 2)."),
    ({"color": "red"}, "color", "ENUM_TYPE_COERCE", 'Value "red" is not a valid enum value.'),
    ({"color": True}, "color", "ENUM_TYPE_COERCE", 'Value "True" is not a valid enum value.'),
    ({"ratio": 1.5}, "ratio", "NUMBER_TYPE_MAX", "float value should be less than or equal to 1."),
    ({"ratio": "x"}, "ratio", "NUMBER_TYPE_COERCE", 'Value "x" is not float.'),
    ({"position": -1}, "position", "NUMBER_TYPE_MIN", "int value should be greater than or equal to 0."),
    ({"position": 101}, "position", "NUMBER_TYPE_MAX", "int value should be less than or equal to 100."),
    ({"position": "5"}, "position", "NUMBER_TYPE_COERCE", 'Value "5" is not int.'),
    ({"position": 5.0}, "position", "NUMBER_TYPE_COERCE", 'Value "5.0" is not int.'),
    ({"size": 2**63}, "size", "NUMBER_TYPE_COERCE", 'Value "9223372036854775808" is not int.'),
    ({"size": -(2**70)}, "size", "NUMBER_TYPE_COERCE", 'Value "-1180591620717411303424" is not int.'),
    ({"channel_id": "x"}, "channel_id", "NUMBER_TYPE_COERCE", 'Value "x" is not snowflake.'),
    ({"channel_id": 1.0}, "channel_id", "NUMBER_TYPE_COERCE", 'Value "1.0" is not snowflake.'),
    ({"channel_id": True}, "channel_id", "NUMBER_TYPE_COERCE", 'Value "True" is not snowflake.'),
    ({"channel_id": -1}, "channel_id", "NUMBER_TYPE_COERCE", 'Value "-1" is not snowflake.'),
    ({"allow": "x"}, "allow", "NUMBER_TYPE_COERCE", 'Value "x" is not int.'),
    ({"roles": "x"}, "roles", "LIST_TYPE_CONVERT", "Only iterables may be used in a ListType"),
    ({"roles": [1, "x"]}, "roles.1", "NUMBER_TYPE_COERCE", 'Value "x" is not snowflake.'),
    ({"embeds": [{}, 5]}, "embeds.1", "MODEL_TYPE_CONVERT", "Only dictionaries may be used in a ModelType"),
    ({"embeds": [{"fields": [{}]}]}, "embeds.0.fields.0.name", "BASE_TYPE_REQUIRED", "This field is required"),
    (
        {"embeds": [{"fields": [{"name": ""}]}]},
        "embeds.0.fields.0.name",
        "BASE_TYPE_BAD_LENGTH",
        "Must be between 1 and 8 in length.",
    ),
    (
        {"embeds": [{"fields": [{"name": "a"}] * 3}]},
        "embeds.0.fields",
        "BASE_TYPE_BAD_LENGTH",
        "Must be between 0 and 2 in length.",
    ),
    (
        {"embeds": [{"timestamp": "soon"}]},
        "embeds.0.timestamp",
        "DATE_TIME_TYPE_PARSE",
        "Could not parse soon. Should be ISO8601.",
    ),
    ({"until": 5}, "until", "DATE_TIME_TYPE_PARSE", "Could not parse 5. Should be ISO8601."),
    (
        {"until": "0001-01-01T00:00:00+23:00"},
        "until",
        "DATE_TIME_TYPE_PARSE",
        "Could not parse 0001-01-01T00:00:00+23:00. Should be ISO8601.",
    ),
    ({"components": [{"type": 9}]}, "components.0.type", "UNION_TYPE_CHOICES", 'Value of field "type" must be one of (1, 2).'),
    ({"components": [{}]}, "components.0.type", "BASE_TYPE_REQUIRED", "This field is required"),
    (
        {"components": [{"type": 1, "components": [{"type": 2, "label": 5}]}]},
        "components.0.components.0.label",
        "STRING_TYPE_CONVERT",
        'Could not interpret "5" as string.',
    ),
    ({"labels": []}, "labels", "DICT_TYPE_CONVERT", "Only dictionaries may be used in a DictType"),
    ({"labels": {"a": "x"}}, "labels.a", "NUMBER_TYPE_COERCE", 'Value "x" is not int.'),
    ({"labels": {"_errors": "x"}}, "labels._errors_", "NUMBER_TYPE_COERCE", 'Value "x" is not int.'),
    ({"code": "UP"}, "code", "STRING_TYPE_REGEX", "String value did not match validation regex."),
]  # fmt: skip


@pytest.mark.parametrize(
    ("body", "path", "code", "message"), INVALID_BODIES, ids=[f"{case[1]}-{case[2]}" for case in INVALID_BODIES]
)
def test_an_error_has_its_code_message_and_path(body: dict[str, Any], path: str, code: str, message: str) -> None:
    error = decode_error({"content": "a", **body} if "content" not in body and path != "content" else body)
    assert error.body()["message"] == "Invalid Form Body"
    assert flatten_errors(error.errors or {}) == {path: [(code, message)]}


def test_all_errors_are_reported_together() -> None:
    error = decode_error({"tts": 5, "roles": ["x", 1, "y"], "embeds": [{"title": "a" * 9}]})
    assert set(flatten_errors(error.errors or {})) == {"content", "tts", "roles.0", "roles.2", "embeds.0.title"}


def test_the_number_of_reported_errors_is_limited() -> None:
    error = decode_error({"content": "a", "roles": ["x"] * 5000})
    assert len(flatten_errors(error.errors or {})) == decoding.ERRORS_MAX


def test_a_huge_number_is_reported_at_its_path() -> None:
    error = decode_error(b'{"content": "a", "size": ' + b"9" * 5000 + b"}")
    assert flatten_errors(error.errors or {})["size"][0][0] == "NUMBER_TYPE_COERCE"
    assert decode_error(b'{"content": "a", "unknown": ' + b"9" * 5000 + b"}").kind.code == 50109


def test_unknown_keys_are_ignored_and_the_last_duplicate_wins() -> None:
    toy = decoding.decode(b'{"content": "a", "content": "b", "unknown": {"key": [1]}}', Toy)
    assert toy.content == "b"


def test_nul_is_removed_from_text() -> None:
    toy = decoding.decode(b'{"content": "a\\u0000b", "anything": {"x\\u0000": ["\\u0000"]}}', Toy)
    assert toy.content == "ab"
    assert toy.anything == {"x": [""]}


def test_ids_and_permissions_are_decoded_from_text_or_numbers() -> None:
    toy = decoding.decode(b'{"content": "", "roles": ["9223372036854775807", 1234567890123456789], "allow": 8}', Toy)
    assert toy.roles == [9223372036854775807, 1234567890123456789]
    assert toy.allow == 8


@pytest.mark.parametrize(("depth", "is_accepted"), [(64, True), (65, False)])
def test_json_nesting_is_limited(depth: int, is_accepted: bool) -> None:
    inner_depth = depth - 1
    data = b'{"content": "[[[[{{{{", "anything": ' + b"[" * inner_depth + b"]" * inner_depth + b"}"
    if is_accepted:
        decoding.decode(data, Toy)
    else:
        assert decode_error(data).kind.code == 50109


def test_sibling_arrays_do_not_count_as_nesting() -> None:
    data = b'{"content": "a", "anything": [' + b",".join([b"[{}]"] * 500) + b"]}"
    assert len(decoding.decode(data, Toy).anything) == 500


def test_the_numbers_0_and_1_are_accepted_as_booleans_at_any_depth() -> None:
    message = decoding.decode(b'{"tts": 1, "allowed_mentions": {"replied_user": 0}}', CreateMessage)
    assert (message.tts, message.allowed_mentions.replied_user) == (True, False)
    # A number of 19 digits is decoded in another way.
    reply = decoding.decode(b'{"tts": 0, "message_reference": {"message_id": 1234567890123456789}}', CreateMessage)
    assert reply.tts is False


@pytest.mark.parametrize(
    ("text", "value"),
    [("True", True), ("true", True), ("1", True), ("False", False), ("false", False), ("0", False)],
)
def test_booleans_are_parsed_from_text(text: str, value: bool) -> None:
    assert decoding.convert_fields({"exact": [text]}, Search).exact is value


JSON_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=9),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)


@given(st.dictionaries(st.sampled_from(Toy.__struct_fields__), JSON_VALUES) | JSON_VALUES)
def test_every_body_that_msgspec_rejects_has_a_specific_error(body: Any) -> None:
    try:
        decoding.decode(json.dumps(body).encode(), Toy)
    except ApiError as error:
        if error.kind.code == 50109:
            return
        codes = [code for path in flatten_errors(error.errors or {}).values() for code, _ in path]
        assert codes
        assert "BASE_TYPE_BAD_VALUE" not in codes
