"""Parser of the API reference pages, and a function that reads the entries of all resource pages."""

from dataclasses import dataclass, field
from html.parser import HTMLParser
from typing import Any

from tests.pages import Browser
from tests.world import World


@dataclass
class ReferenceEntry:
    """One documented entry of a page: its links, text and examples."""

    links: set[str] = field(default_factory=set)
    text: str = ""
    examples: list[tuple[str, str]] = field(default_factory=list)
    """Language and code of each example."""


class ReferencePage(HTMLParser):
    """A parsed page of the reference: its entries with their IDs, and all element IDs, links and script URLs.

    The parser asserts that the page has no inline scripts, styles or event handlers."""

    def __init__(self, body: str) -> None:
        super().__init__()
        self.entries: list[tuple[str, ReferenceEntry]] = []
        self.ids: list[str] = []
        self.links: set[str] = set()
        self._open_elements: list[tuple[str, ReferenceEntry | None]] = []
        """Tags of the open sections and list items, with their entries; None for an element without an entry."""
        self.scripts: list[str] = []
        self._language: str | None = None
        self.feed(body)

    def handle_starttag(self, tag: str, attributes: Any) -> None:
        attribute_values = dict(attributes)
        if tag == "script":
            assert attribute_values["src"].startswith("/static/docs"), "inline script"
            self.scripts.append(attribute_values["src"])
        assert "style" not in attribute_values, "inline style"
        assert not any(name.startswith("on") for name in attribute_values), "inline event handler"
        if "id" in attribute_values:
            self.ids.append(attribute_values["id"])
        if tag == "a":
            self.links.add(attribute_values["href"])
            for _, entry in self._open_elements:
                if entry is not None:
                    entry.links.add(attribute_values["href"])
        if tag == "pre":
            self._language = attribute_values.get("data-language")
            for _, entry in self._open_elements:
                if entry is not None and self._language is not None:
                    entry.examples.append((self._language, ""))
        if tag in ("section", "li"):
            entry = (
                ReferenceEntry()
                if "id" in attribute_values and (tag == "li" or attribute_values.get("class") == "op")
                else None
            )
            self._open_elements.append((tag, entry))
            if entry is not None:
                self.entries.append((attribute_values["id"], entry))

    def handle_endtag(self, tag: str) -> None:
        if tag == "pre":
            self._language = None
        if tag in ("section", "li"):
            opened_tag, _ = self._open_elements.pop()
            assert opened_tag == tag

    def handle_data(self, data: str) -> None:
        for _, entry in self._open_elements:
            if entry is not None:
                entry.text = " ".join(f"{entry.text} {data}".split())
                if self._language is not None:
                    entry.examples[-1] = (self._language, entry.examples[-1][1] + data)


async def read_resource_entries(world: World) -> dict[str, ReferenceEntry]:
    """Read all resource pages of the reference and return their entries by ID; the ID of an operation is its name."""
    browser = Browser(world)
    entries: dict[str, ReferenceEntry] = {}
    for path in {url for _, url in (await browser.open("/docs")).links if url.startswith("/docs/resources/")}:
        entries |= dict(ReferencePage((await browser.open(path)).body).entries)
    return entries
