"""Authenticator codes (RFC 6238: SHA-1, six digits, thirty seconds), their secrets as QR codes, and backup codes."""

import base64
import binascii
import hashlib
import hmac
import re
import secrets
from itertools import groupby
from typing import Final
from urllib.parse import quote, urlencode

from hubbub.protocol.resources.accounts import TOTP_DIGITS, TOTP_STEP_SECONDS, QrCode

DRIFT_STEPS: Final = 1
"""Accepted clock drift in steps, both ways (RFC 6238 5.2)."""

SECRET_BYTES_MIN: Final = 16
"""Minimum length of a decoded secret, in bytes."""


SECRET_BYTES: Final = 20
"""Length of a new secret in bytes: 160 bits (RFC 4226 4)."""

QR_BORDER: Final = 4
"""Width of the light border of a QR code, in modules (ISO/IEC 18004)."""


def new_secret() -> str:
    """Return a new random secret in base32."""
    return base64.b32encode(secrets.token_bytes(SECRET_BYTES)).decode()


def build_otpauth_url(secret: str, username: str, *, host: str) -> str:
    """Return the URL that adds a secret to an authenticator app, labeled with the username and the server's host."""
    query = urlencode(
        {"secret": secret, "issuer": f"Hubbub ({host})", "digits": TOTP_DIGITS, "period": TOTP_STEP_SECONDS},
        quote_via=quote,
    )
    return f"otpauth://totp/{quote(f'Hubbub:{username}', safe='')}?{query}"


def draw_qr_code(text: str) -> QrCode:
    """Return the QR code of a text as path data: one rectangle for each run of dark modules in a row."""
    import segno

    matrix = segno.make(text, error="m", micro=False).matrix
    rectangles = []
    for y, row in enumerate(matrix, start=QR_BORDER):
        x = QR_BORDER
        for is_dark, modules in groupby(row):
            width = len(list(modules))
            if is_dark:
                rectangles.append(f"M{x} {y}h{width}v1h-{width}z")
            x += width
    return QrCode(size=len(matrix) + 2 * QR_BORDER, path="".join(rectangles))


def clean_secret(entered_secret: str) -> str | None:
    """Return a secret in its stored form, or None if it is not base32 or is too short."""
    secret = re.sub(r"[\s=-]", "", entered_secret).upper()
    try:
        return secret if len(_decode_secret(secret)) >= SECRET_BYTES_MIN else None
    except (binascii.Error, ValueError):
        return None


def code_at(secret: str, step: int) -> str:
    """Return the code of a secret for one time step."""
    digest = hmac.digest(_decode_secret(secret), step.to_bytes(8, "big"), hashlib.sha1)
    offset = digest[-1] & 0x0F
    code_number = int.from_bytes(digest[offset : offset + 4], "big") & 0x7FFFFFFF
    return f"{code_number % 10**TOTP_DIGITS:0{TOTP_DIGITS}d}"


def find_step(secret: str, code: str, now_ms: int) -> int | None:
    """Return the time step near `now_ms` (Unix milliseconds) that has this code, or None."""
    normalized_code = normalize_code(code).encode()
    current_step = now_ms // 1000 // TOTP_STEP_SECONDS
    matching_step = None
    for step in range(current_step - DRIFT_STEPS, current_step + DRIFT_STEPS + 1):
        if hmac.compare_digest(code_at(secret, step).encode(), normalized_code):
            matching_step = step
    return matching_step


def new_backup_code() -> str:
    """Return a random backup code of 60 bits, in groups of four characters."""
    characters = base64.b32encode(secrets.token_bytes(10)).decode().lower()[:12]
    return f"{characters[:4]}-{characters[4:8]}-{characters[8:]}"


def normalize_code(code: str) -> str:
    """Return a code without spaces and hyphens, in lower case."""
    return re.sub(r"[\s-]", "", code).lower()


def _decode_secret(secret: str) -> bytes:
    return base64.b32decode(secret + "=" * (-len(secret) % 8))
