"""The export of a user's applications and tests of applications, for other slices."""

from typing import Any

from hubbub.server.core.call import Call
from hubbub.server.core.personal_data import export_row
from hubbub.server.identity.applications import store, testers


def export_data(call: Call, user_id: int) -> dict[str, Any]:
    """Return a user's applications, and the applications that the user tests, for the export of their data."""
    return {
        "applications": [export_row(row, "owner_id") for row in store.list_owned_applications(call.tx, user_id)],
        "application_tests": [export_row(row, "user_id") for row in testers.list_user_tester_rows(call.tx, user_id)],
    }
