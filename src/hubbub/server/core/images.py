"""Pictures of strangers, read and written anew in processes of their own, so that none of them can hurt or halt the platform.

A picture is refused by the size that its header names before anything decodes it. What passes goes to one of a few processes
(`core.image_process`) that have bounded memory and a bounded time, and are replaced after some work; if one dies, that is only the
refusal of its picture. They start with the first picture: a platform that gets none has none, and never loads the library.
"""

import asyncio
import json
import logging
import os
import struct
import sys
from asyncio.subprocess import PIPE, Process
from pathlib import Path
from typing import Any, Final

import msgspec

from hubbub.protocol import errors
from hubbub.protocol.images import ImageData, TooLargeError, sniff_image
from hubbub.server.core import media

log = logging.getLogger(__name__)

PROCESSES: Final = 2
WAITING_MAX: Final = 64
"""So many pictures may wait for a process; more are told to come again."""
TASKS_MAX: Final = 200
"""After so many pictures a process makes room for a fresh one."""
TASK_SECONDS: Final = 10.0
START_SECONDS: Final = 30.0
MEMORY_BYTES: Final = 1 << 30
PIXELS_MAX: Final = 25_000_000
"""By the header; `image_process` asks the decoder again."""
SIDE_MAX: Final = 16_384
ANSWER_BYTES_MAX: Final = 128 << 20

_PROGRAM: Final = Path(__file__).with_name("image_process.py")
_KEPT_VARIABLES: Final = ("PATH", "PYTHONPATH", "PYTHONHOME", "LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH", "SYSTEMROOT")
"""What a process needs to start; an operator's secrets are not among it."""


class InvalidImageError(Exception):
    """Not a picture, one too large, or one that made its reader fail."""


class Picture(msgspec.Struct, frozen=True, kw_only=True):
    """A picture that we wrote."""

    data: bytes
    content_type: str
    width: int
    height: int
    animated: bool
    duration_ms: int = 0


class Images:
    """Reads and writes pictures in other processes, a few at a time."""

    def __init__(
        self,
        *,
        processes: int = PROCESSES,
        memory_bytes: int = MEMORY_BYTES,
        task_seconds: float = TASK_SECONDS,
        tasks_max: int = TASKS_MAX,
    ) -> None:
        self._memory_bytes = memory_bytes
        self._task_seconds = task_seconds
        self._tasks_max = tasks_max
        self._turns = asyncio.Semaphore(processes)
        self._waiting = 0
        self._idle: list[_Reader] = []
        self._all: set[_Reader] = set()
        self._closed = False

    async def clean(self, image: ImageData) -> None:
        """Let a picture that was sent become one that we wrote: the same pixels, at most as large as its field takes, and nothing
        else that was in the file. InvalidImageError for what is none, TooLargeError for what cannot be made small enough."""
        moving = image.content_type in image.moving
        picture = await self.convert(image.data, to=image.content_type, side=image.side_max, moving=moving)
        if len(picture.data) > image.bytes_max and picture.animated and "image/webp" in image.moving:
            # The same frames are a fraction of their size there.
            picture = await self.convert(picture.data, to="image/webp", side=image.side_max, moving=True)
        if len(picture.data) > image.bytes_max:
            raise TooLargeError(image.bytes_max)
        image.become(picture.data, picture.content_type, animated=picture.animated, duration_ms=picture.duration_ms)

    async def convert(
        self, data: bytes, *, to: str, side: int, box: tuple[int, int] | None = None, moving: bool = False
    ) -> Picture:
        """A picture as a file of another type or size; `moving` keeps all its frames where the type can hold them.

        It gets no longer side than `side`, and with `box` fits into that width and height."""
        kind = sniff_image(data)
        if kind is None:
            raise InvalidImageError("not a picture")
        seen = media.look(data)
        if not seen.width or not seen.height:
            raise InvalidImageError("no size")
        if seen.width * seen.height > PIXELS_MAX or max(seen.width, seen.height) > SIDE_MAX:
            raise InvalidImageError("too many pixels")
        wide, high = box or (side, side)
        order = {
            "from": kind,
            "to": to,
            "box": (min(wide, side), min(high, side)),
            "moving": moving and to != "image/jpeg",
        }
        said, written = await self._ask(order, data)
        return Picture(
            data=written,
            content_type=said["type"],
            width=said["width"],
            height=said["height"],
            animated=said["frames"] > 1,
            duration_ms=said["duration_ms"],
        )

    async def close(self) -> None:
        """End every process."""
        self._closed = True
        for reader in list(self._all):
            await self._end(reader)
        self._idle.clear()

    async def _ask(self, order: dict[str, Any], data: bytes) -> tuple[dict[str, Any], bytes]:
        if self._waiting >= WAITING_MAX or self._closed:
            raise errors.RESOURCE_OVERLOADED()
        self._waiting += 1
        try:
            async with self._turns:
                return await self._in_turn(order, data)
        finally:
            self._waiting -= 1

    async def _in_turn(self, order: dict[str, Any], data: bytes) -> tuple[dict[str, Any], bytes]:
        reader = self._idle.pop() if self._idle else await self._start()
        healthy = False
        try:
            async with asyncio.timeout(self._task_seconds if reader.tasks else START_SECONDS):
                said, written = await reader.ask(order, data)
            healthy = True
        except (TimeoutError, EOFError, ConnectionError) as error:
            log.warning("a process that reads pictures was lost: %s", type(error).__name__)
            raise InvalidImageError("its reader failed") from None
        finally:
            if healthy and reader.tasks < self._tasks_max and not self._closed:
                self._idle.append(reader)
            else:
                await self._end(reader)
        if "refused" in said:
            raise InvalidImageError(said["refused"])
        return said, written

    async def _start(self) -> "_Reader":
        process = await asyncio.create_subprocess_exec(
            sys.executable,
            # The folder of the program is no place to import from.
            "-P",
            str(_PROGRAM),
            str(self._memory_bytes),
            stdin=PIPE,
            stdout=PIPE,
            stderr=asyncio.subprocess.DEVNULL,
            env={name: os.environ[name] for name in _KEPT_VARIABLES if name in os.environ},
        )
        reader = _Reader(process)
        self._all.add(reader)
        return reader

    async def _end(self, reader: "_Reader") -> None:
        self._all.discard(reader)
        await reader.end()


class _Reader:
    """One process and the pipes to it."""

    def __init__(self, process: Process) -> None:
        assert process.stdin is not None
        assert process.stdout is not None
        self._process = process
        self._stdin = process.stdin
        self._stdout = process.stdout
        self.tasks = 0

    async def ask(self, order: dict[str, Any], data: bytes) -> tuple[dict[str, Any], bytes]:
        """Send an order and its file, and wait for what comes back; EOFError where the process is gone."""
        header = json.dumps(order | {"bytes": len(data)}).encode()
        self._stdin.writelines((struct.pack(">I", len(header)), header, data))
        await self._stdin.drain()
        try:
            (length,) = struct.unpack(">I", await self._stdout.readexactly(4))
            said = msgspec.json.decode(await self._stdout.readexactly(min(length, 1 << 16)))
            if said["bytes"] > ANSWER_BYTES_MAX:
                raise EOFError
            written = await self._stdout.readexactly(said["bytes"])
        except (asyncio.IncompleteReadError, msgspec.DecodeError):
            raise EOFError from None
        self.tasks += 1
        return said, written

    async def end(self) -> None:
        """Kill it, and wait until it is gone."""
        try:
            self._process.kill()
        except ProcessLookupError:
            pass
        self._stdin.close()
        await self._process.wait()
