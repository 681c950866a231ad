"""Multipart bodies (http.md 1.11), read as they arrive and given up at the first limit they break."""

import re
from collections.abc import AsyncIterator
from typing import Any, Final
from urllib.parse import quote, unquote

import msgspec

from hubbub.protocol import errors
from hubbub.protocol.operation import Uploads

MAX_PARTS: Final = 200
MAX_HEADER_BYTES: Final = 8 * 1024
MAX_FILENAME: Final = 255

_PARAMETER: Final = re.compile(r';\s*([\w!#$%&\'*+.^`|~-]+)\s*=\s*("(?:[^"\\]|\\.)*"|[^;\s]*)')
_ESCAPED: Final = re.compile(r"\\(.)")
_INDEXED: Final = re.compile(r"files\[([0-9]{1,19})\]")
_OLD: Final = re.compile(r"file([0-9]{0,3})")
_MEDIA_TYPE: Final = re.compile(r"[\w!#$&^.+-]{1,64}/[\w!#$&^.+-]{1,64}(?:;[ \w=.+\"-]{0,64})?", re.ASCII)
_UNPRINTABLE: Final = re.compile(r"[\x00-\x1f\x7f\ud800-\udfff]")


class RawUpload(msgspec.Struct, kw_only=True):
    """A file as it came."""

    field: str
    """The part's name without its index."""
    index: int | None
    filename: str
    content_type: str
    data: bytes


class Form(msgspec.Struct, kw_only=True):
    """What a multipart body held."""

    payload: bytes | None = None
    """The JSON of `payload_json`."""
    fields: dict[str, list[str]]
    """The flat fields, where there was no payload."""
    files: list[RawUpload]


class Limits(msgspec.Struct, frozen=True, kw_only=True):
    """What one body may hold; the door knows the numbers."""

    total_bytes: int
    file_bytes: int
    """No file of anybody may be larger; an operation may ask less of a caller."""
    field_bytes: int
    """The largest payload_json or flat field."""


class _Part:
    """The part that is being read."""

    __slots__ = ("content_type", "data", "filename", "limit", "name")

    def __init__(self, headers: dict[str, str], limits: Limits) -> None:
        disposition = headers.get("content-disposition", "")
        parameters = _parameters(disposition)
        name = parameters.get("name")
        if not disposition.lower().startswith("form-data") or name is None:
            raise _malformed()
        # aiohttp's clients percent-encode the brackets of files[n], others do not.
        self.name = unquote(name, errors="replace")
        filename = parameters.get("filename*") or parameters.get("filename")
        self.filename = None if filename is None else clean_filename(filename)
        self.content_type = headers.get("content-type", "").strip()
        self.limit = limits.field_bytes if self.filename is None else limits.file_bytes
        self.data = bytearray()

    def feed(self, data: bytes | bytearray | memoryview) -> None:
        self.data += data
        if len(self.data) > self.limit:
            raise (errors.REQUEST_ENTITY_TOO_LARGE if self.filename is None else errors.FILE_TOO_LARGE)()


async def read(chunks: AsyncIterator[bytes], content_type: str, uploads: Uploads | None, limits: Limits) -> Form:
    """Read a whole body; 413 for one too large (40005, a single file 50045), 50035 for one that cannot be understood."""
    boundary = _parameters(";" + content_type.partition(";")[2]).get("boundary", "")
    if not boundary or len(boundary) > 200 or not boundary.isascii():
        raise _malformed()
    reader = _Reader(boundary.encode(), uploads, limits)
    async for chunk in chunks:
        reader.feed(chunk)
    return reader.finish()


class _Reader:
    """A push parser: bytes in, parts out. The buffer never holds more than a chunk, a delimiter and a part's headers."""

    def __init__(self, boundary: bytes, uploads: Uploads | None, limits: Limits) -> None:
        self._delimiter = b"\r\n--" + boundary
        # The first delimiter has no line before it.
        self._buffer = bytearray(b"\r\n")
        self._uploads = uploads
        self._limits = limits
        self._total = 0
        self._parts = 0
        self._part: _Part | None = None
        self._state = "preamble"
        self._form = Form(fields={}, files=[])
        self._indexes: set[int] = set()

    def feed(self, chunk: bytes) -> None:
        self._total += len(chunk)
        if self._total > self._limits.total_bytes:
            raise errors.REQUEST_ENTITY_TOO_LARGE()
        self._buffer += chunk
        while self._step():
            pass

    def finish(self) -> Form:
        if self._state != "end":
            raise _malformed()
        return self._form

    def _step(self) -> bool:
        """Take what can be taken from the buffer; False when more must come first."""
        buffer = self._buffer
        if self._state in ("preamble", "body"):
            at = buffer.find(self._delimiter)
            if at < 0:
                # The end may be the beginning of a delimiter.
                sure = len(buffer) - len(self._delimiter) + 1
                if sure > 0:
                    self._keep(sure)
                return False
            self._keep(at)
            del buffer[: len(self._delimiter)]
            self._close()
            self._state = "delimiter"
            return True
        if self._state == "delimiter":
            if len(buffer) < 2:
                return False
            if buffer.startswith(b"--"):
                self._state = "end"
                return True
            line = buffer.find(b"\r\n")
            if line < 0 or buffer[:line].strip(b" \t"):
                if line >= 0 or len(buffer) > 256:
                    raise _malformed()
                return False
            # The line's end stays, so that a part without headers still shows an empty line.
            del buffer[:line]
            self._state = "headers"
            return True
        if self._state == "headers":
            end = buffer.find(b"\r\n\r\n")
            if end < 0 or end > MAX_HEADER_BYTES:
                if len(buffer) > MAX_HEADER_BYTES:
                    raise _malformed()
                return False
            headers = _headers(bytes(buffer[:end]))
            del buffer[: end + 4]
            self._open(headers)
            self._state = "body"
            return True
        buffer.clear()
        return False

    def _open(self, headers: dict[str, str]) -> None:
        self._parts += 1
        if self._parts > MAX_PARTS:
            raise errors.REQUEST_ENTITY_TOO_LARGE()
        self._part = _Part(headers, self._limits)

    def _keep(self, length: int) -> None:
        if self._part is not None:
            with memoryview(self._buffer) as view:
                self._part.feed(view[:length])
        del self._buffer[:length]

    def _close(self) -> None:
        part, self._part = self._part, None
        if part is None:
            return
        if part.name == "payload_json":
            self._form.payload = bytes(part.data)
        elif part.filename is None and not (self._uploads and self._uploads.field == part.name):
            self._form.fields.setdefault(part.name, []).append(part.data.decode("utf-8", "replace"))
        else:
            self._take_file(part)

    def _take_file(self, part: _Part) -> None:
        uploads = self._uploads
        if uploads is None:
            raise errors.invalid((part.name[:64],), "BASE_TYPE_BAD_VALUE", "This operation takes no files.")
        named = _named(part.name, uploads)
        if named is None:
            # An unknown part, like an unknown key.
            return
        field, index = named
        if index is not None:
            if index in self._indexes:
                raise errors.invalid((field, index), *errors.duplicate())
            self._indexes.add(index)
        if len(self._form.files) >= uploads.most:
            if uploads.field == "files":
                raise errors.MAX_ATTACHMENTS()
            raise errors.invalid((uploads.field,), *errors.bad_length(0, uploads.most))
        self._form.files.append(
            RawUpload(
                field=field,
                index=index,
                filename=part.filename or "unknown",
                content_type=part.content_type if _MEDIA_TYPE.fullmatch(part.content_type) else DEFAULT_TYPE,
                data=bytes(part.data),
            )
        )


DEFAULT_TYPE: Final = "application/octet-stream"


def _named(name: str, uploads: Uploads) -> tuple[str, int | None] | None:
    """The field and index that a file's part stands for; None for a part that nobody asked for."""
    if uploads.field != "files":
        return (name, None) if name == uploads.field else None
    match = _INDEXED.fullmatch(name)
    if match:
        return "files", int(match[1])
    match = _OLD.fullmatch(name)
    if match:
        return "file", int(match[1]) if match[1] else None
    return None


def clean_filename(name: str) -> str:
    """A name that is safe to show, store and put into an address: no folders, no control characters, no endless tail."""
    name = _UNPRINTABLE.sub("", name.replace("\\", "/").rpartition("/")[2]).strip()
    if len(name) > MAX_FILENAME:
        stem, dot, extension = name.rpartition(".")
        name = f"{stem[: MAX_FILENAME - 17]}.{extension[:16]}" if dot else name[:MAX_FILENAME]
    return "unknown" if name in ("", ".", "..") else name


def _headers(block: bytes) -> dict[str, str]:
    headers: dict[str, str] = {}
    for line in block.decode("utf-8", "replace").split("\r\n"):
        if line:
            name, colon, value = line.partition(":")
            if not colon:
                raise _malformed()
            headers[name.strip().lower()] = value.strip()
    return headers


def _parameters(value: str) -> dict[str, str]:
    """The parameters of a header value; `name*` in RFC 5987's form is decoded, and so are the escapes browsers use."""
    found: dict[str, Any] = {}
    for name, text in _PARAMETER.findall(value):
        key = name.lower()
        if text.startswith('"'):
            text = _ESCAPED.sub(r"\1", text[1:-1])
        if key.endswith("*"):
            charset, first, rest = text.partition("'")
            _, second, encoded = rest.partition("'")
            if first and second and charset.lower() in ("utf-8", "us-ascii", "iso-8859-1"):
                text = unquote(encoded, encoding=charset, errors="replace")
        elif key == "filename":
            # Browsers escape three characters; aiohttp's clients percent-encode the whole name or nothing of it.
            whole = unquote(text, errors="replace")
            text = whole if quote(whole, safe="") == text else text.replace("%22", '"')
        found.setdefault(key, text)
    return found


def _malformed() -> errors.ApiError:
    return errors.invalid((), "MULTIPART_INVALID", "The multipart body could not be read.")
