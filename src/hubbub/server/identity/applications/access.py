"""Checks of the rights of users on applications, other than `require_manager`."""

from hubbub.server.identity.applications.rules import (
    is_developer,
    reject_application_owner,
    require_own,
    require_owner,
    require_viewer,
)

__all__ = ["is_developer", "reject_application_owner", "require_own", "require_owner", "require_viewer"]
