"""The developer portal: pages that call the operations for a user's own applications and teams."""

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
    keys,
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
    keys,
    deliveries,
    commands,
    images,
    testers,
    store,
    teams,
)
"""Modules that define portal pages."""
