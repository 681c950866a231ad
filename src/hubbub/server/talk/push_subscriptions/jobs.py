"""Jobs that send notifications about messages to the push services of browsers (decisions/0105)."""

import logging
from collections.abc import Mapping
from typing import Final, NamedTuple

import msgspec

from hubbub.protocol import codec, errors
from hubbub.protocol.flags import MessageFlags
from hubbub.protocol.ids import ChannelId, MessageId
from hubbub.protocol.resources import push_subscriptions as wire
from hubbub.protocol.resources.features import Feature
from hubbub.server.core import auth, quotas
from hubbub.server.core.async_operation import AsyncOperation
from hubbub.server.core.call import Call
from hubbub.server.core.jobs import DropJob, Job, RetryLater
from hubbub.server.core.outbound_http import ForbiddenTargetError, UnreachableError
from hubbub.server.identity import features
from hubbub.server.places.standing import access
from hubbub.server.talk import messages, notification_settings, read_states
from hubbub.server.talk.messages.signals import DeferredMessageCompleted, MessageCreated
from hubbub.server.talk.push_subscriptions import encryption, notifications, recipients, store
from hubbub.server.talk.push_subscriptions.notifications import Notification
from hubbub.server.talk.push_subscriptions.store import PushSubscriptionRow

log = logging.getLogger(__name__)

FAN_OUT_JOB: Final = "push_subscriptions.fan_out"
"""Kind of the job that enqueues the notifications about a message."""
SEND_JOB: Final = "push_subscriptions.send"
"""Kind of the job that sends a notification to a browser."""
TIME_TO_LIVE_SECONDS: Final = 24 * 3600
"""Time in seconds for which a push service keeps a notification for a browser that is offline."""
RETRY_PERIOD_MS: Final = 3_600_000
"""Time in milliseconds after the creation of a message in which a notification about it is sent or retried."""
RETRY_DELAY_MS: Final = 2_000
"""Delay in milliseconds before the first retry; it doubles with each attempt, up to `RETRY_DELAY_MAX_MS`."""
RETRY_DELAY_MAX_MS: Final = 10 * 60_000
TIMEOUT_SECONDS: Final = 10.0
"""Timeout of a request to a push service in seconds."""

_QUOTA_NAME: Final = "push"
_SILENT_FLAGS: Final = MessageFlags.SUPPRESS_NOTIFICATIONS | MessageFlags.EPHEMERAL | MessageFlags.LOADING
_GONE_STATUSES: Final = (404, 410)
_TOO_LARGE_STATUS: Final = 413
_TOO_MANY_REQUESTS_STATUS: Final = 429


class MessageKey(msgspec.Struct, frozen=True):
    """The payload of a fan-out job: a new message."""

    channel_id: ChannelId
    message_id: MessageId


class DeliveryPayload(msgspec.Struct, frozen=True):
    """The payload of a send job: a message, and the browser that is notified about it."""

    subscription_id: int
    channel_id: ChannelId
    message_id: MessageId


class _Delivery(NamedTuple):
    """The inputs of one request to a push service."""

    subscription: PushSubscriptionRow
    notification: Notification
    urgency: str
    vapid_key: bytes
    contact: str | None
    now_ms: int


def on_message_created(call: Call, signal: MessageCreated | DeferredMessageCompleted) -> None:
    """Enqueue the fan-out of a message whose type and flags allow notifications, if any browser is subscribed."""
    row = signal.row
    if (
        call.config.push.enabled
        and row.type in notifications.NOTIFYING_TYPES
        and not row.flags & _SILENT_FLAGS
        and store.has_any(call.tx)
    ):
        channel_id = ChannelId(signal.channel.id)
        # The key keeps the notifications of a channel in the order of its messages.
        call.tx.enqueue(FAN_OUT_JOB, MessageKey(channel_id, MessageId(row.id)), key=f"{FAN_OUT_JOB}:{int(channel_id)}")


def fan_out(call: Call, job: Job) -> None:
    """Enqueue a notification for each subscribed browser of the users that a message notifies.

    Skip users who received too many notifications, and delete subscriptions of browsers that were logged out."""
    message_key = job.decode(MessageKey)
    channel = access.find_channel(call.tx, message_key.channel_id)
    row = messages.history.find(call.tx, message_key.channel_id, message_key.message_id)
    if channel is None or row is None:
        return
    mention_bits_by_user = recipients.filter_notified(call, channel, row, recipients.list_candidate_ids(call, channel))
    user_ids = [user_id for user_id in mention_bits_by_user if _consume_quota(call, user_id)]
    subscriptions = store.list_by_users(call.tx, user_ids)
    token_ids = {subscription.token_id for subscription in subscriptions}
    valid_token_ids = auth.filter_valid_ids(call.tx, token_ids, call.now_ms)
    for subscription in subscriptions:
        if subscription.token_id not in valid_token_ids:
            # The browser was logged out.
            store.delete(call.tx, [subscription.id])
            continue
        payload = DeliveryPayload(subscription.id, message_key.channel_id, message_key.message_id)
        # The notifications of a browser are sent in order; while one waits for a retry, the later ones wait too.
        call.tx.enqueue(SEND_JOB, payload, key=f"{SEND_JOB}/{subscription.user_id}/{subscription.id}")


def _consume_quota(call: Call, user_id: int) -> bool:
    """Count a notification of a user; return False if the user received too many."""
    try:
        quotas.consume_quota(call, _QUOTA_NAME, user_id, wire.PUSH_NOTIFICATION_LIMIT)
    except errors.ApiError:
        return False
    return True


def _load_delivery(call: Call, payload: DeliveryPayload) -> _Delivery | None:
    """Return a delivery, or None if the user is no longer to be notified.

    Everything is checked again, because minutes may have passed since the message was created."""
    subscription, vapid_key = store.find(call.tx, payload.subscription_id), store.find_key(call.tx)
    if subscription is None or vapid_key is None or not call.config.push.enabled:
        return None
    if not features.is_enabled(call, Feature.PUSH):
        return None
    if not auth.filter_valid_ids(call.tx, [subscription.token_id], call.now_ms):
        return None
    user_id = subscription.user_id
    channel = access.find_channel(call.tx, payload.channel_id)
    row = messages.history.find(call.tx, payload.channel_id, payload.message_id)
    if channel is None or row is None or call.now_ms - payload.message_id.created_ms >= RETRY_PERIOD_MS:
        return None
    mention_bits = recipients.filter_notified(call, channel, row, [user_id]).get(user_id)
    channel_access = recipients.find_access(call, channel.id, user_id)
    if mention_bits is None or channel_access is None:
        return None
    if read_states.find_many(call.tx, user_id, [channel.id]).get(channel.id, 0) >= row.id:
        return None
    is_direct = bool(mention_bits & (notification_settings.DIRECT_MENTION | notification_settings.PRIVATE_MESSAGE))
    return _Delivery(
        subscription,
        notifications.build(call, channel, row, user_id, with_text=recipients.can_read(channel_access)),
        "high" if is_direct else "normal",
        vapid_key,
        call.config.push_contact,
        call.now_ms,
    )


async def send(operation: AsyncOperation, job: Job) -> None:
    """Send a notification to one browser.

    Delete the subscription if the push service no longer has it, or if its endpoint is not allowed."""
    payload = job.decode(DeliveryPayload)
    loaded_delivery = await operation.read(lambda call: _load_delivery(call, payload))
    if loaded_delivery is None:
        return
    delivery = loaded_delivery
    try:
        status, headers = await _post(operation, delivery, delivery.notification)
        if status == _TOO_LARGE_STATUS:
            short_notification = msgspec.structs.replace(
                delivery.notification, title="Hubbub", body=notifications.HIDDEN_TEXT
            )
            status, headers = await _post(operation, delivery, short_notification)
    except ForbiddenTargetError:
        # The endpoint is not allowed, for example because its host has a private address.
        status, headers = _GONE_STATUSES[0], {}
    except UnreachableError as error:
        raise RetryLater(_compute_retry_delay_ms(job, {}), str(error)) from error
    if status in _GONE_STATUSES:
        await operation.write(lambda call: store.delete(call.tx, [delivery.subscription.id]))
    elif status == _TOO_MANY_REQUESTS_STATUS or status >= 500:
        raise RetryLater(_compute_retry_delay_ms(job, headers), f"the push service returned status {status}")
    elif not 200 <= status < 300:
        log.warning("A push service rejected a notification", extra={"status": status})
        raise DropJob(f"the push service rejected the notification with status {status}")


async def _post(
    operation: AsyncOperation, delivery: _Delivery, notification: Notification
) -> tuple[int, Mapping[str, str]]:
    """Send an encrypted notification and return the status and headers of the response."""
    subscription = delivery.subscription
    body = await operation.run_in_thread(
        encryption.encrypt, codec.encode(notification), subscription.p256dh, subscription.auth
    )
    headers = {
        "Authorization": encryption.authorize(
            delivery.vapid_key, subscription.endpoint, delivery.contact, delivery.now_ms
        ),
        "Content-Encoding": "aes128gcm",
        "Content-Type": "application/octet-stream",
        "TTL": str(TIME_TO_LIVE_SECONDS),
        # A push service keeps only the latest notification of a topic for a browser that is offline.
        "Topic": encryption.derive_topic(delivery.vapid_key, subscription.id, int(notification.channel_id)),
        "Urgency": delivery.urgency,
    }
    response = await operation.outbound.request(
        "POST", subscription.endpoint, headers=headers, body=body, timeout_seconds=TIMEOUT_SECONDS
    )
    return response.status, response.headers


def _compute_retry_delay_ms(job: Job, headers: Mapping[str, str]) -> int:
    """Return the delay before the next attempt in milliseconds.

    It is the delay of the Retry-After header, within limits, or else a delay that doubles with each attempt."""
    retry_after = next((value for name, value in headers.items() if name.lower() == "retry-after"), "")
    if retry_after.isascii() and retry_after.isdigit() and len(retry_after) <= 6:
        return min(max(int(retry_after) * 1000, RETRY_DELAY_MS), RETRY_PERIOD_MS)
    return int(min(RETRY_DELAY_MS * 2 ** min(job.attempts, 30), RETRY_DELAY_MAX_MS))
