"""Keys that sign ID tokens; a new key is made each quarter and published until its last token has expired."""

import functools
from typing import Any, Final

from joserfc import jwt
from joserfc.jwk import ECKey, RSAKey

from hubbub.protocol import codec
from hubbub.protocol.resources import oauth2 as wire

RS256: Final = "RS256"
"""Default algorithm, supported by every client; a signature takes milliseconds."""
ES256: Final = "ES256"
"""Faster algorithm; a signature takes about a thirtieth of the time of RS256."""
RSA_KEY_BITS: Final = 2048

SIGNING_PERIOD_MS: Final = 90 * 86_400_000
"""Time during which a key signs, in milliseconds."""
PUBLICATION_PERIOD_MS: Final = SIGNING_PERIOD_MS + wire.ID_TOKEN_SECONDS * 1000 + 86_400_000
"""Time during which a key is published: until its last token expires, plus a day for clock skew."""


def generate(algorithm: str) -> tuple[str, str]:
    """Generate a key; return its ID and the key as JSON.

    An RS256 key takes a good part of a second."""
    key: RSAKey | ECKey
    if algorithm == ES256:
        key = ECKey.generate_key("P-256", parameters={"use": "sig", "alg": algorithm})
    else:
        key = RSAKey.generate_key(RSA_KEY_BITS, parameters={"use": "sig", "alg": algorithm})
    return key.thumbprint(), codec.encode(key.as_dict(private=True)).decode()


def algorithm_of(jwk: str) -> str:
    """Return the algorithm of a key."""
    return str(_loaded(jwk).as_dict(private=False)["alg"])


def sign(kid: str, jwk: str, claims: dict[str, Any]) -> str:
    """Sign claims as an ID token."""
    algorithm = algorithm_of(jwk)
    return jwt.encode({"alg": algorithm, "kid": kid}, claims, _loaded(jwk), algorithms=[algorithm])


def public(kid: str, jwk: str) -> wire.PublicKey:
    """Return the public part of a key."""
    values = _loaded(jwk).as_dict(private=False)
    key = wire.PublicKey(kty=str(values["kty"]), use="sig", kid=kid, alg=str(values["alg"]))
    for name in ("n", "e", "crv", "x", "y"):
        if name in values:
            setattr(key, name, str(values[name]))
    return key


@functools.lru_cache(maxsize=8)
def _loaded(jwk: str) -> RSAKey | ECKey:
    # Importing a private key validates its numbers, which costs as much as several signatures.
    values = codec.decode(jwk, dict[str, Any])
    return ECKey.import_key(values) if values["kty"] == "EC" else RSAKey.import_key(values)
