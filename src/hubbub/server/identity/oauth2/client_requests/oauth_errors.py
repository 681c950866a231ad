"""Errors in the format of RFC 6749."""

from typing import Any, Final

import msgspec
from msgspec import UNSET

from hubbub.protocol import errors
from hubbub.protocol.errors import ApiError
from hubbub.protocol.resources import oauth2 as wire

NO_STORE: Final = {"Cache-Control": "no-store", "Pragma": "no-cache"}
"""Headers that prevent caching of token responses (RFC 6749 5.1)."""


class OAuthError(ApiError):
    """An error whose body contains `error`, `error_description` and, if it is set, `return_url`."""

    def __init__(self, error: str, description: str, *, is_authentication_failure: bool = False) -> None:
        """Create an error with status 400, or 401 if client authentication failed."""
        super().__init__(errors.UNAUTHORIZED if is_authentication_failure else errors.BAD_REQUEST)
        self.error = error
        self.description = description
        self.return_url: str | None = None
        """Redirect URL that reports the error to the client, or None (RFC 6749 4.1.2.1)."""
        self.headers = dict(NO_STORE)
        if is_authentication_failure:
            self.headers["WWW-Authenticate"] = 'Basic realm="oauth2"'

    def body(self) -> dict[str, Any]:
        """Return the JSON body of the response."""
        model = wire.OAuth2Error(
            error=self.error, error_description=self.description, return_url=self.return_url or UNSET
        )
        fields: dict[str, Any] = msgspec.to_builtins(model)
        return fields


def invalid_request(description: str) -> OAuthError:
    """Return the error for a missing, repeated or malformed parameter."""
    return OAuthError(wire.INVALID_REQUEST, description)


def invalid_client() -> OAuthError:
    """Return the error for an unknown or unauthenticated client; the error does not reveal whether the client exists."""
    return OAuthError(wire.INVALID_CLIENT, "Client authentication failed", is_authentication_failure=True)


def unknown_client() -> OAuthError:
    """Return the error for an unknown client on the consent page, which needs no client authentication."""
    return OAuthError(wire.INVALID_CLIENT, "Unknown client_id")


def invalid_grant(description: str) -> OAuthError:
    """Return the error for an invalid code, token or verifier."""
    return OAuthError(wire.INVALID_GRANT, description)


def invalid_scope(description: str) -> OAuthError:
    """Return the error for a scope that is unknown or not available to the application."""
    return OAuthError(wire.INVALID_SCOPE, description)
