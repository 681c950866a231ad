"""Encryption and authorization of push messages: RFC 8291 through http-ece, and VAPID (RFC 8292) through joserfc."""

import base64
import binascii
import hmac
import os
from typing import Final
from urllib.parse import urlsplit

from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec

AUTHORIZATION_SECONDS: Final = 12 * 3600
"""Lifetime of an authorization in seconds; push services accept at most 24 hours."""
AUTH_SECRET_BYTES: Final = 16
PADDING_BYTES: Final = 1024
"""Size in bytes to a multiple of which notifications are padded, so that push services cannot infer the length of the text."""
_CURVE: Final = ec.SECP256R1()
_KEY_BYTES: Final = 32


def decode_base64(text: str) -> bytes:
    """Decode base64url with or without padding. Raise ValueError if it is invalid."""
    try:
        return base64.b64decode(text + "=" * (-len(text) % 4), altchars=b"-_", validate=True)
    except binascii.Error as error:
        raise ValueError("not base64url") from error


def encode_base64(data: bytes) -> str:
    """Encode base64url without padding."""
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def is_public_key(text: str) -> bool:
    """Return whether a text is an uncompressed point of P-256 in base64url."""
    try:
        point = decode_base64(text)
        ec.EllipticCurvePublicKey.from_encoded_point(_CURVE, point)
    except ValueError:
        return False
    return point[:1] == b"\x04"


def is_auth_secret(text: str) -> bool:
    """Return whether a text is the secret of a browser in base64url."""
    try:
        return len(decode_base64(text)) == AUTH_SECRET_BYTES
    except ValueError:
        return False


def generate_key() -> bytes:
    """Return a new private VAPID key."""
    return ec.generate_private_key(_CURVE).private_numbers().private_value.to_bytes(_KEY_BYTES, "big")


def _private_key(vapid_key: bytes) -> ec.EllipticCurvePrivateKey:
    return ec.derive_private_key(int.from_bytes(vapid_key, "big"), _CURVE)


def derive_public_key(vapid_key: bytes) -> str:
    """Return the public key of a private VAPID key as base64url; browsers need it to create a push subscription."""
    point_format = serialization.PublicFormat.UncompressedPoint
    return encode_base64(_private_key(vapid_key).public_key().public_bytes(serialization.Encoding.X962, point_format))


def authorize(vapid_key: bytes, endpoint: str, contact: str | None, now_ms: int) -> str:
    """Return the Authorization header for the push service of an endpoint; `contact` is a URL of the operator."""
    # Rehearsals start faster without the library.
    from joserfc import jwt
    from joserfc.jwk import ECKey

    pem = _private_key(vapid_key).private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    url_parts = urlsplit(endpoint)
    claims = {"aud": f"{url_parts.scheme}://{url_parts.netloc}", "exp": now_ms // 1000 + AUTHORIZATION_SECONDS}
    if contact is not None:
        claims["sub"] = contact
    token = jwt.encode({"alg": "ES256", "typ": "JWT"}, claims, ECKey.import_key(pem), algorithms=["ES256"])
    return f"vapid t={token}, k={derive_public_key(vapid_key)}"


def derive_topic(vapid_key: bytes, subscription_id: int, channel_id: int) -> str:
    """Return the topic of a channel for one browser, from which a push service cannot infer the channel."""
    digest = hmac.digest(vapid_key, f"{subscription_id}:{channel_id}".encode(), "sha256")
    # RFC 8030 allows 32 characters of base64url.
    return encode_base64(digest[:24])


def encrypt(body: bytes, p256dh: str, auth: str) -> bytes:
    """Pad a JSON text with spaces and encrypt it for a browser, in the content encoding aes128gcm."""
    # The import is local because only workers encrypt, and only on servers with subscriptions.
    import http_ece  # type: ignore[import-untyped]

    encrypted_body: bytes = http_ece.encrypt(
        body.ljust(-(-len(body) // PADDING_BYTES) * PADDING_BYTES),
        salt=os.urandom(16),
        private_key=ec.generate_private_key(_CURVE),
        dh=decode_base64(p256dh),
        auth_secret=decode_base64(auth),
        version="aes128gcm",
    )
    return encrypted_body
