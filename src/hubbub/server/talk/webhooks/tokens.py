"""Derivation and validation of webhook tokens.

The API returns the token to every authorized caller, so a hash of the token would not suffice. Tokens are not stored:
each token is derived from the webhook's ID, its salt and the server's key (decisions/0022)."""

import base64
import hashlib
import hmac
import secrets
from typing import Final

from hubbub.server.talk.webhooks.store import WebhookRow

TOKEN_BYTES: Final = 51
"""Length of a token in bytes: 68 characters of base64. Client libraries expect at least 60."""


def new_salt() -> str:
    """Return a random salt, which makes a token unique even if an ID is reused."""
    return secrets.token_hex(16)


def derive_token(key: bytes, row: WebhookRow) -> str | None:
    """Return the token of a webhook, or None if it has no salt."""
    if row.salt is None:
        return None
    digest = hmac.digest(key, f"{int(row.id)}:{row.salt}".encode(), hashlib.sha512)
    return base64.urlsafe_b64encode(digest[:TOKEN_BYTES]).decode()


def is_valid_token(key: bytes | None, row: WebhookRow, token_text: str) -> bool:
    """Return whether `token_text` is the token of a webhook, in constant time; False if `key` is None."""
    expected_token = None if key is None else derive_token(key, row)
    return expected_token is not None and hmac.compare_digest(
        expected_token.encode(), token_text.encode("utf-8", "replace")
    )
