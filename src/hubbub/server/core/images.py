"""Conversion of untrusted images in separate processes, so that an image cannot crash or block the platform.

An image whose header gives too large a size is rejected before decoding. The others are sent to one of a few processes
(`core.image_process`) with limited memory and time. A process is replaced after a number of images; if it dies, only its
image is rejected. Processes start with the first image, so a platform without images never loads the imaging library.
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
from hubbub.protocol.images import ImageData, TooLargeError, detect_image_type
from hubbub.server.core import media

log = logging.getLogger(__name__)

PROCESSES_MAX: Final = 2
"""Maximum number of image processes that run at the same time."""
QUEUED_IMAGES_MAX: Final = 64
"""Maximum number of images that may wait or be in conversion; more are rejected with RESOURCE_OVERLOADED."""
TASKS_MAX: Final = 200
"""Number of images after which a process is replaced."""
TASK_SECONDS: Final = 10.0
"""Time limit in seconds for one image."""
START_SECONDS: Final = 30.0
"""Time limit in seconds for the first image of a process, which includes its start."""
MEMORY_BYTES_MAX: Final = 1 << 30
"""Memory limit of a process in bytes."""
PIXELS_MAX: Final = 25_000_000
"""Maximum number of pixels by the header; `image_process` checks the decoder's result as well."""
SIDE_MAX: Final = 16_384
"""Maximum width and height in pixels by the header."""
RESULT_BYTES_MAX: Final = 128 << 20
RESULT_HEADER_BYTES_MAX: Final = 1 << 16

_PROGRAM: Final = Path(__file__).with_name("image_process.py")
_PASSED_VARIABLES: Final = ("PATH", "PYTHONPATH", "PYTHONHOME", "LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH", "SYSTEMROOT")
"""Environment variables that a process needs to start; the operator's secrets are not passed."""


class InvalidImageError(Exception):
    """The data is not an image, is too large, or could not be decoded."""


class EncodedImage(msgspec.Struct, frozen=True, kw_only=True):
    """The result of a conversion; `duration_ms` is 0 for a still image."""

    data: bytes
    content_type: str
    width: int
    height: int
    is_animated: bool
    duration_ms: int = 0


class ImageConverter:
    """Converts images in separate processes, with limited concurrency."""

    def __init__(
        self,
        *,
        processes: int = PROCESSES_MAX,
        memory_bytes: int = MEMORY_BYTES_MAX,
        task_seconds: float = TASK_SECONDS,
        tasks_max: int = TASKS_MAX,
    ) -> None:
        self._memory_bytes = memory_bytes
        self._task_seconds = task_seconds
        self._tasks_max = tasks_max
        self._slots = asyncio.Semaphore(processes)
        self._pending_count = 0
        self._idle_processes: list[_ImageProcess] = []
        self._processes: set[_ImageProcess] = set()
        self._is_closed = False

    async def reencode(self, image: ImageData) -> None:
        """Replace the content of an uploaded image: re-encoded without metadata, and scaled down to the limit of its field.

        Raise InvalidImageError if it cannot be converted, TooLargeError if the new file is still too large, and
        RESOURCE_OVERLOADED if too many images wait."""
        is_animatable = image.content_type in image.animated_types
        encoded_image = await self.convert(
            image.data, to=image.content_type, side=image.side_pixels_max, keeps_frames=is_animatable
        )
        if (
            len(encoded_image.data) > image.bytes_max
            and encoded_image.is_animated
            and "image/webp" in image.animated_types
        ):
            # Convert a too large animation to WebP, which needs a fraction of the bytes for the same frames.
            encoded_image = await self.convert(
                encoded_image.data, to="image/webp", side=image.side_pixels_max, keeps_frames=True
            )
        if len(encoded_image.data) > image.bytes_max:
            raise TooLargeError(image.bytes_max)
        image.replace_content(
            encoded_image.data,
            encoded_image.content_type,
            is_animated=encoded_image.is_animated,
            duration_ms=encoded_image.duration_ms,
        )

    async def convert(
        self, data: bytes, *, to: str, side: int, box: tuple[int, int] | None = None, keeps_frames: bool = False
    ) -> EncodedImage:
        """Convert an image to another type or size; `keeps_frames` keeps all frames if the type `to` supports it.

        No side of the result is longer than `side`; with `box` it also fits into that width and height. Raise
        InvalidImageError if the data cannot be converted within the limits, and RESOURCE_OVERLOADED if too many images wait."""
        source_type = detect_image_type(data)
        if source_type is None:
            raise InvalidImageError("not an image")
        header = media.inspect_file(data)
        if not header.width or not header.height:
            raise InvalidImageError("no dimensions in the header")
        if header.width * header.height > PIXELS_MAX or max(header.width, header.height) > SIDE_MAX:
            raise InvalidImageError("too many pixels")
        width, height = box or (side, side)
        task = {
            "from": source_type,
            "to": to,
            "box": (min(width, side), min(height, side)),
            "animated": keeps_frames and to != "image/jpeg",
        }
        result_header, output_file = await self._submit(task, data)
        return EncodedImage(
            data=output_file,
            content_type=result_header["type"],
            width=result_header["width"],
            height=result_header["height"],
            is_animated=result_header["frames"] > 1,
            duration_ms=result_header["duration_ms"],
        )

    async def close(self) -> None:
        """Terminate every process."""
        self._is_closed = True
        for image_process in list(self._processes):
            await self._end(image_process)
        self._idle_processes.clear()

    async def _submit(self, task: dict[str, Any], data: bytes) -> tuple[dict[str, Any], bytes]:
        if self._pending_count >= QUEUED_IMAGES_MAX or self._is_closed:
            raise errors.RESOURCE_OVERLOADED()
        self._pending_count += 1
        try:
            async with self._slots:
                return await self._run_task(task, data)
        finally:
            self._pending_count -= 1

    async def _run_task(self, task: dict[str, Any], data: bytes) -> tuple[dict[str, Any], bytes]:
        """Run a task in an idle or new process, which is ended if it fails or has run enough tasks."""
        image_process = self._idle_processes.pop() if self._idle_processes else await self._start()
        has_completed = False
        try:
            async with asyncio.timeout(self._task_seconds if image_process.completed_task_count else START_SECONDS):
                result_header, output_file = await image_process.run(task, data)
            has_completed = True
        except (TimeoutError, EOFError, ConnectionError) as error:
            log.warning("An image process failed: %s", type(error).__name__)
            raise InvalidImageError("the image process failed") from None
        finally:
            if has_completed and image_process.completed_task_count < self._tasks_max and not self._is_closed:
                self._idle_processes.append(image_process)
            else:
                await self._end(image_process)
        if "rejected" in result_header:
            raise InvalidImageError(result_header["rejected"])
        return result_header, output_file

    async def _start(self) -> "_ImageProcess":
        process = await asyncio.create_subprocess_exec(
            sys.executable,
            # Do not import from the program's own folder.
            "-P",
            str(_PROGRAM),
            str(self._memory_bytes),
            stdin=PIPE,
            stdout=PIPE,
            stderr=asyncio.subprocess.DEVNULL,
            env={name: os.environ[name] for name in _PASSED_VARIABLES if name in os.environ},
        )
        image_process = _ImageProcess(process)
        self._processes.add(image_process)
        return image_process

    async def _end(self, image_process: "_ImageProcess") -> None:
        self._processes.discard(image_process)
        await image_process.end()


class _ImageProcess:
    """One image process and its pipes."""

    def __init__(self, process: Process) -> None:
        assert process.stdin is not None
        assert process.stdout is not None
        self._process = process
        self._stdin = process.stdin
        self._stdout = process.stdout
        self.completed_task_count = 0

    async def run(self, task: dict[str, Any], data: bytes) -> tuple[dict[str, Any], bytes]:
        """Send a task and its file, and return the result and its file.

        Raise EOFError or ConnectionError if the process died, and EOFError if its result is invalid."""
        task_header = json.dumps(task | {"bytes": len(data)}).encode()
        self._stdin.writelines((struct.pack(">I", len(task_header)), task_header, data))
        await self._stdin.drain()
        try:
            (header_length,) = struct.unpack(">I", await self._stdout.readexactly(4))
            result_header = msgspec.json.decode(
                await self._stdout.readexactly(min(header_length, RESULT_HEADER_BYTES_MAX))
            )
            if result_header["bytes"] > RESULT_BYTES_MAX:
                raise EOFError
            output_file = await self._stdout.readexactly(result_header["bytes"])
        except (asyncio.IncompleteReadError, msgspec.DecodeError):
            raise EOFError from None
        self.completed_task_count += 1
        return result_header, output_file

    async def end(self) -> None:
        """Kill the process and wait until it has exited."""
        try:
            self._process.kill()
        except ProcessLookupError:
            pass
        self._stdin.close()
        await self._process.wait()
