"""Parse and write target user files: one column of user IDs, with an optional header (spec/http.md#3.6)."""

import re
from typing import Final, NamedTuple

from hubbub.protocol import errors
from hubbub.protocol.ids import UserId, parse_wide
from hubbub.protocol.resources import invites as wire

ERRORS_MAX: Final = 20
"""Maximum number of invalid lines reported in one error."""
HEADER: Final = "user_id"
"""Header of the files that the server returns from the date of `changes.TARGET_USERS_HEADER` on.

Before, the files had the header of the uploaded file."""
HEADER_LENGTH_MAX: Final = 64
"""Maximum length of the header of an uploaded file, in characters; a longer header is cut off."""
QUOTED_VALUE_LENGTH_MAX: Final = 64
"""Maximum number of characters of an invalid value that an error message quotes."""

_LINE_BREAK_PATTERN: Final = re.compile(r"\r\n|\r|\n")


class TargetList(NamedTuple):
    """The parsed content of a target user file."""

    user_ids: list[UserId]
    """Distinct user IDs in file order."""
    header: str | None
    """First line of the file, at most `HEADER_LENGTH_MAX` characters; None if it is empty or starts with a digit."""


def parse(file_bytes: bytes) -> TargetList:
    """Parse a target user file; raise a form error if it is invalid. The error lists up to `ERRORS_MAX` invalid lines."""
    field = wire.TARGET_USERS_FIELD
    if len(file_bytes) > wire.TARGET_USERS_FILE_BYTES_MAX:
        raise errors.invalid(field, *errors.max_size(f"{wire.TARGET_USERS_FILE_BYTES_MAX // 2**20} MiB"))
    try:
        text = file_bytes.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise errors.invalid(field, "BASE_TYPE_BAD_VALUE", "Must be a text file in UTF-8.") from None
    form = errors.FormErrors()
    error_count = 0
    header: str | None = None
    user_ids: dict[UserId, None] = {}
    for line_number, line in enumerate(_LINE_BREAK_PATTERN.split(text), 1):
        cell = line.strip().strip('"').strip()
        if not cell:
            continue
        if line_number == 1 and not cell[0].isdigit():
            header = cell[:HEADER_LENGTH_MAX]
            continue
        try:
            user_ids[parse_wide(UserId, cell)] = None
        except ValueError:
            code, _ = errors.not_snowflake(cell)
            form.add(field, code, f"Line {line_number}: invalid user ID {cell[:QUOTED_VALUE_LENGTH_MAX]}")
            error_count += 1
            if error_count == ERRORS_MAX:
                break
    form.raise_if_any()
    if not user_ids:
        raise errors.invalid(field, *errors.required())
    if len(user_ids) > wire.TARGET_USERS_MAX:
        raise errors.invalid(field, *errors.bad_length(1, wire.TARGET_USERS_MAX))
    return TargetList(list(user_ids), header)


def serialize(user_ids: list[int], header: str | None) -> bytes:
    """Return the content of a target user file; without a header if `header` is None."""
    lines = [] if header is None else [header]
    lines += map(str, user_ids)
    return "".join(f"{line}\n" for line in lines).encode()
