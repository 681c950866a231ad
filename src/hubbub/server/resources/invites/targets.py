"""The file of target users: one column of user ids, with or without a header (http.md 3.6)."""

import re
from typing import Final, NamedTuple

from hubbub.protocol import errors
from hubbub.protocol.ids import UserId, parse_wide
from hubbub.protocol.resources import invites as wire

ERRORS_MAX: Final = 20
"""Bad lines that are reported at once."""
HEADER: Final = "user_id"

_LINES: Final = re.compile(r"\r\n|\r|\n")


class Listed(NamedTuple):
    """What a file said."""

    user_ids: list[UserId]
    """Each once, in the order of the file."""
    header: str | None


def read(data: bytes) -> Listed:
    """The users whom a file names, or the form error that names its bad lines."""
    field = wire.TARGET_USERS_FIELD
    if len(data) > wire.TARGET_USERS_FILE_MAX:
        raise errors.invalid(field, *errors.max_size(f"{wire.TARGET_USERS_FILE_MAX // 2**20} MiB"))
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise errors.invalid(field, "BASE_TYPE_BAD_VALUE", "Must be a text file in UTF-8.") from None
    form = errors.FormErrors()
    wrong = 0
    header: str | None = None
    found: dict[UserId, None] = {}
    for number, line in enumerate(_LINES.split(text), 1):
        value = line.strip().strip('"').strip()
        if not value:
            continue
        if number == 1 and not value[0].isdigit():
            header = value[:64]
            continue
        try:
            found[parse_wide(UserId, value)] = None
        except ValueError:
            code, _ = errors.not_snowflake(value)
            form.add(field, code, f"Line {number}: invalid user ID {value[:64]}")
            wrong += 1
            if wrong == ERRORS_MAX:
                break
    form.raise_if_any()
    if not found:
        raise errors.invalid(field, *errors.required())
    if len(found) > wire.TARGET_USERS_MAX:
        raise errors.invalid(field, *errors.bad_length(1, wire.TARGET_USERS_MAX))
    return Listed(list(found), header)


def written(user_ids: list[int], header: str | None) -> bytes:
    """The list as a file again."""
    lines = [] if header is None else [header]
    lines += map(str, user_ids)
    return "".join(f"{line}\n" for line in lines).encode()
