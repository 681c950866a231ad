"""Every name in docs/spec/sdk.md exists in `hubbub.sdk.compat`, in its exact spelling."""

import re
from pathlib import Path
from typing import Any

import pytest

import hubbub.sdk as sdk
from hubbub.sdk import compat
from hubbub.sdk.spec_names import to_pascal_case
from tests.sdk.names import CLASSES, MODULE, names_of
from tests.sdk.players import CallbackRecorder, game, player
from tests.world import World

PAGE = (Path(__file__).parents[2] / "docs" / "spec" / "sdk.md").read_text(encoding="utf-8")
EXTENSIONS = {name for kind in CLASSES for name in names_of(kind)} | set(MODULE.split()) | set(CLASSES)


def section(number: str) -> str:
    """Return the text of a section of the page, subsections included."""
    start = PAGE.index(f'<a id="{number}"></a>')
    following = [found.start() for found in re.finditer(r'<a id="([\d.]+)"></a>', PAGE) if found.start() > start]
    inside = f'<a id="{number}.'
    return PAGE[start : next((at for at in following if not PAGE.startswith(inside, at)), len(PAGE))]


def rows(number: str, *heads: str) -> list[list[str]]:
    """Return the table rows of a section whose header has these cells."""
    header = re.escape(f"| {' | '.join(heads)} |")
    found: list[list[str]] = []
    for table in re.findall(rf"^{header}\n\|[-|]+\|\n((?:\|.*\n?)+)", section(number), re.M):
        found += [[cell.strip() for cell in row.strip().strip("|").split("|")] for row in table.splitlines()]
    assert found, f"section {number} has no table {heads}"
    return found


def operations(*numbers: str) -> set[str]:
    """Return the operations in the first column of the tables of some sections."""
    cells = [cell for number in numbers for cell in re.findall(r"^\| ([^|]+) \|", section(number), re.M)]
    return {name for cell in cells for name in re.findall(r"`([A-Z]\w+)\(", cell)}


def named(owner: str) -> Any:
    """Return a class or enumeration of the compat module; `Client::Status` is nested."""
    outer, _, nested = owner.partition("::")
    made = getattr(compat, outer)
    return getattr(made, nested) if nested else made


@pytest.mark.parametrize("kind", sorted(CLASSES))
def test_a_class_has_all_documented_names(kind: str) -> None:
    made = getattr(compat, kind)

    assert [name for name in names_of(kind) if not hasattr(made, name)] == []
    assert not made.nullobj
    assert isinstance(made.nullobj, made)


def test_the_module_has_its_functions() -> None:
    assert [name for name in MODULE.split() if not callable(getattr(compat, name, None))] == []


def test_enumerations_have_the_documented_values() -> None:
    listed = rows("2", "Enum", "Members")
    assert len({enum for enum, _ in listed}) == 27

    for enum, members in listed:
        for member in members.split(", "):
            label, number = member.split()
            assert getattr(named(enum), label) == int(number), f"{enum}.{label}"


def test_documented_value_records_have_setters() -> None:
    listed = [
        name for kind, types in rows("1.1", "Kind", "Types") if kind == "Value record" for name in types.split(", ")
    ]
    assert len(listed) == 19
    assert {name for name in listed if not names_of(name)} == set()

    for name in listed:
        kind = getattr(compat, name)
        fields = [to_pascal_case(field) for field, about in getattr(kind, "fields", {}).items() if about.compat]
        assert [field for field in fields if not hasattr(kind, f"Set{field}")] == [], name


def test_a_code_verifier_can_be_set() -> None:
    verifier = compat.Client().CreateAuthorizationCodeVerifier()
    challenge = compat.AuthorizationCodeChallenge()
    challenge.SetChallenge("ours")

    verifier.SetChallenge(challenge)
    verifier.SetVerifier("secret")
    challenge.SetChallenge("another")

    assert (verifier.Challenge().Challenge(), verifier.Verifier()) == ("ours", "secret")


def test_a_profile_has_both_names_in_both_interfaces() -> None:
    assert sdk.UserApplicationProfile is sdk.UserApplicationProfileHandle
    assert compat.UserApplicationProfile is compat.UserApplicationProfileHandle
    assert issubclass(compat.UserApplicationProfile, sdk.UserApplicationProfile)


def test_every_documented_operation_exists() -> None:
    listed = [(kind, name) for kind, names in rows("21", "Class", "Named operations") for name in names.split(", ")]
    assert len(set(listed)) == 29

    assert [f"{kind}::{name}" for kind, name in listed if not hasattr(named(kind), name)] == []


def test_authorization_arguments_have_getters_and_setters() -> None:
    heads = ("AuthorizationArgs field", "Getter", "Setter", "Type", "Default")
    accessors = [cell.removesuffix("()") for row in rows("6.1", *heads) for cell in row[1:3]]
    assert len(accessors) == 14

    assert [name for name in accessors if not callable(getattr(compat.AuthorizationArgs, name, None))] == []


def test_every_documented_record_exists() -> None:
    listed = rows("21", "Record", "Named members")
    assert len(listed) == 11

    for record, members in listed:
        assert [name for name in members.split(", ") if not hasattr(named(record), name)] == [], record
    assert hasattr(sdk, "UserApplicationProfile")


async def test_a_game_runs_with_the_compat_names(world: World) -> None:
    mary = await player(world, await game(world), "mary", connect=False)
    client = compat.Client(compat.ClientCreateOptions(web_base=world.url))
    statuses, created, completed = CallbackRecorder(), CallbackRecorder(), CallbackRecorder()
    client.SetStatusChangedCallback(statuses)
    client.SetMessageCreatedCallback(created)

    client.UpdateToken(compat.AuthorizationTokenType.Bearer, mary.tokens["access_token"], completed)
    result = await completed.next()
    assert (bool(result), result.Successful(), result.Type()) == (True, True, compat.ErrorType.None_)
    client.Connect()
    await statuses.next(lambda status, *_: status == compat.Client.Status.Ready)
    assert compat.Client.StatusToString(client.GetStatus()) == "Ready"
    client.CreateOrJoinLobby("secret", completed)
    result, lobby_id = await completed.next()
    client.SendLobbyMessage(lobby_id, "hello", completed)
    result, message_id = await completed.next()
    assert await created.next() == message_id
    message = client.GetMessageHandle(message_id)
    assert (type(message), message.Content(), message.Author().Username()) == (compat.MessageHandle, "hello", "mary")
    assert message.Lobby().LobbyMemberIds() == [mary.id]
    client.LeaveLobby(5, completed)
    result = await completed.next()
    assert (result.Type(), result.ErrorCode(), result.Status()) == (compat.ErrorType.HTTPError, 10031, 404)
    await client.close()
    await mary.client.close()


def test_the_documented_operations_match_the_class_lists() -> None:
    listed = operations("1.2", "1.4", "4", "6.2", "9", "10", "11", "12", "13", "14")

    assert listed - EXTENSIONS == set()
    assert set(MODULE.split()) - listed == set()
    for kind in ("Client", "Call"):
        assert set(names_of(kind)) - listed == {"Status", "Error", "Thread"} & set(names_of(kind))
