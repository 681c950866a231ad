"""Which application asks at the token endpoint, and how it proves it (RFC 6749 2.3)."""

import base64
import binascii
import hashlib
import hmac
from urllib.parse import unquote_plus

from msgspec import UNSET, UnsetType

from hubbub.protocol.flags import ApplicationFlags
from hubbub.protocol.ids import ApplicationId, parse_wide
from hubbub.server.core.call import Call
from hubbub.server.resources import applications
from hubbub.server.resources.applications import ApplicationRow
from hubbub.server.resources.oauth2 import store
from hubbub.server.resources.oauth2.refusals import invalid_client, invalid_request


def is_public(row: ApplicationRow) -> bool:
    """Whether the application may ask without a secret."""
    return bool(row.flags & ApplicationFlags.PUBLIC_OAUTH2_CLIENT)


def require(
    call: Call,
    client_id: str | UnsetType,
    client_secret: str | UnsetType,
    *,
    secret_needed: bool = False,
) -> ApplicationRow:
    """The asking application; raises invalid_client unless it has its secret, or is public and needs none."""
    given_id, given_secret = _credentials(call, client_id, client_secret)
    try:
        row = applications.find(call.tx, parse_wide(ApplicationId, given_id))
    except ValueError:
        row = None
    if row is None:
        raise invalid_client()
    if given_secret is not None:
        kept = store.client_secret_hash(call.tx, row.id)
        digest = hashlib.sha256(given_secret.encode("utf-8", "surrogatepass")).digest()
        if kept is None or not hmac.compare_digest(kept, digest):
            raise invalid_client()
    elif secret_needed or not is_public(row):
        raise invalid_client()
    return row


def _credentials(call: Call, client_id: str | UnsetType, client_secret: str | UnsetType) -> tuple[str, str | None]:
    header = call.headers.get("Authorization")
    if header is None:
        if client_id is UNSET:
            raise invalid_client()
        # An empty secret is none: libraries of public clients send one.
        return client_id, client_secret or None if isinstance(client_secret, str) else None
    scheme, _, encoded = header.partition(" ")
    if scheme.lower() != "basic":
        raise invalid_client()
    try:
        text = base64.b64decode(encoded.strip(), validate=True).decode()
    except (binascii.Error, UnicodeDecodeError, ValueError):
        raise invalid_client() from None
    name, _, secret = (unquote_plus(part) for part in text.partition(":"))
    if isinstance(client_secret, str) and client_secret:
        raise invalid_request("The client must prove itself in one way only")
    if isinstance(client_id, str) and client_id != name:
        raise invalid_request("client_id differs from the Authorization header")
    return name, secret or None
