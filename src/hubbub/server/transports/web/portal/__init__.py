"""The developer portal: pages over the operations for a user's own applications."""

from types import ModuleType

from hubbub.server.transports.web.portal import (
    approvals,
    bots,
    clients,
    endpoints,
    identity,
    installing,
    overview,
    pictures,
    selling,
    testers,
)

MODULES: tuple[ModuleType, ...] = (
    overview,
    bots,
    clients,
    installing,
    approvals,
    identity,
    endpoints,
    pictures,
    testers,
    selling,
)
"""Modules that define portal pages."""
