"""Announcements of operators, which users see as banners and can dismiss."""

from hubbub.server.core.call import Call
from hubbub.server.core.slices import Slice
from hubbub.server.identity.announcements import admin_routes, routes, store
from hubbub.server.identity.announcements.actions import create, end, view
from hubbub.server.identity.announcements.store import find, list_page
from hubbub.server.identity.users.signals import UserDeleting


def _on_user_deleting(call: Call, signal: UserDeleting) -> None:
    store.delete_dismissals(call.tx, signal.user_id)


SLICE = Slice(
    name="announcements",
    modules=(routes, admin_routes),
    tags={admin_routes: "administration"},
    listeners={UserDeleting: _on_user_deleting},
)

__all__ = ["SLICE", "create", "end", "find", "list_page", "view"]
