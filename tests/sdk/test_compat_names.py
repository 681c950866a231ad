"""Every name that spec/sdk.md#1 and the sections after it list exists in `hubbub.sdk.compat`, in its exact spelling."""

import re
from pathlib import Path
from typing import Any

import pytest

import hubbub.sdk as sdk
from hubbub.protocol.spec_names import to_pascal_case
from hubbub.sdk import compat
from tests.sdk.names import CLASSES, MODULE_FUNCTIONS, names_of
from tests.sdk.players import CallbackRecorder, create_game, create_player
from tests.world import World

PAGE_TEXT = (Path(__file__).parents[2] / "docs" / "spec" / "sdk.md").read_text(encoding="utf-8")
DECLARED_NAMES = {name for kind in CLASSES for name in names_of(kind)} | set(MODULE_FUNCTIONS.split()) | set(CLASSES)


def section_text(number: str) -> str:
    """Return the text of a section of the page, subsections included."""
    start = PAGE_TEXT.index(f'<a id="{number}"></a>')
    next_positions = [
        match.start() for match in re.finditer(r'<a id="([\d.]+)"></a>', PAGE_TEXT) if match.start() > start
    ]
    subsection_mark = f'<a id="{number}.'
    return PAGE_TEXT[
        start : next(
            (position for position in next_positions if not PAGE_TEXT.startswith(subsection_mark, position)),
            len(PAGE_TEXT),
        )
    ]


def table_rows(number: str, *headers: str) -> list[list[str]]:
    """Return the table rows of a section whose header has these cells."""
    header = re.escape(f"| {' | '.join(headers)} |")
    rows: list[list[str]] = []
    for table in re.findall(rf"^{header}\n\|[-|]+\|\n((?:\|.*\n?)+)", section_text(number), re.M):
        rows += [[cell.strip() for cell in row.strip().strip("|").split("|")] for row in table.splitlines()]
    assert rows, f"section {number} has no table {headers}"
    return rows


def documented_operations(*numbers: str) -> set[str]:
    """Return the operations in the first column of the tables of some sections."""
    cells = [cell for number in numbers for cell in re.findall(r"^\| ([^|]+) \|", section_text(number), re.M)]
    return {name for cell in cells for name in re.findall(r"`([A-Z]\w+)\(", cell)}


def get_class(path: str) -> Any:
    """Return a class or enumeration of the compat module; `Client::Status` is nested."""
    outer_name, _, nested_name = path.partition("::")
    outer_class = getattr(compat, outer_name)
    return getattr(outer_class, nested_name) if nested_name else outer_class


@pytest.mark.parametrize("class_name", sorted(CLASSES))
def test_a_class_has_all_documented_names(class_name: str) -> None:
    compat_class = getattr(compat, class_name)

    assert [name for name in names_of(class_name) if not hasattr(compat_class, name)] == []
    assert not compat_class.nullobj
    assert isinstance(compat_class.nullobj, compat_class)


def test_the_module_has_its_functions() -> None:
    assert [name for name in MODULE_FUNCTIONS.split() if not callable(getattr(compat, name, None))] == []


def test_enumerations_have_the_documented_values() -> None:
    rows = table_rows("2", "Enum", "Members")
    assert len({enum for enum, _ in rows}) == 27

    for enum, members in rows:
        for member in members.split(", "):
            label, number = member.split()
            assert getattr(get_class(enum), label) == int(number), f"{enum}.{label}"


def test_documented_value_records_have_setters() -> None:
    record_names = [
        name
        for kind, types in table_rows("1.1", "Kind", "Types")
        if kind == "Value record"
        for name in types.split(", ")
    ]
    assert len(record_names) == 19
    assert {name for name in record_names if not names_of(name)} == set()

    for name in record_names:
        kind = getattr(compat, name)
        fields = [
            to_pascal_case(field) for field, field_info in getattr(kind, "fields", {}).items() if field_info.compat
        ]
        assert [field for field in fields if not hasattr(kind, f"Set{field}")] == [], name


def test_a_code_verifier_can_be_set() -> None:
    verifier = compat.Client().CreateAuthorizationCodeVerifier()
    challenge = compat.AuthorizationCodeChallenge()
    challenge.SetChallenge("first")

    verifier.SetChallenge(challenge)
    verifier.SetVerifier("secret")
    challenge.SetChallenge("another")

    assert (verifier.Challenge().Challenge(), verifier.Verifier()) == ("first", "secret")


def test_a_profile_has_both_names_in_both_interfaces() -> None:
    assert sdk.UserApplicationProfile is sdk.UserApplicationProfileHandle
    assert compat.UserApplicationProfile is compat.UserApplicationProfileHandle
    assert issubclass(compat.UserApplicationProfile, sdk.UserApplicationProfile)


def test_every_documented_operation_exists() -> None:
    operations = [
        (kind, name) for kind, names in table_rows("21", "Class", "Named operations") for name in names.split(", ")
    ]
    assert len(set(operations)) == 29

    assert [f"{kind}::{name}" for kind, name in operations if not hasattr(get_class(kind), name)] == []


def test_authorization_arguments_have_getters_and_setters() -> None:
    heads = ("AuthorizationArgs field", "Getter", "Setter", "Type", "Default")
    accessors = [cell.removesuffix("()") for row in table_rows("6.1", *heads) for cell in row[1:3]]
    assert len(accessors) == 14

    assert [name for name in accessors if not callable(getattr(compat.AuthorizationArgs, name, None))] == []


def test_every_documented_record_exists() -> None:
    rows = table_rows("21", "Record", "Named members")
    assert len(rows) == 11

    for record, members in rows:
        assert [name for name in members.split(", ") if not hasattr(get_class(record), name)] == [], record
    assert hasattr(sdk, "UserApplicationProfile")


async def test_a_game_runs_with_the_compat_names(world: World) -> None:
    mary = await create_player(world, await create_game(world), "mary", connect=False)
    client = compat.Client(compat.ClientCreateOptions(web_base=world.url))
    statuses, creation_recorder, completion_recorder = CallbackRecorder(), CallbackRecorder(), CallbackRecorder()
    client.SetStatusChangedCallback(statuses)
    client.SetMessageCreatedCallback(creation_recorder)

    client.UpdateToken(compat.AuthorizationTokenType.Bearer, mary.tokens["access_token"], completion_recorder)
    result = await completion_recorder.next()
    assert (bool(result), result.Successful(), result.Type()) == (True, True, compat.ErrorType.None_)
    client.Connect()
    await statuses.next(lambda status, *_: status == compat.Client.Status.Ready)
    assert compat.Client.StatusToString(client.GetStatus()) == "Ready"
    client.CreateOrJoinLobby("secret", completion_recorder)
    result, lobby_id = await completion_recorder.next()
    client.SendLobbyMessage(lobby_id, "hello", completion_recorder)
    result, message_id = await completion_recorder.next()
    assert await creation_recorder.next() == message_id
    message = client.GetMessageHandle(message_id)
    assert (type(message), message.Content(), message.Author().Username()) == (compat.MessageHandle, "hello", "mary")
    assert message.Lobby().LobbyMemberIds() == [mary.id]
    client.LeaveLobby(5, completion_recorder)
    result = await completion_recorder.next()
    assert (result.Type(), result.ErrorCode(), result.Status()) == (compat.ErrorType.HTTPError, 10031, 404)
    await client.close()
    await mary.client.close()


def test_the_documented_operations_match_the_class_lists() -> None:
    operations = documented_operations("1.2", "1.4", "4", "6.2", "9", "10", "11", "12", "13", "14")

    assert operations - DECLARED_NAMES == set()
    assert set(MODULE_FUNCTIONS.split()) - operations == set()
    for kind in ("Client", "Call"):
        assert set(names_of(kind)) - operations == {"Status", "Error", "Thread"} & set(names_of(kind))
