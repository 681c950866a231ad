"""Split older permissions into the newer permissions, so that no member loses an ability (spec/dated-changes.md#2.5)."""

from typing import Final

from hubbub.protocol.enums import AuditLogAction
from hubbub.protocol.permissions import Permissions
from hubbub.server.places.channels.store import OverwriteRow

_PERMISSION_SPLITS: Final = (
    (Permissions.MANAGE_MESSAGES, Permissions.PIN_MESSAGES),
    (
        Permissions.MANAGE_MESSAGES | Permissions.MANAGE_CHANNELS | Permissions.MANAGE_THREADS,
        Permissions.BYPASS_SLOWMODE,
    ),
    (Permissions.MANAGE_GUILD_EXPRESSIONS, Permissions.CREATE_GUILD_EXPRESSIONS),
    (Permissions.MANAGE_EVENTS, Permissions.CREATE_EVENTS),
)
"""Pairs of older permission bits and the newer bit that was split off from them. Any of the older bits implied the newer bit."""
SPLIT_AUDIT_ACTIONS: Final = (
    (Permissions.PIN_MESSAGES, AuditLogAction.GUILD_MIGRATE_PIN_PERMISSION),
    (Permissions.BYPASS_SLOWMODE, AuditLogAction.GUILD_MIGRATE_BYPASS_SLOWMODE_PERMISSION),
)
"""Pairs of a newer bit and the audit log action for adding it. Other newer bits have no action of their own."""


def split(row: OverwriteRow) -> OverwriteRow:
    """Return an overwrite with the newer bits added to its allow and deny bits."""
    allow = row.allow | implied_bits(row.allow) & ~row.deny
    # Deny a newer bit only if every older bit that implied it is denied.
    deny = row.deny | sum(
        newer_bit
        for older_bits, newer_bit in _PERMISSION_SPLITS
        if row.deny & older_bits == older_bits and not allow & newer_bit
    )
    return row._replace(allow=allow, deny=deny)


def implied_bits(bits: int) -> int:
    """Return the newer bits that the older bits in `bits` imply."""
    return sum(newer_bit for older_bits, newer_bit in _PERMISSION_SPLITS if bits & older_bits)
