"""Create, list, export and delete push subscriptions, and create the VAPID key of the server."""

from typing import Any
from urllib.parse import urlsplit

import msgspec

from hubbub.protocol import codec, errors
from hubbub.protocol.errors import FormErrors
from hubbub.protocol.ids import PushSubscriptionId
from hubbub.protocol.resources import push_subscriptions as wire
from hubbub.server.core.call import Call
from hubbub.server.core.outbound_http import ForbiddenTargetError, require_allowed_host
from hubbub.server.identity import users
from hubbub.server.talk.push_subscriptions import encryption, store
from hubbub.server.talk.push_subscriptions.store import PushSubscriptionRow


def find_or_create_key(call: Call) -> bytes:
    """Return the private VAPID key of the server; create it if it does not exist."""
    if store.find_key(call.tx) is None:
        store.insert_key(call.tx, encryption.generate_key())
    vapid_key = store.find_key(call.tx)
    assert vapid_key is not None
    return vapid_key


def create(call: Call, body: wire.CreatePushSubscription) -> wire.PushSubscription:
    """Store a subscription of the caller's login session, or update the caller's subscription with the same endpoint.

    Delete a subscription of another user with the same endpoint, and the oldest subscriptions if the caller has too many."""
    form = FormErrors()
    _check_endpoint(form, body.endpoint, allow_private=call.config.allow_private_targets)
    if not encryption.is_public_key(body.keys.p256dh):
        form.add(("keys", "p256dh"), "KEY_INVALID", "Must be an uncompressed point of P-256 in base64url.")
    if not encryption.is_auth_secret(body.keys.auth):
        form.add(("keys", "auth"), "KEY_INVALID", "Must be 16 bytes in base64url.")
    form.raise_if_any()
    find_or_create_key(call)
    existing_row = store.find_by_endpoint(call.tx, body.endpoint)
    if existing_row is not None and existing_row.user_id == call.user_id:
        row = existing_row._replace(token_id=call.actor.token_id, p256dh=body.keys.p256dh, auth=body.keys.auth)
        store.update(call.tx, row)
        return view(row)
    if existing_row is not None:
        # Another user logged in with this browser before.
        store.delete(call.tx, [existing_row.id])
    row = PushSubscriptionRow(
        call.new_id(PushSubscriptionId),
        call.user_id,
        call.actor.token_id,
        body.endpoint,
        body.keys.p256dh,
        body.keys.auth,
        call.now_ms,
    )
    store.insert(call.tx, row)
    rows = store.list_by_users(call.tx, [call.user_id])
    store.delete(call.tx, [old_row.id for old_row in rows[: -wire.PUSH_SUBSCRIPTIONS_MAX]])
    return view(row)


def _check_endpoint(form: FormErrors, endpoint: str, *, allow_private: bool) -> None:
    """Add an error unless the endpoint is an HTTPS URL without credentials, and its host is a name or a public address.

    A host name is resolved, and checked again, for each request. With `allow_private`, the URL may also be an HTTP URL,
    and its host may be private."""
    try:
        url_parts = urlsplit(endpoint)
        host, has_credentials, _ = url_parts.hostname, "@" in url_parts.netloc, url_parts.port
    except ValueError:
        host, has_credentials = None, False
    if not host or has_credentials:
        form.add("endpoint", *errors.bad_url())
        return
    schemes = ("http", "https") if allow_private else ("https",)
    if url_parts.scheme not in schemes:
        form.add("endpoint", *errors.bad_scheme(url_parts.scheme, schemes))
        return
    try:
        require_allowed_host(host, allow_private=allow_private)
    except ForbiddenTargetError:
        form.add("endpoint", "URL_TYPE_INVALID_HOST", "Must have a public host.")


def list_current(call: Call) -> list[PushSubscriptionRow]:
    """Return the subscriptions of the caller's login session."""
    rows = store.list_by_users(call.tx, [call.user_id])
    return [row for row in rows if row.token_id == call.actor.token_id]


def view(row: PushSubscriptionRow) -> wire.PushSubscription:
    return wire.PushSubscription(
        id=PushSubscriptionId(row.id), endpoint=row.endpoint, created_at=codec.timestamp(row.created_ms)
    )


def on_user_deleting(call: Call, signal: users.signals.UserDeleting) -> None:
    """Delete the subscriptions of a deleted user."""
    store.delete_by_user(call.tx, signal.user_id)


def export_data(call: Call, user_id: int) -> dict[str, Any]:
    """Return the push subscriptions of a user for the export of their data."""
    subscriptions = [view(row) for row in store.list_by_users(call.tx, [user_id])]
    return {"push_subscriptions": msgspec.to_builtins(subscriptions, enc_hook=str)}


def prefetch(call: Call) -> None:
    """Prefetch the query that `jobs.on_message_created` makes for every message."""
    if call.config.push.enabled:
        store.prefetch_any(call.tx)
