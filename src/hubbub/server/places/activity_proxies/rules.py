"""Validation of URL maps."""

import re
from collections.abc import Sequence
from typing import Final

from hubbub.protocol import errors
from hubbub.protocol.resources import activity_proxies as wire
from hubbub.server.core import outbound_http
from hubbub.server.core.url_maps import PLACEHOLDER_PATTERN
from hubbub.server.places.activity_proxies.store import MappingRow

RESERVED_SEGMENTS: Final = (".proxy", ".platform")
"""First path segments reserved for the proxy. `/.proxy/` is stripped from every path; `/.platform/` never reaches a
target."""

_SEGMENT_PATTERN: Final = re.compile(r"[A-Za-z0-9._~!$&'()*+,;=:@%-]*")
"""RFC 3986 pchar. `_INVALID_PERCENT_PATTERN` checks percent signs separately."""
_INVALID_PERCENT_PATTERN: Final = re.compile(r"%(?![0-9A-Fa-f]{2})")
_HOST_LABEL_PATTERN: Final = re.compile(r"(?!-)[A-Za-z0-9_-]{1,63}(?<!-)")
_AUTHORITY_PATTERN: Final = re.compile(r"(?P<host>\[[0-9A-Fa-f:.]+\]|[^:\[\]@]+)(?::(?P<port>[0-9]{1,5}))?")

FormError = tuple[str, str]
"""The code and message of a form error."""


def require_url_map(requested_mappings: Sequence[wire.UrlMapping], *, allow_private: bool) -> list[MappingRow]:
    """Return a URL map in its stored form, or raise a form error with every invalid prefix and target.

    `allow_private` permits targets in private networks."""
    form = errors.FormErrors()
    rows: list[MappingRow] = []
    seen_prefixes: set[str] = set()
    for index, mapping in enumerate(requested_mappings):
        prefix, target = mapping.prefix.rstrip("/") or "/", mapping.target.rstrip("/")
        prefix_error = _find_prefix_error(mapping.prefix)
        if prefix_error is None and prefix in seen_prefixes:
            prefix_error = (
                "URL_MAPPING_PREFIX_TAKEN",
                "An earlier mapping has this prefix, so this one would never be used.",
            )
        if prefix_error is not None:
            form.add(("url_map", index, "prefix"), *prefix_error)
        target_error = _find_target_error(
            mapping.target, set(PLACEHOLDER_PATTERN.findall(mapping.prefix)), allow_private
        )
        if target_error is not None:
            form.add(("url_map", index, "target"), *target_error)
        seen_prefixes.add(prefix)
        rows.append(MappingRow(prefix, target))
    form.raise_if_any()
    return rows


def _find_prefix_error(prefix: str) -> FormError | None:
    if not prefix.startswith("/"):
        return "URL_MAPPING_PREFIX_INVALID", "A prefix must be a path that starts with a slash."
    if prefix == "/":
        return None
    segments = prefix.rstrip("/")[1:].split("/")
    if segments[0] in RESERVED_SEGMENTS:
        return "URL_MAPPING_PREFIX_RESERVED", f"Paths under /{segments[0]} are reserved for the proxy."
    placeholder_names = PLACEHOLDER_PATTERN.findall(prefix)
    if len(set(placeholder_names)) < len(placeholder_names):
        return "URL_MAPPING_PLACEHOLDER_TWICE", "A prefix can use each placeholder only once."
    return _find_segment_error(segments)


def _find_segment_error(segments: Sequence[str]) -> FormError | None:
    for segment in segments:
        if not segment or segment in (".", ".."):
            return "URL_MAPPING_PATH_INVALID", "Path segments must not be empty, '.' or '..'."
        if len(PLACEHOLDER_PATTERN.findall(segment)) > 1:
            return "URL_MAPPING_PLACEHOLDERS", "A path segment can contain at most one placeholder."
        literal_text = PLACEHOLDER_PATTERN.sub("", segment)
        if "{" in literal_text or "}" in literal_text:
            return "URL_MAPPING_PLACEHOLDER_INVALID", "A placeholder must be a lowercase word, such as {name}."
        if (
            _SEGMENT_PATTERN.fullmatch(literal_text) is None
            or _INVALID_PERCENT_PATTERN.search(literal_text) is not None
        ):
            return "URL_MAPPING_PATH_INVALID", "A path contains invalid characters. Percent-encode them."
    return None


def _find_target_error(target: str, prefix_placeholders: set[str], allow_private: bool) -> FormError | None:
    """Return the form error of a target, or None. A target may use only the placeholders of its prefix."""
    if "://" in target:
        return "URL_MAPPING_TARGET_SCHEME", "A target must be a host without https://."
    authority, _, path = target.partition("/")
    placeholder_names = PLACEHOLDER_PATTERN.findall(target)
    if not prefix_placeholders.issuperset(placeholder_names):
        missing_name = next(name for name in placeholder_names if name not in prefix_placeholders)
        return "URL_MAPPING_PLACEHOLDER_UNKNOWN", f"The prefix has no placeholder {{{missing_name}}}."
    authority_match = _AUTHORITY_PATTERN.fullmatch(authority)
    if (
        authority_match is None
        or not _is_valid_host(authority_match["host"])
        or not 0 < int(authority_match["port"] or 443) < 65_536
    ):
        return (
            "URL_MAPPING_TARGET_INVALID",
            "A target must be a host, optionally with a port and a path: game.example.org/dir.",
        )
    if not allow_private and _is_private_host(authority_match["host"]):
        return "URL_MAPPING_TARGET_PRIVATE", "A target must be reachable from the internet."
    return _find_segment_error(path.rstrip("/").split("/")) if path.rstrip("/") else None


def _is_valid_host(host: str) -> bool:
    if host.startswith("["):
        return outbound_http.parse_address(host[1:-1]) is not None
    # A placeholder is replaced by a word, so check the host with a word in its place.
    labels = PLACEHOLDER_PATTERN.sub("x", host).removesuffix(".").split(".")
    return len(host) <= 253 and all(_HOST_LABEL_PATTERN.fullmatch(label) is not None for label in labels)


def _is_private_host(host: str) -> bool:
    """Return whether a host is private by its name or literal address.

    The addresses that a name resolves to are checked on each request (core/outbound_http.py)."""
    host_name = host.strip("[]").lower().removesuffix(".")
    address = outbound_http.parse_address(host_name)
    if address is not None:
        return not outbound_http.is_public(host_name)
    return "." not in host_name or host_name.endswith(".localhost") or host_name.rpartition(".")[2].isdecimal()
