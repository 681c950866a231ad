"""Administration of applications by operators: search, disabling, deletion and restoration."""

from hubbub.server.core.call import Call
from hubbub.server.core.jobs import Job
from hubbub.server.core.slices import Slice
from hubbub.server.identity.application_administration import actions, ports, routes
from hubbub.server.identity.application_administration.actions import disable, enable, restore, schedule_deletion
from hubbub.server.identity.application_administration.routes import search
from hubbub.server.identity.application_administration.views import application_details
from hubbub.server.identity.applications.signals import ApplicationDeleting


def _delete_application(call: Call, job: Job) -> None:
    actions.continue_deletion(call, job.decode(int))


SLICE = Slice(
    name="application_administration",
    modules=(routes, ports),
    tags={routes: "administration"},
    jobs={actions.DELETE_APPLICATION_JOB: _delete_application},
    listeners={ApplicationDeleting: actions.on_application_deleting},
)

__all__ = [
    "SLICE",
    "application_details",
    "disable",
    "enable",
    "ports",
    "restore",
    "schedule_deletion",
    "search",
]
