"""Entitlements: access of users and guilds to the SKUs of applications."""

from hubbub.server.core.slices import Slice
from hubbub.server.play.entitlements import routes
from hubbub.server.play.entitlements.actions import (
    delete,
    delete_user_entitlements,
    end,
    export_data,
    grant,
    migrate,
    set_end,
)
from hubbub.server.play.entitlements.rules import require_entitlement
from hubbub.server.play.entitlements.store import EntitlementRow, find, has_active
from hubbub.server.play.entitlements.views import entitlement, list_active_entitlements

SLICE = Slice(name="entitlements", modules=(routes,))

__all__ = [
    "SLICE",
    "EntitlementRow",
    "list_active_entitlements",
    "end",
    "entitlement",
    "set_end",
    "find",
    "grant",
    "has_active",
    "migrate",
    "delete",
    "delete_user_entitlements",
    "export_data",
    "require_entitlement",
]
