"""Imports of guilds: their progress, the IDs that they assign, and the placeholder accounts of imported members."""

from hubbub.server.core.slices import Slice
from hubbub.server.identity.imports import assignment, claims, placeholder_accounts, ports, progress, routes
from hubbub.server.identity.imports.store import ImportedMessageKey, find_source_names

SLICE = Slice(name="imports", modules=(routes, ports), jobs={claims.REASSIGN_JOB: claims.reassign})

__all__ = [
    "ImportedMessageKey",
    "SLICE",
    "assignment",
    "claims",
    "find_source_names",
    "placeholder_accounts",
    "ports",
    "progress",
]
