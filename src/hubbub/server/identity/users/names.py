"""Usernames and display names of users."""

from hubbub.server.identity.users.rules import clean_name, require_bot_name, require_username
from hubbub.server.identity.users.store import find_by_username

__all__ = ["clean_name", "find_by_username", "require_bot_name", "require_username"]
