"""The cost of the SDK in a game: importing it, and one frame of its callback queue."""

import asyncio
import json
import os
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable

from bench.frames import FRAMES_PER_SECOND
from bench.load import Subject, drive, request
from bench.social import join_lobby


async def import_bench(note: Callable[..., None], quick: bool) -> None:
    """Measure importing the SDK against importing its two libraries, in CPU time of fresh interpreters."""
    tries = 5 if quick else 15
    with tempfile.TemporaryDirectory() as folder:
        environment = os.environ | {"PYTHONPYCACHEPREFIX": folder}
        environment.pop("PYTHONDONTWRITEBYTECODE", None)

        def measure_seconds(statement: str) -> float:
            program = f"import time\nbefore = time.process_time()\n{statement}\nprint(time.process_time() - before)"
            command = [sys.executable, "-c", program]
            return float(subprocess.run(command, check=True, capture_output=True, text=True, env=environment).stdout)

        base_statement, sdk_statement = "import aiohttp, msgspec", "import aiohttp, msgspec, hubbub.sdk"
        # The first run compiles the modules.
        measure_seconds(sdk_statement)
        base_seconds, sdk_seconds = [], []
        for _ in range(tries):
            base_seconds.append(measure_seconds(base_statement))
            sdk_seconds.append(measure_seconds(sdk_statement))
    detail = f"{min(sdk_seconds) * 1000:.0f} ms against {min(base_seconds) * 1000:.0f} ms"
    note("import hubbub.sdk / import aiohttp, msgspec, CPU", min(sdk_seconds) / min(base_seconds), 1.2, "x", detail)


async def pump_bench(note: Callable[..., None], quick: bool) -> None:
    """Measure the slowest frames of a game that receives about one event per frame, against counting to 10,000."""
    frames = 300 if quick else 1000
    with tempfile.TemporaryDirectory() as folder:
        with Subject("hubbub", folder) as subject:
            user_id = subject.info["user_id"]
        with Subject("hubbub-players", folder, user_id, "2") as subject:
            url, (sender, player) = subject.info["url"], subject.info["players"]
            lobby_id = await join_lobby(url, sender, "pump")
            await join_lobby(url, player, "pump")
            path = f"/api/v10/lobbies/{lobby_id}/messages"
            message_request = request("POST", path, f"Bearer {sender}", {"content": "a message that says hello"})
            game = await asyncio.create_subprocess_exec(
                sys.executable, "-m", "bench.frames", stdin=subprocess.PIPE, stdout=subprocess.PIPE, limit=1 << 24
            )
            assert game.stdin is not None
            assert game.stdout is not None
            task = {"web_base": url, "token": player, "frames": frames}
            game.stdin.write(json.dumps(task).encode() + b"\n")
            if await game.stdout.readline() != b'"ready"\n':
                raise RuntimeError("the game did not become ready")
            await drive(url, [message_request] * frames, 1, 1 / FRAMES_PER_SECOND)
            measured = json.loads(await game.stdout.readline())
            await game.wait()
    if measured["received"] < 0.5 * frames:
        raise RuntimeError(f"{measured['received']} of {frames} messages were received")
    slow_seconds, count_seconds = sorted(measured["pumps"])[int(frames * 0.99)], statistics.median(measured["counts"])
    detail = f"{slow_seconds * 1000:.2f} ms against {count_seconds * 1000:.2f} ms, {measured['received']} events in {frames} frames"
    note(
        "99th percentile of a frame's callbacks / counting to 10,000, CPU",
        slow_seconds / count_seconds,
        4.0,
        "x",
        detail,
    )
