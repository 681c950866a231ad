"""Entitlements: access of users and guilds to the SKUs of applications."""

from hubbub.server.core.slices import Slice
from hubbub.server.resources.entitlements import routes
from hubbub.server.resources.entitlements.actions import end, extend, grant, remove
from hubbub.server.resources.entitlements.rules import require_entitlement
from hubbub.server.resources.entitlements.store import EntitlementRow, find, has_active
from hubbub.server.resources.entitlements.views import active_for, entitlement

SLICE = Slice(name="entitlements", modules=(routes,))

__all__ = [
    "SLICE",
    "EntitlementRow",
    "active_for",
    "end",
    "entitlement",
    "extend",
    "find",
    "grant",
    "has_active",
    "remove",
    "require_entitlement",
]
