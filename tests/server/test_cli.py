"""The commands `hubbub dev`, `serve`, `admin` and `backup`, in separate processes where a test needs one."""

import argparse
import asyncio
import contextlib
import getpass
import io
import json
import os
import re
import signal
import socket
import ssl
import stat
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import aiohttp
import psycopg
import pytest

from hubbub.protocol.control.ready import ReadyDocument, WorldApplication, WorldBot, WorldUser
from hubbub.protocol.enums import GatewayOpcode
from hubbub.protocol.voice import VoiceOpcode
from hubbub.server import cli
from hubbub.server.commands.serve import startup_summary
from hubbub.server.core import config as settings
from hubbub.server.core.files import Files
from tools import settings_reference

TIMEOUT_SECONDS = 60.0


def iterate_parsers(parser: argparse.ArgumentParser) -> Iterator[argparse.ArgumentParser]:
    """Yield the parsers of all commands below a parser that print a help text of their own."""
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for name, subparser in action.choices.items():
                # `hubbub agent` has its own parser.
                if name != "agent":
                    yield subparser
                    yield from iterate_parsers(subparser)


def test_every_command_and_argument_has_a_help_text() -> None:
    parsers = list(iterate_parsers(cli.build_parser()))

    assert len(parsers) > 60
    assert [parser.prog for parser in parsers if not (parser.description or "").endswith(".")] == []
    assert [
        f"{parser.prog} {action.dest}"
        for parser in parsers
        for action in parser._actions
        if not action.help and not isinstance(action, argparse._SubParsersAction)
    ] == []


def start_process(*arguments: str, **environ: str) -> "subprocess.Popen[bytes]":
    """Start a `hubbub` process with these environment variables; it inherits no HUBBUB_ variables."""
    inherited_environment = {name: value for name, value in os.environ.items() if not name.startswith("HUBBUB_")}
    return subprocess.Popen(
        [sys.executable, "-m", "hubbub.server.cli", *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=inherited_environment | environ,
    )


@contextlib.contextmanager
def running_server(
    tmp_path: Path, *arguments: str, **environ: str
) -> Iterator[tuple["subprocess.Popen[bytes]", dict[str, Any]]]:
    """Run a server process; yield it with the content of its ready file."""
    ready_file = tmp_path / f"ready-{len(list(tmp_path.iterdir()))}.json"
    process = start_process(*arguments, "--port", "0", "--ready-file", str(ready_file), **environ)
    try:
        yield process, asyncio.run(wait_for_ready_file(ready_file, process))
    finally:
        if process.poll() is None:
            process.kill()
        process.communicate()


async def wait_for_ready_file(path: Path, process: "subprocess.Popen[bytes]") -> dict[str, Any]:
    """Wait for the ready file and return its content."""
    async with asyncio.timeout(TIMEOUT_SECONDS):
        while not path.exists():
            if process.poll() is not None:
                raise AssertionError(process.communicate()[1].decode())
            await asyncio.sleep(0.01)
    document: dict[str, Any] = json.loads(path.read_text())
    return document


def send_request(method: str, url: str, token: str = "", **options: Any) -> tuple[int, Any]:
    """Send a request and return its status and JSON body."""

    async def send() -> tuple[int, Any]:
        headers = {"Authorization": token} if token else {}
        async with (
            aiohttp.ClientSession() as client,
            client.request(method, url, headers=headers, **options) as response,
        ):
            return response.status, await response.json(content_type=None)

    return asyncio.run(send())


def stop_process(process: "subprocess.Popen[bytes]") -> int:
    """Stop the process with SIGTERM and return its exit code."""
    process.send_signal(signal.SIGTERM)
    return process.wait(TIMEOUT_SECONDS)


def test_dev_prints_a_report_at_the_end(tmp_path: Path) -> None:
    with running_server(tmp_path, "dev", "--report", "--now", "2026-02-20T00:00:00Z") as (process, ready):
        channel = ready["guilds"]["Town Square"]["channels"]["general"]
        token = f"Bot {ready['applications']['demo-bot']['bot']['token']}"
        assert send_request("GET", f"{ready['api']}/channels/{channel}/pins", token)[0] == 200
        message = {"content": "Hello"}
        assert send_request("POST", f"{ready['api']}/channels/{channel}/messages", token, json=message)[0] == 200
        process.send_signal(signal.SIGTERM)
        output = process.communicate(timeout=TIMEOUT_SECONDS)[0].decode()
    assert "Report of the rehearsal:" in output
    assert "deprecated_route: demo-bot: GET /channels/{channel_id}/pins is deprecated; use `list_pins`." in output
    assert "dated_change: demo-bot: From 2026-02-23: " in output


def test_dev_stops_when_its_standard_input_ends(tmp_path: Path) -> None:
    ready_file = tmp_path / "ready.json"
    process = subprocess.Popen(
        [sys.executable, "-m", "hubbub.server.cli", "dev", "--stop-with-stdin", "--ready-file", str(ready_file)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=os.environ | {"HUBBUB_PORT": "0"},
    )
    try:
        asyncio.run(wait_for_ready_file(ready_file, process))
        assert process.stdin is not None
        process.stdin.close()
        assert process.wait(TIMEOUT_SECONDS) == 0
    finally:
        process.kill()
        for stream in (process.stdout, process.stderr):
            assert stream is not None
            stream.close()


def test_dev_loads_pages_when_a_browser_requests_one(tmp_path: Path) -> None:
    ready_file = tmp_path / "ready.json"
    program = (
        "import sys; from hubbub.server import cli; code = cli.main(sys.argv[1:]);"
        "print('jinja2' in sys.modules, 'hubbub.server.transports.web.server' in sys.modules, code)"
    )
    for path, is_loaded in (("/api/v10/gateway", False), ("/login", True), ("/no/such/page", True)):
        ready_file.unlink(missing_ok=True)
        process = subprocess.Popen(
            [sys.executable, "-c", program, "dev", "--port", "0", "--ready-file", str(ready_file)],
            stdout=subprocess.PIPE,
        )
        try:
            ready = asyncio.run(wait_for_ready_file(ready_file, process))
            asyncio.run(request_page(f"{ready['web']}{path}", 404 if path == "/no/such/page" else 200))
            process.send_signal(signal.SIGTERM)
            output = process.communicate(timeout=TIMEOUT_SECONDS)[0].decode()
        finally:
            process.kill()
            process.communicate()
        assert output.splitlines()[-1] == f"{is_loaded} {is_loaded} 0"


async def request_page(url: str, status: int) -> None:
    """Request a page as a browser does, and assert the status of the response."""
    async with aiohttp.ClientSession() as client, client.get(url, headers={"Accept": "text/html"}) as response:
        assert response.status == status


def test_dev_serves_the_demo_world_and_drains_on_sigterm(tmp_path: Path) -> None:
    with running_server(tmp_path, "dev") as (process, ready):
        assert set(ready) == {
            "api",
            "gateway",
            "web",
            "cdn",
            "control",
            "control_token",
            "users",
            "applications",
            "guilds",
            "lobbies",
            "voice",
        }
        assert asyncio.run(read_voice_hello_opcode(ready["voice"])) == VoiceOpcode.HELLO
        assert set(ready["users"]["alice"]) == {"id", "token", "password"}
        assert set(ready["applications"]["demo-bot"]) == {"id", "client_secret", "public_key", "bot"}
        assert set(ready["guilds"]["Town Square"]) == {"id", "channels", "roles"}
        alice = ready["users"]["alice"]
        assert send_request("GET", f"{ready['api']}/users/@me", alice["token"])[1]["id"] == alice["id"]
        login = {"login": "alice", "password": alice["password"]}
        assert send_request("POST", f"{ready['api']}/auth/login", json=login)[1]["user_id"] == alice["id"]
        control_authorization = f"Bearer {ready['control_token']}"
        assert send_request("GET", f"{ready['control']}/clock", control_authorization)[0] == 200

        opcodes = asyncio.run(read_opcodes_until_reconnect(ready, process))

        assert opcodes[-1] == GatewayOpcode.RECONNECT
        assert process.wait(TIMEOUT_SECONDS) == 0


async def read_voice_hello_opcode(voice: dict[str, Any]) -> int:
    """Return the opcode of the voice gateway's first frame; its certificate is signed by the server's own CA."""
    ssl_context = ssl.create_default_context(cafile=voice["authority"])
    async with aiohttp.ClientSession() as client:
        async with client.ws_connect(f"wss://{voice['endpoint']}/?v=8", ssl=ssl_context) as socket:
            opcode: int = (await socket.receive_json(timeout=TIMEOUT_SECONDS))["op"]
            return opcode


async def read_opcodes_until_reconnect(ready: dict[str, Any], process: "subprocess.Popen[bytes]") -> list[int]:
    """Identify, stop the server after the first guild, and return all opcodes received up to Reconnect."""
    opcodes = []
    async with aiohttp.ClientSession() as client, client.ws_connect(f"{ready['gateway']}?v=10&encoding=json") as socket:
        token = ready["applications"]["demo-bot"]["bot"]["token"]
        await socket.send_json({"op": GatewayOpcode.IDENTIFY, "d": {"token": token, "intents": 1, "properties": {}}})
        async for message in socket:
            frame = json.loads(message.data)
            opcodes.append(frame["op"])
            if frame["t"] == "GUILD_CREATE":
                process.send_signal(signal.SIGTERM)
            if frame["op"] == GatewayOpcode.RECONNECT:
                break
    return opcodes


def test_dev_with_a_data_folder_keeps_its_world_and_messages(tmp_path: Path) -> None:
    arguments = ("dev", "--data", str(tmp_path / "data"), "--seed", "5", "--now", "2026-12-01T00:00:00Z")
    with running_server(tmp_path, *arguments) as (process, first_ready):
        token = first_ready["users"]["bob"]["token"]
        messages_path = f"/channels/{first_ready['guilds']['Town Square']['channels']['general']}/messages"
        status, message = send_request(
            "POST", first_ready["api"] + messages_path, token, json={"content": "still here"}
        )
        assert status == 200
        assert message["timestamp"].startswith("2026-12-01T00:00:")
        assert stop_process(process) == 0
    with running_server(tmp_path, *arguments) as (process, second_ready):
        for key in ("users", "applications", "guilds"):
            assert second_ready[key] == first_ready[key]
        assert [entry["content"] for entry in send_request("GET", second_ready["api"] + messages_path, token)[1]] == [
            "still here"
        ]
        assert stop_process(process) == 0


def test_serve_has_no_world_and_no_control_api_and_locks_its_data_folder(tmp_path: Path) -> None:
    with running_server(tmp_path, "serve", "--data", str(tmp_path / "data")) as (process, ready):
        assert (ready["control"], ready["control_token"], ready["users"], ready["guilds"]) == (None, None, {}, {})
        assert send_request("GET", f"{ready['web']}/control/clock")[0] == 404
        body = {"username": "ann", "password": "long enough"}
        status, session = send_request("POST", f"{ready['api']}/auth/register", json=body)
        assert status == 201

        second_process = start_process("serve", "--data", str(tmp_path / "data"), "--port", "0")
        assert b"another process" in second_process.communicate(timeout=TIMEOUT_SECONDS)[1]
        assert second_process.returncode == 1

        assert stop_process(process) == 0
    assert session["token"]
    assert (tmp_path / "data" / "hubbub.sqlite3").exists()


def test_serve_warns_if_no_process_runs_a_role(tmp_path: Path) -> None:
    with running_server(tmp_path, "serve", "--roles", "api,voice", "--data", str(tmp_path / "data")) as (process, _):
        assert stop_process(process) == 0
        log_text = process.communicate()[1].decode()
    assert "no process runs the roles gateway,worker: this process runs only api,voice, and has no bus" in log_text
    assert "remove --roles for one process, or set --database-url and --nats-url for several" in log_text


def test_a_second_signal_stops_the_server_immediately(tmp_path: Path) -> None:
    with running_server(tmp_path, "dev") as (process, ready):

        async def send_repeated_signals() -> None:
            async with aiohttp.ClientSession() as client, client.ws_connect(ready["gateway"]) as socket:
                await socket.receive()
                process.send_signal(signal.SIGTERM)
                while (await socket.receive_json())["op"] != GatewayOpcode.RECONNECT:
                    pass
                # A signal that follows immediately counts as the same one, so repeat it.
                while process.poll() is None:
                    process.send_signal(signal.SIGTERM)
                    await asyncio.sleep(0.05)

        asyncio.run(send_repeated_signals())
        assert process.returncode == 128 + signal.SIGTERM


def test_a_closed_pipe_ends_a_command_without_a_traceback(data_folder: Path) -> None:
    subprocess.run([sys.executable, "-m", "hubbub", "admin", "create-user", "mary"], check=True, capture_output=True)
    reader, writer = os.pipe()
    os.close(reader)
    with os.fdopen(writer, "wb") as output:
        process = subprocess.run(
            [sys.executable, "-u", "-m", "hubbub", "admin", "list-users"],
            stdout=output,
            stderr=subprocess.PIPE,
            timeout=TIMEOUT_SECONDS,
        )
    assert (process.returncode, process.stderr) == (141, b"")


def test_an_unreachable_bus_is_reported_in_one_line_with_the_next_step(postgres_database: str) -> None:
    with socket.socket() as unused_socket:
        unused_socket.bind(("127.0.0.1", 0))
        url = f"nats://127.0.0.1:{unused_socket.getsockname()[1]}"
        process = start_process("serve", "--port", "0", "--database-url", postgres_database, "--nats-url", url)
        error = process.communicate(timeout=TIMEOUT_SECONDS)[1].decode()
    assert process.returncode == 1
    last_line = error.splitlines()[-1]
    assert re.fullmatch(
        rf"hubbub: cannot reach NATS at {url}: .*refused.*; start NATS, or correct --nats-url", last_line
    )
    assert "NATS" not in "".join(error.splitlines()[:-1])
    with psycopg.connect(postgres_database) as connection:
        assert connection.execute("SELECT holder FROM process_leases").fetchall() == []


def test_a_port_in_use_is_reported_in_one_line(tmp_path: Path) -> None:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen()
        process = start_process("dev", "--port", str(listener.getsockname()[1]))
        error = process.communicate(timeout=TIMEOUT_SECONDS)[1].decode()
    assert process.returncode == 1
    assert re.search(r"hubbub: cannot listen on 127\.0\.0\.1:\d+: .*in use; choose another port", error)
    assert "Traceback" not in error


@pytest.mark.parametrize(
    ("host", "hint"),
    [
        ("203.0.113.1", "set --host to an address of this machine"),
        ("nowhere.invalid", "set --host to an address of this"),
    ],
)
def test_an_address_of_another_machine_is_reported_with_the_next_step(host: str, hint: str) -> None:
    process = start_process("dev", "--host", host, "--port", "0")
    error = process.communicate(timeout=TIMEOUT_SECONDS)[1].decode()
    assert process.returncode == 1
    assert re.search(rf"hubbub: cannot listen on {re.escape(host)}:0: .*; {hint}", error)
    assert "Traceback" not in error


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["serve", "--data", "taken"], "cannot use the data folder taken: File exists"),
        (["serve", "--files-url", "taken/files"], "cannot store files at taken/files: "),
        (["dev", "--ready-file", "."], "cannot write the ready file .: "),
        (["dev", "--ready-file", "taken/ready.json"], "cannot write the ready file taken/ready.json: "),
    ],
)
def test_an_unwritable_path_is_reported_in_one_line(
    data_folder: Path, tmp_path: Path, arguments: list[str], message: str
) -> None:
    (tmp_path / "taken").write_text("")
    process = start_process(*arguments, "--port", "0")
    error = process.communicate(timeout=TIMEOUT_SECONDS)[1].decode()
    assert process.returncode == 1
    assert f"hubbub: {message}" in error
    assert "Traceback" not in error


def test_a_stored_world_on_a_public_host_requires_a_seed(data_folder: Path) -> None:
    process = start_process("dev", "--host", "0.0.0.0", "--port", "0", "--data", str(data_folder))
    error = process.communicate(timeout=TIMEOUT_SECONDS)[1].decode()
    assert process.returncode == 2
    assert "seed (hubbub dev): 0.0.0.0 is reachable from other machines and the world is stored; set --seed" in error
    assert not data_folder.exists()


@pytest.mark.skipif(os.name != "posix", reason="requires Linux or another POSIX system: modes of files")
def test_stored_files_are_readable_only_by_their_owner(data_folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["admin", "create-user", "ann", "--data", str(data_folder)]) == 0
    assert stat.S_IMODE(data_folder.stat().st_mode) == 0o700
    assert stat.S_IMODE((data_folder / "hubbub.sqlite3").stat().st_mode) == 0o600


@pytest.mark.skipif(os.name != "posix", reason="requires Linux or another POSIX system: modes of files")
def test_other_users_cannot_read_data_or_backups_in_an_open_folder(
    data_folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (data_folder / "files").mkdir(parents=True)
    for folder in (data_folder, data_folder / "files"):
        folder.chmod(0o755)
    assert cli.main(["admin", "create-user", "ann", "--data", str(data_folder)]) == 0
    # The group keeps its access to an existing folder.
    assert stat.S_IMODE((data_folder / "files").stat().st_mode) == 0o750
    assert stat.S_IMODE((data_folder / "hubbub.sqlite3").stat().st_mode) == 0o600
    backup = tmp_path / "backup"
    assert cli.main(["backup", str(backup), "--data", str(data_folder)]) == 0
    assert stat.S_IMODE((backup / "hubbub.sqlite3").stat().st_mode) == 0o600
    for folder in (backup, backup / "files"):
        assert stat.S_IMODE(folder.stat().st_mode) == 0o700


def test_a_new_file_folder_is_readable_only_by_its_owner(tmp_path: Path) -> None:
    Files(str(tmp_path / "files"))
    assert os.name != "posix" or stat.S_IMODE((tmp_path / "files").stat().st_mode) == 0o700


def test_a_missing_or_new_data_folder_is_reported(data_folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["admin", "reset-bot-token", "1", "--data", str(data_folder)]) == 1
    assert f"{data_folder / 'hubbub.sqlite3'} does not exist; set --data to the data folder" in capsys.readouterr().err
    assert not data_folder.exists()
    assert cli.main(["admin", "create-user", "ann", "--data", str(data_folder)]) == 0
    assert f"created {data_folder / 'hubbub.sqlite3'}" in capsys.readouterr().err
    assert cli.main(["admin", "create-user", "ben", "--data", str(data_folder)]) == 0
    assert "created" not in capsys.readouterr().err


def test_every_setting_of_serve_is_documented() -> None:
    page = (Path(__file__).parents[2] / "docs" / "operating.md").read_text()
    for key in settings.KEYS:
        if key not in cli.REHEARSAL_SETTINGS:
            assert f"`{key}`" in page, key


def test_the_reference_of_settings_is_current() -> None:
    page = settings_reference.PAGE.read_text(encoding="utf-8")

    assert page == settings_reference.generate_page(), "run `make generate`"
    for key in settings.KEYS:
        assert f"| `{key}`<br>" in page, key
        assert f"| `HUBBUB_{key.upper().replace('.', '_')}` |" in page, key


@pytest.fixture
def data_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The path of a data folder that does not exist yet, in an environment without settings."""
    for name in [name for name in os.environ if name.startswith("HUBBUB_")]:
        monkeypatch.delenv(name)
    monkeypatch.chdir(tmp_path)
    return tmp_path / "data"


@pytest.mark.parametrize(
    ("arguments", "environ", "message"),
    [
        (["serve", "--port", "many"], {}, "port (flag --port): 'many' is not allowed; allowed: a whole number from 0"),
        (["dev", "--rate-limits", "some"], {}, "rate_limits (flag --rate-limits)"),
        (["dev"], {"HUBBUB_PROT": "1"}, "did you mean HUBBUB_PORT?"),
        (["serve"], {"HUBBUB_CONTROL": "true"}, "control (hubbub serve): is only available in rehearsals"),
        (["serve"], {"HUBBUB_SEED": "1"}, "seed (hubbub serve): is only available in rehearsals"),
        (["serve", "--config", "nowhere.toml"], {}, "nowhere.toml): cannot be read"),
        (["dev", "--world", "nowhere.toml"], {}, "world nowhere.toml: cannot read nowhere.toml"),
    ],
)
def test_an_invalid_setting_is_reported_with_its_name(
    data_folder: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    arguments: list[str],
    environ: dict[str, str],
    message: str,
) -> None:
    for name, value in environ.items():
        monkeypatch.setenv(name, value)
    if arguments[0] == "dev" and "--world" in arguments:
        process = start_process(*arguments)
        error, code = process.communicate(timeout=TIMEOUT_SECONDS)[1].decode(), process.returncode
    else:
        code = cli.main(arguments)
        error = capsys.readouterr().err
    assert code == 2
    assert message in error


@pytest.mark.parametrize("arguments", [["serve", "--seed", "1"], ["agent", "--moon"], ["admin"]])
def test_an_unknown_command_or_flag_is_rejected(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as caught_exit:
        cli.main(arguments)
    assert caught_exit.value.code == 2
    assert "usage: hubbub" in capsys.readouterr().err


# Misspelled commands and options


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("dve", "unknown value 'dve'; did you mean 'dev'?"),
        ("admin creat-user ann", "unknown value 'creat-user'; did you mean 'create-user'?"),
        ("dev --prot 9000", "unknown option --prot; did you mean --port?"),
        ("dev --prt=9000", "unknown option --prt; did you mean --port?"),
        ("dev --xyzzy", "unrecognized arguments: --xyzzy"),
        ("frobnicate", "unknown value 'frobnicate'; hubbub --help lists the values"),
        ("admin frobnicate", "unknown value 'frobnicate'; hubbub admin --help lists the values"),
        ("--data x serve", "write --data after the name of the command: hubbub NAME --data x"),
        ("admin --data x list-users", "write --data after the name of the command: hubbub admin NAME --data x"),
        ("admin", "name an ACTION; hubbub admin --help lists them"),
        ("world", "name an ACTION; hubbub world --help lists them"),
    ],
)
def test_a_misspelled_command_or_option_is_rejected_with_a_suggestion(
    capsys: pytest.CaptureFixture[str], arguments: str, message: str
) -> None:
    with pytest.raises(SystemExit) as exit_info:
        cli.main(arguments.split())
    assert exit_info.value.code == 2
    assert capsys.readouterr().err.splitlines()[-1].endswith(message)


def test_the_help_of_serve_shows_the_defaults_of_serve(capsys: pytest.CaptureFixture[str]) -> None:
    for command, defaults in (("serve", cli.SERVE_DEFAULTS), ("doctor", cli.SERVE_DEFAULTS), ("dev", cli.DEV_DEFAULTS)):
        with pytest.raises(SystemExit):
            cli.main([command, "--help"])
        help_text = re.sub(r"\s+", " ", capsys.readouterr().out)
        shown_count = 0
        for key, value in defaults.items():
            flag = "--" + re.sub("[._]", "-", key) + " ..."
            if isinstance(value, bool | int) and flag in help_text:
                shown_count += 1
                assert re.search(rf"{re.escape(flag)} [^(]*\(default: {str(value).lower()}\)", help_text), (
                    command,
                    key,
                )
        assert shown_count > 0


def test_the_program_without_a_command_prints_its_help(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main([]) == 2
    assert "run a server with durable data" in capsys.readouterr().err


# Administration


def read_printed_values(capsys: pytest.CaptureFixture[str]) -> dict[str, str]:
    """Return the `name: value` lines of the output."""
    return dict(line.split(": ", 1) for line in capsys.readouterr().out.splitlines() if ": " in line)


class TerminalInput(io.StringIO):
    """Standard input of a terminal."""

    def isatty(self) -> bool:
        return True


def test_create_user_prompts_for_a_password_on_a_terminal(
    data_folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    data_flags, passwords = ["--data", str(data_folder)], iter(["short", "long enough", ""])
    monkeypatch.setattr(sys, "stdin", TerminalInput())
    monkeypatch.setattr(getpass, "getpass", lambda prompt: next(passwords))
    assert cli.main(["admin", "create-user", "ann", *data_flags]) == 1
    assert "8 to 128 characters" in capsys.readouterr().err
    assert cli.main(["admin", "create-user", "ann", *data_flags]) == 0
    assert "has no password" not in capsys.readouterr().err
    assert cli.main(["admin", "create-user", "ben", *data_flags]) == 0
    assert "ben has no password" in capsys.readouterr().err


def test_create_user_names_the_command_that_sets_a_missing_password(
    data_folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.main(["admin", "create-user", "ann", "--data", str(data_folder)]) == 0
    captured = capsys.readouterr()
    assert "hubbub admin set-password ann" in captured.err
    assert "password" not in captured.out


def test_admin_commands_manage_users_bots_and_permissions(
    data_folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    data_flags = ["--data", str(data_folder)]
    monkeypatch.setattr(sys, "stdin", (tmp_path / "password").open("w+"))
    sys.stdin.write("long enough\nlonger still\nshort\n")
    sys.stdin.seek(0)
    assert cli.main(["admin", "create-user", "ann", "--password-stdin", *data_flags]) == 0
    ann = read_printed_values(capsys)
    assert cli.main(["admin", "create-user", "ann", *data_flags]) == 1
    assert "Username is unavailable." in capsys.readouterr().err
    assert cli.main(["admin", "set-password", "ann", *data_flags]) == 0
    assert cli.main(["admin", "set-password", "ann", *data_flags]) == 1
    assert "8 to 128 characters" in capsys.readouterr().err
    assert (
        cli.main(
            ["admin", "create-application", "helper", "--owner", "ann", "--intent", "MESSAGE_CONTENT", *data_flags]
        )
        == 0
    )
    helper = read_printed_values(capsys)
    assert cli.main(["admin", "create-application", "helper", "--owner", "ben", *data_flags]) == 1
    assert "there is no user named ben" in capsys.readouterr().err
    assert cli.main(["admin", "create-application", "x", "--owner", "ann", "--intent", "ALL", *data_flags]) == 1
    assert "is not a privileged intent" in capsys.readouterr().err
    assert cli.main(["admin", "reset-bot-token", helper["id"], *data_flags]) == 0
    new_bot_token = read_printed_values(capsys)["bot token"]
    assert new_bot_token != helper["bot token"]
    assert cli.main(["admin", "add-bot", helper["id"], "1", *data_flags]) == 1
    assert "there is no guild 1" in capsys.readouterr().err

    with running_server(tmp_path, "serve", *data_flags) as (process, ready):
        assert send_request("GET", f"{ready['api']}/users/@me", ann["token"])[0] == 401
        assert send_request("GET", f"{ready['api']}/users/@me", f"Bot {helper['bot token']}")[0] == 401
        assert send_request("GET", f"{ready['api']}/users/@me", f"Bot {new_bot_token}")[1]["username"] == "helper"
        login = {"login": "ann", "password": "longer still"}
        user_token = send_request("POST", f"{ready['api']}/auth/login", json=login)[1]["token"]
        guild_id = send_request("POST", f"{ready['api']}/guilds", user_token, json={"name": "Home"})[1]["id"]

        assert cli.main(["admin", "add-bot", helper["id"], guild_id, "--permission", "BAN_MEMBERS", *data_flags]) == 0
        assert "Added helper to Home." in capsys.readouterr().out
        assert stop_process(process) == 0

    assert cli.main(["admin", "add-bot", helper["id"], guild_id, *data_flags]) == 1
    assert cli.main(["admin", "split-permissions", guild_id, *data_flags]) == 0
    assert "Home: added the newer permissions to 0 roles and 0 overwrites." in capsys.readouterr().out
    assert cli.main(["admin", "split-permissions", "1", *data_flags]) == 1
    assert "there is no guild 1" in capsys.readouterr().err


def test_admin_commands_run_in_the_server_of_the_data_folder(
    data_folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    data_flags = ["--data", str(data_folder)]
    with running_server(tmp_path, "serve", *data_flags) as (process, ready):
        assert stat.S_IMODE((data_folder / "admin.sock").stat().st_mode) == 0o600
        assert cli.main(["admin", "create-user", "ann", *data_flags]) == 0
        token = read_printed_values(capsys)["token"]
        assert send_request("GET", f"{ready['api']}/users/@me", token)[0] == 200
        assert cli.main(["admin", "create-user", "ann", *data_flags]) == 1
        assert "Username is unavailable." in capsys.readouterr().err

        assert cli.main(["admin", "ban-user", "ann", "--reason", "Spam", *data_flags]) == 0
        assert send_request("GET", f"{ready['api']}/users/@me", token)[0] == 401
        process.kill()
        process.wait()

    # The socket of a killed server remains; commands open the store, and the next server replaces it.
    assert (data_folder / "admin.sock").exists()
    capsys.readouterr()
    assert cli.main(["admin", "list-users", "--state", "suspended", *data_flags]) == 0
    assert " ann" in capsys.readouterr().out
    with running_server(tmp_path, "serve", *data_flags) as (process, _):
        assert cli.main(["admin", "unban-user", "ann", *data_flags]) == 0
        assert stop_process(process) == 0
    assert not (data_folder / "admin.sock").exists()


def test_admin_commands_manage_operators_and_delete_accounts(
    data_folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def run(*arguments: str, code: int = 0) -> str:
        assert cli.main(["admin", *arguments, "--data", str(data_folder)]) == code
        output = capsys.readouterr()
        return output.err if code else output.out

    run("create-user", "ann", "--email", "ann@example.org")
    run("create-user", "ben")
    assert "No operators." in run("list-operators")
    assert "must enable two-factor" in run("set-operator", "ann", "owner", "--reason", "First owner")
    assert run("list-operators") == "ann owner (two-factor authentication is off)\n"
    assert "is an operator" in run("ban-user", "ann", code=1)
    assert "last owner" in run("remove-operator", "ann", code=1)
    assert "ann@example.org" in run("list-users", "AN")
    assert run("list-users", "carol") == "No accounts found.\n"

    assert "Ended 1 session of ben." in run("end-sessions", "ben", "--reason", "Lost phone")
    assert "restore-user ben" in run("delete-user", "ben", "--reason", "Spam")
    assert " ben" in run("list-users", "--state", "deleting")
    assert "Restored ben." in run("restore-user", "ben")
    assert "is not being deleted" in run("restore-user", "ben", code=1)
    assert "0 to 90" in run("delete-user", "ben", "--reason", "Spam", "--grace-days", "91", code=1)

    assert run("list-jobs") == "No jobs.\n"
    assert run("retry-jobs", "webhook_events.deliver") == "Retrying 0 jobs.\n"
    actions = [line.split(" ", 1)[1] for line in run("audit-log").splitlines()]
    assert actions[0] == "command line: user.restore ben"
    assert actions[2:4] == [
        "command line: user.end_sessions ben 1 session (Lost phone)",
        "command line: operator.set ann to owner (First owner)",
    ]


def test_a_backup_of_a_running_server_is_a_usable_data_folder(
    data_folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    destination = tmp_path / "copies" / "monday"
    with running_server(tmp_path, "serve", "--data", str(data_folder)) as (process, ready):
        user = send_request(
            "POST", f"{ready['api']}/auth/register", json={"username": "ann", "password": "long enough"}
        )[1]
        guild_id = send_request("POST", f"{ready['api']}/guilds", user["token"], json={"name": "Home"})[1]["id"]
        (data_folder / "files" / "attachments").mkdir(parents=True)
        (data_folder / "files" / "attachments" / "1").write_bytes(b"picture")

        assert cli.main(["backup", str(destination), "--data", str(data_folder)]) == 0

        assert cli.main(["backup", str(destination), "--data", str(data_folder)]) == 1
        assert "already exists" in capsys.readouterr().err
        assert stop_process(process) == 0
    assert (destination / "files" / "attachments" / "1").read_bytes() == b"picture"
    with running_server(tmp_path, "serve", "--data", str(destination)) as (_, restored_server):
        assert [
            guild_view["id"]
            for guild_view in send_request("GET", f"{restored_server['api']}/users/@me/guilds", user["token"])[1]
        ] == [guild_id]


def test_a_backup_requires_an_existing_data_folder(data_folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["backup", "copy", "--data", str(data_folder)]) == 1
    assert "does not exist; set --data to the data folder" in capsys.readouterr().err
    assert not Path("copy").exists()


def test_the_summary_names_urls_users_and_bots() -> None:
    document = ReadyDocument(
        api="A",
        gateway="G",
        web="http://W",
        cdn="C",
        control="K",
        control_token="T",
        users={"ann": WorldUser(id="1", token="t-ann", password="p-ann")},
        applications={
            "helper": WorldApplication(id="2", client_secret="s", public_key="k", bot=WorldBot(id="2", token="t-bot"))
        },
        guilds={},
    )
    text = startup_summary(document)
    for expected_text in ("A", "G", "C", "K", "T", "t-ann", "p-ann", "t-bot"):
        assert expected_text in text
    for page in ("login", "developers", "docs"):
        assert f"http://W/{page}" in text


def test_the_summary_of_serve_names_no_users_and_only_enabled_pages() -> None:
    document = ReadyDocument(
        api="A", gateway="G", web="http://W", cdn="C", control=None, control_token=None, users={}, applications={},
        guilds={},
    )  # fmt: skip

    text = startup_summary(document, is_rehearsal=False)

    assert "http://W/login" in text
    assert "hubbub admin create-user NAME" in text
    assert "hubbub admin set-operator NAME owner" in text
    # An installed package contains no pages.
    assert ".md" not in text
    assert "Users" not in text
    assert "in memory" not in text
    assert "/login" not in startup_summary(document, is_rehearsal=False, has_pages=False)


def test_admin_commands_approve_scopes_and_intents(data_folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    data_flags = ["--data", str(data_folder)]
    assert cli.main(["admin", "create-user", "ann", *data_flags]) == 0
    assert cli.main(["admin", "create-application", "helper", "--owner", "ann", *data_flags]) == 0
    application_id = read_printed_values(capsys)["id"]

    assert cli.main(["admin", "list-approvals", *data_flags]) == 0
    assert "No pending requests." in capsys.readouterr().out
    assert cli.main(["admin", "approve-scope", application_id, "voice", *data_flags]) == 0
    assert "helper may now request the scope voice." in capsys.readouterr().out
    assert cli.main(["admin", "approve-scope", application_id, "fly", *data_flags]) == 1
    assert "unknown scope fly" in capsys.readouterr().err
    assert cli.main(["admin", "approve-intent", application_id, "GUILD_MEMBERS", *data_flags]) == 0
    assert cli.main(["admin", "approve-intent", application_id, "GUILDS", *data_flags]) == 1
    assert cli.main(["admin", "deny-approval", application_id, "rpc", *data_flags]) == 1
    assert "helper has no pending request for rpc" in capsys.readouterr().err
    assert cli.main(["admin", "approve-scope", "7", "voice", *data_flags]) == 1


def test_an_invalid_redirect_uri_is_rejected(data_folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    data_flags = ["--data", str(data_folder)]
    assert cli.main(["admin", "create-user", "ann", *data_flags]) == 0

    redirect_flags = ["--redirect-uri", "https://game.example/ok", "--redirect-uri", "javascript:alert(1)"]
    assert cli.main(["admin", "create-application", "helper", "--owner", "ann", *redirect_flags, *data_flags]) == 1

    assert "redirect_uris.1" in capsys.readouterr().err


def test_admin_commands_grant_tiers_features_and_premium(
    data_folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    data_flags = ["--data", str(data_folder)]
    assert cli.main(["admin", "create-user", "ann", *data_flags]) == 0
    token = read_printed_values(capsys)["token"]
    with running_server(tmp_path, "serve", *data_flags) as (process, ready):
        guild_id = send_request("POST", f"{ready['api']}/guilds", token, json={"name": "Home"})[1]["id"]
        assert stop_process(process) == 0

    options = ["--tier", "2", "--add-feature", "VANITY_URL", "--add-feature", "ROLE_ICONS"]
    assert cli.main(["admin", "guild", guild_id, *options, *data_flags]) == 0
    assert read_printed_values(capsys) == {"tier": "2", "features": "ROLE_ICONS, VANITY_URL"}
    assert cli.main(["admin", "guild", guild_id, "--remove-feature", "ROLE_ICONS", *data_flags]) == 0
    assert read_printed_values(capsys) == {"tier": "2", "features": "VANITY_URL"}
    assert cli.main(["admin", "user", "ann", "--premium", "tier_2", *data_flags]) == 0
    assert read_printed_values(capsys) == {"premium": "tier_2"}
    assert cli.main(["admin", "user", "ann", *data_flags]) == 0
    assert read_printed_values(capsys) == {"premium": "tier_2"}
    for arguments, problem in (
        (["guild", "1"], "there is no guild 1"),
        (["guild", "9" * 19], f"{'9' * 19} is not an ID"),
        (["set-quota", "many", "--guild", guild_id], "many is not a number of bytes"),
        (["guild", guild_id, "--add-feature", "VANITY"], "did you mean VANITY_URL?"),
        (["guild", guild_id, "--add-feature", "GUILD_ONBOARDING"], "the guild's own settings"),
        (["guild", guild_id, "--add-feature", "COMMUNITY"], "rules_channel_id: "),
        (["user", "ben", "--premium", "none"], "there is no user named ben"),
    ):
        assert cli.main(["admin", *arguments, *data_flags]) == 1
        assert problem in capsys.readouterr().err

    with running_server(tmp_path, "serve", *data_flags) as (process, ready):
        assert send_request("GET", f"{ready['api']}/users/@me", token)[1]["premium_type"] == 2
        guild_view = send_request("GET", f"{ready['api']}/guilds/{guild_id}", token)[1]
        assert (guild_view["premium_tier"], guild_view["features"]) == (2, ["VANITY_URL"])
        assert stop_process(process) == 0


def test_dev_with_tls_serves_https_and_wss_with_its_own_authority(tmp_path: Path) -> None:
    async def check(ready: dict[str, Any]) -> None:
        context = ssl.create_default_context(cafile=ready["authority"])
        async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(ssl=context)) as client:
            headers = {"Authorization": ready["users"]["alice"]["token"]}
            async with client.get(f"{ready['api']}/users/@me", headers=headers) as response:
                assert (await response.json())["username"] == "alice"
            async with client.get(f"{ready['api']}/gateway") as response:
                assert (await response.json())["url"] == ready["gateway"]
            async with client.ws_connect(f"{ready['gateway']}?v=10&encoding=json") as gateway:
                assert (await gateway.receive_json())["op"] == GatewayOpcode.HELLO
            fork_url = f"{ready['control']}/forks"
            control_headers = {"Authorization": f"Bearer {ready['control_token']}"}
            async with client.post(fork_url, headers=control_headers) as response:
                fork = await response.json()
            async with client.get(f"{fork['api']}/users/@me", headers=headers) as response:
                assert response.status == 200
        async with aiohttp.ClientSession() as client:
            with pytest.raises(aiohttp.ClientConnectorCertificateError):
                await client.get(ready["web"])

    with running_server(tmp_path, "dev", "--tls") as (process, ready):
        assert ready["web"].startswith("https://127.0.0.1:")
        assert ready["gateway"].startswith("wss://")
        asyncio.run(check(ready))
        assert stop_process(process) == 0


def test_dev_with_tls_keeps_its_authority_in_the_data_folder(tmp_path: Path) -> None:
    authorities = []
    for _ in range(2):
        with running_server(tmp_path, "dev", "--tls", "--data", str(tmp_path / "data")) as (process, ready):
            authorities.append(Path(ready["authority"]).read_bytes())
            assert stop_process(process) == 0

    assert authorities[0] == authorities[1]


@pytest.mark.parametrize("variable", ["HUBBUB_TLS", "HUBBUB_MAIL_KEEP_IN_MEMORY"])
def test_settings_of_a_rehearsal_are_rejected_by_serve(
    variable: str, data_folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv(variable, "true")

    assert cli.main(["serve", "--data", str(data_folder)]) == 2
    assert "is only available in rehearsals; use hubbub dev" in capsys.readouterr().err
