"""The API reference pages: complete, without duplicates and broken links, and with working examples."""

import asyncio
import gzip
import importlib
import pkgutil
import re
import shlex
import shutil
import subprocess
from collections import Counter
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass, field
from enum import Enum
from html.parser import HTMLParser
from string import Template
from typing import Any
from urllib.parse import quote, urldefrag

import aiohttp
import pytest
from yarl import URL

from hubbub import protocol
from hubbub.protocol import changes, codec, enums, errors, flags, intents, operation, voice
from hubbub.protocol.permissions import Permissions
from hubbub.server import ready, worlds
from hubbub.server.app import App
from hubbub.server.core.clock import ControlledClock
from hubbub.server.core.endpoints import Endpoint
from hubbub.server.core.slices import Slice
from hubbub.server.places import standing
from hubbub.server.transports.web.reference import examples, pages
from tests.contract.tables import events, operations
from tests.pages import Browser, Page
from tests.server.transports.http import toys
from tests.world import NOW_MS, World, small_config


@pytest.fixture
async def world() -> AsyncIterator[World]:
    """A world on the in-memory store; the reference does not depend on the store."""
    app = App(small_config(), clock=ControlledClock(NOW_MS, running=False))
    await app.start()
    async with aiohttp.ClientSession() as client:
        yield World(app, client)
    await app.stop()


@dataclass
class Entry:
    """One documented entry of a page: its links, text and example."""

    links: set[str] = field(default_factory=set)
    text: str = ""
    example: str = ""


class ReferencePage(HTMLParser):
    """Parser of a page: its entries with an id, and all its ids and links."""

    def __init__(self, body: str) -> None:
        super().__init__()
        self.entries: list[tuple[str, Entry]] = []
        self.ids: list[str] = []
        self.links: set[str] = set()
        self._open: list[tuple[str, Entry | None]] = []
        self._in_pre = False
        self.feed(body)

    def handle_starttag(self, tag: str, attributes: Any) -> None:
        values = dict(attributes)
        assert tag != "script", "a script"
        assert "style" not in values, "a style"
        if "id" in values:
            self.ids.append(values["id"])
        if tag == "a":
            self.links.add(values["href"])
            for _, entry in self._open:
                if entry is not None:
                    entry.links.add(values["href"])
        if tag == "pre":
            self._in_pre = True
        if tag in ("section", "li"):
            entry = Entry() if "id" in values and (tag == "li" or values.get("class") == "op") else None
            self._open.append((tag, entry))
            if entry is not None:
                self.entries.append((values["id"], entry))

    def handle_endtag(self, tag: str) -> None:
        if tag == "pre":
            self._in_pre = False
        if tag in ("section", "li"):
            opened, _ = self._open.pop()
            assert opened == tag

    def handle_data(self, data: str) -> None:
        for _, entry in self._open:
            if entry is not None:
                entry.text = " ".join(f"{entry.text} {data}".split())
                entry.example += data if self._in_pre else ""


async def crawl(world: World) -> dict[str, ReferencePage]:
    """Return every page that is reachable from the first one, by path."""
    pages_by_path, pending = dict[str, ReferencePage](), ["/docs"]
    while pending:
        path = pending.pop()
        if path in pages_by_path:
            continue
        async with world.client.get(world.url + path) as page:
            assert (page.status, page.headers["Content-Type"]) == (200, "text/html; charset=utf-8"), path
            assert "script-src" not in page.headers["Content-Security-Policy"]
            assert page.headers["Content-Security-Policy"].startswith("default-src 'none'; style-src 'self'")
            assert "Set-Cookie" not in page.headers
            pages_by_path[path] = ReferencePage(await page.text())
        pending += sorted(
            urldefrag(link).url or path for link in pages_by_path[path].links if link.startswith(("/docs", "#"))
        )
    return pages_by_path


async def resources(world: World) -> dict[str, Entry]:
    """Return the documented entry of each operation."""
    browser = Browser(world)
    entries: dict[str, Entry] = {}
    for path in {url for _, url in (await browser.open("/docs")).links if url.startswith("/docs/resources/")}:
        entries |= dict(ReferencePage((await browser.open(path)).body).entries)
    return entries


def closed_lists() -> Iterator[tuple[str, list[str]]]:
    """Yield the page of each enum and set of flags, with the ids of its values."""
    gateway_enums = (
        enums.GatewayOpcode,
        enums.CloseCode,
        voice.VoiceOpcode,
        enums.VoiceCloseCode,
        intents.Capabilities,
    )
    yield "/docs/gateway", [f"{kind.__name__}.{name}" for kind in gateway_enums for name in names(kind)]
    yield "/docs/permissions", names(Permissions)
    yield "/docs/intents", names(intents.Intents)
    yield "/docs/scopes", [str(scope) for scope in enums.Scope]
    yield "/docs/webhook-events", names(enums.WebhookEventType)
    documented_elsewhere = {*gateway_enums, enums.Scope, enums.WebhookEventType, operation.Auth}
    for module_info in pkgutil.walk_packages(protocol.__path__, f"{protocol.__name__}."):
        for kind in vars(importlib.import_module(module_info.name)).values():
            if isinstance(kind, type) and kind.__module__ == module_info.name and kind not in documented_elsewhere:
                if issubclass(kind, Enum) or module_info.name == flags.__name__:
                    yield f"/docs/enums/{documented_name(kind)}", names(kind)


def documented_name(kind: type) -> str:
    """Return the documented name of a class, prefixed with its module if a common enum has the same name."""
    taken = next((vars(module)[kind.__name__] for module in (enums, flags) if kind.__name__ in vars(module)), kind)
    return kind.__name__ if taken is kind else kind.__module__.rpartition(".")[2].capitalize() + kind.__name__


def names(kind: type) -> list[str]:
    """Return the names of an enum's values, or of the single bits of flags."""
    if issubclass(kind, Enum):
        return list(kind.__members__)
    values = {name: value for name, value in vars(kind).items() if name.isupper() and isinstance(value, int)}
    return [name for name, value in values.items() if value.bit_count() == 1]


async def test_everything_is_documented_once_and_no_link_is_broken(world: World) -> None:
    crawled = await crawl(world)
    entries = {path: Counter(name for name, _ in page.entries) for path, page in crawled.items()}

    # Operations, each with its resource.
    resources = {path: entries.pop(path) for path in list(entries) if path.startswith("/docs/resources/")}
    assert sum(resources.values(), Counter[str]()) == Counter(operations().keys())
    assert {"get_channel", "update_channel", "delete_channel"} <= resources["/docs/resources/channels"].keys()
    expected = {"/docs/events": Counter(event.name for event in events())}
    expected["/docs/changes"] = Counter(changes.ALL.keys())
    for path, values in closed_lists():
        expected[path] = Counter(values)
    for path, expected_entries in expected.items():
        assert entries.pop(path) == expected_entries, path
    codes = Counter(name for name, value in vars(errors).items() if isinstance(value, errors.ErrorCode))
    assert entries["/docs/errors"] & codes == codes
    assert set((entries.pop("/docs/errors") - codes).values()) == {1}, "a code of form errors twice"
    # The remaining pages are lists of pages, and objects.
    assert {path: expected_entries for path, expected_entries in entries.items() if expected_entries} == {}
    assert {path.rpartition("/")[0] for path in entries} == {"", "/docs", "/docs/objects"}

    # Links.
    for path, page in crawled.items():
        assert [each for each, count in Counter(page.ids).items() if count > 1] == [], path
        for link in page.links:
            target, fragment = urldefrag(link)
            if link.startswith(("/docs", "#")) and fragment:
                assert fragment in crawled[target or path].ids, f"{path} leads to {link}"


async def test_an_operation_is_documented_completely(world: World) -> None:
    entries = await resources(world)

    error_names = {value: name for name, value in vars(errors).items() if isinstance(value, errors.ErrorCode)}
    for endpoint in world.app.table:
        declared, entry = endpoint.operation, entries[endpoint.name]
        links = {f"/docs/errors#{error_names[kind]}" for kind in declared.raises}
        links |= {f"/docs/events#{event.name}" for event in declared.emits}
        links |= {f"/docs/scopes#{scope}" for scope in declared.scopes}
        links |= {f"/docs/enums/AuditLogAction#{action.name}" for action in declared.audits}
        links |= {
            f"/docs/permissions#{name}" for name in names(Permissions) if declared.needs & vars(Permissions)[name]
        }
        assert links - entry.links == set(), endpoint.name
        assert f"{declared.method} {declared.path}" in entry.text
        assert endpoint.rule is None or f"bucket {endpoint.rule.bucket}" in entry.text
        for part in (declared.body, declared.query):
            for each in getattr(part, "__struct_encode_fields__", ()):
                assert f" {each} " in entry.text, f"{endpoint.name}: {each}"


async def test_a_body_is_documented_with_its_limits_and_types(world: World) -> None:
    page = await Browser(world).open("/docs/resources/messages")
    entry = dict(ReferencePage(page.body).entries)["create_message"]

    assert "content optional string (at most 2,000 characters) or null" in entry.text
    assert "array of EmbedRequest (at most 10 items) or null" in entry.text
    assert "/docs/objects/EmbedRequest" in entry.links
    assert "within 5 minutes returns the earlier message." in entry.text
    assert "5 in 5 seconds for each channel_id" in entry.text
    assert "Response 200 with Message" in entry.text
    object_page = await Browser(world).open("/docs/objects/EmbedRequest")
    assert "title optional string (at most 256 characters)" in object_page.text
    assert "create_message" in dict(object_page.links)


async def test_additional_slices_are_documented() -> None:
    app = App(small_config(), slices=(standing.SLICE, Slice(name="toys", modules=(toys,))))
    await app.start()
    try:
        async with aiohttp.ClientSession() as client:
            browser = Browser(World(app, client))
            assert "/docs/resources/toys" in {url for _, url in (await browser.open("/docs")).links}
            page = await browser.open("/docs/resources/toys")
            assert (await browser.open("/docs?q=toys")).status == 200
    finally:
        await app.stop()

    entries = dict(ReferencePage(page.body).entries)
    assert {endpoint.name for endpoint in app.table if endpoint.tag == "toys"} == entries.keys()


# Examples


@pytest.fixture
async def demo() -> AsyncIterator[tuple[World, dict[str, str]]]:
    """The demo world, and the variables of the examples as described on the first page."""
    app = App(small_config(), clock=ControlledClock(NOW_MS, running=False))
    await app.start()
    built = await worlds.load_initial(app, worlds.demo(), 0)
    document = codec.decode(codec.encode(ready.build_document(app.config, built)), dict[str, Any])
    values = {name: follow(document, path) for name, path in examples.VARIABLES.items()}
    async with aiohttp.ClientSession() as client:
        yield World(app, client), values
    await app.stop()


def follow(document: Any, path: tuple[str, ...]) -> str:
    for step in path:
        document = document[step]
    return str(document)


async def example_commands(world: World) -> dict[str, str]:
    """Return the example commands by operation, reading operations first."""
    examples_by_name = {name: entry.example for name, entry in (await resources(world)).items() if entry.example}
    return dict(sorted(examples_by_name.items(), key=lambda pair: "-X" in pair[1]))


async def send(world: World, command: str, values: dict[str, str]) -> tuple[int, str]:
    """Send the request of a curl command."""
    arguments = shlex.split(Template(command.replace("\\\n", " ")).substitute(values))
    assert arguments[0] == "curl"
    headers, method, body = {}, "GET", None
    for option, value in zip(arguments[1::2], arguments[2::2], strict=False):
        if option == "-H":
            name, _, content = value.partition(": ")
            headers[name] = content
        elif option == "-X":
            method = value
        elif option == "-d":
            body = value
    async with world.client.request(method, URL(arguments[-1], encoded=True), headers=headers, data=body) as answer:
        return answer.status, await answer.text("utf-8", "replace")


async def test_every_example_works_in_the_demo_world(demo: tuple[World, dict[str, str]]) -> None:
    world, values = demo
    commands = await example_commands(world)
    assert len(commands) > 100
    assert {"create_message", "list_messages", "get_guild", "create_dm"} <= commands.keys()

    wrong = []
    for name, command in commands.items():
        declared = operations()[name]
        status, body = await send(world, command, values)
        if status not in (declared.success, *declared.other_statuses):
            wrong.append(f"{name}: {status} {body[:200]}")
    assert wrong == [], "list operations without sample data in examples.WITHOUT_EXAMPLE"


async def test_operations_without_an_example_fail_in_the_demo_world(
    demo: tuple[World, dict[str, str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    world, values = demo
    excluded = examples.WITHOUT_EXAMPLE
    monkeypatch.setattr(examples, "WITHOUT_EXAMPLE", frozenset())
    by_name: dict[str, Endpoint] = {endpoint.name: endpoint for endpoint in world.app.table}

    for name in excluded & by_name.keys():
        command = examples.curl(by_name[name], world.url)
        assert command is not None, f"{name} has no example anyway"
        status, _ = await send(world, command, values)
        assert 400 <= status < 500, f"{name} works"


@pytest.mark.skipif(shutil.which("curl") is None or shutil.which("bash") is None, reason="no curl on this machine")
async def test_examples_run_in_a_shell(demo: tuple[World, dict[str, str]]) -> None:
    world, values = demo
    commands = await example_commands(world)

    for name, expected in (("create_dm", '"recipients"'), ("create_message", "Hello, all of you")):
        script = commands[name].replace("curl", "curl -s", 1)
        done = await asyncio.to_thread(
            subprocess.run,
            ["bash", "-c", script],
            env=values | {"PATH": "/usr/bin:/bin"},
            capture_output=True,
            text=True,
        )
        assert expected in done.stdout, done.stderr


# Search


async def search_results(world: World, query: str) -> list[str]:
    page = await Browser(world).open(f"/docs?q={quote(query, safe='')}")
    assert page.status == 200
    return [text for text, url in page.links if "#" in url or url.count("/") == 3]


async def test_the_best_search_result_comes_first(world: World) -> None:
    async def first(query: str) -> tuple[str, str]:
        page = await Browser(world).open(f"/docs?q={quote(query)}")
        listed = page.body.partition('<ul class="names">')[2]
        href, title = re.search(r'<a href="([^"]+)"><code>([^<]+)', listed).groups()  # type: ignore[union-attr]
        return title, href

    assert await first("create message") == ("create_message", "/docs/resources/messages#create_message")
    assert await first("CREATE_MESSAGE") == ("create_message", "/docs/resources/messages#create_message")
    assert await first("50013") == ("MISSING_PERMISSIONS", "/docs/errors#MISSING_PERMISSIONS")
    assert await first("ban members") == ("BAN_MEMBERS", "/docs/permissions#BAN_MEMBERS")
    assert await first("guild_text") == ("GUILD_TEXT", "/docs/enums/ChannelType#GUILD_TEXT")
    assert await first("/channels/{channel_id}/messages/bulk-delete") == (
        "bulk_delete_messages",
        "/docs/resources/messages#bulk_delete_messages",
    )
    assert await first("2026-11-16") == ("channel_obfuscation", "/docs/changes#channel_obfuscation")
    assert await first("message_reaction_add") == ("MESSAGE_REACTION_ADD", "/docs/events#MESSAGE_REACTION_ADD")
    assert await first("gateway.connect") == ("gateway.connect", "/docs/scopes#gateway.connect")


@pytest.mark.parametrize(
    "query",
    [
        "",
        "+",
        "%00",
        "%ff%fe%c0%af",
        "%F0%9F%92%A9",
        "%22%3E%3Cscript%3Ealert(1)%3C%2Fscript%3E",
        "%7B%7B7*7%7D%7D%7B%25%20raw%20%25%7D",
        "%E2%80%AEkcatta",
        "%0D%0ASet-Cookie%3A%20a%3Db",
        "%ED%A0%80",
        "..%2F..%2Fetc%2Fpasswd",
        "a+" * 500,
        "x" * 4000,
        "q=1&q=2",
        "%",
        "%zz",
    ],
)
async def test_search_queries_are_escaped(world: World, query: str) -> None:
    page = await Browser(world).request("GET", f"/docs?q={query}")

    assert page.status == 200
    ReferencePage(page.body)
    assert page.headers["Cache-Control"] == "no-store"
    assert "<script" not in page.body
    assert "49" not in page.text or "7*7" not in query
    assert len(page.body) < 60_000
    assert "Set-Cookie" not in page.headers


async def test_long_search_queries_are_truncated(world: World) -> None:
    assert await search_results(world, "create message " + " " * 100 + "nonsense") != []
    page = await Browser(world).open(f"/docs?q={'message+' * 12}")
    assert f"“{' '.join(['message'] * 12)}”" in page.text
    assert "No results." in (await Browser(world).open("/docs?q=no+such+thing+at+all")).text


# Caching


async def test_a_cached_page_is_not_sent_again(world: World) -> None:
    browser = Browser(world)
    page = await browser.open("/docs/errors")
    assert page.headers["Cache-Control"] == "private, no-cache"

    again = await browser.request("GET", "/docs/errors", headers={"If-None-Match": page.headers["ETag"]})
    other = await browser.request("GET", "/docs/errors", headers={"If-None-Match": '"another"'})

    assert (again.status, again.body, again.headers["ETag"]) == (304, "", page.headers["ETag"])
    assert "Content-Security-Policy" in again.headers
    assert (other.status, other.body) == (200, page.body)


async def test_pages_are_compressed_if_the_client_accepts_it(world: World) -> None:
    async def get(accepted: str) -> tuple[str | None, bytes, str]:
        async with aiohttp.ClientSession(auto_decompress=False) as client:
            async with client.get(f"{world.url}/docs/errors", headers={"Accept-Encoding": accepted}) as answer:
                assert answer.headers["Vary"] == "Accept-Encoding"
                return answer.headers.get("Content-Encoding"), await answer.read(), answer.headers["ETag"]

    encoding, compressed, tag = await get("br, gzip;q=0.8")
    no_encoding, body, other = await get("identity")

    assert (encoding, no_encoding) == ("gzip", None)
    assert tag != other
    assert gzip.decompress(compressed) == body
    assert len(compressed) < len(body) / 5
    assert (await get("gzip;q=0"))[0] is None


async def test_the_page_cache_is_bounded(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pages, "CACHE_BYTES_MAX", 20_000)
    original_pages = pages.Reference.pages
    references: list[pages.Reference] = []
    monkeypatch.setattr(pages.Reference, "pages", lambda self: references.append(self) or original_pages(self))
    app = App(small_config())
    await app.start()
    try:
        async with aiohttp.ClientSession() as client:
            browser = Browser(World(app, client))
            names = ["channels", "commands", "guilds", "invites", "lobbies", "messages", "oauth2", "roles", "webhooks"]
            for name in names:
                assert (await browser.open(f"/docs/resources/{name}")).status == 200
            assert 1 < len(references[0]._cache) < len(names)
            assert sum(len(each.compressed) for each in references[0]._cache.values()) == references[0]._bytes <= 20_000
            assert "Create guild channel" in (await browser.open("/docs/resources/channels")).text
    finally:
        await app.stop()


async def test_dated_changes_show_the_current_behavior(world: World) -> None:
    async def open_changes() -> tuple[str, Page]:
        page = await Browser(world).open("/docs/changes")
        return dict(ReferencePage(page.body).entries)["channel_obfuscation"].text, page

    world.clock.set(changes.CHANNEL_OBFUSCATION.at_ms - 1)
    before, page = await open_changes()
    world.clock.set(changes.CHANNEL_OBFUSCATION.at_ms)
    after, later = await open_changes()

    assert "16 November 2026: upcoming Before (current)" in before
    assert "16 November 2026: in effect" in after
    assert "After (current) Channels that a caller cannot view are omitted" in after
    assert ("15 November 2026" in page.text, "15 November 2026" in later.text) == (True, False)
    assert page.headers["ETag"] != later.headers["ETag"]
    assert all(change.before for change in changes.ALL.values())


# Unknown pages and links to the reference


async def test_unknown_pages_respond_with_404(world: World) -> None:
    browser = Browser(world)
    for path in (
        "/docs/",
        "/docs/nothing",
        "/docs/objects/",
        "/docs/objects/Nothing",
        "/docs/objects/__class__",
        "/docs/enums/Scope",
        "/docs/resources/messages/create_message",
        "/docs/resources/%2e%2e",
        "/docs/resources/..%2fobjects",
        "/docs/layout",
        "/docs/found",
        f"/docs/objects/{'x' * 2000}",
    ):
        page = await browser.request("GET", path, headers={"Accept": "text/html"})
        assert (page.status, "This page does not exist. Check the URL." in page.text) == (404, True), path
    assert (await browser.request("POST", "/docs")).status == 404


async def test_the_home_page_and_the_portal_link_to_the_reference(world: World) -> None:
    browser = Browser(world)
    assert "/docs" in {url for _, url in (await browser.open("/")).links}
    browser.sign_in_as(await world.user())

    assert "/docs" in {url for _, url in (await browser.open("/developers")).links}
    # The page is the same for signed-in users.
    signed_in = await browser.open("/docs")
    assert signed_in.body == (await Browser(world).open("/docs")).body
