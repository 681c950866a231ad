"""Lookups and changes of installations of applications in guilds and for users, for other slices."""

from hubbub.server.identity.oauth2.installations.store import (
    InstallationRow,
    delete_installation,
    delete_installations,
    find_installation,
    list_application_guild_installations,
    list_by_installer,
    list_by_target,
    upsert_installation,
)
from hubbub.server.identity.oauth2.ports import InstallationRequest

__all__ = [
    "InstallationRequest",
    "InstallationRow",
    "delete_installation",
    "delete_installations",
    "find_installation",
    "list_by_installer",
    "list_application_guild_installations",
    "list_by_target",
    "upsert_installation",
]
