"""The error table and the form error tree."""

from collections import Counter
from collections.abc import Callable

import msgspec
import pytest

from hubbub.protocol import errors
from hubbub.protocol.errors import ApiError, ErrorCode, FormError, FormErrors


def test_each_code_except_the_generic_one_is_unique() -> None:
    codes = Counter(kind.code for kind in errors.BY_NAME.values())
    assert [code for code, times in codes.items() if times > 1] == [0]


def test_generic_errors_differ_in_status() -> None:
    statuses = [kind.status for kind in errors.BY_NAME.values() if kind.code == 0]
    assert len(statuses) == len(set(statuses))


@pytest.mark.parametrize("kind", errors.BY_NAME.values(), ids=errors.BY_NAME.keys())
def test_each_error_has_a_status_and_a_message(kind: ErrorCode) -> None:
    assert 200 <= kind.status < 600
    assert kind.message.strip()
    assert errors.find(kind.code, kind.status) is kind


def test_unknown_object_errors_have_status_404() -> None:
    assert {kind.status for code, kind in errors.BY_CODE.items() if code in range(10_000, 11_000)} == {404}


def test_calling_an_error_code_creates_an_error_of_that_kind() -> None:
    with pytest.raises(ApiError) as caught:
        raise errors.UNKNOWN_CHANNEL()
    assert caught.value.kind is errors.UNKNOWN_CHANNEL
    assert caught.value.status == 404
    assert caught.value.body() == {"message": "Unknown Channel", "code": 10003}


def test_extra_keys_are_added_to_the_body() -> None:
    body = errors.SLOWMODE_RATE_LIMIT(retry_after=2.5).body()
    assert body["retry_after"] == 2.5
    assert body["code"] == 20016


def test_a_message_can_be_replaced() -> None:
    error = errors.RATE_LIMITED(message="The resource is being rate limited.")
    assert error.body()["message"] == "The resource is being rate limited."
    assert "The resource" in str(error)


def test_an_unknown_code_is_not_found() -> None:
    assert errors.find(99_999) is None
    assert errors.find(0) is None
    assert errors.find(0, 418) is None
    assert errors.find(0, 401) is errors.UNAUTHORIZED


def test_form_errors_mirror_the_request() -> None:
    form = FormErrors()
    form.add(("embeds", 0, "fields"), *errors.bad_length(0, 25))
    form.add("embeds.0.title", *errors.max_length(256))
    form.add("content", *errors.required())
    form.add("content", *errors.regex())
    with pytest.raises(ApiError) as caught:
        form.raise_if_any()
    assert caught.value.kind is errors.INVALID_FORM_BODY
    assert caught.value.body() == {
        "message": "Invalid Form Body",
        "code": 50035,
        "errors": {
            "embeds": {
                "0": {
                    "fields": {
                        "_errors": [{"code": "BASE_TYPE_BAD_LENGTH", "message": "Must be between 0 and 25 in length."}]
                    },
                    "title": {
                        "_errors": [{"code": "BASE_TYPE_MAX_LENGTH", "message": "Must be 256 or fewer in length."}]
                    },
                }
            },
            "content": {
                "_errors": [
                    {"code": "BASE_TYPE_REQUIRED", "message": "This field is required"},
                    {"code": "STRING_TYPE_REGEX", "message": "String value did not match validation regex."},
                ]
            },
        },
    }


@pytest.mark.parametrize("path", ["", ()])
def test_an_error_about_the_whole_body_is_at_the_root(path: errors.Path) -> None:
    assert errors.invalid(path, *errors.not_model()).errors == {
        "_errors": [{"code": "MODEL_TYPE_CONVERT", "message": "Only dictionaries may be used in a ModelType"}]
    }


def test_an_empty_form_raises_nothing() -> None:
    form = FormErrors()
    assert not form
    form.raise_if_any()


@pytest.mark.parametrize(
    ("form_error", "message"),
    [
        (errors.choices(("a", "b")), "Value must be one of ('a', 'b')."),
        (errors.choices((60, 300)), "Value must be one of (60, 300)."),
        (errors.min_length(2), "Must be 2 or more in length."),
        (errors.number_max(100), "int value should be less than or equal to 100."),
        (errors.number_min(0.5, "float"), "float value should be greater than or equal to 0.5."),
        (errors.not_snowflake("x"), 'Value "x" is not snowflake.'),
        (errors.bad_scheme("ftp"), "Scheme \"ftp\" is not supported. Scheme must be one of ('http', 'https')."),
        (errors.union_choices((1, 2)), 'Value of field "type" must be one of (1, 2).'),
        (errors.mentions_exclusive("users"), 'parse:["users"] and users: [ids...] are mutually exclusive.'),
    ],
)
def test_form_errors_have_the_documented_messages(form_error: FormError, message: str) -> None:
    _, text = form_error
    assert text == message


@pytest.mark.parametrize("make_error", [errors.not_string, errors.not_snowflake, errors.bad_enum, errors.bad_timestamp])
def test_a_long_value_is_truncated_in_the_message(make_error: Callable[[object], FormError]) -> None:
    _, text = make_error("x" * 10_000)
    assert len(text) < 200


def test_an_error_body_is_plain_json() -> None:
    body = errors.invalid(("attachments", 3), *errors.attachment_not_found()).body()
    assert msgspec.json.decode(msgspec.json.encode(body)) == body


def test_an_error_is_described_by_field() -> None:
    form = FormErrors()
    form.add("name", "SHORT", "Too short.")
    form.add(("members", 0, "flags"), "BAD", "No such flag.")
    form.add("", "ODD", "Something is odd.")

    assert form.error().describe() == "name: Too short.; members.0.flags: No such flag.; Something is odd."
    assert form.error().describe({"0": "ann"}).split("; ")[1] == "members.ann.flags: No such flag."
    assert errors.UNKNOWN_CHANNEL().describe() == "Unknown Channel"
    assert errors.PAYMENT_SOURCE_REQUIRED(message="Declined.").describe() == "Declined."
