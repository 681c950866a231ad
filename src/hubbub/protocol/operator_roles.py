"""Roles of operators, who administer the platform."""

from enum import StrEnum


class OperatorRole(StrEnum):
    """Role of an operator. Each role includes the rights of the roles after it."""

    OWNER = "owner"
    """Manages operators, switches features on and off, and publishes legal documents."""
    MODERATOR = "moderator"
    """Acts on accounts, registration, guilds, applications, announcements, files, quotas, reports, appeals and jobs."""
    AUDITOR = "auditor"
    """Reads everything and changes nothing."""
