"""The log of webhook events and interactions that were sent to endpoints of applications."""

from hubbub.server.core.slices import Slice
from hubbub.server.identity.applications.signals import ApplicationDeleting
from hubbub.server.play.deliveries import actions, routes
from hubbub.server.play.deliveries.actions import Attempt, log_attempt
from hubbub.server.play.deliveries.jobs import JOBS
from hubbub.server.play.deliveries.store import DeliveryRow, find
from hubbub.server.play.deliveries.views import is_resendable

SLICE = Slice(
    name="deliveries",
    modules=(routes,),
    jobs=JOBS,
    listeners={ApplicationDeleting: actions.on_application_deleting},
)

__all__ = ["SLICE", "Attempt", "DeliveryRow", "find", "is_resendable", "log_attempt"]
