"""Validation of URL maps."""

import re
from collections.abc import Sequence
from typing import Final

from hubbub.protocol import errors
from hubbub.protocol.resources import activity_proxies as wire
from hubbub.server.core import outbound_http
from hubbub.server.core.url_maps import PLACEHOLDER
from hubbub.server.places.activity_proxies.store import MappingRow

RESERVED_SEGMENTS: Final = (".proxy", ".platform")
"""First path segments reserved for the proxy. `/.proxy/` is stripped from every path; `/.platform/` never reaches a
target."""

_SEGMENT: Final = re.compile(r"[A-Za-z0-9._~!$&'()*+,;=:@%-]*")
"""RFC 3986 pchar. `_PERCENT` checks percent signs separately."""
_PERCENT: Final = re.compile(r"%(?![0-9A-Fa-f]{2})")
_LABEL: Final = re.compile(r"(?!-)[A-Za-z0-9_-]{1,63}(?<!-)")
_AUTHORITY: Final = re.compile(r"(?P<host>\[[0-9A-Fa-f:.]+\]|[^:\[\]@]+)(?::(?P<port>[0-9]{1,5}))?")

Problem = tuple[str, str]


def require_url_map(rows: Sequence[wire.UrlMapping], *, allow_private: bool) -> list[MappingRow]:
    """Return a URL map in its stored form, or raise every error in it with its path."""
    form = errors.FormErrors()
    validated: list[MappingRow] = []
    seen: set[str] = set()
    for index, row in enumerate(rows):
        prefix, target = row.prefix.rstrip("/") or "/", row.target.rstrip("/")
        problem = _prefix_problem(row.prefix)
        if problem is None and prefix in seen:
            problem = "URL_MAPPING_PREFIX_TAKEN", "An earlier mapping has this prefix, so this one would never be used."
        if problem is not None:
            form.add(("url_map", index, "prefix"), *problem)
        problem = _target_problem(row.target, set(PLACEHOLDER.findall(row.prefix)), allow_private)
        if problem is not None:
            form.add(("url_map", index, "target"), *problem)
        seen.add(prefix)
        validated.append(MappingRow(prefix, target))
    form.raise_if_any()
    return validated


def _prefix_problem(prefix: str) -> Problem | None:
    if not prefix.startswith("/"):
        return "URL_MAPPING_PREFIX_INVALID", "A prefix must be a path that starts with a slash."
    if prefix == "/":
        return None
    segments = prefix.rstrip("/")[1:].split("/")
    if segments[0] in RESERVED_SEGMENTS:
        return "URL_MAPPING_PREFIX_RESERVED", f"Paths under /{segments[0]} are reserved for the proxy."
    names = PLACEHOLDER.findall(prefix)
    if len(set(names)) < len(names):
        return "URL_MAPPING_PLACEHOLDER_TWICE", "A prefix can use each placeholder only once."
    return _segment_problem(segments)


def _segment_problem(segments: Sequence[str]) -> Problem | None:
    for segment in segments:
        if not segment or segment in (".", ".."):
            return "URL_MAPPING_PATH_INVALID", "Path segments must not be empty, '.' or '..'."
        if len(PLACEHOLDER.findall(segment)) > 1:
            return "URL_MAPPING_PLACEHOLDERS", "A path segment can contain at most one placeholder."
        plain = PLACEHOLDER.sub("", segment)
        if "{" in plain or "}" in plain:
            return "URL_MAPPING_PLACEHOLDER_INVALID", "A placeholder must be a lowercase word, such as {name}."
        if _SEGMENT.fullmatch(plain) is None or _PERCENT.search(plain) is not None:
            return "URL_MAPPING_PATH_INVALID", "A path contains invalid characters. Percent-encode them."
    return None


def _target_problem(target: str, known: set[str], allow_private: bool) -> Problem | None:
    if "://" in target:
        return "URL_MAPPING_TARGET_SCHEME", "A target must be a host without https://."
    authority, _, directory = target.partition("/")
    names = PLACEHOLDER.findall(target)
    if not known.issuperset(names):
        missing = next(name for name in names if name not in known)
        return "URL_MAPPING_PLACEHOLDER_UNKNOWN", f"The prefix has no placeholder {{{missing}}}."
    match = _AUTHORITY.fullmatch(authority)
    if match is None or not _is_host(match["host"]) or not 0 < int(match["port"] or 443) < 65_536:
        return (
            "URL_MAPPING_TARGET_INVALID",
            "A target must be a host, optionally with a port and a path: game.example.org/dir.",
        )
    if not allow_private and _is_private(match["host"]):
        return "URL_MAPPING_TARGET_PRIVATE", "A target must be reachable from the internet."
    return _segment_problem(directory.rstrip("/").split("/")) if directory.rstrip("/") else None


def _is_host(host: str) -> bool:
    if host.startswith("["):
        return outbound_http.parse_address(host[1:-1]) is not None
    # A placeholder is replaced by a word, so check the host with a word in its place.
    labels = PLACEHOLDER.sub("x", host).removesuffix(".").split(".")
    return len(host) <= 253 and all(_LABEL.fullmatch(label) is not None for label in labels)


def _is_private(host: str) -> bool:
    """Return whether a host is obviously private.

    Its resolved addresses are checked on each request (core/outbound_http.py)."""
    name = host.strip("[]").lower().removesuffix(".")
    literal = outbound_http.parse_address(name)
    if literal is not None:
        return not outbound_http.is_public(name)
    return "." not in name or name.endswith(".localhost") or name.rpartition(".")[2].isdecimal()
