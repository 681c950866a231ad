"""Rollover of the key that signs interactions and webhook events of an application.

Prepare creates the next key, switch puts it into use, restore returns to the previous key, and delete removes the key
that is not in use. First-party: the public API has one key that does not change (decisions/0150).
"""

from datetime import datetime
from typing import Final

from msgspec import UNSET, Struct, UnsetType

from hubbub.protocol import errors
from hubbub.protocol.ids import Timestamp
from hubbub.protocol.operation import Auth, Operation

KEY_OVERLAP_DAYS: Final = 7
"""Days within which a switch can be scheduled, and for which the previous key can be used again.

The description of `SwitchKey.switch_at` repeats the number for the API reference."""


class KeyRollover(Struct, kw_only=True):
    """The keys with which an endpoint verifies requests, and the times of the rollover."""

    verify_key: str
    """Public key in use, in hexadecimal."""
    next_verify_key: str | None
    """Public key that takes effect with the switch; null if none is prepared."""
    switch_at: Timestamp | None
    """Time at which the next key takes effect; null if none is chosen."""
    previous_verify_key: str | None
    """Public key that was in use before the switch; null if there is none."""
    previous_ends_at: Timestamp | None
    """Time until which the previous key can be used again; null without a previous key."""


class SwitchKey(Struct, kw_only=True):
    """Request body for switching to the next key."""

    switch_at: datetime | UnsetType = UNSET
    """Time of the switch, at most 7 days ahead; immediately if absent."""


_ERRORS: Final = (errors.UNKNOWN_APPLICATION, errors.NOT_AUTHORIZED_ON_APPLICATION)
_PATH: Final = "/applications/{application_id}/key-rollover"

GET_KEY_ROLLOVER = Operation("GET", _PATH, result=KeyRollover, auth=Auth.USER, raises=_ERRORS)

PREPARE_KEY_ROLLOVER = Operation(
    "POST", _PATH, result=KeyRollover, auth=Auth.USER, raises=(*_ERRORS, errors.INVALID_FORM_BODY)
)

SWITCH_SIGNING_KEY = Operation(
    "POST",
    f"{_PATH}/switch",
    body=SwitchKey,
    optional_body=True,
    result=KeyRollover,
    auth=Auth.USER,
    raises=(*_ERRORS, errors.NOT_FOUND, errors.INVALID_FORM_BODY),
)

RESTORE_SIGNING_KEY = Operation(
    "POST", f"{_PATH}/restore", result=KeyRollover, auth=Auth.USER, raises=(*_ERRORS, errors.NOT_FOUND)
)

DELETE_KEY_ROLLOVER = Operation("DELETE", _PATH, auth=Auth.USER, raises=(*_ERRORS, errors.NOT_FOUND))
