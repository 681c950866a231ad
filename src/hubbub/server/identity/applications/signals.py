"""Signals about applications, sent inside the transaction that changes them."""

import msgspec

from hubbub.protocol.ids import ApplicationId
from hubbub.server.identity.applications.store import ApplicationRow


class InteractionsEndpointSet(msgspec.Struct, frozen=True):
    """The interactions endpoint URL of an application was set, possibly to the same value."""

    application_id: ApplicationId


class EventWebhooksSet(msgspec.Struct, frozen=True):
    """The webhook event URL or status of an application was set, possibly to the same value."""

    application_id: ApplicationId


class IntentsEnabled(msgspec.Struct, frozen=True):
    """An application enabled a privileged intent by an edit, without a review."""

    application_id: ApplicationId


class ActivitiesToggled(msgspec.Struct, frozen=True):
    """Activities (flag EMBEDDED) were enabled or disabled for an application, or it was created with activities."""

    row: ApplicationRow


class ApplicationDeleting(msgspec.Struct, frozen=True):
    """An application is about to be deleted and its row still exists. Listeners delete the rows that belong to it."""

    row: ApplicationRow
