"""What the older permissions let one do, given as the newer ones: nobody loses anything at the split (dated-changes.md 2.5)."""

from typing import Final

from hubbub.protocol.enums import AuditLogAction
from hubbub.protocol.permissions import Permissions
from hubbub.server.resources.channels.store import OverwriteRow

_SPLITS: Final = (
    (Permissions.MANAGE_MESSAGES, Permissions.PIN_MESSAGES),
    (
        Permissions.MANAGE_MESSAGES | Permissions.MANAGE_CHANNELS | Permissions.MANAGE_THREADS,
        Permissions.BYPASS_SLOWMODE,
    ),
    (Permissions.MANAGE_GUILD_EXPRESSIONS, Permissions.CREATE_GUILD_EXPRESSIONS),
    (Permissions.MANAGE_EVENTS, Permissions.CREATE_EVENTS),
)
"""Of which older bits one was enough, and the bit that is needed now."""
WRITTEN: Final = (
    (Permissions.PIN_MESSAGES, AuditLogAction.GUILD_MIGRATE_PIN_PERMISSION),
    (Permissions.BYPASS_SLOWMODE, AuditLogAction.GUILD_MIGRATE_BYPASS_SLOWMODE_PERMISSION),
)
"""The newer bits that have an entry of their own in the audit log."""


def split(row: OverwriteRow) -> OverwriteRow:
    """An overwrite with the newer bits."""
    allow = row.allow | allowed(row.allow) & ~row.deny
    # Denied is what nothing older lets one do any longer.
    deny = row.deny | sum(new for old, new in _SPLITS if row.deny & old == old and not allow & new)
    return row._replace(allow=allow, deny=deny)


def allowed(bits: int) -> int:
    """The newer bits that older ones stand for."""
    return sum(new for old, new in _SPLITS if bits & old)
