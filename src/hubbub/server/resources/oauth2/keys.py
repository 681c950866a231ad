"""Keys that sign ID tokens: RS256, a new one every quarter, each shown until the last token it signed has ended."""

import functools
from typing import Any, Final

from joserfc import jwt
from joserfc.jwk import RSAKey

from hubbub.protocol import wire as json
from hubbub.protocol.resources import oauth2 as wire

ALGORITHM: Final = "RS256"
BITS: Final = 2048

SIGNS_MS: Final = 90 * 86_400_000
"""How long a key signs."""
SHOWN_MS: Final = SIGNS_MS + wire.ID_TOKEN_SECONDS * 1000 + 86_400_000
"""How long it is shown: until its last token has ended, and a day for clocks that differ."""


def generate() -> tuple[str, str]:
    """A new key's name and the key as JSON. This takes a good part of a second."""
    key = RSAKey.generate_key(BITS, parameters={"use": "sig", "alg": ALGORITHM})
    return key.thumbprint(), json.encode(key.as_dict(private=True)).decode()


def sign(kid: str, jwk: str, claims: dict[str, Any]) -> str:
    """Claims as an ID token."""
    return jwt.encode({"alg": ALGORITHM, "kid": kid}, claims, _loaded(jwk))


def public(kid: str, jwk: str) -> wire.PublicKey:
    """What anybody may know of a key."""
    shown = _loaded(jwk).as_dict(private=False)
    return wire.PublicKey(kty="RSA", use="sig", kid=kid, n=str(shown["n"]), e=str(shown["e"]), alg=ALGORITHM)


@functools.lru_cache(maxsize=8)
def _loaded(jwk: str) -> RSAKey:
    # Reading a private key checks its numbers, which costs as much as several signatures.
    return RSAKey.import_key(json.decode(jwk, dict[str, Any]))
