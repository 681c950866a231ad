"""Verification of signed ID tokens: key, algorithm, signature and time."""

import binascii
from typing import Any, Final, NamedTuple

from joserfc import jws
from joserfc.errors import JoseError
from joserfc.jwk import KeySet
from joserfc.jws import JWSRegistry
from joserfc.util import urlsafe_b64decode

from hubbub.protocol import codec, errors
from hubbub.protocol.resources import identity_providers as wire
from hubbub.server.core.async_operation import AsyncOperation
from hubbub.server.core.outbound_http import UnreachableError

SKEW_SECONDS: Final = 60
"""Accepted clock skew of the provider, in seconds."""
KEYS_MAX: Final = 100
RSA_BITS_MIN: Final = 2048
RSA_BITS_MAX: Final = 16_384
"""Largest accepted RSA key, in bits."""

_REGISTRY: Final = JWSRegistry(algorithms=list(wire.ALGORITHMS))
_KEY_TYPES: Final = {"RS": "RSA", "PS": "RSA", "ES": "EC"}


class ParsedToken(NamedTuple):
    """A parsed ID token that is not verified yet."""

    text: str
    header: dict[str, Any]
    claims: dict[str, Any]

    @property
    def issuer(self) -> str:
        """The claimed issuer, or an empty string."""
        return _text(self.claims.get("iss"))

    @property
    def subject(self) -> str:
        """The claimed subject, or an empty string."""
        return _text(self.claims.get("sub"))

    @property
    def audience(self) -> list[str]:
        """The claimed audiences."""
        audience = self.claims.get("aud")
        return [each for each in (audience if isinstance(audience, list) else [audience]) if isinstance(each, str)]


def parse(text: str) -> ParsedToken:
    """Parse a token. Raises unless its form and algorithm can be verified."""
    parts = text.split(".")
    if len(parts) != 3:
        raise errors.INVALID_OIDC_TOKEN()
    header, claims = _decode(parts[0]), _decode(parts[1])
    if header.get("alg") not in wire.ALGORITHMS:
        # Also rejects `none` and symmetric algorithms (HS256 with a public key as its secret).
        raise errors.INVALID_OIDC_TOKEN()
    if not isinstance(header.get("kid"), str) or not header["kid"]:
        raise errors.OIDC_TOKEN_WITHOUT_KID()
    return ParsedToken(text, header, claims)


async def require_signature(operation: AsyncOperation, token: ParsedToken, keys_url: str, now: int) -> None:
    """Require a valid signature of the provider.

    An unknown key may be new, so the keys are fetched again, at a limited rate."""
    key = _find_key(await _keys(operation, keys_url, now), token)
    if key is None:
        key = _find_key(await _keys(operation, keys_url, now, again=True), token)
    if key is None:
        raise errors.INVALID_OIDC_TOKEN()
    try:
        jws.deserialize_compact(token.text, key, registry=_REGISTRY)
    except (JoseError, ValueError, TypeError):
        raise errors.INVALID_OIDC_TOKEN() from None


def require_current(token: ParsedToken, now: int) -> None:
    """Require that the token is valid now."""
    seconds = now // 1000
    expires, issued = _time(token, "exp"), _time(token, "iat")
    not_before = _time(token, "nbf") if "nbf" in token.claims else 0
    if expires <= seconds:
        raise errors.ID_TOKEN_EXPIRED()
    if issued < seconds - wire.ID_TOKEN_AGE_SECONDS:
        raise errors.ID_TOKEN_TOO_OLD()
    if max(issued, not_before) > seconds + SKEW_SECONDS:
        raise errors.INVALID_OIDC_TOKEN()
    if not token.subject or len(token.subject) > 1024:
        raise errors.INVALID_OIDC_TOKEN()


def read_keys(data: bytes) -> KeySet:
    """Parse a provider's key set. Unusable keys are skipped. Raises ValueError for invalid data."""
    found = codec.decode(data, dict[str, Any]).get("keys")
    if not isinstance(found, list) or len(found) > KEYS_MAX:
        raise ValueError("no keys")
    usable = [key for key in found if isinstance(key, dict) and _is_usable(key)]
    imported = []
    for key in usable:
        try:
            imported += KeySet.import_key_set({"keys": [key]}).keys
        except (JoseError, ValueError, TypeError, KeyError):
            continue
    return KeySet(imported)


async def _keys(operation: AsyncOperation, url: str, now: int, *, again: bool = False) -> KeySet:
    try:
        return await operation.outbound.cache.get(url, read_keys, now, refresh=again)
    except (UnreachableError, ValueError):
        raise errors.OIDC_KEYS_UNREACHABLE() from None


def _find_key(keys: KeySet, token: ParsedToken) -> Any:
    algorithm = token.header["alg"]
    for key in keys.keys:
        public = key.as_dict(private=False)
        if public.get("kid") == token.header["kid"] and key.key_type == _KEY_TYPES[algorithm[:2]]:
            if public.get("alg", algorithm) == algorithm and public.get("use", "sig") == "sig":
                return key
    return None


def _is_usable(key: dict[str, Any]) -> bool:
    if not isinstance(key.get("kid"), str):
        return False
    if key.get("kty") == "RSA":
        # RFC 7518 3.3 requires 2048 bits; huge keys make verification slow.
        return isinstance(key.get("n"), str) and RSA_BITS_MIN <= len(key["n"]) * 6 < RSA_BITS_MAX
    # A published symmetric key is not a secret.
    return key.get("kty") == "EC"


def _decode(part: str) -> dict[str, Any]:
    try:
        return codec.decode(urlsafe_b64decode(part.encode("ascii")), dict[str, Any])
    except (ValueError, binascii.Error):
        raise errors.INVALID_OIDC_TOKEN() from None


def _time(token: ParsedToken, name: str) -> float:
    value = token.claims.get(name)
    if not isinstance(value, int | float) or isinstance(value, bool) or not 0 <= value < 1 << 53:
        raise errors.INVALID_OIDC_TOKEN()
    return value


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""
