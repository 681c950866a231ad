"""Signals that the administration slice sends inside the transaction."""

import msgspec

from hubbub.protocol.ids import UserId


class UserSuspended(msgspec.Struct, frozen=True, kw_only=True):
    """An operator suspended an account."""

    user_id: UserId
    reason: str | None
    """Reason that the operator gave, or None."""
    ends_ms: int | None
    """End of the suspension in Unix milliseconds; None if it does not end by itself."""


class DeletionScheduled(msgspec.Struct, frozen=True, kw_only=True):
    """An operator scheduled the deletion of an account."""

    user_id: UserId
    due_ms: int
    """Time of the deletion in Unix milliseconds."""


class DeletionCanceled(msgspec.Struct, frozen=True, kw_only=True):
    """An operator canceled the deletion of an account."""

    user_id: UserId
