"""Check whether a visitor can register, and create and use invites."""

import base64
import secrets
from typing import Any, Final

from msgspec import UnsetType

from hubbub.protocol import codec, errors
from hubbub.protocol.ids import Snowflake, UserId
from hubbub.protocol.resources import registration as wire
from hubbub.protocol.resources.features import Feature
from hubbub.protocol.resources.registration import RegistrationMode
from hubbub.server.core.auth import hash_token
from hubbub.server.core.call import Call
from hubbub.server.core.config import Config
from hubbub.server.core.personal_data import export_row
from hubbub.server.identity import features, users
from hubbub.server.identity.registration import ports, store
from hubbub.server.identity.registration.store import RegistrationInviteRow

DAY_MS: Final = 24 * 3_600_000
CODE_BYTES: Final = 15
"""Number of random bytes in the code of an invite."""


def resolve_mode(config: Config) -> RegistrationMode:
    """Return the mode of the registration, which is CLOSED if the setting `allow_registration` is false."""
    return RegistrationMode(config.registration.mode) if config.allow_registration else RegistrationMode.CLOSED


def require_open(call: Call) -> None:
    """Reject a registration while the mode is CLOSED or the feature REGISTRATION is disabled."""
    if resolve_mode(call.config) is RegistrationMode.CLOSED:
        raise errors.FORBIDDEN(message="Registration is disabled on this server.")
    features.require_enabled(call, Feature.REGISTRATION)


def require_email_allowed(call: Call, email: str | None | UnsetType) -> None:
    """Reject an address whose domain the operator does not allow, and a missing address if an address is required."""
    settings = call.config.registration
    if not isinstance(email, str):
        if settings.allowed_email_domains:
            raise errors.invalid("email", *errors.required())
    elif not settings.allows_email(email.lower()):
        raise errors.invalid(
            "email",
            "EMAIL_DOMAIN_NOT_ALLOWED",
            "This server does not accept addresses of this domain. Use another one.",
        )


def use_invite(call: Call, code: str | None | UnsetType) -> bool:
    """Count a use of the invite in the modes INVITE and APPROVAL. Return whether an operator has to approve the account.

    Raise a form error if a required invite is missing, or an invite cannot be used."""
    mode = resolve_mode(call.config)
    if mode not in (RegistrationMode.INVITE, RegistrationMode.APPROVAL):
        return False
    if not isinstance(code, str) or not code.strip():
        if mode is RegistrationMode.APPROVAL:
            return True
        raise errors.invalid("invite", "REGISTRATION_INVITE_REQUIRED", "You need an invite to register on this server.")
    if not store.use_invite(call.tx, hash_token(code.strip().lower()), call.now_ms):
        raise errors.invalid("invite", "REGISTRATION_INVITE_INVALID", "This invite is invalid, used up or expired.")
    return False


def create_invite(
    call: Call,
    *,
    creator_id: UserId | None,
    note: str,
    uses_max: int | None,
    days: int | None,
    email: str | None,
    is_creator_limited: bool = False,
) -> wire.NewRegistrationInvite:
    """Create an invite and return it with its code, or send it to an address. `uses_max` and `days` are None for no limit.

    `is_creator_limited` limits the mails that the caller can send."""
    if email is not None and not call.config.mail.is_enabled:
        raise errors.invalid(
            "email",
            "MAIL_DISABLED",
            "This server does not send mail. Leave the address empty, and send the link yourself.",
        )
    code = _new_code()
    row = RegistrationInviteRow(
        id=call.new_id(Snowflake),
        creator_id=creator_id,
        note=note.strip() or (email or "")[: wire.INVITE_NOTE_MAX],
        uses=0,
        uses_max=uses_max,
        created_ms=call.now_ms,
        expires_ms=None if days is None else call.now_ms + days * DAY_MS,
    )
    store.insert_invite(call.tx, hash_token(code), row)
    [invite_view] = view_invites(call, [row])
    fields = {name: getattr(invite_view, name) for name in invite_view.__struct_fields__}
    if email is not None:
        ports.send_invite(call, row, email.lower(), is_creator_limited=is_creator_limited)
        return wire.NewRegistrationInvite(**fields, code=None, url=None)
    return wire.NewRegistrationInvite(**fields, code=code, url=f"{call.config.web_url}/register?invite={code}")


def replace_code(call: Call, invite_id: int) -> tuple[RegistrationInviteRow, str] | None:
    """Give an invite a new code, for a mail. Return the invite and the code, or None if it cannot be used any more."""
    code = _new_code()
    if not store.set_code_hash(call.tx, invite_id, hash_token(code), call.now_ms):
        return None
    row = store.find_invite(call.tx, invite_id)
    assert row is not None
    return row, code


def _new_code() -> str:
    return base64.b32encode(secrets.token_bytes(CODE_BYTES)).decode().lower()


def view_invites(call: Call, rows: list[RegistrationInviteRow]) -> list[wire.RegistrationInvite]:
    """Build the wire models of invites."""
    creators_by_id = users.find_many(call.tx, [row.creator_id for row in rows if row.creator_id is not None])
    return [
        wire.RegistrationInvite(
            id=Snowflake(row.id),
            note=row.note,
            uses=row.uses,
            uses_max=row.uses_max,
            created_at=codec.timestamp(row.created_ms),
            expires_at=None if row.expires_ms is None else codec.timestamp(row.expires_ms),
            creator_id=None if row.creator_id is None else UserId(row.creator_id),
            creator_name=creators_by_id[row.creator_id].username if row.creator_id in creators_by_id else None,
        )
        for row in rows
    ]


def export_data(call: Call, user_id: UserId) -> dict[str, Any]:
    """Return the registration invites and the registration request of a user for the data export.

    Invites that are used up or expired are included."""
    request_row = store.find_request(call.tx, user_id)
    return {
        "registration_invites": view_invites(call, store.list_by_creator(call.tx, user_id)),
        "registration_requests": [] if request_row is None else [export_row(request_row, "user_id")],
    }
