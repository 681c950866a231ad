"""Changes of user profiles, lookups that these changes need, and the system user, for other slices."""

from hubbub.server.identity.users.actions import publish_user, set_email, set_premium, set_primary_guild, update_profile
from hubbub.server.identity.users.interface.system_user import find_or_create_system_user
from hubbub.server.identity.users.store import list_by_primary_guild, set_mfa_enabled
from hubbub.server.identity.users.views import premium_type_scope

__all__ = [
    "find_or_create_system_user",
    "list_by_primary_guild",
    "premium_type_scope",
    "publish_user",
    "set_email",
    "set_mfa_enabled",
    "set_premium",
    "set_primary_guild",
    "update_profile",
]
