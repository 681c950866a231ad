"""The operator console: pages that call the operations of administration."""

from types import ModuleType

from hubbub.server.transports.web.console import (
    accounts,
    announcements,
    applications,
    audit_log,
    documents,
    features,
    files,
    guilds,
    operators,
    queues,
    registrations,
    reports,
    sessions,
)

PAGE_MODULES: tuple[ModuleType, ...] = (
    accounts,
    sessions,
    registrations,
    guilds,
    reports,
    applications,
    files,
    queues,
    announcements,
    features,
    documents,
    operators,
    audit_log,
)
"""Modules that define pages of the console."""
