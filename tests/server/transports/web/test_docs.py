"""The reference: everything that the tables hold stands in it once, its links lead somewhere, and its examples work."""

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
from hubbub.protocol import changes, enums, errors, flags, intents, operation, voice
from hubbub.protocol import wire as json
from hubbub.protocol.permissions import Permissions
from hubbub.server import ready, worlds
from hubbub.server.app import App
from hubbub.server.core.clock import ControlledClock
from hubbub.server.core.endpoints import Endpoint
from hubbub.server.core.slices import Slice
from hubbub.server.transports.web.reference import examples, pages
from tests.contract.tables import events, operations
from tests.pages import Browser, Page
from tests.server.transports.http import toys
from tests.world import NOW_MS, World, small_config


@pytest.fixture
async def town() -> AsyncIterator[World]:
    """A platform on the embedded store: the reference reads no other."""
    app = App(small_config(), clock=ControlledClock(NOW_MS, running=False))
    await app.start()
    async with aiohttp.ClientSession() as client:
        yield World(app, client)
    await app.stop()


@dataclass
class Thing:
    """One thing that a page tells of: what its part of the page links to, and says."""

    links: set[str] = field(default_factory=set)
    text: str = ""
    example: str = ""


class Things(HTMLParser):
    """The sections and list items of a page that can be linked to, and all its ids and links."""

    def __init__(self, body: str) -> None:
        super().__init__()
        self.things: list[tuple[str, Thing]] = []
        self.ids: list[str] = []
        self.links: set[str] = set()
        self._open: list[tuple[str, Thing | None]] = []
        self._in_pre = False
        self.feed(body)

    def handle_starttag(self, tag: str, attributes: Any) -> None:
        found = dict(attributes)
        assert tag != "script", "a script"
        assert "style" not in found, "a style"
        if "id" in found:
            self.ids.append(found["id"])
        if tag == "a":
            self.links.add(found["href"])
            for _, thing in self._open:
                if thing is not None:
                    thing.links.add(found["href"])
        if tag == "pre":
            self._in_pre = True
        if tag in ("section", "li"):
            thing = Thing() if "id" in found and (tag == "li" or found.get("class") == "op") else None
            self._open.append((tag, thing))
            if thing is not None:
                self.things.append((found["id"], thing))

    def handle_endtag(self, tag: str) -> None:
        if tag == "pre":
            self._in_pre = False
        if tag in ("section", "li"):
            opened, _ = self._open.pop()
            assert opened == tag

    def handle_data(self, data: str) -> None:
        for _, thing in self._open:
            if thing is not None:
                thing.text = " ".join(f"{thing.text} {data}".split())
                thing.example += data if self._in_pre else ""


async def crawl(town: World) -> dict[str, Things]:
    """Every page that can be come to from the first one."""
    found, waiting = dict[str, Things](), ["/docs"]
    while waiting:
        path = waiting.pop()
        if path in found:
            continue
        async with town.client.get(town.url + path) as page:
            assert (page.status, page.headers["Content-Type"]) == (200, "text/html; charset=utf-8"), path
            assert "script-src" not in page.headers["Content-Security-Policy"]
            assert page.headers["Content-Security-Policy"].startswith("default-src 'none'; style-src 'self'")
            assert "Set-Cookie" not in page.headers
            found[path] = Things(await page.text())
        waiting += sorted(urldefrag(link).url or path for link in found[path].links if link.startswith(("/docs", "#")))
    return found


async def resources(town: World) -> dict[str, Thing]:
    """What is told of each operation."""
    browser = Browser(town)
    told: dict[str, Thing] = {}
    for path in {url for _, url in (await browser.open("/docs")).links if url.startswith("/docs/resources/")}:
        told |= dict(Things((await browser.open(path)).body).things)
    return told


def closed_lists() -> Iterator[tuple[str, list[str]]]:
    """Where each enum and each set of flags stands, and the ids of its values there."""
    together = (enums.GatewayOpcode, enums.CloseCode, voice.VoiceOpcode, enums.VoiceCloseCode, intents.Capabilities)
    yield "/docs/gateway", [f"{kind.__name__}.{name}" for kind in together for name in names(kind)]
    yield "/docs/permissions", names(Permissions)
    yield "/docs/intents", names(intents.Intents)
    yield "/docs/scopes", [str(scope) for scope in enums.Scope]
    yield "/docs/webhook-events", names(enums.WebhookEventType)
    elsewhere = {*together, enums.Scope, enums.WebhookEventType, operation.Auth}
    for found in pkgutil.walk_packages(protocol.__path__, f"{protocol.__name__}."):
        for kind in vars(importlib.import_module(found.name)).values():
            if isinstance(kind, type) and kind.__module__ == found.name and kind not in elsewhere:
                if issubclass(kind, Enum) or found.name == flags.__name__:
                    yield f"/docs/enums/{shown_name(kind)}", names(kind)


def shown_name(kind: type) -> str:
    """How a class is called: after its module too, where another of the name stands among the common enums and flags."""
    taken = next((vars(module)[kind.__name__] for module in (enums, flags) if kind.__name__ in vars(module)), kind)
    return kind.__name__ if taken is kind else kind.__module__.rpartition(".")[2].capitalize() + kind.__name__


def names(kind: type) -> list[str]:
    """The names of an enum's values, or of single bits."""
    if issubclass(kind, Enum):
        return list(kind.__members__)
    found = {name: value for name, value in vars(kind).items() if name.isupper() and isinstance(value, int)}
    return [name for name, value in found.items() if value.bit_count() == 1]


async def test_everything_stands_there_once_and_every_link_leads_somewhere(town: World) -> None:
    found = await crawl(town)
    told = {path: Counter(name for name, _ in page.things) for path, page in found.items()}

    # Operations, each with its resource.
    resources = {path: told.pop(path) for path in list(told) if path.startswith("/docs/resources/")}
    assert sum(resources.values(), Counter[str]()) == Counter(operations().keys())
    assert {"get_channel", "update_channel", "delete_channel"} <= resources["/docs/resources/channels"].keys()
    expected = {"/docs/events": Counter(event.name for event in events())}
    expected["/docs/changes"] = Counter(changes.ALL.keys())
    for path, values in closed_lists():
        expected[path] = Counter(values)
    for path, things in expected.items():
        assert told.pop(path) == things, path
    codes = Counter(name for name, value in vars(errors).items() if isinstance(value, errors.ErrorCode))
    assert told["/docs/errors"] & codes == codes
    assert set((told.pop("/docs/errors") - codes).values()) == {1}, "a code of form errors twice"
    # What is left are lists of pages, and objects, whose names are theirs.
    assert {path: things for path, things in told.items() if things} == {}
    assert {path.rpartition("/")[0] for path in told} == {"", "/docs", "/docs/objects"}

    # Links.
    for path, page in found.items():
        assert [each for each, count in Counter(page.ids).items() if count > 1] == [], path
        for link in page.links:
            target, fragment = urldefrag(link)
            if link.startswith(("/docs", "#")) and fragment:
                assert fragment in found[target or path].ids, f"{path} leads to {link}"


async def test_an_operation_is_told_whole(town: World) -> None:
    told = await resources(town)

    named = {value: name for name, value in vars(errors).items() if isinstance(value, errors.ErrorCode)}
    for endpoint in town.app.table:
        declared, thing = endpoint.operation, told[endpoint.name]
        links = {f"/docs/errors#{named[kind]}" for kind in declared.raises}
        links |= {f"/docs/events#{event.name}" for event in declared.emits}
        links |= {f"/docs/scopes#{scope}" for scope in declared.scopes}
        links |= {f"/docs/enums/AuditLogAction#{action.name}" for action in declared.audits}
        links |= {
            f"/docs/permissions#{name}" for name in names(Permissions) if declared.needs & vars(Permissions)[name]
        }
        assert links - thing.links == set(), endpoint.name
        assert f"{declared.method} {declared.path}" in thing.text
        assert endpoint.rule is None or f"bucket {endpoint.rule.bucket}" in thing.text
        for part in (declared.body, declared.query):
            for each in getattr(part, "__struct_encode_fields__", ()):
                assert f" {each} " in thing.text, f"{endpoint.name}: {each}"


async def test_a_body_is_told_with_its_bounds_and_types(town: World) -> None:
    page = await Browser(town).open("/docs/resources/messages")
    told = dict(Things(page.body).things)["create_message"]

    assert "content optional string (at most 2,000 characters) or null" in told.text
    assert "array of EmbedRequest (at most 10 items) or null" in told.text
    assert "/docs/objects/EmbedRequest" in told.links
    assert "within 5 minutes returns the earlier message." in told.text
    assert "5 in 5 seconds for each channel_id" in told.text
    assert "Response 200 with Message" in told.text
    shown = await Browser(town).open("/docs/objects/EmbedRequest")
    assert "title optional string (at most 256 characters)" in shown.text
    assert "create_message" in dict(shown.links)


async def test_slices_from_elsewhere_are_told_too() -> None:
    app = App(small_config(), slices=(Slice(name="toys", modules=(toys,)),))
    await app.start()
    try:
        async with aiohttp.ClientSession() as client:
            browser = Browser(World(app, client))
            assert "/docs/resources/toys" in {url for _, url in (await browser.open("/docs")).links}
            page = await browser.open("/docs/resources/toys")
            assert (await browser.open("/docs?q=toys")).status == 200
    finally:
        await app.stop()

    told = dict(Things(page.body).things)
    assert {endpoint.name for endpoint in app.table if endpoint.tag == "toys"} == told.keys()


# Examples


@pytest.fixture
async def rehearsal() -> AsyncIterator[tuple[World, dict[str, str]]]:
    """The demo world, and the variables that the first page says how to set."""
    app = App(small_config(), clock=ControlledClock(NOW_MS, running=False))
    await app.start()
    built = await worlds.load_initial(app, worlds.demo(), 0)
    document = json.decode(json.encode(ready.build_document(app.config, built)), dict[str, Any])
    values = {name: follow(document, path) for name, path in examples.VARIABLES.items()}
    async with aiohttp.ClientSession() as client:
        yield World(app, client), values
    await app.stop()


def follow(document: Any, path: tuple[str, ...]) -> str:
    for step in path:
        document = document[step]
    return str(document)


async def shown_examples(town: World) -> dict[str, str]:
    """The commands that the pages show, by operation, those that only read first."""
    found = {name: thing.example for name, thing in (await resources(town)).items() if thing.example}
    return dict(sorted(found.items(), key=lambda pair: "-X" in pair[1]))


async def send(town: World, command: str, values: dict[str, str]) -> tuple[int, str]:
    """Do what a command would do."""
    words = shlex.split(Template(command.replace("\\\n", " ")).substitute(values))
    assert words[0] == "curl"
    headers, method, body = {}, "GET", None
    for option, value in zip(words[1::2], words[2::2], strict=False):
        if option == "-H":
            name, _, said = value.partition(": ")
            headers[name] = said
        elif option == "-X":
            method = value
        elif option == "-d":
            body = value
    async with town.client.request(method, URL(words[-1], encoded=True), headers=headers, data=body) as answer:
        return answer.status, await answer.text("utf-8", "replace")


async def test_every_example_works_in_the_demo_world(rehearsal: tuple[World, dict[str, str]]) -> None:
    town, values = rehearsal
    commands = await shown_examples(town)
    assert len(commands) > 100
    assert {"create_message", "list_messages", "get_guild", "create_dm"} <= commands.keys()

    wrong = []
    for name, command in commands.items():
        declared = operations()[name]
        status, body = await send(town, command, values)
        if status not in (declared.success, *declared.other_statuses):
            wrong.append(f"{name}: {status} {body[:200]}")
    assert wrong == [], "what the demo world has nothing for belongs into examples.WITHOUT_EXAMPLE"


async def test_what_has_no_example_would_not_work(
    rehearsal: tuple[World, dict[str, str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    town, values = rehearsal
    left_out = examples.WITHOUT_EXAMPLE
    monkeypatch.setattr(examples, "WITHOUT_EXAMPLE", frozenset())
    by_name: dict[str, Endpoint] = {endpoint.name: endpoint for endpoint in town.app.table}

    for name in left_out & by_name.keys():
        command = examples.curl(by_name[name], town.url)
        assert command is not None, f"{name} has no example anyway"
        status, _ = await send(town, command, values)
        assert 400 <= status < 500, f"{name} works"


@pytest.mark.skipif(shutil.which("curl") is None or shutil.which("bash") is None, reason="no curl on this machine")
async def test_a_shell_reads_an_example_as_it_is_meant(rehearsal: tuple[World, dict[str, str]]) -> None:
    town, values = rehearsal
    commands = await shown_examples(town)

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


async def found(town: World, query: str) -> list[str]:
    page = await Browser(town).open(f"/docs?q={quote(query, safe='')}")
    assert page.status == 200
    return [text for text, url in page.links if "#" in url or url.count("/") == 3]


async def test_things_are_found_by_their_words_the_nearest_first(town: World) -> None:
    async def first(query: str) -> tuple[str, str]:
        page = await Browser(town).open(f"/docs?q={quote(query)}")
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
async def test_whatever_is_looked_for_comes_back_as_words_only(town: World, query: str) -> None:
    page = await Browser(town).request("GET", f"/docs?q={query}")

    assert page.status == 200
    Things(page.body)
    assert page.headers["Cache-Control"] == "no-store"
    assert "<script" not in page.body
    assert "49" not in page.text or "7*7" not in query
    assert len(page.body) < 60_000
    assert "Set-Cookie" not in page.headers


async def test_a_search_reads_only_the_beginning_of_what_it_is_given(town: World) -> None:
    assert await found(town, "create message " + " " * 100 + "nonsense") != []
    page = await Browser(town).open(f"/docs?q={'message+' * 12}")
    assert f"“{' '.join(['message'] * 12)}”" in page.text
    assert "No results." in (await Browser(town).open("/docs?q=no+such+thing+at+all")).text


# Keeping


async def test_a_page_is_sent_once_to_who_keeps_it(town: World) -> None:
    browser = Browser(town)
    page = await browser.open("/docs/errors")
    assert page.headers["Cache-Control"] == "private, no-cache"

    again = await browser.request("GET", "/docs/errors", headers={"If-None-Match": page.headers["ETag"]})
    other = await browser.request("GET", "/docs/errors", headers={"If-None-Match": '"another"'})

    assert (again.status, again.body, again.headers["ETag"]) == (304, "", page.headers["ETag"])
    assert "Content-Security-Policy" in again.headers
    assert (other.status, other.body) == (200, page.body)


async def test_pages_are_compressed_for_who_takes_them_so(town: World) -> None:
    async def get(accepted: str) -> tuple[str | None, bytes, str]:
        async with aiohttp.ClientSession(auto_decompress=False) as client:
            async with client.get(f"{town.url}/docs/errors", headers={"Accept-Encoding": accepted}) as answer:
                assert answer.headers["Vary"] == "Accept-Encoding"
                return answer.headers.get("Content-Encoding"), await answer.read(), answer.headers["ETag"]

    encoding, squeezed, tag = await get("br, gzip;q=0.8")
    plainly, body, other = await get("identity")

    assert (encoding, plainly) == ("gzip", None)
    assert tag != other
    assert gzip.decompress(squeezed) == body
    assert len(squeezed) < len(body) / 5
    assert (await get("gzip;q=0"))[0] is None


async def test_only_so_many_pages_are_kept(town: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pages, "CACHE_BYTES_MAX", 20_000)
    door = pages.Reference.pages
    kept: list[pages.Reference] = []
    monkeypatch.setattr(pages.Reference, "pages", lambda self: kept.append(self) or door(self))
    app = App(small_config())
    await app.start()
    try:
        async with aiohttp.ClientSession() as client:
            browser = Browser(World(app, client))
            names = ["channels", "commands", "guilds", "invites", "lobbies", "messages", "oauth2", "roles", "webhooks"]
            for name in names:
                assert (await browser.open(f"/docs/resources/{name}")).status == 200
            assert 1 < len(kept[0]._cache) < len(names)
            assert sum(len(each.compressed) for each in kept[0]._cache.values()) == kept[0]._bytes <= 20_000
            assert "Create guild channel" in (await browser.open("/docs/resources/channels")).text
    finally:
        await app.stop()


async def test_dated_changes_say_which_side_holds_now(town: World) -> None:
    async def said() -> tuple[str, Page]:
        page = await Browser(town).open("/docs/changes")
        return dict(Things(page.body).things)["channel_obfuscation"].text, page

    town.clock.set(changes.CHANNEL_OBFUSCATION.at_ms - 1)
    before, page = await said()
    town.clock.set(changes.CHANNEL_OBFUSCATION.at_ms)
    after, later = await said()

    assert "16 November 2026: upcoming Before (current)" in before
    assert "16 November 2026: in effect" in after
    assert "After (current) Channels that a caller cannot view are omitted" in after
    assert ("15 November 2026" in page.text, "15 November 2026" in later.text) == (True, False)
    assert page.headers["ETag"] != later.headers["ETag"]
    assert all(change.before for change in changes.ALL.values())


# The way there


async def test_where_no_page_is_there_is_none(town: World) -> None:
    browser = Browser(town)
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
    assert (await browser.request("POST", "/docs")).status in (404, 405)


async def test_the_first_page_and_the_portal_lead_there(town: World) -> None:
    browser = Browser(town)
    assert "/docs" in {url for _, url in (await browser.open("/")).links}
    browser.sign_in_as(await town.user())

    assert "/docs" in {url for _, url in (await browser.open("/developers")).links}
    # Somebody who is signed in sees the same page.
    signed_in = await browser.open("/docs")
    assert signed_in.body == (await Browser(town).open("/docs")).body
