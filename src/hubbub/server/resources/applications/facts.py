"""What the applications slice tells upper floors, inside the transaction."""

import msgspec

from hubbub.protocol.ids import ApplicationId
from hubbub.server.resources.applications.store import ApplicationRow


class InteractionsEndpointChanged(msgspec.Struct, frozen=True):
    """Where an application hears interactions is no longer what it was."""

    application_id: ApplicationId


class EventWebhooksChanged(msgspec.Struct, frozen=True):
    """Where an application receives webhook events, or whether, is no longer what it was."""

    application_id: ApplicationId


class IntentsSwitched(msgspec.Struct, frozen=True):
    """An application switched a privileged intent on itself."""

    application_id: ApplicationId


class ActivitiesSwitched(msgspec.Struct, frozen=True):
    """An application has activities now, or no more (flag EMBEDDED)."""

    row: ApplicationRow


class ApplicationDeleting(msgspec.Struct, frozen=True):
    """An application is going: raise where it may not, else let go of what belongs to it. Its row is still there."""

    row: ApplicationRow
