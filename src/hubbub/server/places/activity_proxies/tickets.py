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
    """Whether the user owns the application, is a member of its team or is one of its testers."""
    created_at: int
    """Time of issue in Unix seconds."""
    expires_at: int
    """Expiry in Unix seconds."""


def issue(call: Call, row: ApplicationRow, instance: InstanceRow) -> str:
    """Issue a ticket for an instance of an application's activity to the caller."""
    now_seconds = call.now_ms // 1000
    payload = TicketPayload(
        application_id=ApplicationId(row.id),
        user_id=UserId(call.user_id),
        instance_id=instance.composite_id,
        is_developer=applications.access.is_developer_or_tester(call, row, call.user_id),
        created_at=now_seconds,
        expires_at=now_seconds + PROXY_TICKET_SECONDS,
    )
    key = applications.management.find_signing_key(call.tx, row.id)
    if key is None:
        raise errors.UNKNOWN_APPLICATION()
    encoded_payload = codec.encode(payload)
    signature = Ed25519PrivateKey.from_private_bytes(key).sign(encoded_payload)
    return f"{base64.urlsafe_b64encode(encoded_payload).decode().rstrip('=')}.{signature.hex()}"


def verify(call: Call, row: ApplicationRow, ticket_text: str) -> ActivityTicket | None:
    """Verify the text of a ticket for an application. Return the ticket, or None if it is not valid now."""
    payload_text, _, signature = ticket_text.partition(".")
    if len(ticket_text) > TICKET_LENGTH_MAX or not ticket_text.isascii():
        return None
    try:
        encoded_payload = base64.b64decode(
            f"{payload_text}{'=' * (-len(payload_text) % 4)}", altchars=b"-_", validate=True
        )
        Ed25519PublicKey.from_public_bytes(bytes.fromhex(row.verify_key)).verify(
            bytes.fromhex(signature), encoded_payload
        )
        payload = codec.decode(encoded_payload, TicketPayload)
    except (InvalidSignature, ValueError, binascii.Error, msgspec.DecodeError):
        return None
    remaining_seconds = payload.expires_at - call.now_ms // 1000
    if payload.application_id != row.id or remaining_seconds <= 0 or payload.created_at > call.now_ms // 1000:
        return None
    instance = activity_instances.find_instance(call.tx, row.id, payload.instance_id)
    if instance is None or not activity_instances.is_participant(call.tx, instance.id, payload.user_id):
        return None
    headers = {
        payload_signatures.SIGNATURE_HEADER: signature.lower(),
        payload_signatures.TIMESTAMP_HEADER: str(payload.created_at),
        PAYLOAD_HEADER: base64.b64encode(encoded_payload).decode(),
    }
    return ActivityTicket(ticket_text, headers, remaining_seconds)
