"""Identity providers: the external issuers an application trusts, and the verification of their credentials."""

from hubbub.server.core.slices import Slice
from hubbub.server.identity.identity_providers import routes
from hubbub.server.identity.identity_providers.actions import ProviderSettings, save_provider
from hubbub.server.identity.identity_providers.credential_errors import InvalidCredential, is_credential_error
from hubbub.server.identity.identity_providers.providers import VERIFIERS, VerifiedIdentity
from hubbub.server.identity.identity_providers.store import delete_application_providers
from hubbub.server.identity.identity_providers.tokens import jwts, oidc
from hubbub.server.identity.identity_providers.tokens.issuers import BUILT_IN_ISSUER, IssuerValidation
from hubbub.server.identity.identity_providers.verification import verify

SLICE = Slice(name="identity_providers", modules=(routes,))

__all__ = [
    "BUILT_IN_ISSUER",
    "VERIFIERS",
    "SLICE",
    "InvalidCredential",
    "IssuerValidation",
    "ProviderSettings",
    "VerifiedIdentity",
    "delete_application_providers",
    "is_credential_error",
    "jwts",
    "oidc",
    "save_provider",
    "verify",
]
