"""Lookups, grants and revocations of users' authorizations of applications, for other slices."""

from hubbub.server.identity.oauth2.actions import authorize, deauthorize, deauthorize_all, deauthorize_all_users
from hubbub.server.identity.oauth2.store import filter_authorized, find_authorization, list_user_applications

__all__ = [
    "authorize",
    "deauthorize",
    "deauthorize_all",
    "deauthorize_all_users",
    "filter_authorized",
    "find_authorization",
    "list_user_applications",
]
