"""Names of the oauth2 slice for the identities slice: access tokens, ID tokens, external credentials and client types."""

from hubbub.server.identity.oauth2.actions import issue_tokens
from hubbub.server.identity.oauth2.client_requests.clients import is_public_client
from hubbub.server.identity.oauth2.ports import ExternalCredential
from hubbub.server.identity.oauth2.signatures.id_token_signatures import sign_id_token
from hubbub.server.identity.oauth2.store import AccessTokenRow, find_valid_access_token
from hubbub.server.identity.oauth2.views import granted_scopes, id_claims

__all__ = [
    "AccessTokenRow",
    "ExternalCredential",
    "find_valid_access_token",
    "granted_scopes",
    "id_claims",
    "is_public_client",
    "issue_tokens",
    "sign_id_token",
]
