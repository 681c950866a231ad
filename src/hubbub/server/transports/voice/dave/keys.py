"""Signatures of MLS, and the key with which the voice server speaks as a group's external sender."""

import hashlib

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from hubbub.server.transports.voice.dave.codec import BASIC, u16, vec

_CURVE = ec.SECP256R1()
_ALGORITHM = ec.ECDSA(hashes.SHA256())
_POINT_BYTES = 65


class ExternalSender:
    """The one who may propose that somebody is added or removed, and cannot read along."""

    __slots__ = ("_key", "package")

    package: bytes
    """What clients are told of us: the payload of op 25."""

    def __init__(self, key: ec.EllipticCurvePrivateKey | None = None) -> None:
        self._key = key or ec.generate_private_key(_CURVE)
        point = self._key.public_key().public_bytes(Encoding.X962, PublicFormat.UncompressedPoint)
        # The identity means nothing to clients; public servers say one zero byte.
        self.package = vec(point) + u16(BASIC) + vec(b"\x00")

    def sign(self, label: str, content: bytes) -> bytes:
        """Our signature, in DER."""
        return self._key.sign(labelled(label, content), _ALGORITHM)


def labelled(label: str, content: bytes) -> bytes:
    """What is signed or hashed in place of bare content (RFC 9420, 5.1.2 and 5.2)."""
    return vec(f"MLS 1.0 {label}".encode()) + vec(content)


def reference(label: str, content: bytes) -> bytes:
    """The short name of a proposal or a key package."""
    return hashlib.sha256(labelled(label, content)).digest()


def find_point(data: bytes) -> ec.EllipticCurvePublicKey | None:
    """The public key these bytes are, if they are an uncompressed point of P-256."""
    if len(data) != _POINT_BYTES or data[0] != 4:
        return None
    try:
        return ec.EllipticCurvePublicKey.from_encoded_point(_CURVE, data)
    except ValueError:
        return None


def verify(key: ec.EllipticCurvePublicKey, label: str, content: bytes, signature: bytes) -> bool:
    """Whether the holder of this key signed this."""
    try:
        key.verify(signature, labelled(label, content), _ALGORITHM)
    except InvalidSignature:
        return False
    return True
