"""The developer portal: pages over the operations for applications of one's own."""

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
"""Where its pages are."""
