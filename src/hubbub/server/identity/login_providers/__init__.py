"""External login: identities at the operator's OpenID Connect providers with which users log in."""

from hubbub.server.core.slices import Slice
from hubbub.server.identity.login_providers import actions, routes, signals
from hubbub.server.identity.login_providers.actions import delete_identities, export_data
from hubbub.server.identity.users.signals import UserDeleting

SLICE = Slice(name="login_providers", modules=(routes,), listeners={UserDeleting: actions.on_user_deleting})

__all__ = ["SLICE", "delete_identities", "export_data", "signals"]
