"""Proxy tickets: proofs of participation in an activity, signed with the application's key (spec/activities.md#8).

A ticket consists of the payload sent to the application's server and its signature, so nothing is stored. It is valid
for half an hour, and only while its user takes part in the activity.
"""

import base64
import binascii
from typing import Final

import msgspec
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey

from hubbub.protocol import codec, errors
from hubbub.protocol.ids import ApplicationId, UserId
from hubbub.protocol.resources.activity_proxies import PROXY_TICKET_SECONDS
from hubbub.server.core import payload_signatures
from hubbub.server.core.call import Call
from hubbub.server.core.url_maps import ActivityTicket
from hubbub.server.identity import applications
from hubbub.server.identity.applications import ApplicationRow
from hubbub.server.places import activity_instances
from hubbub.server.places.activity_instances import InstanceRow

PAYLOAD_HEADER: Final = "X-Discord-Proxy-Payload"
TICKET_LENGTH_MAX: Final = 2048


class TicketPayload(msgspec.Struct, kw_only=True):
    """The signed payload of a ticket, sent to the application's server."""

    application_id: ApplicationId
    user_id: UserId
    instance_id: str
    is_developer: bool
    """Whether the user owns the application or is one of its testers."""
    created_at: int
    expires_at: int
    """Unix seconds."""


def issue(call: Call, row: ApplicationRow, instance: InstanceRow) -> str:
    """Issue a ticket to the caller."""
    now = call.now // 1000
    payload = TicketPayload(
        application_id=ApplicationId(row.id),
        user_id=UserId(call.user_id),
        instance_id=instance.composite_id,
        is_developer=call.user_id == row.owner_id or applications.is_tester(call.tx, row.id, call.user_id),
        created_at=now,
        expires_at=now + PROXY_TICKET_SECONDS,
    )
    key = applications.find_signing_key(call.tx, row.id)
    if key is None:
        raise errors.UNKNOWN_APPLICATION()
    data = codec.encode(payload)
    signature = Ed25519PrivateKey.from_private_bytes(key).sign(data)
    return f"{base64.urlsafe_b64encode(data).decode().rstrip('=')}.{signature.hex()}"


def read(call: Call, row: ApplicationRow, text: str) -> ActivityTicket | None:
    """Return a ticket that is valid for an application now, or None."""
    encoded, _, signature = text.partition(".")
    if len(text) > TICKET_LENGTH_MAX or not text.isascii():
        return None
    try:
        data = base64.b64decode(f"{encoded}{'=' * (-len(encoded) % 4)}", altchars=b"-_", validate=True)
        Ed25519PublicKey.from_public_bytes(bytes.fromhex(row.verify_key)).verify(bytes.fromhex(signature), data)
        payload = codec.decode(data, TicketPayload)
    except (InvalidSignature, ValueError, binascii.Error, msgspec.DecodeError):
        return None
    seconds = payload.expires_at - call.now // 1000
    if payload.application_id != row.id or seconds <= 0 or payload.created_at > call.now // 1000:
        return None
    instance = activity_instances.find_instance(call.tx, row.id, payload.instance_id)
    if instance is None or not activity_instances.is_participant(call.tx, instance.id, payload.user_id):
        return None
    headers = {
        payload_signatures.SIGNATURE_HEADER: signature.lower(),
        payload_signatures.TIMESTAMP_HEADER: str(payload.created_at),
        PAYLOAD_HEADER: base64.b64encode(data).decode(),
    }
    return ActivityTicket(text, headers, seconds)
