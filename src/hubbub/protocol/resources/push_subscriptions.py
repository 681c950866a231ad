"""Web Push subscriptions of browsers, which show notifications while the chat client is closed (decisions/0105)."""

from typing import Annotated, Final

from msgspec import Meta, Struct

from hubbub.protocol import errors
from hubbub.protocol.ids import PushSubscriptionId, Timestamp
from hubbub.protocol.operation import Auth, Operation, RateLimit

PUSH_SUBSCRIPTIONS_MAX: Final = 20
"""Maximum number of subscriptions of a user; a new one replaces the oldest."""
PUSH_ENDPOINT_MAX: Final = 1024
"""Maximum length of the URL of a subscription, in characters."""
PUSH_NOTIFICATION_LIMIT: Final = RateLimit(30, 60)
"""Limit on the notifications that a user receives; further ones are not sent."""


class PushKeys(Struct, kw_only=True):
    """Keys of a subscription, in the form in which browsers encode them."""

    p256dh: Annotated[str, Meta(max_length=200)]
    """Public key of the browser: an uncompressed point of P-256 in base64url."""
    auth: Annotated[str, Meta(max_length=100)]
    """Secret of the browser: 16 bytes in base64url."""


class CreatePushSubscription(Struct, kw_only=True):
    """A subscription that the browser created; unknown fields are ignored."""

    endpoint: Annotated[str, Meta(min_length=1, max_length=PUSH_ENDPOINT_MAX)]
    """HTTPS URL of the push service to which the server sends notifications."""
    keys: PushKeys
    """Keys with which the server encrypts notifications."""


class PushSubscription(Struct, kw_only=True):
    """A stored subscription."""

    id: PushSubscriptionId
    """ID of the subscription."""
    endpoint: str
    """URL of the push service."""
    created_at: Timestamp
    """Time at which the browser subscribed."""


class PushSettings(Struct, kw_only=True):
    """Data that a browser needs to subscribe, and the subscriptions of the caller's login session."""

    public_key: str | None
    """Public VAPID key of the server, with which browsers subscribe; null if the operator disabled push notifications."""
    subscriptions: list[PushSubscription]
    """Subscriptions that the caller created with the current token, oldest first."""


LIST_PUSH_SUBSCRIPTIONS = Operation("GET", "/users/@me/push-subscriptions", result=PushSettings, auth=Auth.USER)

CREATE_PUSH_SUBSCRIPTION = Operation(
    "POST",
    "/users/@me/push-subscriptions",
    body=CreatePushSubscription,
    result=PushSubscription,
    status=201,
    auth=Auth.USER,
    raises=(errors.INVALID_FORM_BODY, errors.FEATURE_DISABLED),
)

DELETE_PUSH_SUBSCRIPTION = Operation(
    "DELETE",
    "/users/@me/push-subscriptions/{push_subscription_id}",
    auth=Auth.USER,
    raises=(errors.NOT_FOUND,),
)
