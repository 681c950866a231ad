"""Activity instances over HTTP. No activity can be launched yet, so that every instance is unknown."""

import sys

from hubbub.protocol import errors
from hubbub.protocol.ids import ApplicationId
from hubbub.protocol.resources import activity_instances as wire
from hubbub.server.core.call import Call
from hubbub.server.core.slices import Slice, handles
from hubbub.server.resources import applications


@handles(wire.APPLICATIONS_GET_ACTIVITY_INSTANCE)
def applications_get_activity_instance(
    call: Call, application_id: ApplicationId, instance_id: str
) -> wire.ActivityInstance:
    """A running activity of one's application."""
    applications.require_manager(call, application_id)
    raise errors.NOT_FOUND()


SLICE = Slice(name="activity_instances", modules=(sys.modules[__name__],))
