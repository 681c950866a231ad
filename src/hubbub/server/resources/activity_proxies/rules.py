"""What a URL map may say."""

import re
from collections.abc import Sequence
from typing import Final

from hubbub.protocol import errors
from hubbub.protocol.resources import activity_proxies as wire
from hubbub.server.core import guarded
from hubbub.server.core.url_maps import PLACEHOLDER
from hubbub.server.resources.activity_proxies.store import MappingRow

RESERVED: Final = (".proxy", ".platform")
"""First segments that are the proxy's own: `/.proxy/` is cut off every path, `/.platform/` never reaches a target."""

_SEGMENT: Final = re.compile(r"[A-Za-z0-9._~!$&'()*+,;=:@%-]*")
"""RFC 3986, pchar, with its percent signs looked at apart."""
_PERCENT: Final = re.compile(r"%(?![0-9A-Fa-f]{2})")
_LABEL: Final = re.compile(r"(?!-)[A-Za-z0-9_-]{1,63}(?<!-)")
_AUTHORITY: Final = re.compile(r"(?P<host>\[[0-9A-Fa-f:.]+\]|[^:\[\]@]+)(?::(?P<port>[0-9]{1,5}))?")

Problem = tuple[str, str]


def require_map(rows: Sequence[wire.UrlMapping], *, allow_private: bool) -> list[MappingRow]:
    """A URL map as it is kept, or every mistake in it with its path."""
    form = errors.FormErrors()
    kept: list[MappingRow] = []
    seen: set[str] = set()
    for place, row in enumerate(rows):
        prefix, target = row.prefix.rstrip("/") or "/", row.target.rstrip("/")
        wrong = _wrong_prefix(row.prefix)
        if wrong is None and prefix in seen:
            wrong = "URL_MAPPING_PREFIX_TAKEN", "An earlier mapping has this prefix, so this one would never be used."
        if wrong is not None:
            form.add(("url_map", place, "prefix"), *wrong)
        wrong = _wrong_target(row.target, set(PLACEHOLDER.findall(row.prefix)), allow_private)
        if wrong is not None:
            form.add(("url_map", place, "target"), *wrong)
        seen.add(prefix)
        kept.append(MappingRow(prefix, target))
    form.raise_if_any()
    return kept


def _wrong_prefix(prefix: str) -> Problem | None:
    if not prefix.startswith("/"):
        return "URL_MAPPING_PREFIX_INVALID", "A prefix is a path and begins with a slash."
    if prefix == "/":
        return None
    segments = prefix.rstrip("/")[1:].split("/")
    if segments[0] in RESERVED:
        return "URL_MAPPING_PREFIX_RESERVED", f"Paths below /{segments[0]} belong to the proxy."
    names = PLACEHOLDER.findall(prefix)
    if len(set(names)) < len(names):
        return "URL_MAPPING_PLACEHOLDER_TWICE", "Each placeholder stands once in a prefix."
    return _wrong_segments(segments)


def _wrong_segments(segments: Sequence[str]) -> Problem | None:
    for segment in segments:
        if not segment or segment in (".", ".."):
            return "URL_MAPPING_PATH_INVALID", "Every segment of a path has a name."
        if len(PLACEHOLDER.findall(segment)) > 1:
            return "URL_MAPPING_PLACEHOLDERS", "A segment of a path holds one placeholder at most."
        plain = PLACEHOLDER.sub("", segment)
        if "{" in plain or "}" in plain:
            return "URL_MAPPING_PLACEHOLDER_INVALID", "A placeholder is a word in lower case, such as {name}."
        if _SEGMENT.fullmatch(plain) is None or _PERCENT.search(plain) is not None:
            return "URL_MAPPING_PATH_INVALID", "A path holds only characters of an address, others percent-encoded."
    return None


def _wrong_target(target: str, known: set[str], allow_private: bool) -> Problem | None:
    if "://" in target:
        return "URL_MAPPING_TARGET_SCHEME", "A target is a host without https:// before it."
    authority, _, directory = target.partition("/")
    names = PLACEHOLDER.findall(target)
    if not known.issuperset(names):
        missing = next(name for name in names if name not in known)
        return "URL_MAPPING_PLACEHOLDER_UNKNOWN", f"The prefix has no placeholder {{{missing}}}."
    match = _AUTHORITY.fullmatch(authority)
    if match is None or not _is_host(match["host"]) or not 0 < int(match["port"] or 443) < 65_536:
        return "URL_MAPPING_TARGET_INVALID", "A target is a host, a port if need be, and a path: game.example.org/dir."
    if not allow_private and _is_private(match["host"]):
        return "URL_MAPPING_TARGET_PRIVATE", "A target must be reachable from the internet."
    return _wrong_segments(directory.rstrip("/").split("/")) if directory.rstrip("/") else None


def _is_host(host: str) -> bool:
    if host.startswith("["):
        return guarded.address(host[1:-1]) is not None
    # What a placeholder stands for is a word, so a word is put in its place here.
    labels = PLACEHOLDER.sub("x", host).removesuffix(".").split(".")
    return len(host) <= 253 and all(_LABEL.fullmatch(label) is not None for label in labels)


def _is_private(host: str) -> bool:
    """Whether a host is private by its looks; what it resolves to is looked at each time it is called (core/guarded.py)."""
    name = host.strip("[]").lower().removesuffix(".")
    literal = guarded.address(name)
    if literal is not None:
        return not guarded.is_public(name)
    return "." not in name or name.endswith(".localhost") or name.rpartition(".")[2].isdecimal()
