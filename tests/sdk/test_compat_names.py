"""Every name of the specification exists, in its exact spelling."""

import re
from pathlib import Path

import pytest

import hubbub.sdk as sdk
from hubbub.sdk import compat
from hubbub.sdk.naming import pascal
from tests.sdk.names import CLASSES, MODULE, names_of
from tests.sdk.players import Heard, game, player
from tests.world import World

SHEETS = Path(__file__).parents[3] / "shared" / "spec"
OURS = {name for kind in CLASSES for name in names_of(kind)} | set(MODULE.split()) | set(CLASSES)


@pytest.mark.parametrize("kind", sorted(CLASSES))
def test_a_class_has_all_its_names(kind: str) -> None:
    made = getattr(compat, kind)

    assert [name for name in names_of(kind) if not hasattr(made, name)] == []
    assert not made.nullobj
    assert isinstance(made.nullobj, made)


def test_the_module_has_its_functions() -> None:
    assert [name for name in MODULE.split() if not callable(getattr(compat, name, None))] == []


def enumerations(text: str) -> list[tuple[str, list[tuple[str, int]]]]:
    """Section 2 of the fact sheet: the enumerations with their members."""
    section = text.partition("## 2. Enums")[2].partition("\n## 3.")[0]
    found = []
    for row in re.findall(r"^\| ([A-Z][\w:]+)[^|]* \| ([^|]+) \|", section, re.M):
        members = re.findall(r"(?:^|[,;] )([A-Z][\w]*) (\d+)\b", re.sub(r"\([^)]*\)", "", row[1]))
        found.append((row[0], [(name, int(number)) for name, number in members]))
    return [each for each in found if each[0] not in ("Enum", "HttpStatusCode")]


def sheet(name: str) -> str:
    """The text of one of the shared fact sheets."""
    found = sorted(SHEETS.glob(name))
    if not found:
        pytest.skip(f"the shared fact sheet {name} is not beside this checkout: its names were NOT compared")
    return found[0].read_text(encoding="utf-8")


def test_the_enumerations_have_the_numbers_of_the_sheet() -> None:
    told = enumerations(sheet("sdk.md"))
    assert len(told) >= 25

    for name, members in told:
        owner, _, nested = name.partition("::")
        made = getattr(getattr(compat, owner), nested) if nested else getattr(compat, owner)
        for label, number in members:
            assert getattr(made, label) == number, f"{name}.{label}"


def test_the_value_records_of_the_sheet_have_setters() -> None:
    [row] = re.findall(r"^\| Value records [^|]*\| ([^|]+) \|", sheet("sdk.md"), re.M)
    told = [name for name in row.strip().split(", ") if "(getters only)" not in name]
    assert len(told) >= 18
    assert {name for name in told if not names_of(name)} == set()

    for name in told:
        kind = getattr(compat, name)
        fields = [pascal(field) for field, about in getattr(kind, "fields", {}).items() if about.compat]
        assert [field for field in fields if not hasattr(kind, f"Set{field}")] == [], name


def test_a_verifier_may_be_set() -> None:
    verifier = compat.Client().CreateAuthorizationCodeVerifier()
    challenge = compat.AuthorizationCodeChallenge()
    challenge.SetChallenge("ours")

    verifier.SetChallenge(challenge)
    verifier.SetVerifier("secret")
    challenge.SetChallenge("another")

    assert (verifier.Challenge().Challenge(), verifier.Verifier()) == ("ours", "secret")


def test_a_profile_has_both_its_names_in_both_faces() -> None:
    assert sdk.UserApplicationProfile is sdk.UserApplicationProfileHandle
    assert compat.UserApplicationProfile is compat.UserApplicationProfileHandle
    assert issubclass(compat.UserApplicationProfile, sdk.UserApplicationProfile)


def test_every_operation_that_the_specification_names_is_ours() -> None:
    text = sheet("000_*.txt")
    named = re.findall(r"\b(Client|Call|AudioSystem)::([A-Z]\w+)", text)
    assert len(set(named)) > 20

    assert [f"{kind}::{name}" for kind, name in named if not hasattr(getattr(compat, kind), name)] == []
    fields = re.findall(r"^\| (\w+) \| (\w+)\(\) \| (Set\w+)\(", text, re.M)
    assert len(fields) == 7
    for _, getter, setter in fields:
        assert {getter, setter} <= set(dir(compat.AuthorizationArgs))


def test_every_record_that_the_specification_names_is_ours() -> None:
    table = sheet("000_*.txt").partition("### Other SDK records and options named")[2].partition("\nActivity types")[0]
    named = [row.strip("()") for row in re.findall(r"^\| (?:[\w ]+ \()?([A-Z]\w+\)?)(?: \([\w ]+\))? \|", table, re.M)]
    assert {"GuildChannel", "MessageHandle", "UserApplicationProfile", "Activity"} <= set(named)

    assert [name for name in named if name != "Name" and not hasattr(compat, name)] == []
    for kind in ("AuthorizationArgs", "AuthorizationCodeChallenge", "IntegrationType"):
        assert hasattr(compat, kind)
    assert hasattr(sdk, "UserApplicationProfile")


async def test_a_game_is_played_under_those_names(world: World) -> None:
    mary = await player(world, await game(world), "mary", connect=False)
    client = compat.Client(compat.ClientCreateOptions(web_base=world.url))
    statuses, heard, told = Heard(), Heard(), Heard()
    client.SetStatusChangedCallback(statuses)
    client.SetMessageCreatedCallback(heard)

    client.UpdateToken(compat.AuthorizationTokenType.Bearer, mary.tokens["access_token"], told)
    result = await told.next()
    assert (bool(result), result.Successful(), result.Type()) == (True, True, compat.ErrorType.None_)
    client.Connect()
    await statuses.next(lambda status, *_: status == compat.Client.Status.Ready)
    assert compat.Client.StatusToString(client.GetStatus()) == "Ready"
    client.CreateOrJoinLobby("secret", told)
    result, lobby_id = await told.next()
    client.SendLobbyMessage(lobby_id, "hello", told)
    result, message_id = await told.next()
    assert await heard.next() == message_id
    message = client.GetMessageHandle(message_id)
    assert (type(message), message.Content(), message.Author().Username()) == (compat.MessageHandle, "hello", "mary")
    assert message.Lobby().LobbyMemberIds() == [mary.id]
    client.LeaveLobby(5, told)
    result = await told.next()
    assert (result.Type(), result.ErrorCode(), result.Status()) == (compat.ErrorType.HTTPError, 10031, 404)
    await client.close()
    await mary.client.close()


def test_every_operation_in_the_tables_of_the_sheet_is_ours() -> None:
    text = sheet("sdk.md")
    told = set()
    for section in (
        "4. Client",
        "6. Auth",
        "9. Users",
        "10. Presence",
        "11. Messages",
        "12. Lobbies",
        "13. Voice",
        "14. Log",
    ):
        body = text.partition(f"\n## {section}")[2].partition("\n## ")[0]
        for cell in re.findall(r"^\| ([^|]+) \|", body, re.M):
            told |= set(re.findall(r"\b([A-Z][a-z]\w+)\(", cell))
    told -= {"Bearer", "Types", "Call", "RemoveGameFriend / "}
    assert len(told) > 120

    assert told - OURS == set()
