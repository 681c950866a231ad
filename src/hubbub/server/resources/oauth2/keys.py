"""Keys that sign ID tokens: a new one every quarter, each shown until the last token it signed has ended."""

import functools
from typing import Any, Final

from joserfc import jwt
from joserfc.jwk import ECKey, RSAKey

from hubbub.protocol import wire as json
from hubbub.protocol.resources import oauth2 as wire

RSA: Final = "RS256"
"""What the public platform signs with, and the default: every client knows it, and a signature takes milliseconds."""
EC: Final = "ES256"
"""A signature takes a thirtieth of that."""
BITS: Final = 2048

SIGNS_MS: Final = 90 * 86_400_000
"""How long a key signs."""
SHOWN_MS: Final = SIGNS_MS + wire.ID_TOKEN_SECONDS * 1000 + 86_400_000
"""How long it is shown: until its last token has ended, and a day for clocks that differ."""


def generate(algorithm: str) -> tuple[str, str]:
    """A new key's name and the key as JSON. One for RS256 takes a good part of a second."""
    key: RSAKey | ECKey
    if algorithm == EC:
        key = ECKey.generate_key("P-256", parameters={"use": "sig", "alg": algorithm})
    else:
        key = RSAKey.generate_key(BITS, parameters={"use": "sig", "alg": algorithm})
    return key.thumbprint(), json.encode(key.as_dict(private=True)).decode()


def algorithm_of(jwk: str) -> str:
    """What a key signs with."""
    return str(_loaded(jwk).as_dict(private=False)["alg"])


def sign(kid: str, jwk: str, claims: dict[str, Any]) -> str:
    """Claims as an ID token."""
    algorithm = algorithm_of(jwk)
    return jwt.encode({"alg": algorithm, "kid": kid}, claims, _loaded(jwk), algorithms=[algorithm])


def public(kid: str, jwk: str) -> wire.PublicKey:
    """What anybody may know of a key."""
    shown = _loaded(jwk).as_dict(private=False)
    key = wire.PublicKey(kty=str(shown["kty"]), use="sig", kid=kid, alg=str(shown["alg"]))
    for name in ("n", "e", "crv", "x", "y"):
        if name in shown:
            setattr(key, name, str(shown[name]))
    return key


@functools.lru_cache(maxsize=8)
def _loaded(jwk: str) -> RSAKey | ECKey:
    # Reading a private key checks its numbers, which costs as much as several signatures.
    values = json.decode(jwk, dict[str, Any])
    return ECKey.import_key(values) if values["kty"] == "EC" else RSAKey.import_key(values)
