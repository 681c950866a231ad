"""Facts because of which a caller lacked permission, for the explanations that a rehearsal shows.

The response is the same for every fact: MISSING_PERMISSIONS tells a client nothing about roles and permissions.
"""

import msgspec

from hubbub.protocol.errors import MISSING_PERMISSIONS, ApiError

READ_ONLY_REASON = "{caller} is timed out, pending or quarantined, so {caller} may only read."


class Denial(msgspec.Struct, frozen=True, kw_only=True):
    """A missing permission, a role or member that the role hierarchy protects, or another reason as a sentence."""

    caller_id: int | None = None
    """ID of the user whose permissions were checked; None for the user who sent the request."""
    guild_id: int | None = None
    channel_id: int | None = None
    """ID of the channel in which the permissions were checked; None for the guild."""
    missing_permissions: tuple[int, ...] = ()
    """Sets of permission bits that the caller lacks; each set would have been sufficient."""
    is_restricted: bool = False
    """Whether the caller lacks permissions because of a timeout, a pending membership or a quarantine."""
    role_id: int | None = None
    """ID of the role that is not below the caller's highest role."""
    user_id: int | None = None
    """ID of the target user of the action; None if there is none."""
    action: str = ""
    """The rejected action as a verb phrase with the placeholder `{user}`, such as `give to {user}`; empty if it is obvious."""
    reason: str = ""
    """Sentence with the placeholders `{caller}` and `{user}`, if no other field is the cause."""


class PermissionDenied(ApiError):
    """MISSING_PERMISSIONS with its cause: `raise PermissionDenied(Denial(reason="{caller} does not own the group."))`."""

    def __init__(self, denial: Denial) -> None:
        super().__init__(MISSING_PERMISSIONS)
        self.denial = denial
