"""A disk without space: writes are refused as a whole, and succeed again when there is space, without a restart."""

import sys
from dataclasses import replace
from pathlib import Path

import aiohttp
import psutil
import pytest

from tests.chaos.history import Outcome, Read, Send, check_messages
from tests.chaos.test_partitions import wait_status
from tests.chaos.workload import attempt
from tests.journeys.processes import ApiUser, GatewaySession, create_guild, register_user, running_server

FREE_BYTES = 64 * 1024
"""Number of bytes that the largest file of the database can still grow."""
REJECTED_COUNT = 10
CONTENT_CHARACTERS = 1000


async def attempt_message(user: ApiUser, channel_id: str, number: int) -> Send:
    """Send a message; the content begins with its number."""
    content = f"{number} ".ljust(CONTENT_CHARACTERS, "x")
    result = await attempt(user.post(f"/channels/{channel_id}/messages", {"content": content}))
    message_id = int(result.body["id"]) if result.outcome is Outcome.ACKNOWLEDGED else 0
    return Send(**result.times, channel_id=channel_id, content=content, message_id=message_id)


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="requires Linux")
async def test_a_full_disk_refuses_writes_and_loses_none(tmp_path: Path) -> None:
    flags = ["--data", str(tmp_path / "data"), "--rate-limits", "off"]
    async with running_server(tmp_path, "serve", *flags) as server, aiohttp.ClientSession() as client:
        alice = await register_user(client, server, "alice")
        _, channel_id, _ = await create_guild(alice)
        session = await GatewaySession(alice, server.gateway).open()
        sends = [await attempt_message(alice, channel_id, number) for number in range(5)]

        # A limit of the file size fails writes like a disk without space, for this process only.
        process = psutil.Process(server.pid)
        largest_bytes = max(file.stat().st_size for file in (tmp_path / "data").glob("hubbub.sqlite3*"))
        process.rlimit(psutil.RLIMIT_FSIZE, (largest_bytes + FREE_BYTES, psutil.RLIM_INFINITY))
        while [send.outcome for send in sends].count(Outcome.UNKNOWN) < REJECTED_COUNT:
            sends.append(await attempt_message(alice, channel_id, len(sends)))
        await wait_status(client, server, 503)
        process.rlimit(psutil.RLIMIT_FSIZE, (psutil.RLIM_INFINITY, psutil.RLIM_INFINITY))
        await wait_status(client, server, 200)
        for _ in range(5):
            sends.append(await attempt_message(alice, channel_id, len(sends)))

        result = await attempt(alice.get(f"/channels/{channel_id}/messages?limit=100"))
        messages = tuple((int(message["id"]), message["content"]) for message in reversed(result.body))
        read = Read(**result.times, channel_id=channel_id, messages=messages)
        # A refused write has no effect, neither in the store nor as an event.
        history = [replace(send, outcome=Outcome.FAILED) if send.outcome is Outcome.UNKNOWN else send for send in sends]
        violations = check_messages(history, [read])
        assert not violations, "\n".join(violations)
        assert sends[-1].outcome is Outcome.ACKNOWLEDGED
        await session.wait_message(sends[-1].content)
        assert session.message_contents() == [send.content for send in history if send.outcome is Outcome.ACKNOWLEDGED]
        await session.close()
