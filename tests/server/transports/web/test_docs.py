"""The API reference pages: content, links, search, caching, dated changes and unknown pages."""

import gzip
import html
import importlib
import json
import pkgutil
import re
from collections import Counter
from collections.abc import Iterator
from enum import Enum
from urllib.parse import quote, urldefrag

import aiohttp
import pytest

from hubbub import protocol
from hubbub.protocol import changes, enums, errors, flags, intents, operation, rpc_names, voice
from hubbub.protocol.permissions import Permissions
from hubbub.server.app import App
from hubbub.server.core.config import Config
from hubbub.server.core.slices import Slice
from hubbub.server.places import standing
from hubbub.server.transports.http.example_values import example
from hubbub.server.transports.web.reference import pages
from tests.contract.tables import events, operations
from tests.pages import Browser, Page
from tests.reference_pages import ReferencePage, read_resource_entries
from tests.server.transports.http import sample_slice
from tests.world import World, small_config


@pytest.fixture
def world_config() -> Config:
    """A configuration with the in-memory store; the reference does not depend on the store."""
    return small_config()


async def crawl(world: World) -> dict[str, ReferencePage]:
    """Return every page that is reachable from /docs, by path. Check the headers of each page."""
    pages_by_path, pending_paths = dict[str, ReferencePage](), ["/docs"]
    while pending_paths:
        path = pending_paths.pop()
        if path in pages_by_path:
            continue
        async with world.client.get(world.url + path) as page:
            assert (page.status, page.headers["Content-Type"]) == (200, "text/html; charset=utf-8"), path
            policy = page.headers["Content-Security-Policy"]
            assert policy.startswith("default-src 'none'; ")
            assert "unsafe" not in policy
            assert "Set-Cookie" not in page.headers
            pages_by_path[path] = ReferencePage(await page.text())
            assert ("script-src" in policy) == bool(pages_by_path[path].scripts) == path.startswith("/docs/resources/")
        pending_paths += sorted(
            urldefrag(link).url or path for link in pages_by_path[path].links if link.startswith(("/docs", "#"))
        )
    return pages_by_path


def closed_lists() -> Iterator[tuple[str, list[str]]]:
    """Yield the pages of enums and sets of flags, each with the IDs of its values."""
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
    # Names of RPC are not part of the HTTP and gateway reference (spec/rpc.md#5).
    documented_elsewhere |= {kind for kind in vars(rpc_names).values() if isinstance(kind, type)}
    for module_info in pkgutil.walk_packages(protocol.__path__, f"{protocol.__name__}."):
        for kind in vars(importlib.import_module(module_info.name)).values():
            if isinstance(kind, type) and kind.__module__ == module_info.name and kind not in documented_elsewhere:
                if issubclass(kind, Enum) or module_info.name == flags.__name__:
                    yield f"/docs/enums/{documented_name(kind)}", names(kind)


def documented_name(kind: type) -> str:
    """Return the documented name of a class, prefixed with its module if a common enum has the same name."""
    namesake = next((vars(module)[kind.__name__] for module in (enums, flags) if kind.__name__ in vars(module)), kind)
    return kind.__name__ if namesake is kind else kind.__module__.rpartition(".")[2].capitalize() + kind.__name__


def names(kind: type) -> list[str]:
    """Return the names of an enum's values, or of the single bits of flags."""
    if issubclass(kind, Enum):
        return list(kind.__members__)
    values = {name: value for name, value in vars(kind).items() if name.isupper() and isinstance(value, int)}
    return [name for name, value in values.items() if value.bit_count() == 1]


async def test_everything_is_documented_once_and_no_link_is_broken(world: World) -> None:
    crawled_pages = await crawl(world)
    entries = {path: Counter(name for name, _ in page.entries) for path, page in crawled_pages.items()}

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
    for path, page in crawled_pages.items():
        assert [element_id for element_id, count in Counter(page.ids).items() if count > 1] == [], path
        for link in page.links:
            target, fragment = urldefrag(link)
            if link.startswith(("/docs", "#")) and fragment:
                assert fragment in crawled_pages[target or path].ids, f"{path} leads to {link}"


async def test_every_event_is_documented_with_a_summary_and_an_example_of_its_payload(world: World) -> None:
    page = await Browser(world).open("/docs/events")
    sections = dict(re.findall(r'<section class="op" id="(\w+)"(.*?)</section>', page.body, re.DOTALL))

    assert sections.keys() == {event.name for event in events()}
    for event in events():
        section = html.unescape(re.sub(r"</?(?:a|code)\b[^>]*>", "", sections[event.name]))
        assert event.summary.replace("`", "") in section, event.name
        payload = section.partition("<pre")[2].partition(">")[2].partition("</pre>")[0]
        assert json.loads(payload) == example(event.payload), event.name


async def test_an_operation_is_documented_completely(world: World) -> None:
    entries = await read_resource_entries(world)

    error_names = {value: name for name, value in vars(errors).items() if isinstance(value, errors.ErrorCode)}
    for endpoint in world.app.table:
        operation, entry = endpoint.operation, entries[endpoint.name]
        links = {f"/docs/errors#{error_names[kind]}" for kind in operation.raises}
        links |= {f"/docs/events#{event.name}" for event in operation.emits}
        links |= {f"/docs/scopes#{scope}" for scope in operation.scopes}
        links |= {f"/docs/enums/AuditLogAction#{action.name}" for action in operation.audits}
        links |= {
            f"/docs/permissions#{name}" for name in names(Permissions) if operation.needs & vars(Permissions)[name]
        }
        assert links - entry.links == set(), endpoint.name
        assert f"{operation.method} {operation.path}" in entry.text
        assert ("with two-factor authentication" in entry.text) is (operation.operator is not None), endpoint.name
        assert endpoint.rule is None or f"bucket {endpoint.rule.bucket}" in entry.text
        for model in (operation.body, operation.query):
            for field in getattr(model, "__struct_encode_fields__", ()):
                assert f" {field} " in entry.text, f"{endpoint.name}: {field}"


async def test_a_body_is_documented_with_its_limits_and_types(world: World) -> None:
    page = await Browser(world).open("/docs/resources/messages")
    entry = dict(ReferencePage(page.body).entries)["create_message"]

    assert "content optional string (at most 2,000 characters) or null" in entry.text
    assert "array of EmbedRequest (at most 10 items) or null" in entry.text
    assert "/docs/objects/EmbedRequest" in entry.links
    assert "within the last 5 minutes returns the earlier message." in entry.text
    assert "5 in 5 seconds for each channel_id" in entry.text
    assert "Response 200 with Message" in entry.text
    object_page = await Browser(world).open("/docs/objects/EmbedRequest")
    assert "title optional string (at most 256 characters)" in object_page.text
    assert "create_message" in dict(object_page.links)


async def test_path_parameters_and_headers_have_texts(world: World) -> None:
    entries = await read_resource_entries(world)

    assert "ID of the channel or thread." in entries["create_message"].text
    assert "Code of the guild template." in entries["get_guild_template"].text
    assert "Reason that the audit log entry shows" in entries["delete_guild_member"].text
    assert "Type of the GitHub event" in entries["execute_github_compatible_webhook"].text
    assert "ID and client secret of the application" in entries["exchange_oauth2_token"].text


async def test_responses_that_are_not_json_have_an_example(world: World) -> None:
    entries = await read_resource_entries(world)

    assert re.search(r"user_id\s+\d+", entries["get_invite_target_users"].text)
    assert "(content of the image/png file)" in entries["get_guild_widget_png"].text


async def test_a_deprecated_operation_names_its_replacement(world: World) -> None:
    entries = await read_resource_entries(world)

    for name, declared_operation in operations().items():
        assert ("Deprecated Use" in entries[name].text) == bool(declared_operation.replaced_by), name
    assert "Deprecated Use list_pins instead." in entries["deprecated_list_pins"].text
    assert "/docs/resources/pins#list_pins" in entries["deprecated_list_pins"].links
    assert "/docs/events#GUILD_CREATE" in entries["list_activity_instances"].links


async def test_an_operation_has_its_whole_description_and_an_example_of_its_response(world: World) -> None:
    entries = await read_resource_entries(world)

    assert "Ban a user from a guild. The user need not be a member." in entries["ban_user_from_guild"].text
    assert '200 application/json { "type": 0, "content": ' in entries["create_message"].text
    assert "204 No content" in entries["delete_message"].text
    assert "200 image/png" in entries["get_guild_widget_png"].text


async def test_additional_slices_are_documented() -> None:
    app = App(small_config(), slices=(standing.SLICE, Slice(name="toys", modules=(sample_slice,))))
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


# Search


async def search_results(world: World, query: str) -> list[str]:
    page = await Browser(world).open(f"/docs?q={quote(query, safe='')}")
    assert page.status == 200
    return [text for text, url in page.links if "#" in url or url.count("/") == 3]


async def test_the_best_search_result_comes_first(world: World) -> None:
    async def first_result(query: str) -> tuple[str, str]:
        page = await Browser(world).open(f"/docs?q={quote(query)}")
        listed_html = page.body.partition('<ul class="name-list">')[2]
        href, title = re.search(r'<a href="([^"]+)"><code>([^<]+)', listed_html).groups()  # type: ignore[union-attr]
        return title, href

    assert await first_result("create message") == ("create_message", "/docs/resources/messages#create_message")
    assert await first_result("CREATE_MESSAGE") == ("create_message", "/docs/resources/messages#create_message")
    assert await first_result("50013") == ("MISSING_PERMISSIONS", "/docs/errors#MISSING_PERMISSIONS")
    assert await first_result("ban members") == ("BAN_MEMBERS", "/docs/permissions#BAN_MEMBERS")
    assert await first_result("guild_text") == ("GUILD_TEXT", "/docs/enums/ChannelType#GUILD_TEXT")
    assert await first_result("/channels/{channel_id}/messages/bulk-delete") == (
        "bulk_delete_messages",
        "/docs/resources/messages#bulk_delete_messages",
    )
    assert await first_result("2026-11-16") == ("channel_obfuscation", "/docs/changes#channel_obfuscation")
    assert await first_result("message_reaction_add") == ("MESSAGE_REACTION_ADD", "/docs/events#MESSAGE_REACTION_ADD")
    assert await first_result("gateway.connect") == ("gateway.connect", "/docs/scopes#gateway.connect")


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

    repeated_response = await browser.request("GET", "/docs/errors", headers={"If-None-Match": page.headers["ETag"]})
    other_page = await browser.request("GET", "/docs/errors", headers={"If-None-Match": '"another"'})

    assert (repeated_response.status, repeated_response.body, repeated_response.headers["ETag"]) == (
        304,
        "",
        page.headers["ETag"],
    )
    assert "Content-Security-Policy" in repeated_response.headers
    assert (other_page.status, other_page.body) == (200, page.body)


async def test_pages_are_compressed_if_the_client_accepts_it(world: World) -> None:
    async def get(accepted: str) -> tuple[str | None, bytes, str]:
        async with aiohttp.ClientSession(auto_decompress=False) as client:
            async with client.get(f"{world.url}/docs/errors", headers={"Accept-Encoding": accepted}) as response:
                assert response.headers["Vary"] == "Accept-Encoding"
                return response.headers.get("Content-Encoding"), await response.read(), response.headers["ETag"]

    encoding, compressed_response, tag = await get("br, gzip;q=0.8")
    no_encoding, body, plain_response = await get("identity")

    assert (encoding, no_encoding) == ("gzip", None)
    assert tag != plain_response
    assert gzip.decompress(compressed_response) == body
    assert len(compressed_response) < len(body) / 5
    assert (await get("gzip;q=0"))[0] is None


async def test_the_page_cache_is_bounded(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pages, "CACHE_BYTES_MAX", 60_000)
    original_pages = pages.ApiReference.pages
    references: list[pages.ApiReference] = []
    monkeypatch.setattr(pages.ApiReference, "pages", lambda self: references.append(self) or original_pages(self))
    app = App(small_config())
    await app.start()
    try:
        async with aiohttp.ClientSession() as client:
            browser = Browser(World(app, client))
            names = ["channels", "commands", "guilds", "invites", "lobbies", "messages", "oauth2", "roles", "webhooks"]
            for name in names:
                assert (await browser.open(f"/docs/resources/{name}")).status == 200
            assert 1 < len(references[0]._cache) < len(names)
            assert (
                sum(len(entry.compressed) for entry in references[0]._cache.values())
                == references[0]._cached_bytes
                <= 60_000
            )
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
