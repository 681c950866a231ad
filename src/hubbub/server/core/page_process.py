"""The program that extracts the metadata of an untrusted web page, in a process of its own with limited memory and CPU time.

`core.page_reader` starts it by its path for each page: the page is its input, the metadata as JSON its output. A page that
needs too much memory or CPU time ends only this process. The process is not a sandbox: it has the rights of the server's
user. The program imports only the standard library, whose HTML parser needs quadratic time for some malformed pages; the
limit of the CPU time bounds it.
"""

import codecs
import json
import re
import sys
from html.parser import HTMLParser
from typing import Any, Final

PROPERTIES_MAX: Final = 100
"""Maximum number of properties that are returned."""
VALUE_MAX: Final = 4096
"""Maximum length of a title or of the value of a property, in characters."""
MEMORY_BYTES: Final = 256 << 20
CPU_SECONDS: Final = 5

_PROPERTY_PREFIXES: Final = ("og:", "twitter:", "article:")
"""Prefixes of the names of meta elements that are returned."""
_PROPERTY_NAMES: Final = ("author", "description", "theme-color")
"""Names of meta elements that are returned although they have none of the `_PROPERTY_PREFIXES`."""
_OEMBED_TYPES: Final = ("application/json+oembed", "text/json+oembed")
_CHARSET_PATTERN: Final = re.compile(rb"<meta[^>]{0,200}?charset\s*=\s*[\"']?\s*([a-zA-Z0-9_:.-]{1,40})", re.IGNORECASE)
_CHARSET_BYTES: Final = 1024
"""Number of bytes at the start of a page in which its encoding is declared."""
_BYTE_ORDER_MARKS: Final = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)


class MetadataParser(HTMLParser):
    """Collects the title, the meta elements and the oEmbed link of the head of a page."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.title = ""
        self.properties: dict[str, str] = {}
        """Values of meta elements by property or name in lower case; the first value counts."""
        self.oembed_url = ""
        self.is_complete = False
        """Whether the head of the page has ended."""
        self._is_in_title = False
        self._has_title = False

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Read the start of a title, meta or link element; the body ends the metadata."""
        if tag == "body":
            self.is_complete = True
        if self.is_complete:
            return
        attributes = {name: value or "" for name, value in reversed(attrs)}
        if tag == "title" and not self._has_title:
            self._is_in_title = True
        elif tag == "meta":
            self._add_property(attributes)
        elif tag == "link" and not self.oembed_url and "alternate" in attributes.get("rel", "").lower().split():
            if attributes.get("type", "").lower() in _OEMBED_TYPES:
                self.oembed_url = attributes.get("href", "")[:VALUE_MAX]

    def handle_endtag(self, tag: str) -> None:
        """End the title or the head."""
        if tag == "title" and self._is_in_title:
            self._is_in_title, self._has_title = False, True
        elif tag == "head":
            self.is_complete = True

    def handle_data(self, data: str) -> None:
        """Add text to the title."""
        if self._is_in_title and len(self.title) < VALUE_MAX:
            self.title += data[:VALUE_MAX]

    def _add_property(self, attributes: dict[str, str]) -> None:
        name = (attributes.get("property") or attributes.get("name") or "").strip().lower()
        value = attributes.get("content", "").strip()
        is_known = name in _PROPERTY_NAMES or name.startswith(_PROPERTY_PREFIXES)
        if value and is_known and len(name) <= 100 and len(self.properties) < PROPERTIES_MAX:
            self.properties.setdefault(name, value[:VALUE_MAX])


def decode_page(page: bytes, declared_charset: str) -> str:
    """Decode a page by its byte order mark, the charset of the response or that of the page; invalid bytes are replaced."""
    charsets = [charset for mark, charset in _BYTE_ORDER_MARKS if page.startswith(mark)]
    charsets.append(declared_charset)
    match = _CHARSET_PATTERN.search(page[:_CHARSET_BYTES])
    if match is not None:
        charsets.append(match[1].decode("ascii"))
    for charset in charsets:
        try:
            return page.decode(charset, "replace")
        except (LookupError, ValueError):
            # The charset is empty, unknown or no encoding of text.
            continue
    return page.decode("utf-8", "replace")


def extract_metadata(page: bytes, declared_charset: str) -> dict[str, Any]:
    """Return `title`, `properties` and `oembed_url` of a page."""
    parser = MetadataParser()
    parser.feed(decode_page(page, declared_charset))
    return {"title": parser.title[:VALUE_MAX], "properties": parser.properties, "oembed_url": parser.oembed_url}


def limit_resources() -> None:
    """Limit memory and CPU time of this process and forbid writing files, where the system supports it."""
    try:
        import resource
    except ImportError:
        return
    limits = (("RLIMIT_AS", MEMORY_BYTES), ("RLIMIT_CPU", CPU_SECONDS), ("RLIMIT_FSIZE", 0), ("RLIMIT_CORE", 0))
    for name, limit in limits:
        resource_id = getattr(resource, name, None)
        if resource_id is None:
            continue
        try:
            resource.setrlimit(resource_id, (limit, limit))
        except (ValueError, OSError):
            # The system defines the limit but does not support it.
            pass


def main() -> None:
    """Read a page from the input and write its metadata; the argument is the charset of the response."""
    limit_resources()
    metadata = extract_metadata(sys.stdin.buffer.read(), sys.argv[1])
    sys.stdout.buffer.write(json.dumps(metadata).encode())


if __name__ == "__main__":
    main()
