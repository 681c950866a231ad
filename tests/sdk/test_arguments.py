"""Values of the wrong type or out of range, which are rejected where a game sets them."""

import inspect
from typing import Any

import pytest

import hubbub.sdk as sdk
from hubbub.sdk import compat
from hubbub.sdk.arguments import checks_arguments
from hubbub.sdk.records import Fields
from tests.identifiers import snake_case

UINT64_MAX = 2**64 - 1
WRONG_VALUES = [
    ("ClientId", -1, ValueError, "ClientId must be from 0 to 18446744073709551615, not -1"),
    ("ClientId", 2**64, ValueError, "ClientId must be from 0 to 18446744073709551615, not 18446744073709551616"),
    ("ClientId", "5", TypeError, "ClientId must be an integer, not str"),
    ("ClientId", None, TypeError, "ClientId must be an integer, not NoneType"),
    ("ClientId", True, TypeError, "ClientId must be an integer, not bool"),
    ("ClientId", 5.0, TypeError, "ClientId must be an integer, not float"),
    ("Scopes", None, TypeError, "Scopes must be a string, not NoneType"),
    ("Scopes", ["openid"], TypeError, "Scopes must be a string, not list"),
    ("Scopes", "\ud800", ValueError, "Scopes must be valid Unicode text"),
    ("State", 5, TypeError, "State must be a string or None, not int"),
    ("Nonce", b"nonce", TypeError, "Nonce must be a string or None, not bytes"),
    ("CodeChallenge", "abc", TypeError, "CodeChallenge must be AuthorizationCodeChallenge or None, not str"),
    ("IntegrationType", 7, ValueError, "IntegrationType must be a member of IntegrationType, not 7"),
    ("IntegrationType", "1", TypeError, "IntegrationType must be a member of IntegrationType or None, not str"),
    (
        "IntegrationType",
        sdk.ErrorType.NONE,
        TypeError,
        "IntegrationType must be a member of IntegrationType or None, not ErrorType",
    ),
    ("CustomSchemeParam", 5, TypeError, "CustomSchemeParam must be a string or None, not int"),
]


@pytest.mark.parametrize(("name", "value", "kind", "message"), WRONG_VALUES)
def test_setters_reject_wrong_authorization_arguments(
    name: str, value: object, kind: type[Exception], message: str
) -> None:
    args = compat.AuthorizationArgs()
    value_before = getattr(args, name)()

    with pytest.raises(kind) as caught:
        getattr(args, f"Set{name}")(value)

    assert (str(caught.value), getattr(args, name)()) == (message, value_before)


@pytest.mark.parametrize(("name", "value", "kind", "message"), WRONG_VALUES)
def test_attributes_reject_wrong_authorization_arguments(
    name: str, value: Any, kind: type[Exception], message: str
) -> None:
    field, args = snake_case(name), sdk.AuthorizationArgs()
    message = message.replace(name, field, 1)

    with pytest.raises(kind) as assignment_error:
        setattr(args, field, value)
    with pytest.raises(kind) as construction_error:
        sdk.AuthorizationArgs(**{field: value})

    assert (str(assignment_error.value), str(construction_error.value)) == (message, message)
    assert args == sdk.AuthorizationArgs()


def test_correct_authorization_arguments_are_kept() -> None:
    args = compat.AuthorizationArgs()
    challenge = compat.AuthorizationCodeChallenge()

    args.SetClientId(UINT64_MAX)
    args.SetScopes("openid é")
    args.SetState(None)
    args.SetCodeChallenge(challenge)
    args.SetIntegrationType(1)

    assert (args.ClientId(), args.Scopes(), args.State()) == (UINT64_MAX, "openid é", None)
    assert args.CodeChallenge() == challenge
    assert args.IntegrationType() is sdk.IntegrationType.USER_INSTALL


def test_every_field_of_every_record_has_a_check() -> None:
    """Check that no record of the SDK accepts an arbitrary object in one of its fields."""
    records = {kind for name in sdk.__all__ if inspect.isclass(kind := getattr(sdk, name)) and issubclass(kind, Fields)}
    assert len(records) > 15

    unchecked_names = []
    for kind in records:
        record = kind()
        for name in kind.fields:
            try:
                setattr(record, name, object())
            except TypeError as error:
                if str(error).startswith(f"{name} must be "):
                    continue
            unchecked_names.append(f"{kind.__name__}.{name}")

    assert unchecked_names == []


def test_every_operation_of_the_client_checks_every_argument() -> None:
    """Check that each argument of each operation rejects an arbitrary object before the operation starts."""
    client = sdk.Client()
    unchecked_names = []
    for name, method in vars(sdk.Client).items():
        if name.startswith("_") or name in ("call", "move") or not inspect.isfunction(method):
            continue
        for parameter in list(inspect.signature(method).parameters)[1:]:
            try:
                getattr(client, name)(**{parameter: object()})
            except TypeError as error:
                if not str(error).startswith(f"{parameter} must be "):
                    unchecked_names.append(f"{name}({parameter}): {error}")
    client.close()

    assert unchecked_names == []


@pytest.mark.parametrize(
    ("name", "values", "kind", "message"),
    [
        ("SetApplicationId", (-1,), ValueError, "application_id must be from 0 to 18446744073709551615, not -1"),
        ("GetUser", ("5",), TypeError, "user_id must be an integer, not str"),
        ("SetLogDir", (5, sdk.LoggingSeverity.INFO), TypeError, "path must be a string, not int"),
        ("SetLogDir", ("", 9), ValueError, "min_severity must be a member of LoggingSeverity, not 9"),
        ("SetInputVolume", ("loud",), TypeError, "input_volume must be a number, not str"),
        ("SetInputVolume", (float("nan"),), ValueError, "input_volume must be a finite number, not nan"),
        ("SetSelfMuteAll", (1,), TypeError, "mute must be True or False, not int"),
        ("SetMessageCreatedCallback", (None,), TypeError, "callback must be a function, not NoneType"),
        ("Authorize", ("openid",), TypeError, "args must be AuthorizationArgs, not str"),
        (
            "CreateOrJoinLobbyWithMetadata",
            ("secret", {"map": 5}, {}),
            TypeError,
            "lobby_metadata['map'] must be a string, not int",
        ),
        ("UpdateRichPresence", (None,), TypeError, "activity must be Activity, not NoneType"),
    ],
)
def test_the_client_names_the_wrong_argument(
    name: str, values: tuple[Any, ...], kind: type[Exception], message: str
) -> None:
    client = compat.Client()

    with pytest.raises(kind) as caught:
        getattr(client, name)(*values)

    assert str(caught.value) == message
    client.close()


def test_activities_and_results_reject_wrong_values() -> None:
    activity, party, result = compat.Activity(), compat.ActivityParty(), compat.ClientResult()

    party.SetCurrentSize(-5)  # The value has the right type; UpdateRichPresence rejects it.
    for setter, value, kind in (
        (party.SetMaxSize, 2**31, ValueError),
        (activity.SetSupportedPlatforms, 1 << 20, ValueError),
        (activity.SetSupportedPlatforms, "Desktop", TypeError),
        (activity.SetParty, {"id": "party"}, TypeError),
        (activity.AddButton, "https://example.com", TypeError),
        (result.SetErrorCode, "5", TypeError),
        (result.SetType, 99, ValueError),
    ):
        with pytest.raises(kind):
            setter(value)
    activity.SetSupportedPlatforms(3)

    assert activity.SupportedPlatforms() == sdk.ActivityGamePlatforms.DESKTOP | sdk.ActivityGamePlatforms.XBOX
    with pytest.raises(TypeError, match=r"buttons\[0\] must be ActivityButton, not str"):
        sdk.Activity(buttons=["button"])  # type: ignore[list-item]


def test_the_options_of_a_client_are_checked() -> None:
    with pytest.raises(TypeError, match="options must be a string or None, not int"):
        sdk.Client(5)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="cpu_affinity_mask must be from 0"):
        sdk.ClientCreateOptions(cpu_affinity_mask=-1)


def test_a_decorated_function_keeps_its_own_errors() -> None:
    @checks_arguments
    def order(count: int, /, name: str = "", *, urgent: bool = False) -> tuple[int, str, bool]:
        return count, name, urgent

    assert order(1, "tea", urgent=True) == (1, "tea", True)
    with pytest.raises(TypeError, match="missing 1 required positional argument: 'count'"):
        order()  # type: ignore[call-arg]
    with pytest.raises(TypeError, match="unexpected keyword argument 'size'"):
        order(1, size=2)  # type: ignore[call-arg]
    with pytest.raises(TypeError, match="urgent must be True or False, not int"):
        order(1, urgent=1)  # type: ignore[arg-type]
