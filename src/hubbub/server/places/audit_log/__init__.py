"""The audit log of guilds."""

from hubbub.server.core.slices import Slice
from hubbub.server.places.audit_log import audit, routes
from hubbub.server.places.audit_log.signals import AuditLogRead
from hubbub.server.places.audit_log.store import count_deletion, find_deletion

SLICE = Slice(name="audit_log", modules=(routes,))

__all__ = ["SLICE", "AuditLogRead", "audit", "count_deletion", "find_deletion"]
