"""MLS signatures, and the key of the voice server as the external sender of groups."""

import hashlib

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from hubbub.server.transports.voice.dave.codec import BASIC, u16, vec

_CURVE = ec.SECP256R1()
_SIGNATURE_ALGORITHM = ec.ECDSA(hashes.SHA256())
_POINT_BYTES = 65
"""Size of an uncompressed point of P-256 in bytes."""


class ExternalSender:
    """The external sender of MLS groups, which may propose Adds and Removes but cannot decrypt."""

    __slots__ = ("_key", "package")

    package: bytes
    """The encoded external sender: the payload of EXTERNAL_SENDER."""

    def __init__(self, key: ec.EllipticCurvePrivateKey | None = None) -> None:
        """Create a sender with this private key, or with a new key."""
        self._key = key or ec.generate_private_key(_CURVE)
        public_point = self._key.public_key().public_bytes(Encoding.X962, PublicFormat.UncompressedPoint)
        # Clients ignore the identity; public servers use one zero byte.
        self.package = vec(public_point) + u16(BASIC) + vec(b"\x00")

    def sign(self, label: str, content: bytes) -> bytes:
        """Return the DER signature of labeled content."""
        return self._key.sign(labeled_content(label, content), _SIGNATURE_ALGORITHM)


def labeled_content(label: str, content: bytes) -> bytes:
    """Return the labeled content that is signed or hashed (RFC 9420, 5.1.2 and 5.2)."""
    return vec(f"MLS 1.0 {label}".encode()) + vec(content)


def compute_reference(label: str, content: bytes) -> bytes:
    """Return the reference (hash) of a proposal or a key package."""
    return hashlib.sha256(labeled_content(label, content)).digest()


def parse_public_key(encoded_point: bytes) -> ec.EllipticCurvePublicKey | None:
    """Return the public key, or None if the bytes are not an uncompressed point of P-256."""
    if len(encoded_point) != _POINT_BYTES or encoded_point[0] != 4:
        return None
    try:
        return ec.EllipticCurvePublicKey.from_encoded_point(_CURVE, encoded_point)
    except ValueError:
        return None


def verify(key: ec.EllipticCurvePublicKey, label: str, content: bytes, signature: bytes) -> bool:
    """Return whether a signature of labeled content is valid."""
    try:
        key.verify(signature, labeled_content(label, content), _SIGNATURE_ALGORITHM)
    except InvalidSignature:
        return False
    return True
