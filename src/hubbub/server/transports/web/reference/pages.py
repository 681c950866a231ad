"""The pages of the reference, rendered once and cached.

Pages are the same for every user, so one copy serves all. Only the page of dated changes depends on the time. Search
results are rendered for each request.
"""

import asyncio
import gzip
import hashlib
from collections import OrderedDict
from collections.abc import Callable, Container
from datetime import UTC, datetime
from functools import cached_property
from typing import Any, Final, NamedTuple

from aiohttp import web
from jinja2 import Environment

from hubbub.protocol import changes, errors
from hubbub.protocol.enums import CloseCode, GatewayOpcode, Scope, VoiceCloseCode, WebhookEventType
from hubbub.protocol.intents import Capabilities, Intents
from hubbub.protocol.permissions import Permissions
from hubbub.protocol.resources import webhook_events
from hubbub.protocol.scopes import SCOPES
from hubbub.protocol.voice import VoiceOpcode
from hubbub.server.core import translation
from hubbub.server.core.config import Config
from hubbub.server.core.endpoints import EndpointTable
from hubbub.server.transports.docstrings import TextSpan, parse_docstring, summary
from hubbub.server.transports.web import content_encoding
from hubbub.server.transports.web.page_requests import PAGE_POLICY, Page, PageRequest, page_headers
from hubbub.server.transports.web.portal.endpoints import EVENT_TEXTS
from hubbub.server.transports.web.reference import examples, search, types
from hubbub.server.transports.web.reference.catalogue import (
    ENUM_PAGES,
    EVENTS_PATH,
    INTENTS_PATH,
    ROOT_PATH,
    SCOPES_PATH,
    Catalogue,
)
from hubbub.server.transports.web.reference.operations import Operations

CACHE_BYTES_MAX: Final = 2 * 1024 * 1024
"""Size limit in bytes of the cache of compressed pages; the least recently used page is evicted."""

GENERAL_PAGES: Final = (
    ("events", "Gateway events", "Events of a session, with their payloads, intents and scopes."),
    (
        "gateway",
        "Opcodes and close codes",
        "Opcodes and close codes of the gateway and the voice gateway.",
    ),
    ("intents", "Intents", "The events of each gateway intent."),
    ("errors", "Errors", "Error codes with their HTTP status, and the codes of form errors."),
    ("permissions", "Permissions", "Permission bits, and the operations that require them."),
    (
        "scopes",
        "OAuth2 scopes",
        "Scopes that an application can request, and the operations and events that each grants.",
    ),
    ("webhook-events", "Webhook events", "Events that the platform posts to an application's webhook URL."),
    ("changes", "Dated changes", "Behavior that changes on a date, before and after."),
    ("objects", "Objects", "Objects in responses and gateway events."),
    ("enums", "Enums and flags", "Enumerated values and bit flags."),
)
"""Name in the URL, title and description of each page that does not belong to one resource."""

Context = dict[str, Any]


class CachedPage(NamedTuple):
    """A rendered page, compressed with gzip, which nearly every client accepts."""

    version: str
    """A cached page is used only for an equal version; empty if the page does not depend on the time."""
    compressed: bytes
    etag: str


class ApiReference:
    """Serves `/docs`."""

    def __init__(
        self, *, table: EndpointTable, now_ms: Callable[[], int], config: Config, templates: Environment
    ) -> None:
        self._table = table
        self._now_ms = now_ms
        self._config = config
        self._templates = templates
        self._cache: OrderedDict[str, CachedPage] = OrderedDict()
        self._cached_bytes = 0
        self._page_contexts: dict[str, Callable[[], Context]] = {
            "objects": self._objects_context,
            "enums": self._enums_context,
            "permissions": self._permissions_context,
            "gateway": self._gateway_context,
            "events": self._events_context,
            "intents": self._intents_context,
            "scopes": self._scopes_context,
            "webhook-events": self._webhook_events_context,
            "errors": self._errors_context,
            "changes": self._changes_context,
        }
        self._collection_contexts: dict[str, Callable[[str], Context]] = {
            "resources": self._resource_context,
            "objects": self._object_context,
            "enums": self._enum_context,
        }

    def pages(self) -> list[tuple[Page, Callable[[PageRequest], Any]]]:
        """Return the page functions with their routes."""
        return [
            (Page("GET", ROOT_PATH, is_public=True), self.show_index),
            (Page("GET", f"{ROOT_PATH}/{{page}}", is_public=True), self.show_page),
            (Page("GET", f"{ROOT_PATH}/{{collection}}/{{name}}", is_public=True), self.show_item),
        ]

    @cached_property
    def _catalogue(self) -> Catalogue:
        return Catalogue(self._table.endpoints)

    @cached_property
    def _operations(self) -> Operations:
        return Operations(self._catalogue, self._config.web_url, with_forms=self._config.control)

    @cached_property
    def _search_entries(self) -> list[search.Entry]:
        return search.entries(self._catalogue)

    # Responses

    async def show_index(self, request: PageRequest) -> web.Response:
        """Show the index, or the search results."""
        if "q" not in request.http_request.query:
            return await self._respond(request, "index", lambda: self._render("index", "", self._index_context()))
        query = " ".join(request.query_parameter("q")[: search.QUERY_MAX].split())
        return web.Response(body=await asyncio.to_thread(self._render_search, query), headers=page_headers())

    def _render_search(self, query: str) -> bytes:
        context = {
            "query": query,
            "results": search.find(self._search_entries, query),
            "results_max": search.RESULTS_MAX,
        }
        return self._render("search_results", "search_results", context)

    async def show_page(self, request: PageRequest) -> web.Response:
        """Show a page by name."""
        name = request.path_parameter("page")
        build_context = self._page_contexts.get(name)
        if build_context is None:
            raise errors.NOT_FOUND(message="This page does not exist. Check the URL.")
        # Only the page of dated changes depends on the time.
        version = self._changes_version() if name == "changes" else ""
        return await self._respond(
            request, name, lambda: self._render(name.replace("-", "_"), name, build_context()), version
        )

    async def show_item(self, request: PageRequest) -> web.Response:
        """Show a resource, object or enum."""
        collection, name = request.path_parameter("collection"), request.path_parameter("name")
        path = f"{collection}/{name}"
        build_context = self._collection_contexts.get(collection)
        if build_context is None or (
            path not in self._cache and name not in await asyncio.to_thread(self._page_names, collection)
        ):
            raise errors.NOT_FOUND(message="This page does not exist. Check the URL.")
        is_resource = collection == "resources"
        active_path = path if is_resource else collection
        return await self._respond(
            request,
            path,
            lambda: self._render(collection.removesuffix("s"), active_path, build_context(name)),
            policy=self._script_policy if is_resource else PAGE_POLICY,
        )

    @property
    def _script_policy(self) -> str:
        """Content-Security-Policy of the pages with scripts.

        Scripts come from this server only, Trusted Types keep text from becoming markup, and only the forms of a
        rehearsal may send requests.
        """
        connect_directive = "connect-src 'self'; " if self._config.control else ""
        return (
            f"default-src 'none'; script-src 'self'; {connect_directive}style-src 'self'; img-src 'self' data:; "
            "base-uri 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'"
        )

    async def _respond(
        self,
        request: PageRequest,
        path: str,
        render_page: Callable[[], bytes],
        version: str = "",
        policy: str = PAGE_POLICY,
    ) -> web.Response:
        cached_page = self._cache.get(path)
        if cached_page is None or cached_page.version != version:
            # Rendering can take 100 ms: do it in a thread so that the event loop keeps serving the gateway.
            cached_page = self._store(path, await asyncio.to_thread(_render_compressed, version, render_page))
        self._cache.move_to_end(path)
        request_headers = request.http_request.headers
        uses_gzip = content_encoding.accepts(request_headers.get("Accept-Encoding", ""), "gzip")
        etag = f'"{cached_page.etag}-gzip"' if uses_gzip else f'"{cached_page.etag}"'
        headers = {
            **page_headers(policy=policy),
            # The page is the same for every user, but the response may set a session cookie.
            "Cache-Control": "private, no-cache",
            "ETag": etag,
            "Vary": "Accept-Encoding",
        }
        if etag in request_headers.get("If-None-Match", ""):
            return web.Response(status=304, headers=headers)
        if uses_gzip:
            headers["Content-Encoding"] = "gzip"
        return web.Response(
            body=cached_page.compressed if uses_gzip else gzip.decompress(cached_page.compressed), headers=headers
        )

    def _store(self, path: str, cached_page: CachedPage) -> CachedPage:
        """Add a page to the cache and evict the least recently used pages."""
        previous_page = self._cache.pop(path, None)
        self._cached_bytes += len(cached_page.compressed) - (
            0 if previous_page is None else len(previous_page.compressed)
        )
        self._cache[path] = cached_page
        while self._cached_bytes > CACHE_BYTES_MAX and len(self._cache) > 1:
            _, evicted_page = self._cache.popitem(last=False)
            self._cached_bytes -= len(evicted_page.compressed)
        return cached_page

    def _render(self, template: str, active_path: str, context: Context) -> bytes:
        common_context = {
            "catalogue": self._catalogue,
            "config": self._config,
            "general_pages": GENERAL_PAGES,
            "active_path": active_path,
            "notice": None,
            "query": "",
        }
        # The reference is in English (decisions/0136); its cached pages are the same for every user.
        with translation.use_language(translation.ENGLISH):
            html = self._templates.get_template(f"docs/{template}.html").render(common_context | context)
        return html.encode("utf-8", "replace")

    # Template contexts

    def _index_context(self) -> Context:
        variables = [
            (name, "".join(f".{step}" if step.isidentifier() else f'["{step}"]' for step in path))
            for name, path in examples.VARIABLES.items()
        ]
        return {"variables": variables}

    def _page_names(self, collection: str) -> Container[str]:
        """Return the names of a collection's pages."""
        if collection == "enums":
            return {name for name, enum in self._catalogue.enums.items() if enum.class_ not in ENUM_PAGES}
        return self._catalogue.objects if collection == "objects" else self._catalogue.resources

    def _resource_context(self, name: str) -> Context:
        endpoints = self._catalogue.resources[name]
        return {"name": name, "operations": [self._operations.describe(endpoint) for endpoint in endpoints]}

    def _objects_context(self) -> Context:
        return {"objects": [(name, summary(class_)) for name, class_ in self._catalogue.objects.items()]}

    def _object_context(self, name: str) -> Context:
        class_ = self._catalogue.objects[name]
        return {
            "name": name,
            "summary": summary(class_),
            "tag": types.tag_of(class_),
            "own_fields": types.fields(
                class_, self._catalogue.links, is_in_request=class_ in self._catalogue.request_models
            ),
            "mentions": self._catalogue.mentions.get(class_, []),
        }

    def _enums_context(self) -> Context:
        return {"enums": list(self._catalogue.enums.values())}

    def _enum_context(self, name: str) -> Context:
        enum = self._catalogue.enums[name]
        return {"enum": enum, "mentions": self._catalogue.mentions.get(enum.class_, [])}

    def _permissions_context(self) -> Context:
        operations_by_permission = {
            value.name: [
                TextSpan(endpoint.name, self._catalogue.operation_href(endpoint))
                for endpoint in self._catalogue.by_name.values()
                if endpoint.operation.needs & int(value.value)
            ]
            for value in self._catalogue.enumeration(Permissions).values
        }
        return {"enum": self._catalogue.enumeration(Permissions), "operations": operations_by_permission}

    def _gateway_context(self) -> Context:
        find_enum = self._catalogue.enumeration
        gateways = [
            ("Gateway", find_enum(GatewayOpcode), find_enum(CloseCode)),
            ("Voice gateway", find_enum(VoiceOpcode), find_enum(VoiceCloseCode)),
        ]
        payloads_by_href = {
            value.href: types.describe(self._catalogue.payloads[enum.class_, int(value.value)], self._catalogue.links)
            for enum in (find_enum(GatewayOpcode), find_enum(VoiceOpcode))
            for value in enum.values
            if (enum.class_, int(value.value)) in self._catalogue.payloads
        }
        user_only_opcodes = {command.opcode for command in self._catalogue.commands if not command.allows_bots}
        return {
            "gateways": gateways,
            "payloads": payloads_by_href,
            "user_only": user_only_opcodes,
            "capabilities": find_enum(Capabilities),
        }

    def _events_context(self) -> Context:
        return {
            "events": [
                {
                    "event": event,
                    "payload": types.describe(event.payload, self._catalogue.links),
                    "summary": parse_docstring(event.summary),
                    "example": examples.payload_text(event.payload),
                    "intents": _intent_links(event.intents),
                    "dm_intents": None if event.dm_intents is None else _intent_links(event.dm_intents),
                    "operations": [
                        TextSpan(endpoint.name, self._catalogue.operation_href(endpoint))
                        for endpoint in self._catalogue.operations_by_event.get(event, [])
                    ],
                }
                for event in self._catalogue.events
            ]
        }

    def _intents_context(self) -> Context:
        events_by_intent = {
            value.name: [
                TextSpan(event.name, f"{EVENTS_PATH}#{event.name}")
                for event in self._catalogue.events
                if (event.intents | (event.dm_intents or 0)) & int(value.value)
            ]
            for value in self._catalogue.enumeration(Intents).values
        }
        return {"enum": self._catalogue.enumeration(Intents), "events": events_by_intent}

    def _scopes_context(self) -> Context:
        scopes = [
            {
                "value": value,
                "rule": SCOPES.get(value.value),
                "expands_to": [
                    TextSpan(str(scope), f"{SCOPES_PATH}#{scope}") for scope in _included_scopes(value.value)
                ],
                "operations": [
                    TextSpan(endpoint.name, self._catalogue.operation_href(endpoint))
                    for endpoint in self._catalogue.operations_by_scope.get(value.value, [])
                ],
                "events": [
                    TextSpan(event.name, f"{EVENTS_PATH}#{event.name}")
                    for event in self._catalogue.events
                    if event.scope == value.value
                ],
            }
            for value in self._catalogue.enumeration(Scope).values
        ]
        return {"scopes": scopes}

    def _webhook_events_context(self) -> Context:
        links = self._catalogue.links
        return {
            "events": [
                {
                    "value": value,
                    "description": EVENT_TEXTS[WebhookEventType(value.value)][1],
                    "data": None if data_type is None else types.describe(data_type, links),
                }
                for value in self._catalogue.enumeration(WebhookEventType).values
                for data_type in [webhook_events.EVENT_DATA_TYPES[WebhookEventType(value.value)]]
            ],
            "payload": types.describe(webhook_events.WebhookEventPayload, links),
            "ping": types.describe(webhook_events.WebhookPing, links),
            "timeout_seconds": webhook_events.WEBHOOK_EVENT_TIMEOUT_MS // 1000,
            "retry_minutes": webhook_events.WEBHOOK_EVENT_RETRY_WINDOW_MS // 60_000,
        }

    def _errors_context(self) -> Context:
        operations_by_error = {
            error.name: [
                TextSpan(endpoint.name, self._catalogue.operation_href(endpoint))
                for endpoint in self._catalogue.operations_by_error.get(error.error_code, [])
            ]
            for error in self._catalogue.errors
        }
        return {
            "errors": self._catalogue.errors,
            "operations": operations_by_error,
            "form_errors": self._catalogue.form_errors,
        }

    def _changes_context(self) -> Context:
        now_ms = self._now_ms()
        dated_changes = [
            {
                "change": change,
                "day": _day_text(change.at_ms),
                "active": change.is_active(now_ms),
                "after": parse_docstring(change.after),
                "before": parse_docstring(change.before),
            }
            for change in sorted(changes.ALL.values(), key=lambda item: item.at_ms, reverse=True)
        ]
        return {"today": _day_text(now_ms), "dated_changes": dated_changes}

    def _changes_version(self) -> str:
        """Return the cache version of the page of dated changes."""
        now_ms = self._now_ms()
        active_count = sum(change.is_active(now_ms) for change in changes.ALL.values())
        return f"{_day_text(now_ms)} {active_count}"


def _day_text(time_ms: int) -> str:
    return f"{datetime.fromtimestamp(time_ms // 1000, UTC):%-d %B %Y}"


def _render_compressed(version: str, render_page: Callable[[], bytes]) -> CachedPage:
    """Render a page and compress it."""
    body = render_page()
    return CachedPage(version, gzip.compress(body, mtime=0), hashlib.sha256(body).hexdigest()[:16])


def _intent_links(bits: int) -> list[TextSpan]:
    """Return links to the intents in a bit set."""
    return [
        TextSpan(name, f"{INTENTS_PATH}#{name}")
        for name, value in vars(Intents).items()
        if name.isupper() and isinstance(value, int) and value.bit_count() == 1 and bits & value
    ]


def _included_scopes(scope: str) -> tuple[str, ...]:
    return SCOPES[scope].included_scopes if scope in SCOPES else ()
