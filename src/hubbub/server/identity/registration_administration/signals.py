"""Signals that the administration of registrations sends inside the transaction."""

import msgspec

from hubbub.protocol.ids import UserId


class RegistrationApproved(msgspec.Struct, frozen=True, kw_only=True):
    """An operator approved the registration of an account."""

    user_id: UserId


class RegistrationRejected(msgspec.Struct, frozen=True, kw_only=True):
    """An operator rejected the registration of an account."""

    user_id: UserId
    reason: str | None
    """Reason that the operator gave, or None."""
