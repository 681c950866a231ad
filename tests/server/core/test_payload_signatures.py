"""Signatures of outgoing payloads."""

import pytest
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from hubbub.server.core import payload_signatures


def test_a_signature_covers_the_timestamp_and_the_body() -> None:
    key = Ed25519PrivateKey.generate()

    headers = payload_signatures.signed_headers(key.private_bytes_raw(), 1_795_000_000_999, b'{"type":0}')

    signature, timestamp = bytes.fromhex(headers["X-Signature-Ed25519"]), headers["X-Signature-Timestamp"]
    assert timestamp == "1795000000"
    assert len(signature) == 64
    key.public_key().verify(signature, timestamp.encode() + b'{"type":0}')
    with pytest.raises(InvalidSignature):
        key.public_key().verify(signature, b"1795000001" + b'{"type":0}')
