"""Progress of imports, new IDs of imported objects, and references to placeholder accounts, for the importer."""

from hubbub.server.identity.imports.store import (
    ImportRow,
    complete,
    delete_guild_imports,
    find_import,
    find_new_ids,
    insert_import,
    insert_message_references,
    set_guild,
    set_progress,
)

__all__ = [
    "ImportRow",
    "complete",
    "delete_guild_imports",
    "find_import",
    "find_new_ids",
    "insert_import",
    "insert_message_references",
    "set_guild",
    "set_progress",
]
