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
from bench.load import Subject, encode_request, send_requests
from bench.social import join_lobby


async def run_import_benchmark(record_figure: Callable[..., None], is_quick: bool) -> None:
    """Measure importing the SDK against importing its two libraries, in CPU time of fresh interpreters."""
    try_count = 5 if is_quick else 15
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
        for _ in range(try_count):
            base_seconds.append(measure_seconds(base_statement))
            sdk_seconds.append(measure_seconds(sdk_statement))
    detail = f"{min(sdk_seconds) * 1000:.0f} ms against {min(base_seconds) * 1000:.0f} ms"
    record_figure(
        "import hubbub.sdk / import aiohttp, msgspec, CPU", min(sdk_seconds) / min(base_seconds), 1.2, "x", detail
    )


async def run_pump_benchmark(record_figure: Callable[..., None], is_quick: bool) -> None:
    """Measure the slowest frames of a game that receives about one event per frame, against counting to 10,000."""
    frame_count = 300 if is_quick else 1000
    with tempfile.TemporaryDirectory() as folder:
        with Subject("hubbub", folder) as subject:
            user_id = subject.connection_info["user_id"]
        with Subject("hubbub-players", folder, user_id, "2") as subject:
            url, (sender_token, player_token) = subject.connection_info["url"], subject.connection_info["player_tokens"]
            lobby_id = await join_lobby(url, sender_token, "pump")
            await join_lobby(url, player_token, "pump")
            path = f"/api/v10/lobbies/{lobby_id}/messages"
            message_request = encode_request(
                "POST", path, f"Bearer {sender_token}", {"content": "a message that says hello"}
            )
            game = await asyncio.create_subprocess_exec(
                sys.executable, "-m", "bench.frames", stdin=subprocess.PIPE, stdout=subprocess.PIPE, limit=1 << 24
            )
            assert game.stdin is not None
            assert game.stdout is not None
            task = {"web_base": url, "token": player_token, "frame_count": frame_count}
            game.stdin.write(json.dumps(task).encode() + b"\n")
            if await game.stdout.readline() != b'"ready"\n':
                raise RuntimeError("the game did not become ready")
            await send_requests(url, [message_request] * frame_count, 1, 1 / FRAMES_PER_SECOND)
            measurement = json.loads(await game.stdout.readline())
            await game.wait()
    if measurement["received"] < 0.5 * frame_count:
        raise RuntimeError(f"{measurement['received']} of {frame_count} messages were received")
    slow_seconds, count_seconds = (
        sorted(measurement["pumps"])[int(frame_count * 0.99)],
        statistics.median(measurement["references"]),
    )
    detail = (
        f"{slow_seconds * 1000:.2f} ms against {count_seconds * 1000:.2f} ms, "
        f"{measurement['received']} events in {frame_count} frames"
    )
    record_figure(
        "99th percentile of a frame's callbacks / counting to 10,000, CPU",
        slow_seconds / count_seconds,
        4.0,
        "x",
        detail,
    )
