"""The registration and login ceremonies of Web Authentication, with the package `webauthn`.

Credentials come from the client. The package and its parsers raise many kinds of exceptions for invalid credentials, some
of them built-in, so the functions that verify credentials turn every exception into a form error.

Importing the package takes a tenth of the start time of the server. A rehearsal imports it when it is first used; other servers
import it at the start with `load_library`."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final

from hubbub.protocol import codec, errors
from hubbub.protocol.resources import passkeys as wire
from hubbub.server.core.relying_party import RelyingParty

if TYPE_CHECKING:
    from webauthn.authentication.verify_authentication_response import VerifiedAuthentication
    from webauthn.registration.verify_registration_response import VerifiedRegistration

TIMEOUT_MS: Final = wire.CHALLENGE_SECONDS * 1000


def load_library() -> None:
    """Import the package now, so that no request waits for it."""
    import webauthn  # noqa: F401


def registration_options(
    party: RelyingParty,
    *,
    user_id: int,
    username: str,
    display_name: str,
    challenge: bytes,
    existing_credential_ids: Sequence[bytes],
) -> dict[str, Any]:
    """Return the options to create a passkey that the authenticator stores and for which it verifies the user."""
    import webauthn
    from webauthn.helpers import structs

    options = webauthn.generate_registration_options(
        rp_id=party.id,
        rp_name="Hubbub",
        user_id=str(int(user_id)).encode(),
        user_name=username,
        user_display_name=display_name,
        challenge=challenge,
        timeout=TIMEOUT_MS,
        authenticator_selection=structs.AuthenticatorSelectionCriteria(
            resident_key=structs.ResidentKeyRequirement.REQUIRED,
            user_verification=structs.UserVerificationRequirement.REQUIRED,
        ),
        exclude_credentials=[
            structs.PublicKeyCredentialDescriptor(id=credential_id) for credential_id in existing_credential_ids
        ],
    )
    return codec.decode(webauthn.options_to_json(options).encode(), dict[str, Any])


def login_options(party: RelyingParty, challenge: bytes) -> dict[str, Any]:
    """Return the options to log in with any passkey of this server."""
    import webauthn
    from webauthn.helpers import structs

    options = webauthn.generate_authentication_options(
        rp_id=party.id,
        challenge=challenge,
        timeout=TIMEOUT_MS,
        user_verification=structs.UserVerificationRequirement.REQUIRED,
    )
    return codec.decode(webauthn.options_to_json(options).encode(), dict[str, Any])


def verify_registration(party: RelyingParty, credential: dict[str, Any], challenge: bytes) -> "VerifiedRegistration":
    """Return the verified new credential, or raise a form error."""
    import webauthn

    try:
        return webauthn.verify_registration_response(
            credential=credential,
            expected_challenge=challenge,
            expected_rp_id=party.id,
            expected_origin=party.origin,
            require_user_verification=True,
        )
    except Exception as error:
        raise invalid_credential_error() from error


def verify_login(
    party: RelyingParty, credential: dict[str, Any], challenge: bytes, *, public_key: bytes, sign_count: int
) -> "VerifiedAuthentication":
    """Return the verified login, or raise a form error. A sign count that does not grow reveals a copied key."""
    import webauthn

    try:
        return webauthn.verify_authentication_response(
            credential=credential,
            expected_challenge=challenge,
            expected_rp_id=party.id,
            expected_origin=party.origin,
            credential_public_key=public_key,
            credential_current_sign_count=sign_count,
            require_user_verification=True,
        )
    except Exception as error:
        raise invalid_credential_error() from error


def read_credential_id(credential: dict[str, Any]) -> bytes:
    """Return the ID of a credential, or raise a form error."""
    import webauthn

    try:
        return webauthn.base64url_to_bytes(credential["id"])
    except Exception as error:
        raise invalid_credential_error() from error


def invalid_credential_error() -> errors.ApiError:
    """Return the error for a credential that is unknown or whose verification failed."""
    return errors.invalid("credential", "PASSKEY_INVALID", "This passkey could not be verified. Try again.")
