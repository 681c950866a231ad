"""A software authenticator for passkeys, which replaces a browser with a security key in tests."""

import hashlib
import json
import secrets
import struct
from base64 import urlsafe_b64decode, urlsafe_b64encode
from dataclasses import dataclass, field
from typing import Any

import cbor2
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.hashes import SHA256

USER_PRESENT, USER_VERIFIED, HAS_CREDENTIAL = 0x01, 0x04, 0x40


@dataclass
class Authenticator:
    """An authenticator with one ES256 key, used by a browser on a page of `origin`."""

    origin: str
    rp_id: str
    is_user_verified: bool = True
    sign_count: int = 0
    credential_id: bytes = field(default_factory=lambda: secrets.token_bytes(16))
    key: ec.EllipticCurvePrivateKey = field(default_factory=lambda: ec.generate_private_key(ec.SECP256R1()))

    def create(self, options: dict[str, Any]) -> dict[str, Any]:
        """Return the credential as `navigator.credentials.create` does in a browser."""
        numbers = self.key.public_key().public_numbers()
        public_key = cbor2.dumps(
            {1: 2, 3: -7, -1: 1, -2: numbers.x.to_bytes(32, "big"), -3: numbers.y.to_bytes(32, "big")}
        )
        credential = bytes(16) + struct.pack(">H", len(self.credential_id)) + self.credential_id + public_key
        authenticator_data = self._authenticator_data(HAS_CREDENTIAL) + credential
        return self._credential(
            clientDataJSON=_encode_base64url(self._client_data("webauthn.create", options)),
            attestationObject=_encode_base64url(
                cbor2.dumps({"fmt": "none", "attStmt": {}, "authData": authenticator_data})
            ),
        )

    def get(self, options: dict[str, Any]) -> dict[str, Any]:
        """Increment the signature counter and return a signed login, as `navigator.credentials.get` does in a browser."""
        self.sign_count += 1
        authenticator_data = self._authenticator_data(0)
        client_data = self._client_data("webauthn.get", options)
        signature = self.key.sign(authenticator_data + hashlib.sha256(client_data).digest(), ec.ECDSA(SHA256()))
        return self._credential(
            clientDataJSON=_encode_base64url(client_data),
            authenticatorData=_encode_base64url(authenticator_data),
            signature=_encode_base64url(signature),
        )

    def _credential(self, **response: str) -> dict[str, Any]:
        identifier = _encode_base64url(self.credential_id)
        return {"id": identifier, "rawId": identifier, "type": "public-key", "response": response}

    def _client_data(self, kind: str, options: dict[str, Any]) -> bytes:
        return json.dumps({"type": kind, "challenge": options["challenge"], "origin": self.origin}).encode()

    def _authenticator_data(self, flags: int) -> bytes:
        flags |= USER_PRESENT | (USER_VERIFIED if self.is_user_verified else 0)
        return hashlib.sha256(self.rp_id.encode()).digest() + struct.pack(">BI", flags, self.sign_count)


def _encode_base64url(data: bytes) -> str:
    return urlsafe_b64encode(data).rstrip(b"=").decode()


def decode(text: str) -> bytes:
    """Decode an unpadded base64url text."""
    return urlsafe_b64decode(text + "=" * (-len(text) % 4))
