"""The error of an invalid external credential, and the check whether an error concerns the credential."""

from typing import Final

from hubbub.protocol import errors
from hubbub.protocol.errors import ApiError

_CREDENTIAL_ERRORS: Final = frozenset(
    {
        errors.ID_TOKEN_EXPIRED,
        errors.ID_TOKEN_ISSUER_MISMATCH,
        errors.ID_TOKEN_AUDIENCE_MISMATCH,
        errors.ID_TOKEN_TOO_OLD,
        errors.INVALID_OIDC_TOKEN,
        errors.OIDC_TOKEN_WITHOUT_KID,
    }
)


class InvalidCredential(ApiError):
    """An external credential or a publisher's token is invalid. Its code is 50025, but its status is 403 (spec/sdk.md#8.5)."""

    def __init__(self) -> None:
        super().__init__(errors.INVALID_OAUTH2_ACCESS_TOKEN, extra={"message": "Invalid external_auth_token provided"})

    @property
    def status(self) -> int:
        """HTTP status: 403 instead of 401, because the caller itself is authenticated."""
        return 403


def is_credential_error(error: ApiError) -> bool:
    """Return whether the error concerns the credential itself, not the provider or its configuration."""
    return error.kind in _CREDENTIAL_ERRORS
