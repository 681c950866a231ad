"""Callers with tokens of applications, and checks of rights on applications besides `require_manager`, for other slices."""

from typing import Any

from hubbub.server.core import auth
from hubbub.server.core.call import Actor, Call
from hubbub.server.core.personal_data import export_row
from hubbub.server.identity.applications import store, testers
from hubbub.server.identity.applications.rules import (
    is_developer_or_tester,
    reject_application_owner,
    require_own_token_or_owner,
    require_owner,
    require_viewer,
)
from hubbub.server.identity.applications.store import find_token_application

__all__ = [
    "export_data",
    "find_actor",
    "find_token_application",
    "is_developer_or_tester",
    "reject_application_owner",
    "require_own_token_or_owner",
    "require_owner",
    "require_viewer",
]


def find_actor(call: Call, token: str) -> Actor | None:
    """Return the caller that a token belongs to.

    Return None if the token is unknown or expired, or its application is disabled."""
    actor_and_expiry = auth.find_actor(call.tx, token, call.now_ms, find_token_application)
    return None if actor_and_expiry is None else actor_and_expiry[0]


def export_data(call: Call, user_id: int) -> dict[str, Any]:
    """Return a user's applications, and the applications that the user tests, for the export of their data."""
    return {
        "applications": [export_row(row, "owner_id") for row in store.list_owned_applications(call.tx, user_id)],
        "application_tests": [export_row(row, "user_id") for row in testers.list_user_tester_rows(call.tx, user_id)],
    }
