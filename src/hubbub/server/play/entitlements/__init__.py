"""Entitlements: access of users and guilds to the SKUs of applications."""

from hubbub.server.core.slices import Slice
from hubbub.server.play.entitlements import routes
from hubbub.server.play.entitlements.actions import end, extend, grant, remove
from hubbub.server.play.entitlements.rules import require_entitlement
from hubbub.server.play.entitlements.store import EntitlementRow, find, has_active
from hubbub.server.play.entitlements.views import active_entitlements, entitlement

SLICE = Slice(name="entitlements", modules=(routes,))

__all__ = [
    "SLICE",
    "EntitlementRow",
    "active_entitlements",
    "end",
    "entitlement",
    "extend",
    "find",
    "grant",
    "has_active",
    "remove",
    "require_entitlement",
]
