"""The console of operators: pages over the operations of administration."""

from types import ModuleType

from hubbub.server.transports.web.console import (
    accounts,
    announcements,
    applications,
    audit_log,
    features,
    files,
    guilds,
    operators,
    queues,
    reports,
)

PAGE_MODULES: tuple[ModuleType, ...] = (
    accounts,
    guilds,
    reports,
    applications,
    files,
    queues,
    announcements,
    features,
    operators,
    audit_log,
)
"""Modules that define pages of the console."""
