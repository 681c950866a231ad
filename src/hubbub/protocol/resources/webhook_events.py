"""Outgoing webhook events: what the platform posts to an application's own address, signed with its key."""

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
WEBHOOK_EVENT_TIMEOUT_MS = 3_000
"""How long a receiver may take to acknowledge."""
WEBHOOK_EVENT_RETRIES_MS = 600_000
"""How long after the first attempt the last one may be made."""
FAILED_WEBHOOK_EVENTS_MAX = 100


class WebhookPing(Struct, kw_only=True):
    """What an address is tried with before it is kept."""

    version: int = WEBHOOK_EVENTS_VERSION
    application_id: ApplicationId
    type: WebhookPayloadType = WebhookPayloadType.PING


class WebhookEventBody(Struct, kw_only=True):
    """What happened."""

    type: WebhookEventType
    timestamp: Timestamp
    """When it happened; here without the offset that other timestamps have."""
    data: Any = UNSET


class WebhookEventPayload(Struct, kw_only=True):
    """One event as it is posted."""

    version: int = WEBHOOK_EVENTS_VERSION
    application_id: ApplicationId
    type: WebhookPayloadType = WebhookPayloadType.EVENT
    event: WebhookEventBody


class ApplicationAuthorized(Struct, kw_only=True):
    """Somebody authorized the application, for a guild or for themselves."""

    integration_type: int | UnsetType = UNSET
    """0 for a guild, 1 for the user; absent where nothing was installed."""
    user: User
    scopes: list[str]
    guild: Guild | UnsetType = UNSET


class ApplicationDeauthorized(Struct, kw_only=True):
    """Somebody took the application's authorization back."""

    user: User


DATA: Final[dict[WebhookEventType, Any]] = {
    WebhookEventType.APPLICATION_AUTHORIZED: ApplicationAuthorized,
    WebhookEventType.APPLICATION_DEAUTHORIZED: ApplicationDeauthorized,
    WebhookEventType.ENTITLEMENT_CREATE: entitlements.ENTITLEMENT_CREATE.payload,
    WebhookEventType.ENTITLEMENT_UPDATE: entitlements.ENTITLEMENT_UPDATE.payload,
    WebhookEventType.ENTITLEMENT_DELETE: entitlements.ENTITLEMENT_DELETE.payload,
    # There are no quests here, so nothing is ever sent.
    WebhookEventType.QUEST_USER_ENROLLMENT: None,
    WebhookEventType.LOBBY_MESSAGE_CREATE: lobbies.LOBBY_MESSAGE_CREATE.payload,
    WebhookEventType.LOBBY_MESSAGE_UPDATE: lobbies.LOBBY_MESSAGE_UPDATE.payload,
    WebhookEventType.LOBBY_MESSAGE_DELETE: lobbies.LOBBY_MESSAGE_DELETE.payload,
    WebhookEventType.GAME_DIRECT_MESSAGE_CREATE: DispatchedUserMessage,
    WebhookEventType.GAME_DIRECT_MESSAGE_UPDATE: DispatchedUserMessage,
    WebhookEventType.GAME_DIRECT_MESSAGE_DELETE: DispatchedUserMessage,
}
"""What the `data` of each event is."""


class FailedWebhookEvent(Struct, kw_only=True):
    """An event that could not be delivered, kept until it is tried again."""

    id: Snowflake
    type: WebhookEventType
    attempts: int
    error: str
    """What went wrong the last time."""
    payload: Raw
    """What was posted."""


class ListFailedWebhookEvents(Struct, kw_only=True):
    """Which of them."""

    after: Snowflake | UnsetType = UNSET
    limit: Annotated[int, Meta(ge=1, le=FAILED_WEBHOOK_EVENTS_MAX)] = FAILED_WEBHOOK_EVENTS_MAX


# First-party: the wire says that deliveries are given up, not how one sees it (decisions/0032).
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
