"""Type checkers reject misspelled names of SDK objects and of results of the pytest plugin in a user's program."""

import os
import re
import subprocess
import sys
from pathlib import Path

from tests.contract.tables import SOURCE

CORRECT_PROGRAM = """
from hubbub.protocol.resources.lobbies import CREATE_LOBBY, CreateLobby, Lobby
from hubbub.protocol.resources.messages import MESSAGE_CREATE
from hubbub.protocol.resources.users import GET_USER
from hubbub.sdk import Activity, ActivityParty, ApiError, AuthorizationTokenType, Client, ClientCreateOptions, ClientResult
from hubbub.sdk import LobbyHandle, SdkError, UserHandle
from hubbub.testing import Platform


async def play(token: str) -> str | None:
    async with Client(ClientCreateOptions(web_base="https://social.example")) as client:
        await client.update_token(AuthorizationTokenType.BEARER, token)
        client.connect()
        lobby_id: int = await client.create_or_join_lobby("secret")
        lobby: LobbyHandle | None = client.get_lobby_handle(lobby_id)
        user: UserHandle | None = client.get_user(5)
        username: str = (await client.call(GET_USER, user_id=5)).username
        activity = Activity(details="In the forest", party=ActivityParty(id="party", current_size=1))
        activity.state = username
        client.update_rich_presence(activity, lambda result: print(result.error))
        moved: Activity = activity.move()
        missing: Activity = Activity.nullobj
        return user.display_name if user and lobby and moved != missing else None


def report(result: ClientResult) -> str:
    return f"{result.type.label}: {result.error} ({result.status.label})"


def test_greeting(hubbub: Platform) -> None:
    alice, bob = hubbub.users["alice"], hubbub.users["bob"]
    content: str = alice.send_message("general", "hello").model.content
    author_id: int = bob.expect(MESSAGE_CREATE, content=content).model.author.id
    names: list[str] = [message.author.username for message in bob.read("general").models]
    now_ms: int = hubbub.clock.advance(minutes=5).model.now_ms
    raw = bob.expect("MESSAGE_CREATE")["content"]


async def create_lobby(client: Client) -> int:
    try:
        lobby: Lobby = await client.call(CREATE_LOBBY, body=CreateLobby(metadata={"map": "forest"}))
        return len(lobby.members)
    except ApiError as error:
        code: int = error.kind.code
        status: int = error.status
        return code + status
    except SdkError as error:
        wait_seconds: float = error.result.retry_after
        return round(wait_seconds) if error.result.retryable else error.result.error_code
"""

WRONG_PROGRAM = """
from hubbub.protocol.resources.lobbies import CREATE_LOBBY, CreateLobby
from hubbub.protocol.resources.users import GET_USER
from hubbub.sdk import Activity, ApiError, AuthorizationArgs, Client, ClientResult, SdkError, UserHandle

client = Client()
client.get_usr(5)
client.get_user("alice")
client.conect()
activity = Activity()
activity.detials = "x"
activity.details = 5
activity.party.id = "party"
Activity(detials="x")
AuthorizationArgs().scope = "openid"


def show(user: UserHandle, result: ClientResult) -> None:
    print(user.displayname, result.eror)
    user.nullobj.displayname


async def call() -> None:
    try:
        print((await client.call(GET_USER, user_id=5)).usrname)
        name: int = (await client.call(GET_USER, user_id=5)).username
        await client.call(CREATE_LOBBY, body=GET_USER)
        (await client.call(CREATE_LOBBY, body=CreateLobby())).membrs
    except ApiError as error:
        print(error.kind.kode, error.stats)
    except SdkError as error:
        print(error.reslt, error.result.retry_afer)


from hubbub.protocol.resources.messages import MESSAGE_CREATE
from hubbub.testing import Platform


def test_greeting(hubbub: Platform) -> None:
    alice = hubbub.users["alice"]
    alice.send_message("general", "hello").model.contnet
    alice.expect(MESSAGE_CREATE).model.auther
    hubbub.clock.advance(minutes=5).model.noww
    alice.delete("1").model.content
"""

EXPECTED_ERRORS = {
    (7, '"Client" has no attribute "get_usr"'),
    (8, 'Argument 1 has incompatible type "str"; expected "int"'),
    (9, '"Client" has no attribute "conect"'),
    (11, '"Activity" has no attribute "detials"'),
    (12, 'Incompatible types in assignment (expression has type "int", variable has type "str | None")'),
    (13, 'Item "None" of "ActivityParty | None" has no attribute "id"'),
    (14, 'Unexpected keyword argument "detials" for "Activity"'),
    (15, '"AuthorizationArgs" has no attribute "scope"'),
    (19, '"UserHandle" has no attribute "displayname"'),
    (19, '"ClientResult" has no attribute "eror"'),
    (20, '"UserHandle" has no attribute "displayname"'),
    (25, '"User" has no attribute "usrname"'),
    (26, 'Incompatible types in assignment (expression has type "str", variable has type "int")'),
    (27, 'Cannot infer value of type parameter "BodyT" of "call" of "Client"'),
    (28, '"Lobby" has no attribute "membrs"'),
    (30, '"ErrorCode" has no attribute "kode"'),
    (30, '"ApiError" has no attribute "stats"'),
    (32, '"SdkError" has no attribute "reslt"'),
    (32, '"ClientResult" has no attribute "retry_afer"'),
    (41, '"Message" has no attribute "contnet"'),
    (42, '"DispatchedMessage" has no attribute "auther"'),
    (43, '"ClockState" has no attribute "noww"'),
    (44, '"None" has no attribute "content"'),
}
"""Line, and a part of the message, of every error in WRONG_PROGRAM."""


def mypy_errors(folder: Path, **programs: str) -> dict[str, list[tuple[int, str]]]:
    """Check programs with `mypy --strict`, and return the line and message of each error by program."""
    for name, text in programs.items():
        (folder / f"{name}.py").write_text(text)
    process = subprocess.run(
        [
            *(sys.executable, "-m", "mypy", "--strict", "--config-file=", "--follow-imports=silent"),
            *("--no-error-summary", "--hide-error-codes", "--cache-dir", str(folder / "cache")),
            *(f"{name}.py" for name in programs),
        ],
        cwd=folder,
        env=os.environ | {"MYPYPATH": str(SOURCE.parent)},
        capture_output=True,
        text=True,
    )
    errors: dict[str, list[tuple[int, str]]] = {name: [] for name in programs}
    for name, line, message in re.findall(r"^(\w+)\.py:(\d+): error: (.*)$", process.stdout, re.MULTILINE):
        errors[name].append((int(line), message))
    assert process.returncode == any(errors.values()), process.stdout + process.stderr
    return errors


def test_mypy_rejects_misspelled_names_in_a_user_program(tmp_path: Path) -> None:
    errors = mypy_errors(tmp_path, correct=CORRECT_PROGRAM, wrong=WRONG_PROGRAM)

    assert errors["correct"] == []
    unexpected_lines = [
        (line, message)
        for line, message in errors["wrong"]
        if not any(line == expected_line and start in message for expected_line, start in EXPECTED_ERRORS)
    ]
    assert unexpected_lines == []
    assert {line for line, _ in errors["wrong"]} == {line for line, _ in EXPECTED_ERRORS}
