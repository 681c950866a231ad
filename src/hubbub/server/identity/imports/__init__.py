"""Imports of guilds: their progress, the IDs that they assign, and the placeholder accounts of imported members."""

from hubbub.server.core.slices import Slice
from hubbub.server.identity.imports import assignment, claims, placeholder_accounts, progress
from hubbub.server.identity.imports.store import find_source_names

SLICE = Slice(name="imports", modules=())

__all__ = ["SLICE", "assignment", "claims", "find_source_names", "placeholder_accounts", "progress"]
