"""Passkeys (W3C Web Authentication): registration, login and management. The public API does not have these routes."""

from typing import Annotated, Any, Final

from msgspec import Meta, Struct

from hubbub.protocol import errors
from hubbub.protocol.ids import Snowflake, Timestamp
from hubbub.protocol.operation import Auth, Operation
from hubbub.protocol.resources.accounts import LOGIN_LIMIT, Password, SessionToken

PASSKEYS_MAX: Final = 20
"""Maximum number of passkeys of a user."""
PASSKEY_NAME_MAX: Final = 32
"""Maximum length of the name of a passkey, in characters."""
CHALLENGE_SECONDS: Final = 300
"""Time in seconds for which a challenge is valid."""

PasskeyName = Annotated[str, Meta(min_length=1, max_length=PASSKEY_NAME_MAX)]
PasskeyTicket = Annotated[str, Meta(min_length=1, max_length=128)]


class Passkey(Struct, kw_only=True):
    """A passkey of the current user."""

    id: Snowflake
    """ID of the passkey."""
    name: str
    """Name that the user gave to the passkey."""
    created_at: Timestamp
    """Time at which the passkey was registered."""
    last_used_at: Timestamp | None
    """Time of the last login with the passkey; null if it was never used."""


class PasskeyChallenge(Struct, kw_only=True):
    """A challenge for an authenticator; valid for five minutes and for one use."""

    ticket: str
    """Ticket to send together with the credential."""
    options: dict[str, Any]
    """Options of the browser's credential API, as JSON of the Web Authentication standard."""


class StartPasskeyRegistration(Struct, kw_only=True):
    """Request body for starting the registration of a passkey."""

    password: Password
    """Current password."""


class CreatePasskey(Struct, kw_only=True):
    """Request body for creating a passkey."""

    ticket: PasskeyTicket
    """Ticket of the challenge."""
    name: PasskeyName
    """Name of the passkey."""
    credential: dict[str, Any]
    """Credential that the browser created, as JSON of the Web Authentication standard."""


class UpdatePasskey(Struct, kw_only=True):
    """Request body for renaming a passkey."""

    name: PasskeyName
    """New name of the passkey."""


class DeletePasskey(Struct, kw_only=True):
    """Request body for deleting a passkey."""

    password: Password
    """Current password."""


class LoginWithPasskey(Struct, kw_only=True):
    """Request body for logging in with a passkey."""

    ticket: PasskeyTicket
    """Ticket of the challenge."""
    credential: dict[str, Any]
    """Credential that the browser returned, as JSON of the Web Authentication standard."""


START_PASSKEY_LOGIN = Operation(
    "POST",
    "/auth/passkeys/challenge",
    result=PasskeyChallenge,
    auth=Auth.ANONYMOUS,
    raises=(errors.FORBIDDEN,),
    limit=LOGIN_LIMIT,
)

AUTH_LOGIN_WITH_PASSKEY = Operation(
    "POST",
    "/auth/passkeys",
    body=LoginWithPasskey,
    result=SessionToken,
    auth=Auth.ANONYMOUS,
    limit=LOGIN_LIMIT,
    headers=("User-Agent",),
)

LIST_PASSKEYS = Operation("GET", "/users/@me/passkeys", result=list[Passkey], auth=Auth.USER)

START_PASSKEY_REGISTRATION = Operation(
    "POST",
    "/users/@me/passkeys/challenge",
    body=StartPasskeyRegistration,
    result=PasskeyChallenge,
    auth=Auth.USER,
    raises=(errors.FORBIDDEN,),
    limit=LOGIN_LIMIT,
)

CREATE_PASSKEY = Operation(
    "POST",
    "/users/@me/passkeys",
    body=CreatePasskey,
    result=Passkey,
    status=201,
    auth=Auth.USER,
    limit=LOGIN_LIMIT,
    raises=(errors.FORBIDDEN,),
)

UPDATE_PASSKEY = Operation(
    "PATCH",
    "/users/@me/passkeys/{passkey_id}",
    body=UpdatePasskey,
    result=Passkey,
    auth=Auth.USER,
    raises=(errors.NOT_FOUND,),
)

DELETE_PASSKEY = Operation(
    "POST",
    "/users/@me/passkeys/{passkey_id}/delete",
    body=DeletePasskey,
    auth=Auth.USER,
    raises=(errors.NOT_FOUND,),
    limit=LOGIN_LIMIT,
)
