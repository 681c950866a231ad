"""The console of operators: pages over the operations of administration."""

from types import ModuleType

from hubbub.server.transports.web.console import accounts, audit_log, operators, queues

PAGE_MODULES: tuple[ModuleType, ...] = (accounts, queues, operators, audit_log)
"""Modules that define pages of the console."""
