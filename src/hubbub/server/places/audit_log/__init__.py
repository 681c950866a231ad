"""The audit log of guilds."""

from hubbub.server.core.slices import Slice
from hubbub.server.places.audit_log import routes
from hubbub.server.places.audit_log.signals import AuditLogRead

SLICE = Slice(name="audit_log", modules=(routes,))

__all__ = ["SLICE", "AuditLogRead"]
