"""The runner of the steps of a library's bot, which reports the result of each on stdout as one line of JSON.

Most bots run in the virtual environment of their library, so this module imports nothing else of the tests. The first
argument of a bot is JSON with a token, the URLs of API, CDN and gateway, the IDs of a guild, a channel, a voice channel
and a role, and a PNG in Base64.
A bot ends when its stdin is closed.
"""

# mypy: ignore-errors

import asyncio
import base64
import io
import json
import logging
import os
import sys
import threading
import traceback
from datetime import datetime, timedelta, timezone

SETTINGS = json.loads(sys.argv[1])
GUILD_ID, CHANNEL_ID = int(SETTINGS["guild"]), int(SETTINGS["channel"])
VOICE_CHANNEL_ID, ROLE_ID = int(SETTINGS["voice"]), int(SETTINGS["role"])
EMOJI = "🎉"
"""The emoji of the reaction for which a user gets the role."""
FRAME_COUNT = 20
"""Number of frames of the audio that a bot plays."""
EVENT_START = datetime.now(timezone.utc) + timedelta(days=30)  # noqa: UP017
EVENT_END = EVENT_START + timedelta(hours=2)


class ReportHandler(logging.Handler):
    """Reports warnings and errors of the library."""

    def emit(self, record):
        """Report a log record."""
        error = "" if record.exc_info is None else "".join(traceback.format_exception(*record.exc_info))
        report(log=f"{record.name}: {record.getMessage()} {error}")


def report(**fields):
    """Write a line of JSON."""
    print(json.dumps(fields), flush=True)


def image_file():
    """Return the image as a file object."""
    return io.BytesIO(base64.b64decode(SETTINGS["image"]))


def prepare():
    """Report warnings and errors in the log, and end the program at the end of its input."""
    logging.basicConfig(level=logging.WARNING, handlers=[ReportHandler()])

    def wait_end():
        sys.stdin.read()
        os._exit(0)

    threading.Thread(target=wait_end, daemon=True).start()


async def run_steps(steps):
    """Run functions in order, at most 20 seconds each, and report the result or error of each; then report the step `done`."""
    for step in steps:
        try:
            result = await asyncio.wait_for(step(), 20)
        except Exception:
            report(step=step.__name__, error=traceback.format_exc())
        else:
            report(step=step.__name__, result=result)
    report(step="done", result=None)


async def wait_until(is_true):
    """Wait until a function returns true."""
    while not is_true():
        await asyncio.sleep(0.02)


class Frames:
    """An audio source of a few frames, which name their sender; discord.py and its descendants play it as Opus."""

    def __init__(self, user_id):
        self._frames = [f"{user_id} frame {number}".encode() for number in range(FRAME_COUNT)]

    def read(self):
        """Return the next frame, or an empty one at the end."""
        return self._frames.pop(0) if self._frames else b""

    def is_opus(self):
        """Return whether the frames need no encoder."""
        return True

    def cleanup(self):
        """Do nothing; the source has no resources."""


async def play_frames(voice, source):
    """Play a source over a voice client of discord.py or one of its descendants until its end."""
    loop, end_event = asyncio.get_running_loop(), asyncio.Event()
    voice.play(source, after=lambda error: loop.call_soon_threadsafe(end_event.set))
    await end_event.wait()


async def wait_commands(fetch_names, *further_names):
    """Wait until the library has registered its commands, and return their names. `fetch_names` returns the registered names."""
    expected = sorted(["ask", "greet", "join", "leave", "panel", *further_names])
    while (names := sorted(await fetch_names())) != expected:
        await asyncio.sleep(0.1)
    return names
