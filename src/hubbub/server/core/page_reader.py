"""Metadata of untrusted web pages, extracted in a separate process for each page, so that a page cannot block the platform."""

import asyncio
import os
import sys
from asyncio.subprocess import DEVNULL, PIPE
from pathlib import Path
from typing import Final

import msgspec

from hubbub.protocol import codec

PROCESSES_MAX: Final = 2
"""Maximum number of processes that run at the same time."""
PAGE_SECONDS: Final = 10.0
"""Time limit in seconds for one page, including the start of its process."""

_PROGRAM: Final = Path(__file__).with_name("page_process.py")
_PASSED_VARIABLES: Final = ("PATH", "LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH", "SYSTEMROOT")
"""Environment variables that a process needs to start; the operator's secrets are not passed."""


class UnreadablePageError(Exception):
    """The metadata of a page could not be extracted within the limits."""


class PageMetadata(msgspec.Struct, frozen=True):
    """The metadata of a web page; texts are as in the page, also with control characters."""

    title: str = ""
    properties: dict[str, str] = {}
    """Contents of meta elements, such as `og:title`, by property or name in lower case."""
    oembed_url: str = ""
    """URL of the oEmbed document, possibly relative; empty if there is none."""


class PageReader:
    """Extracts the metadata of web pages in separate processes, with limited concurrency."""

    def __init__(self, *, page_seconds: float = PAGE_SECONDS) -> None:
        self._page_seconds = page_seconds
        self._slots = asyncio.Semaphore(PROCESSES_MAX)

    async def read(self, page: bytes, charset: str) -> PageMetadata:
        """Return the metadata of a page; `charset` is that of the response, or empty.

        Raise UnreadablePageError if the metadata cannot be extracted within the limits."""
        async with self._slots:
            process = await asyncio.create_subprocess_exec(
                sys.executable,
                # -S and -P: import neither installed packages nor modules of the program's own folder. -E: ignore PYTHON*
                # variables.
                *("-S", "-P", "-E"),
                str(_PROGRAM),
                charset,
                stdin=PIPE,
                stdout=PIPE,
                stderr=DEVNULL,
                env={name: os.environ[name] for name in _PASSED_VARIABLES if name in os.environ},
            )
            try:
                async with asyncio.timeout(self._page_seconds):
                    output, _ = await process.communicate(page)
            except TimeoutError:
                raise UnreadablePageError("no result in time") from None
            finally:
                if process.returncode is None:
                    process.kill()
                    await process.wait()
        if process.returncode != 0:
            raise UnreadablePageError("the process failed")
        try:
            return codec.decode(output, PageMetadata)
        except msgspec.DecodeError as error:
            raise UnreadablePageError("the process returned no metadata") from error
