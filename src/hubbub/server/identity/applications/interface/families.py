"""Lookups and changes of application families, for other slices."""

from hubbub.server.identity.applications.store import (
    add_flag,
    list_child_ids,
    list_family_ids,
    read_family_id,
    set_parent,
)

__all__ = ["add_flag", "read_family_id", "list_child_ids", "list_family_ids", "set_parent"]
