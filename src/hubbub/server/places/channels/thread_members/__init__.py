"""Members of threads: rows, lookups and changes, for other slices."""

from hubbub.server.places.channels.thread_members.store import (
    ThreadMemberRow,
    delete,
    delete_of_threads,
    find,
    find_memberships,
    insert,
    list_members,
    list_user_ids,
)

__all__ = [
    "ThreadMemberRow",
    "delete",
    "delete_of_threads",
    "find",
    "find_memberships",
    "insert",
    "list_members",
    "list_user_ids",
]
