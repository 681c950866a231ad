"""What the applications slice tells upper floors, inside the transaction."""

import msgspec

from hubbub.protocol.ids import ApplicationId


class InteractionsEndpointChanged(msgspec.Struct, frozen=True):
    """Where an application hears interactions is no longer what it was."""

    application_id: ApplicationId


class EventWebhooksChanged(msgspec.Struct, frozen=True):
    """Where an application receives webhook events, or whether, is no longer what it was."""

    application_id: ApplicationId
