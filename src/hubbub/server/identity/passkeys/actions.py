"""Issue and consume challenges, and create, delete, show and export passkeys."""

import secrets
from typing import Any, Final

from hubbub.protocol import codec, errors
from hubbub.protocol.ids import Snowflake, UserId
from hubbub.protocol.resources import passkeys as wire
from hubbub.server.core import relying_party
from hubbub.server.core.auth import hash_token
from hubbub.server.core.call import Call
from hubbub.server.core.relying_party import RelyingParty
from hubbub.server.identity.passkeys import ceremonies, store
from hubbub.server.identity.passkeys.signals import PasskeyCreated, PasskeyDeleted
from hubbub.server.identity.passkeys.store import ChallengeRow, PasskeyRow
from hubbub.server.identity.users.signals import UserDeleting

CHALLENGE_BYTES: Final = 32


def require_relying_party(call: Call) -> RelyingParty:
    """Return the relying party of the server, or reject the request if its URL does not allow passkeys."""
    party = relying_party.find_relying_party(call.config.web_url)
    if party is None:
        raise errors.FORBIDDEN(message="Passkeys need a server with a host name and HTTPS.")
    return party


def issue_challenge(call: Call, user_id: UserId | None) -> tuple[str, bytes]:
    """Store a new challenge and return its ticket and the challenge. `user_id` is None for a login."""
    ticket, challenge = secrets.token_urlsafe(32), secrets.token_bytes(CHALLENGE_BYTES)
    expires_ms = call.now_ms + wire.CHALLENGE_SECONDS * 1000
    store.insert_challenge(call.tx, hash_token(ticket), ChallengeRow(challenge, user_id), expires_ms, call.now_ms)
    return ticket, challenge


def consume_challenge(call: Call, ticket: str, user_id: UserId | None) -> bytes:
    """Return the challenge of a ticket, which becomes invalid. Raise a form error if it is not valid for the user."""
    row = store.consume_challenge(call.tx, hash_token(ticket), call.now_ms)
    if row is None or row.user_id != user_id:
        raise errors.invalid("ticket", "PASSKEY_TICKET_INVALID", "The request has expired. Try again.")
    return row.challenge


def create(call: Call, row: PasskeyRow) -> None:
    """Store a passkey, or raise a form error if the user has too many passkeys or the credential is already stored."""
    if len(store.list_by_user(call.tx, row.user_id)) >= wire.PASSKEYS_MAX:
        raise errors.invalid("name", "PASSKEYS_MAX", f"You can have at most {wire.PASSKEYS_MAX} passkeys.")
    if store.find_by_credential(call.tx, row.credential_id) is not None:
        raise ceremonies.invalid_credential_error()
    store.insert(call.tx, row)
    call.notify(PasskeyCreated(user_id=row.user_id, name=row.name))


def delete(call: Call, row: PasskeyRow) -> None:
    """Delete a passkey and send the signal `PasskeyDeleted`."""
    store.delete(call.tx, row.id)
    call.notify(PasskeyDeleted(user_id=row.user_id, name=row.name))


def view(row: PasskeyRow) -> wire.Passkey:
    """Build the wire model of a passkey."""
    return wire.Passkey(
        id=Snowflake(row.id),
        name=row.name,
        created_at=codec.timestamp(row.created_ms),
        last_used_at=None if row.used_ms is None else codec.timestamp(row.used_ms),
    )


def delete_passkeys(call: Call, user_id: UserId) -> None:
    """Delete all passkeys and challenges of a user, without a signal."""
    store.delete_by_user(call.tx, user_id)


def on_user_deleting(call: Call, signal: UserDeleting) -> None:
    """Delete the passkeys of a deleted user."""
    delete_passkeys(call, signal.user_id)


def export_data(call: Call, user_id: UserId) -> dict[str, Any]:
    """Return the passkeys of a user for the export of their data."""
    return {
        "passkeys": [
            {"name": row.name, "created_at": codec.timestamp(row.created_ms)}
            for row in store.list_by_user(call.tx, user_id)
        ]
    }
