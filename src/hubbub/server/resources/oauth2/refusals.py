"""Refusals in the words of RFC 6749."""

from typing import Any, Final

import msgspec
from msgspec import UNSET

from hubbub.protocol import errors
from hubbub.protocol.errors import ApiError
from hubbub.protocol.resources import oauth2 as wire

NO_STORE: Final = {"Cache-Control": "no-store", "Pragma": "no-cache"}
"""RFC 6749 5.1: nothing of the token endpoint may be kept on the way."""


class OAuthError(ApiError):
    """A refusal whose body is `{"error", "error_description"}`."""

    def __init__(self, error: str, description: str, *, is_client: bool = False) -> None:
        super().__init__(errors.UNAUTHORIZED if is_client else errors.BAD_REQUEST)
        self.error = error
        self.description = description
        self.return_url: str | None = None
        """Where the person may take it (RFC 6749 4.1.2.1)."""
        self.headers = dict(NO_STORE)
        if is_client:
            self.headers["WWW-Authenticate"] = 'Basic realm="oauth2"'

    def body(self) -> dict[str, Any]:
        """The answer's JSON body."""
        refusal = wire.OAuth2Refusal(
            error=self.error, error_description=self.description, return_url=self.return_url or UNSET
        )
        shown: dict[str, Any] = msgspec.to_builtins(refusal)
        return shown


def invalid_request(description: str) -> OAuthError:
    """Something is missing, or is there twice, or makes no sense."""
    return OAuthError(wire.INVALID_REQUEST, description)


def invalid_client() -> OAuthError:
    """The client is unknown, or could not prove who it is; it is not told which."""
    return OAuthError(wire.INVALID_CLIENT, "Client authentication failed", is_client=True)


def unknown_client() -> OAuthError:
    """The same where a person asks and nobody has to prove anything."""
    return OAuthError(wire.INVALID_CLIENT, "Unknown client_id")


def invalid_grant(description: str) -> OAuthError:
    """The code, token or verifier is not good; it is not told why."""
    return OAuthError(wire.INVALID_GRANT, description)


def invalid_scope(description: str) -> OAuthError:
    """A scope is unknown, or not for this application."""
    return OAuthError(wire.INVALID_SCOPE, description)
