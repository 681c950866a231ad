"""The audit log of guilds."""

from hubbub.server.core.slices import Slice
from hubbub.server.places.audit_log import audit, ports, routes
from hubbub.server.places.audit_log.ports import ReferencedObjects
from hubbub.server.places.audit_log.store import count_deletion, find_deletion

SLICE = Slice(name="audit_log", modules=(routes, ports))

__all__ = ["SLICE", "ReferencedObjects", "audit", "count_deletion", "find_deletion", "ports"]
