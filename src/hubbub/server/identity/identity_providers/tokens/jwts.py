"""Verification of signed ID tokens: key, algorithm, signature and time.

A rehearsal imports the library joserfc when it is first used; other servers import it at the start with `load_library`."""

import binascii
import functools
from collections.abc import Container
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from hubbub.protocol import codec, errors
from hubbub.protocol.resources import identity_providers as wire
from hubbub.server.core.outbound_cache import OutboundCache
from hubbub.server.core.outbound_http import UnreachableError

if TYPE_CHECKING:
    from joserfc.jwk import KeySet
    from joserfc.jws import JWSRegistry

SKEW_SECONDS: Final = 60
"""Accepted clock skew of the provider, in seconds: how far in the future a token may have been issued."""
KEYS_MAX: Final = 100
"""Maximum number of keys in a provider's key set."""
RSA_BITS_MIN: Final = 2048
"""Minimum size of an RSA key, in bits."""
RSA_BITS_MAX: Final = 16_384
"""Upper bound of the size of an RSA key, in bits; a key of this size is rejected too."""

# Key types by the first two letters of the algorithm.
_KEY_TYPES: Final = {"RS": "RSA", "PS": "RSA", "ES": "EC"}


def load_library() -> None:
    """Import the library now, so that no request waits for it."""
    import joserfc.jws
    import joserfc.jwt  # noqa: F401


@functools.cache
def _load_registry() -> "JWSRegistry":
    from joserfc.jws import JWSRegistry

    return JWSRegistry(algorithms=list(wire.ALGORITHMS))


class ParsedToken(NamedTuple):
    """A parsed ID token that is not verified yet."""

    text: str
    """The encoded token."""
    header: dict[str, Any]
    claims: dict[str, Any]

    @property
    def issuer(self) -> str:
        """The claimed issuer, or an empty string."""
        return _string_or_empty(self.claims.get("iss"))

    @property
    def subject(self) -> str:
        """The claimed subject, or an empty string."""
        return _string_or_empty(self.claims.get("sub"))

    @property
    def audiences(self) -> list[str]:
        """The claimed audiences; empty if there are none."""
        audience = self.claims.get("aud")
        return [value for value in (audience if isinstance(audience, list) else [audience]) if isinstance(value, str)]


def require_authorized_party(token: ParsedToken, accepted_audiences: Container[object]) -> None:
    """Raise ID_TOKEN_AUDIENCE_MISMATCH for a token with several audiences that was issued to another client.

    `accepted_audiences` are the application's audiences. With a single audience, the client that requested the token (`azp`) may
    differ from it: a mobile app requests tokens for its backend."""
    if len(token.audiences) > 1 and "azp" in token.claims and token.claims["azp"] not in accepted_audiences:
        raise errors.ID_TOKEN_AUDIENCE_MISMATCH()


def parse_token(encoded_token: str) -> ParsedToken:
    """Parse a token.

    Raise INVALID_OIDC_TOKEN if it is malformed or has no supported algorithm, and OIDC_TOKEN_WITHOUT_KID without a key ID."""
    segments = encoded_token.split(".")
    if len(segments) != 3:
        raise errors.INVALID_OIDC_TOKEN()
    header, claims = _decode_segment(segments[0]), _decode_segment(segments[1])
    if header.get("alg") not in wire.ALGORITHMS:
        # This check also rejects `none` and symmetric algorithms (HS256 with a public key as its secret).
        raise errors.INVALID_OIDC_TOKEN()
    if not isinstance(header.get("kid"), str) or not header["kid"]:
        raise errors.OIDC_TOKEN_WITHOUT_KID()
    return ParsedToken(encoded_token, header, claims)


async def require_valid_signature(cache: OutboundCache, token: ParsedToken, keys_url: str, now_ms: int) -> None:
    """Raise INVALID_OIDC_TOKEN unless the token is signed with one of the provider's keys at `keys_url`.

    An unknown key may be new, so the keys are fetched again, at a limited rate."""
    key = _find_key(await _fetch_keys(cache, keys_url, now_ms), token)
    if key is None:
        key = _find_key(await _fetch_keys(cache, keys_url, now_ms, should_refresh=True), token)
    if key is None:
        raise errors.INVALID_OIDC_TOKEN()
    from joserfc import jws
    from joserfc.errors import JoseError

    try:
        jws.deserialize_compact(token.text, key, registry=_load_registry())
    except (JoseError, ValueError, TypeError):
        raise errors.INVALID_OIDC_TOKEN() from None


def require_valid_claims(token: ParsedToken, now_ms: int) -> None:
    """Raise an error unless the token is valid at `now_ms` (Unix milliseconds) and has a subject."""
    now_seconds = now_ms // 1000
    expires_at, issued_at = _require_time_claim(token, "exp"), _require_time_claim(token, "iat")
    not_before = _require_time_claim(token, "nbf") if "nbf" in token.claims else 0
    if expires_at <= now_seconds:
        raise errors.ID_TOKEN_EXPIRED()
    if issued_at < now_seconds - wire.ID_TOKEN_AGE_SECONDS_MAX:
        raise errors.ID_TOKEN_TOO_OLD()
    if max(issued_at, not_before) > now_seconds + SKEW_SECONDS:
        raise errors.INVALID_OIDC_TOKEN()
    if not token.subject or len(token.subject) > 1024:
        raise errors.INVALID_OIDC_TOKEN()


def decode_keys(encoded_keys: bytes) -> "KeySet":
    """Parse the JSON of a provider's key set. Unusable keys are skipped. Raise ValueError for invalid data."""
    from joserfc.errors import JoseError
    from joserfc.jwk import KeySet

    key_objects = codec.decode(encoded_keys, dict[str, Any]).get("keys")
    if not isinstance(key_objects, list) or len(key_objects) > KEYS_MAX:
        raise ValueError("no keys")
    usable_keys = [key for key in key_objects if isinstance(key, dict) and _is_usable_key(key)]
    imported_keys = []
    for key in usable_keys:
        try:
            imported_keys += KeySet.import_key_set({"keys": [key]}).keys
        except (JoseError, ValueError, TypeError, KeyError):
            continue
    return KeySet(imported_keys)


async def _fetch_keys(cache: OutboundCache, url: str, now_ms: int, *, should_refresh: bool = False) -> "KeySet":
    try:
        return await cache.get(url, decode_keys, now_ms, should_refresh=should_refresh)
    except (UnreachableError, ValueError):
        raise errors.OIDC_KEYS_UNREACHABLE() from None


def _find_key(keys: "KeySet", token: ParsedToken) -> Any | None:
    algorithm = token.header["alg"]
    for key in keys.keys:
        public_parameters = key.as_dict(private=False)
        if public_parameters.get("kid") == token.header["kid"] and key.key_type == _KEY_TYPES[algorithm[:2]]:
            if public_parameters.get("alg", algorithm) == algorithm and public_parameters.get("use", "sig") == "sig":
                return key
    return None


def _is_usable_key(key: dict[str, Any]) -> bool:
    if not isinstance(key.get("kid"), str):
        return False
    if key.get("kty") == "RSA":
        # RFC 7518 3.3 requires 2048 bits; huge keys make verification slow. A base64 character has 6 bits.
        return isinstance(key.get("n"), str) and RSA_BITS_MIN <= len(key["n"]) * 6 < RSA_BITS_MAX
    # A published symmetric key is not a secret.
    return key.get("kty") == "EC"


def _decode_segment(segment: str) -> dict[str, Any]:
    from joserfc.util import urlsafe_b64decode

    try:
        return codec.decode(urlsafe_b64decode(segment.encode("ascii")), dict[str, Any])
    except (ValueError, binascii.Error):
        raise errors.INVALID_OIDC_TOKEN() from None


def _require_time_claim(token: ParsedToken, name: str) -> float:
    """Return a claim that is a time in Unix seconds, or raise INVALID_OIDC_TOKEN."""
    claim = token.claims.get(name)
    if not isinstance(claim, int | float) or isinstance(claim, bool) or not 0 <= claim < 1 << 53:
        raise errors.INVALID_OIDC_TOKEN()
    return claim


def _string_or_empty(value: Any) -> str:
    return value if isinstance(value, str) else ""
