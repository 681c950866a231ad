"""Webhook events: signed requests that the platform sends to an application's URL, and failed deliveries."""

from typing import Annotated, Any, Final

from msgspec import UNSET, Meta, Raw, Struct, UnsetType

from hubbub.protocol import errors
from hubbub.protocol.enums import WebhookEventType, WebhookPayloadType
from hubbub.protocol.ids import ApplicationId, Snowflake, Timestamp
from hubbub.protocol.operation import Operation
from hubbub.protocol.resources import entitlements, lobbies
from hubbub.protocol.resources.guilds import Guild
from hubbub.protocol.resources.user_messages import DispatchedUserMessage
from hubbub.protocol.resources.users import User

WEBHOOK_EVENTS_VERSION = 1
"""Version of the payload format."""
WEBHOOK_EVENT_TIMEOUT_MS = 3_000
"""Time in milliseconds within which a receiver must acknowledge an event."""
WEBHOOK_EVENT_RETRY_WINDOW_MS = 600_000
"""Time in milliseconds after the first attempt during which delivery is retried."""
FAILED_WEBHOOK_EVENTS_MAX = 100
"""Maximum number of failed events on a page."""


class WebhookPing(Struct, kw_only=True):
    """The request with which a URL is verified before it is stored."""

    version: int = WEBHOOK_EVENTS_VERSION
    """Version of the payload; always 1."""
    application_id: ApplicationId
    """ID of the application."""
    type: WebhookPayloadType = WebhookPayloadType.PING
    """Type of the request; always 0, ping."""


class WebhookEventBody(Struct, kw_only=True):
    """The event of a webhook request."""

    type: WebhookEventType
    """Type of the event."""
    timestamp: Timestamp
    """Time at which the event occurred; without an offset, unlike other timestamps."""
    data: Any = UNSET
    """Data of the event, whose type depends on `type`."""


class WebhookEventPayload(Struct, kw_only=True):
    """The request with which an event is delivered."""

    version: int = WEBHOOK_EVENTS_VERSION
    """Version of the payload; always 1."""
    application_id: ApplicationId
    """ID of the application."""
    type: WebhookPayloadType = WebhookPayloadType.EVENT
    """Type of the request; always 1, event."""
    event: WebhookEventBody
    """Event that occurred, with its time and data."""


class ApplicationAuthorized(Struct, kw_only=True):
    """The data of APPLICATION_AUTHORIZED: a user authorized the application."""

    integration_type: int | UnsetType = UNSET
    """Installation context: 0 guild, 1 user; absent if nothing was installed."""
    user: User
    """User who authorized the application."""
    scopes: list[str]
    """Granted scopes."""
    guild: Guild | UnsetType = UNSET
    """Guild in which the application was installed; present for guild installations."""


class ApplicationDeauthorized(Struct, kw_only=True):
    """The data of APPLICATION_DEAUTHORIZED: a user revoked the authorization."""

    user: User
    """User who revoked the authorization."""


EVENT_DATA_TYPES: Final[dict[WebhookEventType, Any]] = {
    WebhookEventType.APPLICATION_AUTHORIZED: ApplicationAuthorized,
    WebhookEventType.APPLICATION_DEAUTHORIZED: ApplicationDeauthorized,
    WebhookEventType.ENTITLEMENT_CREATE: entitlements.ENTITLEMENT_CREATE.payload,
    WebhookEventType.ENTITLEMENT_UPDATE: entitlements.ENTITLEMENT_UPDATE.payload,
    WebhookEventType.ENTITLEMENT_DELETE: entitlements.ENTITLEMENT_DELETE.payload,
    # This event is never sent, because there are no quests.
    WebhookEventType.QUEST_USER_ENROLLMENT: None,
    WebhookEventType.LOBBY_MESSAGE_CREATE: lobbies.LOBBY_MESSAGE_CREATE.payload,
    WebhookEventType.LOBBY_MESSAGE_UPDATE: lobbies.LOBBY_MESSAGE_UPDATE.payload,
    WebhookEventType.LOBBY_MESSAGE_DELETE: lobbies.LOBBY_MESSAGE_DELETE.payload,
    WebhookEventType.GAME_DIRECT_MESSAGE_CREATE: DispatchedUserMessage,
    WebhookEventType.GAME_DIRECT_MESSAGE_UPDATE: DispatchedUserMessage,
    WebhookEventType.GAME_DIRECT_MESSAGE_DELETE: DispatchedUserMessage,
}
"""Type of `data` by event type; None if the event is never sent."""


class FailedWebhookEvent(Struct, kw_only=True):
    """An event that could not be delivered, stored until it is retried or an operator discards it."""

    id: Snowflake
    """ID of the failed event."""
    type: WebhookEventType
    """Type of the event."""
    attempts: int
    """Number of delivery attempts."""
    error: str
    """Description of the last failure."""
    payload: Raw
    """Request body of the event."""


class ListFailedWebhookEvents(Struct, kw_only=True):
    """Page selection for failed events."""

    after: Snowflake | UnsetType = UNSET
    """Return events with a greater ID."""
    limit: Annotated[int, Meta(ge=1, le=FAILED_WEBHOOK_EVENTS_MAX)] = FAILED_WEBHOOK_EVENTS_MAX
    """Maximum number of events to return."""


# First-party: the published API gives no access to failed deliveries (decisions/0032).
LIST_FAILED_WEBHOOK_EVENTS = Operation(
    "GET",
    "/applications/{application_id}/webhook-events/failed",
    query=ListFailedWebhookEvents,
    result=list[FailedWebhookEvent],
    raises=(errors.UNKNOWN_APPLICATION, errors.NOT_AUTHORIZED_ON_APPLICATION),
)

RETRY_FAILED_WEBHOOK_EVENTS = Operation(
    "POST",
    "/applications/{application_id}/webhook-events/failed/retry",
    raises=(errors.UNKNOWN_APPLICATION, errors.NOT_AUTHORIZED_ON_APPLICATION),
)

RETRY_FAILED_WEBHOOK_EVENT = Operation(
    "POST",
    "/applications/{application_id}/webhook-events/failed/{event_id}/retry",
    raises=(errors.UNKNOWN_APPLICATION, errors.NOT_AUTHORIZED_ON_APPLICATION, errors.NOT_FOUND),
)
