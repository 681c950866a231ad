"""A wall clock that jumps forward and back while a server runs, and over a restart: messages keep their order."""

import asyncio
import os
import subprocess
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from tests.chaos.history import Operation, Outcome, Read, Send, check_messages
from tests.chaos.workload import attempt
from tests.fixtures.programs import find_program
from tests.journeys.processes import ApiUser, create_guild, register_user, running_server

JUMP_SECONDS = 7200
MESSAGE_COUNT = 2


def faketime_code(offset_file: Path) -> str:
    """Return startup code of a server whose wall clock differs from the real time by the content of a file."""
    program = find_program("faketime")
    assert program is not None
    library = subprocess.run(
        [program, "-m", "-f", "+0s", "printenv", "LD_PRELOAD"], capture_output=True, text=True, check=True
    ).stdout.strip()
    variables = {
        "LD_PRELOAD": library,
        "FAKETIME_TIMESTAMP_FILE": str(offset_file),
        "FAKETIME_NO_CACHE": "1",
        # The event loop measures durations with the monotonic clock, which does not jump on a real machine either.
        "FAKETIME_DONT_FAKE_MONOTONIC": "1",
        "DONT_FAKE_MONOTONIC": "1",
    }
    return (
        "import os, sys\n"
        "if 'FAKETIME_TIMESTAMP_FILE' not in os.environ:\n"
        f"    os.environ.update({variables!r})\n"
        "    os.execv(sys.executable, [sys.executable, *sys.orig_argv[1:]])\n"
    )


def set_offset(offset_file: Path, seconds: int) -> None:
    """Replace the file as a whole, because the server may read it at any moment."""
    temporary = offset_file.with_suffix(".new")
    temporary.write_text(f"{seconds:+d}")
    os.replace(temporary, offset_file)


async def record_messages(user: ApiUser, channel_id: str, history: list[Any]) -> None:
    """Send messages one after the other and read the channel, and add the operations to a history."""
    for _ in range(MESSAGE_COUNT):
        body = {"content": f"message {len(history)}"}
        result = await attempt(user.post(f"/channels/{channel_id}/messages", body))
        assert result.outcome is Outcome.ACKNOWLEDGED
        history.append(
            Send(**result.times, channel_id=channel_id, message_id=int(result.body["id"]), content=body["content"])
        )
    result = await attempt(user.get(f"/channels/{channel_id}/messages?limit=100"))
    messages = tuple((int(message["id"]), message["content"]) for message in reversed(result.body))
    history.append(Read(**result.times, channel_id=channel_id, messages=messages))


def milliseconds_of(operation: Operation) -> int:
    """Return the time in the ID of a sent message."""
    assert isinstance(operation, Send)
    return operation.message_id >> 22


@pytest.mark.program("faketime")
@pytest.mark.parametrize("store", ["sqlite", "postgres"])
async def test_messages_keep_their_order_when_the_clock_jumps(
    tmp_path: Path, request: pytest.FixtureRequest, store: str
) -> None:
    flags = ["--data", str(tmp_path / "data"), "--rate-limits", "off"]
    if store == "postgres":
        flags += ["--database-url", request.getfixturevalue("postgres_database")]
    offset_file = tmp_path / "offset"
    set_offset(offset_file, 0)
    history: list[Any] = []
    async with (
        aiohttp.ClientSession() as client,
        running_server(tmp_path, "serve", *flags, startup_code=faketime_code(offset_file)) as server,
    ):
        alice = await register_user(client, server, "alice")
        _, channel_id, _ = await create_guild(alice)
        await record_messages(alice, channel_id, history)
        set_offset(offset_file, JUMP_SECONDS)
        # IDs follow the clock as soon as the high-water mark of IDs is written.
        while milliseconds_of(history[-2]) - milliseconds_of(history[0]) < JUMP_SECONDS * 1000:
            await record_messages(alice, channel_id, history)
            await asyncio.sleep(0.1)
        for offset_seconds in (-3600, 2 * JUMP_SECONDS):
            set_offset(offset_file, offset_seconds)
            await record_messages(alice, channel_id, history)
        # The server is killed before it has written the high-water mark of the IDs after the last jump.
        server.kill()
        set_offset(offset_file, 0)
        await server.start()
        await record_messages(alice, channel_id, history)

    sends = [operation for operation in history if isinstance(operation, Send)]
    violations = check_messages(sends, [operation for operation in history if isinstance(operation, Read)])
    assert not violations, "\n".join(violations)
