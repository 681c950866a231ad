"""Identity providers: the external issuers an application trusts, and the verification of their credentials."""

from hubbub.server.core.slices import Slice
from hubbub.server.resources.identity_providers import routes
from hubbub.server.resources.identity_providers.actions import Settings, keep
from hubbub.server.resources.identity_providers.issuers import BUILT_IN
from hubbub.server.resources.identity_providers.providers import PROVIDERS, Verified
from hubbub.server.resources.identity_providers.refusals import InvalidCredential, is_about_credential
from hubbub.server.resources.identity_providers.store import delete_all
from hubbub.server.resources.identity_providers.verify import verify

SLICE = Slice(name="identity_providers", modules=(routes,))

__all__ = [
    "BUILT_IN",
    "PROVIDERS",
    "SLICE",
    "InvalidCredential",
    "Settings",
    "Verified",
    "delete_all",
    "is_about_credential",
    "keep",
    "verify",
]
