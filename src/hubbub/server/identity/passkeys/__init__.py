"""Passkeys: credentials of authenticators that replace the password and the second factor at login."""

from hubbub.server.core.slices import Slice
from hubbub.server.identity.passkeys import actions, routes, signals
from hubbub.server.identity.passkeys.actions import delete_passkeys, export_data
from hubbub.server.identity.passkeys.ceremonies import load_library
from hubbub.server.identity.users.signals import UserDeleting

SLICE = Slice(name="passkeys", modules=(routes,), listeners={UserDeleting: actions.on_user_deleting})

__all__ = ["SLICE", "delete_passkeys", "export_data", "load_library", "signals"]
