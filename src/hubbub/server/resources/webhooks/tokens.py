"""Tokens of webhooks. The platform tells them again whenever somebody who may asks, so they cannot be kept as hashes; and they
are not kept at all: each is made anew of the webhook's id, its salt and the platform's key (decisions/0022)."""

import base64
import hashlib
import hmac
import secrets
from typing import Final

from hubbub.server.resources.webhooks.store import WebhookRow

TOKEN_BYTES: Final = 51
"""68 letters of base64; client libraries look for at least 60."""


def new_salt() -> str:
    """What makes a new webhook's token its own, even if an id should ever come again."""
    return secrets.token_hex(16)


def token(key: bytes, row: WebhookRow) -> str | None:
    """The token of a webhook; None for one that has none."""
    if row.salt is None:
        return None
    made = hmac.digest(key, f"{int(row.id)}:{row.salt}".encode(), hashlib.sha512)
    return base64.urlsafe_b64encode(made[:TOKEN_BYTES]).decode()


def fits(key: bytes | None, row: WebhookRow, given: str) -> bool:
    """Whether this is the webhook's token; how long that takes does not tell how much of it is right."""
    expected = None if key is None else token(key, row)
    return expected is not None and hmac.compare_digest(expected.encode(), given.encode("utf-8", "replace"))
