"""Validation of OIDC issuer URLs (spec/sdk.md#8.4.1)."""

import re
from enum import IntEnum
from typing import Final
from urllib.parse import urlsplit

from hubbub.protocol import changes
from hubbub.server.core.async_operation import AsyncOperation
from hubbub.server.core.config import Config
from hubbub.server.core.outbound_cache import OutboundCache

BUILT_IN_ISSUER: Final = "built-in"
"""Name under which the issuer that a rehearsal contains is stored. Its URL depends on the server's own URL."""

_FORBIDDEN_SUFFIXES: Final = frozenset({"local", "arpa", "internal", "localhost"})
_URL_PATTERN: Final = re.compile(r"[\x21-\x7e]+", re.ASCII)
_HOST_LABEL_PATTERN: Final = re.compile(r"[a-z0-9_]([a-z0-9_-]{0,61}[a-z0-9_])?", re.ASCII)
# The last label of an IPv4 address, in decimal or hexadecimal form.
_NUMERIC_LABEL_PATTERN: Final = re.compile(r"[0-9]+|0x[0-9a-f]*", re.ASCII)


class IssuerValidation(IntEnum):
    """Validation of issuers, stored with a configuration: an issuer keeps it until the configuration is edited."""

    LAX = 0
    """Rules before the date of `changes.OIDC_STRICT_ISSUER`: any host, and redirects are followed."""
    STRICT = 1
    """Rules since the date of `changes.OIDC_STRICT_ISSUER`: https, public host names, no redirects."""
    ANY_HOST = 2
    """Rules since the date of `changes.OIDC_STRICT_ISSUER` for world files and with the setting `identity.allow_any_issuer`:
    any host, no redirects."""

    @classmethod
    def choose(cls, now_ms: int, *, allows_any_host: bool) -> "IssuerValidation":
        """Return the validation of a configuration that is saved at `now_ms`, in Unix milliseconds."""
        if not changes.OIDC_STRICT_ISSUER.is_active(now_ms):
            return cls.LAX
        return cls.ANY_HOST if allows_any_host else cls.STRICT

    @property
    def is_strict(self) -> bool:
        """Whether issuer URLs must pass the strict validation of `find_issuer_problem`."""
        return self is IssuerValidation.STRICT

    def choose_cache(self, operation: AsyncOperation) -> OutboundCache:
        """Return the cache through which the documents of an issuer are fetched."""
        outbound = operation.outbound
        return outbound.redirecting_cache if self is IssuerValidation.LAX else outbound.cache


def resolve_issuer_url(config: Config, issuer: str) -> str:
    """Return the URL of a stored issuer. The URL of the built-in issuer is derived from the server's own URL."""
    if issuer == BUILT_IN_ISSUER and config.control:
        return f"{config.web_url}/control/issuers/oidc"
    return issuer


def find_issuer_problem(url: str, *, is_strict: bool) -> str | None:
    """Return why a URL cannot be an issuer, as a message for the developer, or None.

    Without `is_strict`, http and any host are allowed."""
    if _URL_PATTERN.fullmatch(url) is None or "\\" in url:
        return "Not a well formed URL."
    try:
        url_parts = urlsplit(url)
        host = (url_parts.hostname or "").rstrip(".")
        _ = url_parts.port  # Raises ValueError for an invalid port.
    except ValueError:
        return "Not a well formed URL."
    if url_parts.scheme not in (("https",) if is_strict else ("http", "https")) or not host:
        return "The issuer must be an https URL."
    if url_parts.username is not None or url_parts.password is not None:
        return "The issuer must not contain credentials."
    if "?" in url or "#" in url:
        return "The issuer must not have a query or a fragment."
    return _find_host_problem(host) if is_strict else None


def _find_host_problem(host: str) -> str | None:
    labels = host.split(".")
    if ":" in host or _NUMERIC_LABEL_PATTERN.fullmatch(labels[-1]):
        # Browsers and many resolvers parse every name that ends in a number as an IP address.
        return "The issuer must be a host name, not an IP address."
    if len(labels) < 2:
        return "The host of the issuer must have at least two labels."
    if labels[-1] in _FORBIDDEN_SUFFIXES:
        return f"The host of the issuer must not end in .{labels[-1]}."
    # A DNS name has at most 253 characters.
    if len(host) > 253 or not all(_HOST_LABEL_PATTERN.fullmatch(label) for label in labels):
        return "Not a well formed host name."
    return None
