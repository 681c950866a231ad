"""The file store for attachments, images and sounds: a local folder, memory (rehearsals), or S3-compatible storage."""

import asyncio
import contextlib
import mimetypes
import os
import re
import secrets
from collections.abc import AsyncIterator, Iterator, Mapping
from pathlib import Path
from typing import Any, Final
from urllib.parse import parse_qsl, unquote, urlsplit

import msgspec
import obstore
import obstore.exceptions
from obstore.store import LocalStore, MemoryStore, ObjectStore, S3Store

KEY_BYTES_MAX: Final = 1024
KEY_PART_BYTES_MAX: Final = 255
CHUNK_BYTES: Final = 256 * 1024
CHECK_TIMEOUT_SECONDS: Final = 10.0
"""Time in seconds in which a check of the store must finish."""

# Characters with a special meaning in a file system, an object store or a URL.
_FORBIDDEN_CHARACTER_PATTERN: Final = re.compile(r"[\x00-\x1f\x7f\\#?%*\"<>|:~\[\]{}^`]")


FileStoreError = obstore.exceptions.BaseError
"""An error of the store, such as an unreachable S3 endpoint or rejected credentials."""


class InvalidKeyError(ValueError):
    """A key that could refer to a file outside the store, or that some kind of store does not support."""


class FileInfo(msgspec.Struct, frozen=True, kw_only=True):
    """Metadata of a stored file."""

    size: int
    content_type: str
    """The type given to `put`; a local folder does not store it, so there it is guessed from the key's extension."""


def describe_store_error(error: FileStoreError) -> str:
    """Return the message of an error of the file store for an operator, without its debug output."""
    return str(error).partition("\n\nDebug source")[0].strip()


class Files:
    """A file store with keys such as `attachments/1`."""

    def __init__(self, url: str) -> None:
        self._store, self._stores_content_types = _open_store(url)
        self._bucket = urlsplit(url).hostname or "" if url.startswith("s3://") else ""

    async def put(self, key: str, data: bytes, content_type: str = "application/octet-stream") -> None:
        """Write a file atomically, replacing an existing one."""
        attributes = {"Content-Type": content_type} if self._stores_content_types else None
        with self._detect_missing_bucket():
            await obstore.put_async(self._store, _check_key(key), data, attributes=attributes)

    async def get(self, key: str) -> bytes:
        """Return the whole file. Raise FileNotFoundError if there is none."""
        with self._detect_missing_bucket():
            result = await obstore.get_async(self._store, _check_key(key))
        return bytes(await result.bytes_async())

    async def stream(self, key: str, *, start: int = 0, end: int | None = None) -> AsyncIterator[bytes]:
        """Stream the file from `start` up to but not including `end`.

        Raise FileNotFoundError before the first chunk."""
        byte_range: Any = {"offset": start} if end is None else (start, end)
        options: Any = {"range": byte_range} if start or end is not None else None
        with self._detect_missing_bucket():
            result = await obstore.get_async(self._store, _check_key(key), options=options)
        return _chunks(result.stream(min_chunk_size=CHUNK_BYTES))

    async def find_info(self, key: str) -> FileInfo | None:
        """Return size and type of a file, or None if it, or the bucket of S3, does not exist."""
        key = _check_key(key)
        try:
            result = await obstore.get_async(self._store, key, options={"head": True})
        except FileNotFoundError:
            return None
        content_type = result.attributes.get("Content-Type") or mimetypes.guess_type(key)[0]
        return FileInfo(size=result.meta["size"], content_type=content_type or "application/octet-stream")

    async def exists(self, key: str) -> bool:
        return await self.find_info(key) is not None

    async def delete(self, key: str) -> None:
        """Delete a file. Do nothing if it does not exist."""
        try:
            with self._detect_missing_bucket():
                await obstore.delete_async(self._store, _check_key(key))
        except FileNotFoundError:
            pass

    async def list_keys(self) -> AsyncIterator[str]:
        """Yield the key of every file whose key is valid, in any order."""
        batches = obstore.list(self._store)
        while True:
            with self._detect_missing_bucket():
                batch = await anext(batches, None)
            if batch is None:
                return
            for object_meta in batch:
                try:
                    key = _check_key(object_meta["path"])
                except InvalidKeyError:  # Another program stored a file with such a name.
                    continue
                yield key

    @contextlib.contextmanager
    def _detect_missing_bucket(self) -> Iterator[None]:
        """Name the bucket of S3 in the error if it does not exist; obstore reports it as a missing file."""
        try:
            yield
        except (FileNotFoundError, FileStoreError) as error:
            if self._bucket and "NoSuchBucket" in str(error):
                raise FileStoreError(f"the bucket {self._bucket} does not exist") from error
            raise

    async def check(self, timeout_seconds: float = CHECK_TIMEOUT_SECONDS) -> None:
        """Write, read and delete a small file. Raise FileStoreError with the reason if that fails or takes too long."""
        key = f"doctor/{secrets.token_hex(8)}"
        try:
            # The library repeats failed requests for minutes, longer than an operator waits for a check.
            async with asyncio.timeout(timeout_seconds):
                await self.put(key, b"probe")
                is_intact = await self.get(key) == b"probe"
                await self.delete(key)
        except TimeoutError:
            raise FileStoreError(f"no response within {timeout_seconds:.0f} s") from None
        except OSError as error:
            raise FileStoreError(str(error)) from error
        if not is_intact:
            raise FileStoreError("a file read back differs from what was written")

    async def export(self) -> dict[str, tuple[bytes, str]]:
        """Return every file with its type, by key. Use it only for a store in memory, such as that of a rehearsal."""
        files: dict[str, tuple[bytes, str]] = {}
        async for batch in obstore.list(self._store):
            for object_meta in batch:
                result = await obstore.get_async(self._store, object_meta["path"])
                content_type = result.attributes.get("Content-Type") or "application/octet-stream"
                files[object_meta["path"]] = (bytes(await result.bytes_async()), content_type)
        return files

    async def replace(self, files: Mapping[str, tuple[bytes, str]]) -> None:
        """Replace the contents of the store with files from `export`."""
        for key in (await self.export()).keys() - files.keys():
            await self.delete(key)
        for key, (data, content_type) in files.items():
            await self.put(key, data, content_type)


async def _chunks(stream: AsyncIterator[Any]) -> AsyncIterator[bytes]:
    async for chunk in stream:
        yield bytes(chunk)


def _check_key(key: str) -> str:
    segments = key.split("/")
    if (
        not key
        or len(key.encode("utf-8", "surrogatepass")) > KEY_BYTES_MAX
        or _FORBIDDEN_CHARACTER_PATTERN.search(key)
        or any(_is_surrogate(character) for character in key)
        or any(segment in ("", ".", "..") or len(segment.encode()) > KEY_PART_BYTES_MAX for segment in segments)
    ):
        raise InvalidKeyError(f"not a valid file key: {key[:100]!r}")
    return key


def _is_surrogate(character: str) -> bool:
    """Return whether a character is half of a UTF-16 pair, which has no UTF-8 encoding."""
    return 0xD800 <= ord(character) < 0xE000


def _open_store(url: str) -> tuple[ObjectStore, bool]:
    """Open the store of a URL; also return whether it stores content types."""
    parts = urlsplit(url)
    if parts.scheme == "memory":
        return MemoryStore(), True
    if parts.scheme == "s3":
        return _open_s3(url), True
    if parts.scheme == "file":
        return _open_folder(Path(unquote(parts.path))), False
    # A scheme of one letter is the drive of a Windows path.
    if not parts.scheme or os.path.isabs(url) or len(parts.scheme) == 1:
        return _open_folder(Path(url)), False
    raise ValueError(f"cannot store files at {parts.scheme}://; use a folder, file://, memory:// or s3://")


def _open_folder(folder: Path) -> LocalStore:
    # Files are private; only their folder has a mode that protects them. Another process may create it at the same time.
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    # A file is written under a temporary name and renamed, so a reader never sees a partial file.
    return LocalStore(folder.resolve(), automatic_cleanup=True, mkdir=True)


def make_private(folder: Path) -> None:
    """Remove the permissions of other users from an existing folder, as far as this process may."""
    with contextlib.suppress(OSError):
        folder.chmod(folder.stat().st_mode & 0o770)


def _open_s3(url: str) -> S3Store:
    """Open `s3://[key:secret@]bucket/prefix?endpoint=https://...&region=...`; the key defaults to the AWS variables."""
    parts = urlsplit(url)
    query = dict(parse_qsl(parts.query))
    options: dict[str, Any] = {}
    if parts.username:
        options["access_key_id"] = unquote(parts.username)
    if parts.password:
        options["secret_access_key"] = unquote(parts.password)
    if endpoint := query.get("endpoint"):
        options["endpoint"] = endpoint
        options["virtual_hosted_style_request"] = False
        if endpoint.startswith("http://"):
            options["client_options"] = {"allow_http": True}
    options["region"] = query.get("region", "us-east-1")
    return S3Store(parts.hostname or "", prefix=parts.path.strip("/") or None, **options)
