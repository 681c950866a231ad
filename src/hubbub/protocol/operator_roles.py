"""Roles of operators, who administer the platform."""

from enum import StrEnum


class OperatorRole(StrEnum):
    """Role of an operator. Each role includes the rights of the roles after it."""

    OWNER = "owner"
    """Manages operators, and switches features on and off."""
    MODERATOR = "moderator"
    """Acts on accounts, guilds, applications, announcements, files, quotas, reports, appeals and jobs."""
    AUDITOR = "auditor"
    """Reads everything and changes nothing."""
