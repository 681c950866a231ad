"""Checks of the rights of callers and users on applications, besides `require_manager`, for other slices."""

from hubbub.server.identity.applications.rules import (
    is_developer_or_tester,
    reject_application_owner,
    require_own,
    require_owner,
    require_viewer,
)

__all__ = ["is_developer_or_tester", "reject_application_owner", "require_own", "require_owner", "require_viewer"]
