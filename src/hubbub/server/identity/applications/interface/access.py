"""Lookup of the caller that a token belongs to, and permission checks on applications, for other slices."""

from hubbub.server.core import auth
from hubbub.server.core.call import Actor, Call
from hubbub.server.identity.applications.rules import (
    is_developer_or_tester,
    reject_application_owner,
    require_manager,
    require_own_token_or_owner,
    require_owner,
    require_viewer,
)
from hubbub.server.identity.applications.store import find_token_application

__all__ = [
    "find_actor",
    "find_token_application",
    "is_developer_or_tester",
    "reject_application_owner",
    "require_manager",
    "require_own_token_or_owner",
    "require_owner",
    "require_viewer",
]


def find_actor(call: Call, token: str) -> Actor | None:
    """Return the caller that a token belongs to.

    Return None if the token is unknown or expired, or its application is disabled."""
    actor_and_expiry = auth.find_actor(call.tx, token, call.now_ms, find_token_application)
    return None if actor_and_expiry is None else actor_and_expiry[0]
