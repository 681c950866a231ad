"""The developer portal: pages over the operations for a user's own applications."""

from types import ModuleType

from hubbub.server.transports.web.portal import (
    approvals,
    bots,
    clients,
    commands,
    deliveries,
    endpoints,
    identity,
    images,
    installation,
    overview,
    store,
    teams,
    testers,
)

PAGE_MODULES: tuple[ModuleType, ...] = (
    overview,
    bots,
    clients,
    installation,
    approvals,
    identity,
    endpoints,
    deliveries,
    commands,
    images,
    testers,
    store,
    teams,
)
"""Modules that define portal pages."""
