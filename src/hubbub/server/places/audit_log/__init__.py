"""The audit log of guilds."""

from hubbub.server.core.slices import Slice
from hubbub.server.places.audit_log import audit, ports, routes
from hubbub.server.places.audit_log.ports import ReferencedObjects
from hubbub.server.places.audit_log.store import find_deletion_entry, set_deletion_count

SLICE = Slice(name="audit_log", modules=(routes, ports))

__all__ = ["SLICE", "ReferencedObjects", "audit", "set_deletion_count", "find_deletion_entry", "ports"]
