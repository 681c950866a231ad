"""Search, usage counts, disabling and enabling of applications, for the slice `application_administration`."""

from hubbub.server.identity.applications.actions import disable, enable, require_deletable
from hubbub.server.identity.applications.store import (
    DisabledRow,
    count_user_authorizations,
    count_user_installs,
    find_disabled,
    search,
)

__all__ = [
    "DisabledRow",
    "count_user_authorizations",
    "count_user_installs",
    "disable",
    "enable",
    "find_disabled",
    "require_deletable",
    "search",
]
