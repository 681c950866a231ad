"""Client authentication at the token, revocation, device and RPC token endpoints (RFC 6749 2.3)."""

import base64
import binascii
import hashlib
import hmac
from urllib.parse import unquote_plus

from msgspec import UNSET, UnsetType

from hubbub.protocol.flags import ApplicationFlags
from hubbub.protocol.ids import ApplicationId, parse_wide
from hubbub.server.core.call import Call
from hubbub.server.identity import applications
from hubbub.server.identity.applications import ApplicationRow
from hubbub.server.identity.oauth2.client_requests.oauth_errors import invalid_client, invalid_request


def is_public_client(row: ApplicationRow) -> bool:
    """Return whether the application may authenticate without a secret."""
    return bool(row.flags & ApplicationFlags.PUBLIC_OAUTH2_CLIENT)


def require_client(
    call: Call,
    client_id: str | UnsetType,
    client_secret: str | UnsetType,
    *,
    requires_secret: bool = False,
) -> ApplicationRow:
    """Authenticate the client and return its application.

    `client_id` and `client_secret` are the form fields; the Authorization header is read as well. Raise invalid_client
    for an unknown or disabled application, for a wrong secret, and for a missing secret unless the client is public and
    `requires_secret` is not set. Raise invalid_request if the form contradicts the header."""
    presented_id, presented_secret = _read_credentials(call, client_id, client_secret)
    try:
        row = applications.find(call.tx, parse_wide(ApplicationId, presented_id))
    except ValueError:
        row = None
    if row is None or row.disabled:
        raise invalid_client()
    if presented_secret is not None:
        stored_hash = applications.management.find_client_secret_hash(call.tx, row.id)
        presented_hash = hashlib.sha256(presented_secret.encode("utf-8", "surrogatepass")).digest()
        if stored_hash is None or not hmac.compare_digest(stored_hash, presented_hash):
            raise invalid_client()
    elif requires_secret or not is_public_client(row):
        raise invalid_client()
    return row


def _read_credentials(call: Call, client_id: str | UnsetType, client_secret: str | UnsetType) -> tuple[str, str | None]:
    """Return the client ID and secret from the Authorization header, or from the form if there is no header.

    The secret is None if the client sent none."""
    header = call.headers.get("Authorization")
    if header is None:
        if client_id is UNSET:
            raise invalid_client()
        # An empty secret counts as absent: libraries for public clients send an empty secret.
        return client_id, client_secret or None if isinstance(client_secret, str) else None
    scheme, _, encoded_credentials = header.partition(" ")
    if scheme.lower() != "basic":
        raise invalid_client()
    try:
        credentials = base64.b64decode(encoded_credentials.strip(), validate=True).decode()
    except (binascii.Error, UnicodeDecodeError, ValueError):
        raise invalid_client() from None
    basic_id, _, basic_secret = (unquote_plus(quoted_part) for quoted_part in credentials.partition(":"))
    if isinstance(client_secret, str) and client_secret:
        raise invalid_request("The client must use only one authentication method")
    if isinstance(client_id, str) and client_id != basic_id:
        raise invalid_request("client_id differs from the Authorization header")
    return basic_id, basic_secret or None
