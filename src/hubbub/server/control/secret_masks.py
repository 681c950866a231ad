"""Masking of tokens, passwords and other secrets in the traffic and the rate limits that the console shows."""

import re
from collections.abc import Iterable, Mapping
from typing import Any, Final

import msgspec

from hubbub.protocol import codec
from hubbub.protocol.control.rate_limits import RateLimitHit

MASK: Final = "•••"
"""The text that replaces a secret."""
SECRET_KEYS: Final = frozenset(
    {
        "access_token",
        "client_assertion",
        "client_secret",
        "code_verifier",
        "external_auth_token",
        "id_token",
        "new_password",
        "password",
        "refresh_token",
        "secret",
        "secret_key",
        "ticket",
        "token",
    }
)
"""Keys of JSON objects and forms whose text is a secret."""

_TOKEN_PATH_PATTERN: Final = re.compile(r"(/(?:webhooks|interactions)/\d+/)[^/?\"\s]+")
"""Paths that contain the token of a webhook or interaction."""
_FORM_FIELD_PATTERN: Final = re.compile(rf"\b({'|'.join(sorted(SECRET_KEYS))})=[^&\s]*")


class Masker:
    """Replaces secrets in texts: values with a known key or path, and known secrets such as the tokens of the world."""

    def __init__(self, known_secrets: Iterable[str]) -> None:
        self._secrets = sorted((secret for secret in known_secrets if secret), key=len, reverse=True)

    def mask_text(self, text: str) -> str:
        """Mask the secrets in a path, a header or a body that is not JSON."""
        for secret in self._secrets:
            if secret in text:
                text = text.replace(secret, MASK)
        return _FORM_FIELD_PATTERN.sub(rf"\1={MASK}", _TOKEN_PATH_PATTERN.sub(rf"\1{MASK}", text))

    def mask_headers(self, headers: Mapping[str, str]) -> dict[str, str]:
        """Mask the credentials in headers; the scheme of an Authorization header stays."""
        masked_headers = {name: self.mask_text(value) for name, value in headers.items()}
        if "Authorization" in masked_headers:
            scheme, separator, _ = headers["Authorization"].rpartition(" ")
            masked_headers["Authorization"] = f"{scheme}{separator}{MASK}"
        return masked_headers

    def mask_body(self, body: bytes) -> str:
        """Return a body as text without secrets."""
        try:
            value = codec.decode_any(body)
        except (msgspec.MsgspecError, ValueError, RecursionError):
            return self.mask_text(body.decode("utf-8", "replace"))
        return codec.encode(self._mask_value(value)).decode()

    def _mask_value(self, value: Any) -> Any:
        if isinstance(value, dict):
            return {
                key: MASK if key in SECRET_KEYS and _is_secret_value(item) else self._mask_value(item)
                for key, item in value.items()
            }
        if isinstance(value, list):
            return [self._mask_value(item) for item in value]
        return self.mask_text(value) if isinstance(value, str) else value


def _is_secret_value(value: Any) -> bool:
    """Return whether the value of a secret key is a text, or the bytes of a voice key as a list of numbers."""
    return isinstance(value, str) or (isinstance(value, list) and all(isinstance(item, int) for item in value))


def mask_tokens(hit: RateLimitHit) -> RateLimitHit:
    """Return a rate limit hit without the token of a webhook or interaction, which follows the ID in `major`."""
    return msgspec.structs.replace(hit, major=[*hit.major[:1], *(MASK for _ in hit.major[1:])])
