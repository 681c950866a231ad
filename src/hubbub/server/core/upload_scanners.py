"""Scanning of uploads before they are stored: the interface of a scanner, and the configured scanners (decisions/0137)."""

import asyncio
import hashlib
import importlib
import logging
import os
import re
import struct
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import Any, Final, Protocol
from urllib.parse import urlsplit

import msgspec

from hubbub.protocol import errors
from hubbub.server.core.config import Config, ConfigError
from hubbub.server.core.config_sections import ScanningConfig

log = logging.getLogger(__name__)

CLAMD_PORT: Final = 3310
"""Port of clamd if `scanning.clamd_url` has none."""
CLAMD_CHUNK_BYTES: Final = 256 * 1024
"""Size of the chunks that are sent to clamd."""
CLAMD_RESPONSE_BYTES_MAX: Final = 4096
"""Maximum size of a response of clamd."""

_HASH_LINE_PATTERN: Final = re.compile(r"([0-9a-fA-F]{64})(?:\s.*)?")


class UploadedContent(msgspec.Struct, frozen=True, kw_only=True):
    """The content of an uploaded file, image or sound."""

    filename: str
    """Name of the file; empty for an image or sound in a JSON body."""
    content_type: str
    """Media type that the client sent, or that was found in the content."""
    data: bytes
    """The content as it was uploaded."""


class RejectedUpload(msgspec.Struct, frozen=True, kw_only=True):
    """An upload that a scanner rejected, for the audit log of operators."""

    user_id: int | None
    """ID of the caller; None for a caller without a token, such as a webhook."""
    filename: str
    """Name of the file, or of the field of an image or sound."""
    size: int
    """Size of the file in bytes."""
    scanner: str
    """Name of the scanner, such as `clamd`."""
    finding: str
    """The finding of the scanner, such as the name of a signature."""


class ScannerUnavailable(Exception):
    """A scanner cannot check a file now."""


class UploadScanner(Protocol):
    """Checks uploads. A scan that exceeds `scanning.timeout_ms` counts as unavailable."""

    name: str
    """Name for the audit log, such as `clamd`."""

    async def scan(self, content: UploadedContent) -> str | None:
        """Return the finding of the scanner, such as the name of a signature, or None for an allowed file.

        Raise any exception if the file cannot be checked."""
        ...


class ForbiddenFile(Exception):
    """A scanner found a forbidden file."""

    def __init__(self, scanner: str, finding: str) -> None:
        super().__init__(f"{scanner}: {finding}")
        self.scanner = scanner
        self.finding = finding


class HashList:
    """A scanner with a list of forbidden files: one SHA-256 in hexadecimal per line, optionally followed by a note.

    Empty lines and lines that start with `#` are ignored. The file is read again after a change."""

    name = "hash list"

    def __init__(self, path: str) -> None:
        self._path = Path(path)
        self._file_version: tuple[int, int, int] | None = None
        self._hashes: frozenset[str] = frozenset()

    async def scan(self, content: UploadedContent) -> str | None:
        """Return the hash of a forbidden file, or None."""
        return await asyncio.to_thread(self._find, content.data)

    def load(self) -> None:
        """Read the file if it changed. Raise OSError or ValueError if it cannot be read."""
        file_status = os.stat(self._path)
        file_version = (file_status.st_mtime_ns, file_status.st_size, file_status.st_ino)
        if file_version == self._file_version:
            return
        hashes = set()
        for line_number, line in enumerate(self._path.read_text(encoding="utf-8").splitlines(), start=1):
            line = line.strip()
            if not line or line.startswith("#"):
                continue
            match = _HASH_LINE_PATTERN.fullmatch(line)
            if match is None:
                raise ValueError(f"line {line_number} does not start with a SHA-256 in hexadecimal")
            hashes.add(match[1].lower())
        self._hashes, self._file_version = frozenset(hashes), file_version

    def _find(self, data: bytes) -> str | None:
        self.load()
        digest = hashlib.sha256(data).hexdigest()
        return digest if digest in self._hashes else None


class Clamd:
    """A scanner that sends files to ClamAV's daemon over TCP or a Unix socket, with the command INSTREAM."""

    name = "clamd"

    def __init__(self, url: str) -> None:
        self._url = urlsplit(url)

    async def scan(self, content: UploadedContent) -> str | None:
        """Return the name of the signature that matches, or None. Raise ScannerUnavailable for any other response."""
        response = await self._send(content.data)
        if response.endswith(" FOUND"):
            return response.removeprefix("stream:").removesuffix("FOUND").strip()
        if response == "stream: OK":
            return None
        raise ScannerUnavailable(f"clamd answered {response[:200]!r}")

    async def _send(self, data: bytes) -> str:
        reader, writer = await self._connect()
        try:
            try:
                writer.write(b"zINSTREAM\0")
                for start in range(0, len(data), CLAMD_CHUNK_BYTES):
                    chunk = data[start : start + CLAMD_CHUNK_BYTES]
                    writer.write(struct.pack("!L", len(chunk)) + chunk)
                    await writer.drain()
                writer.write(struct.pack("!L", 0))
                await writer.drain()
            except ConnectionError:
                # clamd closes the connection of a file above its StreamMaxLength after its response.
                pass
            return (await reader.read(CLAMD_RESPONSE_BYTES_MAX)).rstrip(b"\0\n").decode("utf-8", "replace")
        finally:
            writer.close()

    async def _connect(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        if self._url.scheme == "unix":
            return await asyncio.open_unix_connection(self._url.path)
        return await asyncio.open_connection(self._url.hostname, self._url.port or CLAMD_PORT)


class UploadScanners:
    """All configured scanners; each file must pass all of them."""

    def __init__(
        self,
        scanners: Sequence[UploadScanner],
        config: ScanningConfig,
        report: Callable[[RejectedUpload], Awaitable[None]],
    ) -> None:
        self.report = report
        """Function that records an upload that a scanner rejected."""
        self._scanners = scanners
        self._timeout_seconds = config.timeout_ms / 1000
        self._accepts_unchecked = config.when_unavailable == "accept"

    @property
    def is_enabled(self) -> bool:
        """Whether the server has a scanner."""
        return bool(self._scanners)

    async def check(self, content: UploadedContent) -> None:
        """Raise ForbiddenFile for a forbidden file.

        Raise UNAVAILABLE if a scanner cannot check the file, unless the setting accepts such files."""
        for scanner in self._scanners:
            try:
                async with asyncio.timeout(self._timeout_seconds):
                    finding = await scanner.scan(content)
            except Exception as error:
                # A scanner may be third-party code.
                log.warning(
                    "The scanner %s could not check an upload of %d bytes: %s: %s",
                    scanner.name,
                    len(content.data),
                    type(error).__name__,
                    error,
                )
                if self._accepts_unchecked:
                    continue
                raise errors.UNAVAILABLE(message="Files cannot be checked at the moment. Try again later.") from None
            if finding is not None:
                raise ForbiddenFile(scanner.name, finding)


def open_scanners(config: Config, report: Callable[[RejectedUpload], Awaitable[None]]) -> UploadScanners:
    """Return the configured scanners, or raise ConfigError if one cannot be opened."""
    scanning_config = config.scanning
    scanners: list[UploadScanner] = []
    if scanning_config.hash_file is not None:
        hash_list = HashList(scanning_config.hash_file)
        try:
            hash_list.load()
        except (OSError, ValueError) as error:
            raise ConfigError("scanning.hash_file", scanning_config.hash_file, f"cannot be read: {error}") from None
        scanners.append(hash_list)
    if scanning_config.clamd_url is not None:
        scanners.append(Clamd(scanning_config.clamd_url))
    if scanning_config.scanner is not None:
        scanners.append(_load_scanner(scanning_config.scanner))
    return UploadScanners(scanners, scanning_config, report)


def _load_scanner(name: str) -> UploadScanner:
    module, _, attribute = name.partition(":")
    if not module or not attribute:
        raise ConfigError("scanning.scanner", name, "must be module:name, such as mycompany.scanning:Scanner")
    try:
        scanner_or_class: Any = getattr(importlib.import_module(module), attribute)
        scanner: UploadScanner = scanner_or_class() if isinstance(scanner_or_class, type) else scanner_or_class
    except Exception as error:
        # The module is third-party code: report any error together with the setting that named it.
        raise ConfigError("scanning.scanner", name, f"cannot be loaded: {type(error).__name__}: {error}") from error
    if not callable(getattr(scanner, "scan", None)) or not isinstance(getattr(scanner, "name", None), str):
        raise ConfigError("scanning.scanner", name, "has no scan method or no name")
    return scanner
