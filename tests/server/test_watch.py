"""`hubbub watch`: the traffic in a terminal."""

import asyncio
import json
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from hubbub.server.cli import main
from hubbub.server.commands.watch import Printer
from tests.rehearsal import Rehearsal
from tests.world import WAIT_TIMEOUT_SECONDS

TRAFFIC_ENTRY = {
    "at": "2026-11-18T11:06:40.000000+00:00",
    "kind": "http",
    "direction": "in",
    "user_id": "1",
    "summary": "GET /users/@me",
    "status": 403,
    "milliseconds": 1.5,
    "delivered": None,
    "missed": None,
    "note": None,
}


@asynccontextmanager
async def run_watch(rehearsal: Rehearsal, *arguments: str) -> AsyncIterator[asyncio.subprocess.Process]:
    """Start `hubbub watch`, wait until it is connected, and kill it on exit."""
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "hubbub.server.cli", "watch", "--url", rehearsal.url, *arguments),
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        env={"HUBBUB_CONTROL_TOKEN": rehearsal.control.token, "PYTHONPATH": ":".join(sys.path)},
    )
    assert process.stderr is not None
    line = await asyncio.wait_for(process.stderr.readline(), WAIT_TIMEOUT_SECONDS * 4)
    assert line.startswith(b"Watching"), line
    try:
        yield process
    finally:
        process.kill()
        await process.wait()


async def test_entries_are_printed_as_lines(rehearsal: Rehearsal) -> None:
    async with run_watch(rehearsal, "--filter", "guilds") as process:
        (await rehearsal.actor("alice").get("/users/@me")).ok()
        (await rehearsal.actor("alice").get("/users/@me/guilds")).ok()
        assert process.stdout is not None
        line = (await asyncio.wait_for(process.stdout.readline(), WAIT_TIMEOUT_SECONDS)).decode()
    assert "http" in line
    assert "→ alice        GET /users/@me/guilds 200, " in line
    assert "\x1b" not in line


async def test_entries_are_printed_as_json(rehearsal: Rehearsal) -> None:
    async with run_watch(rehearsal, "--json", "--kinds", "http") as process:
        (await rehearsal.actor("alice").get("/users/@me")).ok()
        assert process.stdout is not None
        line = await asyncio.wait_for(process.stdout.readline(), WAIT_TIMEOUT_SECONDS)
    assert json.loads(line)["summary"] == "GET /users/@me"


def test_a_terminal_gets_colors(capsys: pytest.CaptureFixture[str]) -> None:
    printer = Printer(is_json=False, uses_colors=True)
    printer.names_by_user_id = {"1": "alice"}
    event = {**TRAFFIC_ENTRY, "direction": "out", "status": None, "milliseconds": None, "delivered": 2, "missed": 1}

    printer.print_batch({"entries": [TRAFFIC_ENTRY, event]})

    rejected_line, missed_line = capsys.readouterr().out.splitlines()
    assert "\x1b[31m403, 1.5 ms\x1b[0m" in rejected_line
    assert "to 2, not to 1" in missed_line


def test_a_missing_token_and_an_unreachable_server_are_explained(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.delenv("HUBBUB_CONTROL_TOKEN", raising=False)
    assert main(["watch"]) == 1
    assert "HUBBUB_CONTROL_TOKEN" in capsys.readouterr().err
    monkeypatch.setenv("HUBBUB_CONTROL_TOKEN", "x" * 16)
    assert main(["watch", "--url", "http://127.0.0.1:1"]) == 1
    assert "cannot reach http://127.0.0.1:1" in capsys.readouterr().err


@pytest.mark.parametrize("document", [{}, {"web": "http://127.0.0.1:1"}, {"web": 1, "control_token": "x"}])
def test_a_ready_file_of_another_kind_is_explained(
    document: dict[str, object], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    ready_file = tmp_path / "ready.json"
    ready_file.write_text(json.dumps(document))
    assert main(["watch", "--ready-file", str(ready_file)]) == 1
    assert f"cannot read the ready file {ready_file}" in capsys.readouterr().err


def test_a_ready_file_without_a_control_token_is_explained(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    ready_file = tmp_path / "ready.json"
    ready_file.write_text(json.dumps({"web": "http://127.0.0.1:1", "control_token": None}))
    assert main(["watch", "--ready-file", str(ready_file)]) == 1
    assert "this server has no control API" in capsys.readouterr().err
