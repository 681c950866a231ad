"""Reports of messages, users and guilds, and the decisions of operators about them."""

from hubbub.server.core.call import Call
from hubbub.server.core.jobs import Job
from hubbub.server.core.slices import Slice
from hubbub.server.identity.users.signals import UserDeleting
from hubbub.server.talk.reports import actions, admin_routes, routes, store
from hubbub.server.talk.reports.actions import assign, decide, delete_expired, require_case
from hubbub.server.talk.reports.admin_routes import search
from hubbub.server.talk.reports.views import case_details, case_list, export_data


def _notify_reporters(call: Call, job: Job) -> None:
    actions.notify_reporters(call, *job.decode(tuple[int, int]))


def _on_user_deleting(call: Call, signal: UserDeleting) -> None:
    store.clear_reporter(call.tx, signal.user_id)


SLICE = Slice(
    name="reports",
    modules=(routes, admin_routes),
    tags={admin_routes: "administration"},
    jobs={actions.NOTIFY_REPORTERS_JOB: _notify_reporters},
    listeners={UserDeleting: _on_user_deleting},
)

__all__ = [
    "SLICE",
    "assign",
    "case_details",
    "case_list",
    "decide",
    "delete_expired",
    "export_data",
    "require_case",
    "search",
]
