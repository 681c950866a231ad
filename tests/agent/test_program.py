"""The `hubbub agent` command: settings, login, stored tokens, the terminal and shutdown."""

import asyncio
import contextlib
import io
import json
import os
import pty
import signal
import stat
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from hubbub.agent import cli, login
from hubbub.agent.login import SettingError
from hubbub.agent.terminal import Terminal
from hubbub.protocol.rpc import CloseCode
from tests import oauth
from tests.machine import Program
from tests.time_bounds import time_bound
from tests.world import WAIT_TIMEOUT_SECONDS, World

pytestmark = pytest.mark.parametrize("store_config", ["sqlite"], indirect=True)

STOP_SECONDS_MAX = 8
"""Time that a stopped agent may take to end, in seconds; an agent that waits for retries or close handshakes takes longer."""
AGENT_COMMAND = (sys.executable, "-m", "hubbub.server.cli", "agent")


def agent_environment(directory: Path, **variables: str) -> dict[str, str]:
    inherited_variables = {key: value for key, value in os.environ.items() if not key.startswith("HUBBUB_")}
    return (
        inherited_variables
        | {"XDG_RUNTIME_DIR": str(directory), "XDG_CONFIG_HOME": str(directory / "config")}
        | variables
    )


async def start_agent(directory: Path, *arguments: str, **variables: str) -> asyncio.subprocess.Process:
    return await asyncio.create_subprocess_exec(
        *AGENT_COMMAND,
        *arguments,
        env=agent_environment(directory, **variables),
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )


def start_agent_in_terminal(directory: Path, *arguments: str, **variables: str) -> tuple[subprocess.Popen[bytes], int]:
    """Start the agent in a terminal. Return its process and the file descriptor of the other side of the terminal."""
    terminal, program_side = pty.openpty()
    process = subprocess.Popen(
        [*AGENT_COMMAND, *arguments],
        env=agent_environment(directory, **variables),
        stdin=program_side,
        stdout=program_side,
        stderr=program_side,
        start_new_session=True,
    )
    os.close(program_side)
    return process, terminal


async def read_until(terminal: int, text: bytes) -> None:
    output = b""
    async with asyncio.timeout(60):
        while text not in output:
            output += await asyncio.to_thread(os.read, terminal, 4096)


def read_rest(terminal: int) -> bytes:
    """Read the output of a program that has ended."""
    output = b""
    # Linux reports the end of the output of a terminal as an error.
    with contextlib.suppress(OSError):
        while chunk := os.read(terminal, 4096):
            output += chunk
    return output


async def read_line(process: asyncio.subprocess.Process) -> str:
    assert process.stdout is not None
    async with asyncio.timeout(60):
        return (await process.stdout.readline()).decode().strip()


async def wait_exit(process: asyncio.subprocess.Process) -> tuple[int | None, str]:
    async with asyncio.timeout(60):
        _, output = await process.communicate()
    return process.returncode, output.decode().strip()


async def test_the_program_serves_until_it_is_terminated(world: World, tmp_path: Path) -> None:
    mary, game = await world.user("mary"), await oauth.create_application(world, name="Puddle")
    token_file = tmp_path / "token"
    token_file.write_text(mary.token + "\n")
    token_file.chmod(0o600)

    process = await start_agent(tmp_path, "--url", world.url + "/", "--token-file", str(token_file))
    assert await read_line(process) == f"Signed in as mary at {world.url}"
    assert await read_line(process) == f"Listening at {tmp_path}/hubbub-ipc-0, {tmp_path}/discord-ipc-0"
    program = Program(*await asyncio.open_unix_connection(str(tmp_path / "discord-ipc-0")))
    await program.handshake(game.id)
    assert (await program.call("SET_ACTIVITY", {"activity": {"state": "here"}}))["name"] == "Puddle"
    process.send_signal(signal.SIGTERM)

    assert (await program.read())[1]["code"] == CloseCode.NORMAL
    assert await wait_exit(process) == (0, "")
    assert [path.name for path in tmp_path.iterdir() if "ipc" in path.name] == []
    program.close()


async def test_a_token_in_the_environment_and_a_socket_index_are_used(world: World, tmp_path: Path) -> None:
    mary = await world.user("mary")
    variables = {"HUBBUB_AGENT_URL": world.url, "HUBBUB_AGENT_TOKEN": mary.token, "HUBBUB_AGENT_IPC_INDEX": "4"}

    process = await start_agent(tmp_path, "--consent", "never", "--status", "invisible", **variables)

    await read_line(process)
    assert (await read_line(process)).endswith("discord-ipc-4")
    process.send_signal(signal.SIGINT)
    assert (await wait_exit(process))[0] == 0


@pytest.mark.parametrize("signal_number", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize("is_silent", [False, True], ids=["refused", "silent"])
async def test_a_signal_stops_the_program_while_its_platform_is_unreachable(
    tmp_path: Path, store_config: object, signal_number: signal.Signals, is_silent: bool
) -> None:
    attempt_event = asyncio.Event()

    async def accept(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        attempt_event.set()
        if not is_silent:
            writer.close()

    platform = await asyncio.start_server(accept, "127.0.0.1", 0)
    port = platform.sockets[0].getsockname()[1]
    process = await start_agent(tmp_path, "--url", f"http://127.0.0.1:{port}", HUBBUB_AGENT_TOKEN="token")
    async with asyncio.timeout(60):
        await attempt_event.wait()

    process.send_signal(signal_number)

    async with time_bound(STOP_SECONDS_MAX):
        code, output = await wait_exit(process)
    assert code == 0
    assert "Traceback" not in output
    assert [path.name for path in tmp_path.iterdir() if "ipc" in path.name] == []
    platform.close()


@pytest.mark.parametrize("signal_number", [signal.SIGINT, signal.SIGTERM])
async def test_a_signal_stops_the_program_at_the_login_prompt(
    tmp_path: Path, store_config: object, signal_number: signal.Signals
) -> None:
    process, terminal = start_agent_in_terminal(tmp_path, "--url", "http://127.0.0.1:1")
    await read_until(terminal, b"Username or email: ")

    async with time_bound(STOP_SECONDS_MAX):
        while process.poll() is None:
            # The signal is repeated, because the program may show the prompt a moment before it starts to read.
            process.send_signal(signal_number)
            await asyncio.sleep(0.1)

    assert process.returncode == 130
    assert b"Traceback" not in read_rest(terminal)
    os.close(terminal)


@pytest.mark.parametrize("signal_number", [signal.SIGINT, signal.SIGTERM])
async def test_a_signal_stops_the_program_in_a_terminal(
    world: World, tmp_path: Path, signal_number: signal.Signals
) -> None:
    mary = await world.user("mary")
    process, terminal = start_agent_in_terminal(tmp_path, "--url", world.url, HUBBUB_AGENT_TOKEN=mary.token)
    await read_until(terminal, b"Listening at")

    process.send_signal(signal_number)

    async with time_bound(STOP_SECONDS_MAX):
        assert await asyncio.to_thread(process.wait, WAIT_TIMEOUT_SECONDS) == 0
    assert b"Error" not in read_rest(terminal)
    os.close(terminal)


async def test_a_signal_stops_the_program_although_a_web_page_does_not_respond(world: World, tmp_path: Path) -> None:
    mary, game = await world.user("mary"), await oauth.create_application(world, name="Puddle")
    process = await start_agent(tmp_path, "--url", world.url, "--websocket", HUBBUB_AGENT_TOKEN=mary.token)
    await read_line(process)
    await read_line(process)
    port = int((await read_line(process)).rpartition(":")[2])
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(
        f"GET /?v=1&client_id={game.id} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
        "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n".encode()
    )
    async with asyncio.timeout(60):
        await reader.readuntil(b"READY")

    process.send_signal(signal.SIGTERM)

    async with time_bound(STOP_SECONDS_MAX):
        assert (await wait_exit(process))[0] == 0
    writer.close()


async def test_a_rejected_token_ends_the_program(world: World, tmp_path: Path) -> None:
    process = await start_agent(tmp_path, "--url", world.url, HUBBUB_AGENT_TOKEN="invented")

    code, output = await wait_exit(process)

    assert code == 1
    assert output.splitlines()[-1].startswith(f"hubbub: {world.url} rejected the token: it is invalid or was revoked.")


async def test_an_unreachable_server_is_reported_with_the_next_step(tmp_path: Path, store_config: object) -> None:
    process = await start_agent(tmp_path, "--url", "http://127.0.0.1:1", HUBBUB_AGENT_TOKEN="invented")
    assert process.stderr is not None
    async with asyncio.timeout(60):
        output = await process.stderr.readuntil(b"Check the URL and that the server is running")

    assert b"Cannot reach http://127.0.0.1:1" in output
    process.send_signal(signal.SIGTERM)
    async with asyncio.timeout(STOP_SECONDS_MAX):
        assert (await wait_exit(process))[0] == 0


@pytest.mark.parametrize(
    ("arguments", "variables", "output"),
    [
        ((), {}, "token: set --token-file or HUBBUB_AGENT_TOKEN, or run the command in a terminal to sign in"),
        (("--url", "platform"), {}, "url: platform is not an http or https URL"),
        (("--ipc-index", "10"), {}, "ipc_index: 10 is not a number from 0 to 9"),
        (("--token-file", "/nowhere/token"), {}, "token_file: cannot read /nowhere/token"),
        ((), {"HUBBUB_AGENT_TOKEN": "two words"}, "HUBBUB_AGENT_TOKEN: must contain exactly one token"),
        ((), {"HUBBUB_AGENT_IPC_INDEX": "one"}, "ipc_index: one is not a number"),
    ],
)
def test_an_invalid_setting_is_named_in_the_error(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    store_config: object,
    arguments: tuple[str, ...],
    variables: dict[str, str],
    output: str,
) -> None:
    monkeypatch.setattr(sys, "stdin", io.StringIO())

    assert cli.main(arguments, {"XDG_CONFIG_HOME": str(tmp_path)} | variables) == 2

    assert capsys.readouterr().err.startswith(f"hubbub: {output}")


def test_a_token_file_readable_by_others_is_rejected(tmp_path: Path, store_config: object) -> None:
    path = tmp_path / "token"
    path.write_text("secret")
    path.chmod(0o644)

    with pytest.raises(SettingError, match=r"token_file: .* can be read by other users"):
        login.read_provided_token(str(path), {})
    path.chmod(0o600)
    assert login.read_provided_token(str(path), {}) == "secret"
    path.write_text("two words")
    with pytest.raises(SettingError, match="must contain exactly one token"):
        login.read_provided_token(str(path), {})


def test_tokens_are_stored_per_platform_with_private_permissions(tmp_path: Path, store_config: object) -> None:
    path = login.token_store_path({"XDG_CONFIG_HOME": str(tmp_path)})
    assert path == tmp_path / "hubbub" / "agent.json"
    assert login.load_token("http://one", path) is None

    login.store_token("http://one", "a", path)
    login.store_token("http://two", "b", path)

    assert (login.load_token("http://one", path), login.load_token("http://two", path)) == ("a", "b")
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    login.store_token("http://one", None, path)
    assert json.loads(path.read_text()) == {"http://two": "b"}
    assert cli.main(["--sign-out", "--url", "http://two"], {"XDG_CONFIG_HOME": str(tmp_path)}) == 0
    assert json.loads(path.read_text()) == {}
    path.write_text("no json")
    with pytest.raises(SettingError, match="cannot read"):
        login.load_token("http://one", path)


async def test_a_username_and_password_get_a_token(world: World) -> None:
    account = {"username": "mary", "password": "correct horse"}
    (await world.request("POST", "/auth/register", json=account)).ok()

    def ask_wrong_password(_: str) -> str:
        return "battery staple"

    token = await login.sign_in(world.url, lambda _: "mary", lambda _: "correct horse")
    response = await world.request("GET", "/users/@me", headers={"Authorization": token})
    assert response.ok()["username"] == "mary"
    with pytest.raises(SettingError, match="login: the platform rejected the login"):
        await login.sign_in(world.url, lambda _: "mary", ask_wrong_password)
    with pytest.raises(SettingError, match="url: cannot reach"):
        await login.sign_in("http://127.0.0.1:1", lambda _: "mary", ask_wrong_password)


async def test_a_terminal_line_goes_to_the_pending_question(store_config: object) -> None:
    read_end, write_end = os.pipe()
    output: list[str] = []
    with os.fdopen(read_end) as source, os.fdopen(write_end, "w", buffering=1) as keyboard:
        terminal = Terminal(source, output.append)
        terminal.start()
        question = asyncio.create_task(terminal.ask("Allow? "))
        await asyncio.sleep(0)
        keyboard.write("yes\n")
        assert await question == "yes"
        server = asyncio.create_task(terminal.serve(None))  # type: ignore[arg-type]  # only "quit" is sent
        keyboard.write("quit\n")
        async with asyncio.timeout(10):
            await server
    assert output == ["Allow? "]


async def test_a_question_after_the_end_of_the_input_fails(store_config: object) -> None:
    terminal = Terminal(io.StringIO(""), lambda _: None)
    terminal.start()
    assert await terminal._lines.get() is None
    with pytest.raises(EOFError):
        await terminal.ask("Allow? ")


def test_the_agent_imports_no_server_module(store_config: object) -> None:
    script = (
        "import sys, hubbub.agent.cli; "
        "print([name for name in sys.modules if name.startswith('hubbub.server') or name.partition('.')[0] in "
        "{'psycopg', 'argon2', 'cryptography', 'jinja2', 'joserfc', 'nats', 'obstore', 'PIL', 'uvloop', 'prometheus_client'}])"
    )
    process = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert process.stdout.strip() == "[]"
    help_process: Any = subprocess.run([*AGENT_COMMAND, "--help"], capture_output=True, text=True, check=True)
    assert "--token-file" in help_process.stdout
