"""Keys that sign ID tokens; a key signs for 90 days and is published until its last token has expired.

The library joserfc is imported when it is first used, so that rehearsals start faster."""

import functools
from typing import TYPE_CHECKING, Any, Final

from hubbub.protocol import codec
from hubbub.protocol.resources import oauth2 as wire

if TYPE_CHECKING:
    from joserfc.jwk import ECKey, RSAKey

RS256: Final = "RS256"
"""Default algorithm, supported by every client; a signature takes milliseconds."""
ES256: Final = "ES256"
"""Faster algorithm; a signature takes about a thirtieth of the time of RS256."""
RSA_KEY_BITS: Final = 2048

SIGNING_PERIOD_MS: Final = 90 * 86_400_000
"""Time during which a key signs, in milliseconds."""
PUBLICATION_PERIOD_MS: Final = SIGNING_PERIOD_MS + wire.ID_TOKEN_SECONDS * 1000 + 86_400_000
"""Time during which a key is published: until its last token expires, plus a day for clock skew."""


def generate_key(algorithm: str) -> tuple[str, str]:
    """Generate a private key; return its ID and the key as the JSON of a JSON Web Key.

    Generating an RS256 key takes up to a second."""
    from joserfc.jwk import ECKey, RSAKey

    key: RSAKey | ECKey
    if algorithm == ES256:
        key = ECKey.generate_key("P-256", parameters={"use": "sig", "alg": algorithm})
    else:
        key = RSAKey.generate_key(RSA_KEY_BITS, parameters={"use": "sig", "alg": algorithm})
    return key.thumbprint(), codec.encode(key.as_dict(private=True)).decode()


def algorithm_of(jwk: str) -> str:
    """Return the signing algorithm of the key `jwk`, which is the JSON of a JSON Web Key."""
    return str(_load_key(jwk).as_dict(private=False)["alg"])


def sign(kid: str, jwk: str, claims: dict[str, Any]) -> str:
    """Return a signed ID token with the claims. `kid` is the ID of the key `jwk`."""
    from joserfc import jwt

    algorithm = algorithm_of(jwk)
    return jwt.encode({"alg": algorithm, "kid": kid}, claims, _load_key(jwk), algorithms=[algorithm])


def build_public_key(kid: str, jwk: str) -> wire.PublicKey:
    """Build the public key of the private key `jwk`, which is the JSON of a JSON Web Key with the ID `kid`."""
    parameters = _load_key(jwk).as_dict(private=False)
    key = wire.PublicKey(kty=str(parameters["kty"]), use="sig", kid=kid, alg=str(parameters["alg"]))
    for name in ("n", "e", "crv", "x", "y"):
        if name in parameters:
            setattr(key, name, str(parameters[name]))
    return key


@functools.lru_cache(maxsize=8)
def _load_key(jwk: str) -> "RSAKey | ECKey":
    from joserfc.jwk import ECKey, RSAKey

    # Importing a private key validates its numbers, which costs as much as several signatures.
    parameters = codec.decode(jwk, dict[str, Any])
    return ECKey.import_key(parameters) if parameters["kty"] == "EC" else RSAKey.import_key(parameters)
