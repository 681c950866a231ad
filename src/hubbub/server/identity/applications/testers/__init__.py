"""Lookups and changes of the testers of applications, for other slices."""

from hubbub.server.identity.applications.testers.store import (
    TESTER_ACCEPTED,
    TESTER_INVITED,
    TesterRow,
    delete_tester,
    delete_tester_from_all,
    find_tester,
    is_tester,
    list_testers,
    list_user_tester_rows,
    save_tester,
)

__all__ = [
    "TESTER_ACCEPTED",
    "TESTER_INVITED",
    "TesterRow",
    "delete_tester",
    "delete_tester_from_all",
    "find_tester",
    "is_tester",
    "list_user_tester_rows",
    "list_testers",
    "save_tester",
]
