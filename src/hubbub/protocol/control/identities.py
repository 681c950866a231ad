"""Control API: the publisher of a game, and credentials and signing keys of emulated identity providers."""

from typing import Annotated, Any, Final, Literal

import msgspec
from msgspec import Meta

from hubbub.protocol import errors
from hubbub.protocol.control.declaration import control_operation
from hubbub.protocol.ids import ApplicationId


class LinkPublisher(msgspec.Struct, kw_only=True):
    """Request body for linking an application to its publisher."""

    parent_id: ApplicationId
    """ID of the publisher's application."""


class CreateCredential(msgspec.Struct, kw_only=True):
    """Request body for creating a player's credential."""

    user_id: Annotated[str, Meta(min_length=1, max_length=1024)]
    """The provider's ID of the player."""
    name: Annotated[str, Meta(max_length=128)] | None = None
    """Display name of the player; null omits it."""
    client_id: Annotated[str, Meta(min_length=1, max_length=256)] | None = None
    """The client that the credential is for; null selects the client, or for Steam the app ID, of the demo world."""
    expires_in: Annotated[int, Meta(ge=-10_000_000, le=10_000_000)] = 3600
    """Lifetime in seconds; a negative value creates an expired credential."""
    issued_ago: Annotated[int, Meta(ge=0, le=10_000_000)] = 0
    """Age of an ID token in seconds; ignored for other credentials."""
    kind: Literal["id_token", "access_token"] = "id_token"
    """The kind of token; ignored for providers other than Epic Online Services."""
    claims: dict[str, Any] = {}
    """Claims of an ID token to add or replace; ignored for other credentials."""


class Credential(msgspec.Struct, kw_only=True):
    """A credential in the form in which a game sends it."""

    external_auth_type: str
    external_auth_token: str


LINK_PUBLISHER: Final = control_operation(
    "POST", "/applications/{application_id}/publisher", errors.UNKNOWN_APPLICATION, body=LinkPublisher
)
CREATE_CREDENTIAL: Final = control_operation(
    "POST", "/issuers/{provider}/tokens", errors.NOT_FOUND, body=CreateCredential, result=Credential
)
ROTATE_KEYS: Final = control_operation("POST", "/issuers/{provider}/rotate", errors.NOT_FOUND)
