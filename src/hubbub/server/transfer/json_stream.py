"""A reader for a large JSON object with a long list: it reads the fields before the list, then the items one by one."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from types import TracebackType
from typing import Any, Final, Self

from hubbub.server.transfer.records import InvalidArchive

CHUNK_CHARACTERS: Final = 1 << 18
ITEM_CHARACTERS_MAX: Final = 16 << 20
"""Maximum length of one item, and of everything before the list."""

_BLANK_PATTERN: Final = re.compile(r"[\s,]*")


class JsonStream:
    """Reads a JSON file in chunks, and counts lines for error messages."""

    def __init__(self, path: Path, name: str) -> None:
        self._name = name
        self._stream = path.open(encoding="utf-8-sig", errors="strict")
        self._text = ""
        self._position = 0
        self._line = 1
        self._is_at_end = False
        self._decoder = json.JSONDecoder()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, error_type: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stream.close()

    def read_header(self, field: str) -> dict[str, Any]:
        """Return the fields before the list `field`, and continue with the items of the list.

        Raise InvalidArchive if there is no such list or the fields are invalid."""
        pattern = re.compile(rf'"{field}"\s*:\s*\[')
        while (match := pattern.search(self._text)) is None:
            if not self._read_more():
                raise InvalidArchive(f"the file has no list of {field}", file=self._name, field=field)
        header_json = self._text[: match.start()].rstrip().rstrip(",") + "}"
        self._advance(match.end())
        try:
            header_fields = self._decoder.decode(header_json)
        except (ValueError, RecursionError) as error:
            raise InvalidArchive(f"not valid JSON ({error})", file=self._name) from None
        if not isinstance(header_fields, dict):
            raise InvalidArchive("not an object", file=self._name)
        return header_fields

    def items(self) -> Iterator[tuple[int, Any]]:
        """Yield the items of the list, with the line at which each begins. Raise InvalidArchive at an invalid one."""
        while True:
            blank_match = _BLANK_PATTERN.match(self._text, self._position)
            assert blank_match is not None
            self._advance(blank_match.end())
            if self._position == len(self._text):
                if not self._read_more():
                    raise InvalidArchive("the file ends in the list", file=self._name, line=self._line)
                continue
            if self._text[self._position] == "]":
                return
            try:
                item, item_end = self._decoder.raw_decode(self._text, self._position)
            except (ValueError, RecursionError) as error:
                # The item may continue in the next chunk.
                if isinstance(error, RecursionError) or not self._read_more():
                    raise InvalidArchive(f"not valid JSON ({error})", file=self._name, line=self._line) from None
                continue
            line = self._line
            self._advance(item_end)
            yield line, item

    def _advance(self, position: int) -> None:
        self._line += self._text.count("\n", self._position, position)
        self._position = position

    def _read_more(self) -> bool:
        """Read the next chunk of the file; return False at its end."""
        if self._is_at_end:
            return False
        if len(self._text) - self._position > ITEM_CHARACTERS_MAX:
            raise InvalidArchive(f"longer than {ITEM_CHARACTERS_MAX} characters", file=self._name, line=self._line)
        # Doubling the chunk keeps the number of attempts to decode a long item small.
        chunk_size = max(CHUNK_CHARACTERS, len(self._text) - self._position)
        try:
            chunk = self._stream.read(chunk_size)
        except UnicodeDecodeError as error:
            raise InvalidArchive(f"not valid UTF-8 ({error.reason})", file=self._name, line=self._line) from None
        self._text = self._text[self._position :] + chunk
        self._position = 0
        self._is_at_end = len(chunk) < chunk_size
        return bool(chunk)
