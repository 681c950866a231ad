"""Signals that the passkeys slice sends inside the transaction."""

import msgspec

from hubbub.protocol.ids import UserId


class PasskeyCreated(msgspec.Struct, frozen=True, kw_only=True):
    """A user created a passkey."""

    user_id: UserId
    name: str


class PasskeyDeleted(msgspec.Struct, frozen=True, kw_only=True):
    """A user deleted a passkey."""

    user_id: UserId
    name: str
