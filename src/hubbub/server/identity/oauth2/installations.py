"""Installations of applications in guilds and for users."""

from hubbub.server.identity.oauth2.ports import InstallationRequest
from hubbub.server.identity.oauth2.store import (
    InstallationRow,
    delete_installation,
    delete_installations,
    find_installation,
    list_guild_installations,
    list_installations,
    upsert_installation,
)

__all__ = [
    "InstallationRequest",
    "InstallationRow",
    "delete_installation",
    "delete_installations",
    "find_installation",
    "list_guild_installations",
    "list_installations",
    "upsert_installation",
]
