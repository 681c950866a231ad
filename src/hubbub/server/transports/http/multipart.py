"""Streaming parser of multipart bodies (spec/http.md#1.11), which stops at the first exceeded limit."""

import re
from collections.abc import AsyncIterator
from typing import Any, Final
from urllib.parse import quote, unquote

import msgspec

from hubbub.protocol import errors
from hubbub.protocol.operation import Uploads

PARTS_MAX: Final = 200
HEADER_BYTES_MAX: Final = 8 * 1024
FILENAME_LENGTH_MAX: Final = 255
EXTENSION_LENGTH_MAX: Final = 16
"""Maximum length in characters of the extension that remains in a shortened filename."""
BOUNDARY_LENGTH_MAX: Final = 200
DELIMITER_PADDING_MAX: Final = 256
"""Size limit in bytes of the whitespace after a delimiter."""
DEFAULT_MEDIA_TYPE: Final = "application/octet-stream"
PAYLOAD_FIELD: Final = "payload_json"
"""Name of the field that contains the JSON of a form."""

_PARAMETER_PATTERN: Final = re.compile(r';\s*([\w!#$%&\'*+.^`|~-]+)\s*=\s*("(?:[^"\\]|\\.)*"|[^;\s]*)')
_ESCAPE_PATTERN: Final = re.compile(r"\\(.)")
_INDEXED_NAME_PATTERN: Final = re.compile(r"files\[([0-9]{1,19})\]")
_LEGACY_NAME_PATTERN: Final = re.compile(r"file([0-9]{0,3})")
_MEDIA_TYPE_PATTERN: Final = re.compile(r"[\w!#$&^.+-]{1,64}/[\w!#$&^.+-]{1,64}(?:;[ \w=.+\"-]{0,64})?", re.ASCII)
_UNPRINTABLE_PATTERN: Final = re.compile(r"[\x00-\x1f\x7f\ud800-\udfff]")


class RawUpload(msgspec.Struct, kw_only=True):
    """A file of a multipart body."""

    field: str
    """The part's name without its index."""
    index: int | None
    """Number in the part's name, such as 2 in `files[2]`; None if the name has none."""
    filename: str
    content_type: str
    """Media type of the part; `DEFAULT_MEDIA_TYPE` if it is absent or malformed."""
    data: bytes


class MultipartForm(msgspec.Struct, kw_only=True):
    """A parsed multipart body."""

    payload: bytes | None = None
    """The JSON of `payload_json`, or None."""
    fields: dict[str, list[str]]
    """Values of the parts without a filename, except `payload_json`, by name."""
    files: list[RawUpload]


class MultipartLimits(msgspec.Struct, frozen=True, kw_only=True):
    """Size limits of one body, in bytes."""

    total_bytes: int
    file_bytes: int
    """Limit for any file; an operation may set a lower limit for its caller."""
    field_bytes: int
    """Limit for `payload_json` and for each flat field."""


class _Part:
    """The part that is currently read."""

    __slots__ = ("content_type", "data", "filename", "limit", "name")

    def __init__(self, headers: dict[str, str], limits: MultipartLimits) -> None:
        disposition = headers.get("content-disposition", "")
        parameters = _parse_parameters(disposition)
        name = parameters.get("name")
        if not disposition.lower().startswith("form-data") or name is None:
            raise _malformed_error()
        # aiohttp's client percent-encodes the brackets of files[n]; other clients do not.
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


async def read_form(
    chunks: AsyncIterator[bytes], content_type: str, uploads: Uploads | None, limits: MultipartLimits
) -> MultipartForm:
    """Read a whole body.

    Raise REQUEST_ENTITY_TOO_LARGE or FILE_TOO_LARGE if the body or a file is too large, MAX_ATTACHMENTS if there are too
    many attachments, and INVALID_FORM_BODY for other errors.
    """
    boundary = _parse_parameters(";" + content_type.partition(";")[2]).get("boundary", "")
    if not boundary or len(boundary) > BOUNDARY_LENGTH_MAX or not boundary.isascii():
        raise _malformed_error()
    parser = _Parser(boundary.encode(), uploads, limits)
    async for chunk in chunks:
        parser.feed(chunk)
    return parser.finish()


class _Parser:
    """An incremental parser, whose buffer never holds more than a chunk, a delimiter and the headers of a part."""

    def __init__(self, boundary: bytes, uploads: Uploads | None, limits: MultipartLimits) -> None:
        self._delimiter = b"\r\n--" + boundary
        # The first delimiter is not preceded by a line break, so one is added.
        self._buffer = bytearray(b"\r\n")
        self._uploads = uploads
        self._limits = limits
        self._total_bytes = 0
        self._part_count = 0
        self._part: _Part | None = None
        self._state = "preamble"
        self._form = MultipartForm(fields={}, files=[])
        self._indexes: set[int] = set()

    def feed(self, chunk: bytes) -> None:
        self._total_bytes += len(chunk)
        if self._total_bytes > self._limits.total_bytes:
            raise errors.REQUEST_ENTITY_TOO_LARGE()
        self._buffer += chunk
        while self._step():
            pass

    def finish(self) -> MultipartForm:
        if self._state != "end":
            raise _malformed_error()
        return self._form

    def _step(self) -> bool:
        """Process the next element in the buffer; return False if more data is needed."""
        buffer = self._buffer
        if self._state in ("preamble", "body"):
            delimiter_start = buffer.find(self._delimiter)
            if delimiter_start < 0:
                # The end of the buffer may be the start of a delimiter.
                complete_bytes = len(buffer) - len(self._delimiter) + 1
                if complete_bytes > 0:
                    self._consume(complete_bytes)
                return False
            self._consume(delimiter_start)
            del buffer[: len(self._delimiter)]
            self._close_part()
            self._state = "delimiter"
            return True
        if self._state == "delimiter":
            if len(buffer) < 2:
                return False
            if buffer.startswith(b"--"):
                self._state = "end"
                return True
            line_end = buffer.find(b"\r\n")
            if line_end < 0 or buffer[:line_end].strip(b" \t"):
                if line_end >= 0 or len(buffer) > DELIMITER_PADDING_MAX:
                    raise _malformed_error()
                return False
            # The line break stays in the buffer, so that a part without headers still begins with an empty line.
            del buffer[:line_end]
            self._state = "headers"
            return True
        if self._state == "headers":
            end = buffer.find(b"\r\n\r\n")
            if end < 0 or end > HEADER_BYTES_MAX:
                if len(buffer) > HEADER_BYTES_MAX:
                    raise _malformed_error()
                return False
            headers = _parse_headers(bytes(buffer[:end]))
            del buffer[: end + 4]
            self._open_part(headers)
            self._state = "body"
            return True
        buffer.clear()
        return False

    def _open_part(self, headers: dict[str, str]) -> None:
        """Start a part with these headers."""
        self._part_count += 1
        if self._part_count > PARTS_MAX:
            raise errors.REQUEST_ENTITY_TOO_LARGE()
        self._part = _Part(headers, self._limits)

    def _consume(self, length: int) -> None:
        """Move bytes from the start of the buffer to the current part; drop them if there is no part."""
        if self._part is not None:
            with memoryview(self._buffer) as view:
                self._part.feed(view[:length])
        del self._buffer[:length]

    def _close_part(self) -> None:
        """Add the current part to the form."""
        part, self._part = self._part, None
        if part is None:
            return
        if part.name == PAYLOAD_FIELD:
            self._form.payload = bytes(part.data)
        elif part.filename is None and not (self._uploads and self._uploads.field == part.name):
            self._form.fields.setdefault(part.name, []).append(part.data.decode("utf-8", "replace"))
        else:
            self._add_file(part)

    def _add_file(self, part: _Part) -> None:
        uploads = self._uploads
        if uploads is None:
            raise errors.invalid((part.name[:64],), "BASE_TYPE_BAD_VALUE", "This operation does not accept files.")
        field_and_index = _parse_file_field(part.name, uploads)
        if field_and_index is None:
            # Unknown parts are ignored, like unknown keys.
            return
        field, index = field_and_index
        if index is not None:
            if index in self._indexes:
                raise errors.invalid((field, index), *errors.duplicate())
            self._indexes.add(index)
        if len(self._form.files) >= uploads.files_max:
            if uploads.field == "files":
                raise errors.MAX_ATTACHMENTS()
            raise errors.invalid((uploads.field,), *errors.bad_length(0, uploads.files_max))
        self._form.files.append(
            RawUpload(
                field=field,
                index=index,
                filename=part.filename or "unknown",
                content_type=part.content_type
                if _MEDIA_TYPE_PATTERN.fullmatch(part.content_type)
                else DEFAULT_MEDIA_TYPE,
                data=bytes(part.data),
            )
        )


def _parse_file_field(name: str, uploads: Uploads) -> tuple[str, int | None] | None:
    """Return the field and index that the name of a file part denotes, or None for an unknown name."""
    if uploads.field != "files":
        return (name, None) if name == uploads.field else None
    match = _INDEXED_NAME_PATTERN.fullmatch(name)
    if match:
        return "files", int(match[1])
    match = _LEGACY_NAME_PATTERN.fullmatch(name)
    if match:
        return "file", int(match[1]) if match[1] else None
    return None


def clean_filename(name: str) -> str:
    """Return a filename for URLs and display: without folders and control characters, and with a limited length."""
    name = _UNPRINTABLE_PATTERN.sub("", name.replace("\\", "/").rpartition("/")[2]).strip()
    if len(name) > FILENAME_LENGTH_MAX:
        stem, dot, extension = name.rpartition(".")
        stem = stem[: FILENAME_LENGTH_MAX - EXTENSION_LENGTH_MAX - 1]
        name = f"{stem}.{extension[:EXTENSION_LENGTH_MAX]}" if dot else name[:FILENAME_LENGTH_MAX]
    return "unknown" if name in ("", ".", "..") else name


def _parse_headers(block: bytes) -> dict[str, str]:
    """Return the headers of a part by lowercase name."""
    headers: dict[str, str] = {}
    for line in block.decode("utf-8", "replace").split("\r\n"):
        if line:
            name, colon, value = line.partition(":")
            if not colon:
                raise _malformed_error()
            headers[name.strip().lower()] = value.strip()
    return headers


def _parse_parameters(header_value: str) -> dict[str, str]:
    """Return the parameters of a header value; `name*` (RFC 5987) and the escapes of browsers are decoded."""
    parameters: dict[str, Any] = {}
    for name, text in _PARAMETER_PATTERN.findall(header_value):
        key = name.lower()
        if text.startswith('"'):
            text = _ESCAPE_PATTERN.sub(r"\1", text[1:-1])
        if key.endswith("*"):
            charset, first_quote, language_and_value = text.partition("'")
            _, second_quote, encoded_text = language_and_value.partition("'")
            if first_quote and second_quote and charset.lower() in ("utf-8", "us-ascii", "iso-8859-1"):
                text = unquote(encoded_text, encoding=charset, errors="replace")
        elif key == "filename":
            # Browsers escape three characters; aiohttp's client percent-encodes the whole name or nothing.
            decoded_text = unquote(text, errors="replace")
            text = decoded_text if quote(decoded_text, safe="") == text else text.replace("%22", '"')
        parameters.setdefault(key, text)
    return parameters


def _malformed_error() -> errors.ApiError:
    return errors.invalid((), "MULTIPART_INVALID", "The multipart body could not be read.")
