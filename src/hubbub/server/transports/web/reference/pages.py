"""The pages of the reference, rendered once and cached.

Pages are the same for every user, so one copy serves all. Only the page of dated changes depends on the time.
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
from hubbub.server.core.config import Config
from hubbub.server.core.endpoints import EndpointTable
from hubbub.server.transports.docstrings import TextSpan, parse_docstring, summary
from hubbub.server.transports.web.page_requests import PAGE_POLICY, Page, PageRequest, page_headers
from hubbub.server.transports.web.portal.endpoints import EVENT_DESCRIPTIONS
from hubbub.server.transports.web.reference import catalogue as urls
from hubbub.server.transports.web.reference import search, types
from hubbub.server.transports.web.reference.catalogue import Catalogue
from hubbub.server.transports.web.reference.examples import VARIABLES
from hubbub.server.transports.web.reference.operations import Operations

CACHE_BYTES_MAX: Final = 2 * 1024 * 1024
"""Size limit of the cache of compressed pages; the least recently used page is evicted."""

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
    ("scopes", "OAuth2 scopes", "What an application can request, and what each scope grants."),
    ("webhook-events", "Webhook events", "Events that the platform posts to an application's webhook URL."),
    ("changes", "Dated changes", "Behavior that changes on a date, before and after."),
    ("objects", "Objects", "Objects in responses and gateway events."),
    ("enums", "Enums and flags", "Enumerated values and bit flags."),
)
"""The pages that do not belong to one resource: path, title and description."""

Context = dict[str, Any]


class CachedPage(NamedTuple):
    """A rendered and compressed page. Nearly every client accepts gzip."""

    version: str
    compressed: bytes
    etag: str


class Reference:
    """Serves `/docs`."""

    def __init__(
        self, *, table: EndpointTable, now_ms: Callable[[], int], config: Config, templates: Environment
    ) -> None:
        self._table = table
        self._now_ms = now_ms
        self._config = config
        self._templates = templates
        self._cache: OrderedDict[str, CachedPage] = OrderedDict()
        self._bytes = 0
        self._single: dict[str, Callable[[], Context]] = {
            "objects": self._objects,
            "enums": self._enums,
            "permissions": self._permissions,
            "gateway": self._gateway,
            "events": self._events,
            "intents": self._intents,
            "scopes": self._scopes,
            "webhook-events": self._webhook_events,
            "errors": self._errors,
            "changes": self._changes,
        }
        self._collections: dict[str, Callable[[str], Context]] = {
            "resources": self._resource,
            "objects": self._object,
            "enums": self._enum,
        }

    def pages(self) -> list[tuple[Page, Callable[[PageRequest], Any]]]:
        """Return the page functions with their routes."""
        return [
            (Page("GET", urls.ROOT, public=True), self.show_index),
            (Page("GET", f"{urls.ROOT}/{{page}}", public=True), self.show_page),
            (Page("GET", f"{urls.ROOT}/{{collection}}/{{name}}", public=True), self.show_one),
        ]

    @cached_property
    def _catalogue(self) -> Catalogue:
        return Catalogue(self._table.endpoints)

    @cached_property
    def _operations(self) -> Operations:
        return Operations(self._catalogue, self._config.web_url, with_forms=self._config.control)

    @cached_property
    def _entries(self) -> list[search.Entry]:
        return search.entries(self._catalogue)

    # Responses

    async def show_index(self, request: PageRequest) -> web.Response:
        """Show the index, or the search results."""
        if "q" not in request.http_request.query:
            return await self._respond(request, "index", lambda: self._render("index", "", self._index()))
        query = " ".join(request.query_parameter("q")[: search.QUERY_MAX].split())
        return web.Response(body=await asyncio.to_thread(self._search, query), headers=page_headers())

    def _search(self, query: str) -> bytes:
        context = {"query": query, "results": search.find(self._entries, query), "results_max": search.RESULTS_MAX}
        return self._render("search_results", "search_results", context)

    async def show_page(self, request: PageRequest) -> web.Response:
        """Show a page by name."""
        name = request.path_parameter("page")
        make = self._single.get(name)
        if make is None:
            raise errors.NOT_FOUND(message="This page does not exist. Check the URL.")
        # Only the page of dated changes depends on the time.
        version = self._today() if name == "changes" else ""
        return await self._respond(request, name, lambda: self._render(name.replace("-", "_"), name, make()), version)

    async def show_one(self, request: PageRequest) -> web.Response:
        """Show a resource, object or enum."""
        collection, name = request.path_parameter("collection"), request.path_parameter("name")
        path = f"{collection}/{name}"
        make = self._collections.get(collection)
        if make is None or (path not in self._cache and name not in await asyncio.to_thread(self._names, collection)):
            raise errors.NOT_FOUND(message="This page does not exist. Check the URL.")
        is_resource = collection == "resources"
        here = path if is_resource else collection
        return await self._respond(
            request,
            path,
            lambda: self._render(collection.removesuffix("s"), here, make(name)),
            policy=self._script_policy if is_resource else PAGE_POLICY,
        )

    @property
    def _script_policy(self) -> str:
        """Content-Security-Policy of the pages with scripts.

        Scripts come from this server only, Trusted Types keep text from becoming markup, and only the forms of a
        rehearsal may send requests.
        """
        requests = "connect-src 'self'; " if self._config.control else ""
        return (
            f"default-src 'none'; script-src 'self'; {requests}style-src 'self'; img-src 'self' data:; "
            "base-uri 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'"
        )

    async def _respond(
        self,
        request: PageRequest,
        path: str,
        make: Callable[[], bytes],
        version: str = "",
        policy: str = PAGE_POLICY,
    ) -> web.Response:
        cached = self._cache.get(path)
        if cached is None or cached.version != version:
            # Rendering can take 100 ms: do it in a thread so that the event loop keeps serving the gateway.
            cached = self._store(path, await asyncio.to_thread(_compress, version, make))
        self._cache.move_to_end(path)
        sent = request.http_request.headers
        use_gzip = _takes_gzip(sent.get("Accept-Encoding", ""))
        etag = f'"{cached.etag}-gzip"' if use_gzip else f'"{cached.etag}"'
        headers = {
            **page_headers(policy=policy),
            # The page is the same for every user, but the response may set a session cookie.
            "Cache-Control": "private, no-cache",
            "ETag": etag,
            "Vary": "Accept-Encoding",
        }
        if etag in sent.get("If-None-Match", ""):
            return web.Response(status=304, headers=headers)
        if use_gzip:
            headers["Content-Encoding"] = "gzip"
        return web.Response(body=cached.compressed if use_gzip else gzip.decompress(cached.compressed), headers=headers)

    def _store(self, path: str, cached: CachedPage) -> CachedPage:
        previous = self._cache.pop(path, None)
        self._bytes += len(cached.compressed) - (0 if previous is None else len(previous.compressed))
        self._cache[path] = cached
        while self._bytes > CACHE_BYTES_MAX and len(self._cache) > 1:
            _, evicted = self._cache.popitem(last=False)
            self._bytes -= len(evicted.compressed)
        return cached

    def _render(self, template: str, here: str, context: Context) -> bytes:
        shared = {
            "catalogue": self._catalogue,
            "config": self._config,
            "general_pages": GENERAL_PAGES,
            "here": here,
            "notice": None,
            "query": "",
        }
        text = self._templates.get_template(f"docs/{template}.html").render(shared | context)
        return text.encode("utf-8", "replace")

    # Template contexts

    def _index(self) -> Context:
        variables = [
            (name, "".join(f".{step}" if step.isidentifier() else f'["{step}"]' for step in path))
            for name, path in VARIABLES.items()
        ]
        return {"variables": variables}

    def _names(self, collection: str) -> Container[str]:
        """Return the names of a collection's pages."""
        if collection == "enums":
            return {name for name, enum in self._catalogue.enums.items() if enum.kind not in urls.ENUM_PAGES}
        return self._catalogue.objects if collection == "objects" else self._catalogue.resources

    def _resource(self, name: str) -> Context:
        endpoints = self._catalogue.resources[name]
        return {"name": name, "operations": [self._operations.describe(each) for each in endpoints]}

    def _objects(self) -> Context:
        return {"objects": [(name, summary(kind)) for name, kind in self._catalogue.objects.items()]}

    def _object(self, name: str) -> Context:
        kind = self._catalogue.objects[name]
        return {
            "name": name,
            "summary": summary(kind),
            "tag": types.tag_of(kind),
            "own_fields": types.fields(kind, self._catalogue.links, in_request=kind in self._catalogue.request_models),
            "mentions": self._catalogue.mentions.get(kind, []),
        }

    def _enums(self) -> Context:
        return {"enums": list(self._catalogue.enums.values())}

    def _enum(self, name: str) -> Context:
        enum = self._catalogue.enums[name]
        return {"enum": enum, "mentions": self._catalogue.mentions.get(enum.kind, [])}

    def _permissions(self) -> Context:
        operations = {
            value.name: [
                TextSpan(endpoint.name, self._catalogue.operation_href(endpoint))
                for endpoint in self._catalogue.by_name.values()
                if endpoint.operation.needs & int(value.value)
            ]
            for value in self._catalogue.enumeration(Permissions).values
        }
        return {"enum": self._catalogue.enumeration(Permissions), "operations": operations}

    def _gateway(self) -> Context:
        of = self._catalogue.enumeration
        sides = [
            ("Gateway", of(GatewayOpcode), of(CloseCode)),
            ("Voice gateway", of(VoiceOpcode), of(VoiceCloseCode)),
        ]
        payloads = {
            value.href: types.describe(self._catalogue.payloads[enum.kind, int(value.value)], self._catalogue.links)
            for enum in (of(GatewayOpcode), of(VoiceOpcode))
            for value in enum.values
            if (enum.kind, int(value.value)) in self._catalogue.payloads
        }
        user_only = {command.opcode for command in self._catalogue.commands if not command.bots}
        return {"sides": sides, "payloads": payloads, "user_only": user_only, "capabilities": of(Capabilities)}

    def _events(self) -> Context:
        return {
            "events": [
                {
                    "event": event,
                    "payload": types.describe(event.payload, self._catalogue.links),
                    "summary": summary(event.payload),
                    "intents": _intents(event.intents),
                    "dm_intents": None if event.dm_intents is None else _intents(event.dm_intents),
                    "operations": [
                        TextSpan(each.name, self._catalogue.operation_href(each))
                        for each in self._catalogue.operations_by_event.get(event, [])
                    ],
                }
                for event in self._catalogue.events
            ]
        }

    def _intents(self) -> Context:
        events = {
            value.name: [
                TextSpan(event.name, f"{urls.EVENTS}#{event.name}")
                for event in self._catalogue.events
                if (event.intents | (event.dm_intents or 0)) & int(value.value)
            ]
            for value in self._catalogue.enumeration(Intents).values
        }
        return {"enum": self._catalogue.enumeration(Intents), "events": events, "privileged": Intents.PRIVILEGED}

    def _scopes(self) -> Context:
        scopes = [
            {
                "value": value,
                "rule": SCOPES.get(value.value),
                "expands_to": [TextSpan(str(each), f"{urls.SCOPES}#{each}") for each in _expands(value.value)],
                "operations": [
                    TextSpan(each.name, self._catalogue.operation_href(each))
                    for each in self._catalogue.operations_by_scope.get(value.value, [])
                ],
                "events": [
                    TextSpan(event.name, f"{urls.EVENTS}#{event.name}")
                    for event in self._catalogue.events
                    if event.scope == value.value
                ],
            }
            for value in self._catalogue.enumeration(Scope).values
        ]
        return {"scopes": scopes}

    def _webhook_events(self) -> Context:
        links = self._catalogue.links
        return {
            "events": [
                {
                    "value": value,
                    "description": EVENT_DESCRIPTIONS[WebhookEventType(value.value)],
                    "data": None if kind is None else types.describe(kind, links),
                }
                for value in self._catalogue.enumeration(WebhookEventType).values
                for kind in [webhook_events.EVENT_DATA_TYPES[WebhookEventType(value.value)]]
            ],
            "payload": types.describe(webhook_events.WebhookEventPayload, links),
            "ping": types.describe(webhook_events.WebhookPing, links),
            "timeout_seconds": webhook_events.WEBHOOK_EVENT_TIMEOUT_MS // 1000,
            "retry_minutes": webhook_events.WEBHOOK_EVENT_RETRY_WINDOW_MS // 60_000,
        }

    def _errors(self) -> Context:
        operations = {
            error.name: [
                TextSpan(each.name, self._catalogue.operation_href(each))
                for each in self._catalogue.operations_by_error.get(error.kind, [])
            ]
            for error in self._catalogue.errors
        }
        return {"errors": self._catalogue.errors, "operations": operations, "form_errors": self._catalogue.form_errors}

    def _changes(self) -> Context:
        now = self._now_ms()
        dated = [
            {
                "change": each,
                "day": _day(each.at_ms),
                "active": each.is_active(now),
                "subject": parse_docstring(each.after),
                "before": parse_docstring(each.before),
            }
            for each in sorted(changes.ALL.values(), key=lambda change: change.at_ms, reverse=True)
        ]
        return {"today": _day(now), "dated": dated}

    def _today(self) -> str:
        """Return the cache version of the page of dated changes."""
        now = self._now_ms()
        active = sum(change.is_active(now) for change in changes.ALL.values())
        return f"{_day(now)} {active}"


def _day(ms: int) -> str:
    return f"{datetime.fromtimestamp(ms // 1000, UTC):%-d %B %Y}"


def _compress(version: str, make: Callable[[], bytes]) -> CachedPage:
    body = make()
    return CachedPage(version, gzip.compress(body, mtime=0), hashlib.sha256(body).hexdigest()[:16])


def _takes_gzip(accepted: str) -> bool:
    encodings = [each.replace(" ", "") for each in accepted.lower().split(",")]
    return any(each.startswith("gzip") and not each.endswith((";q=0", ";q=0.0")) for each in encodings)


def _intents(bits: int) -> list[TextSpan]:
    return [
        TextSpan(name, f"{urls.INTENTS}#{name}")
        for name, value in vars(Intents).items()
        if name.isupper() and isinstance(value, int) and value.bit_count() == 1 and bits & value
    ]


def _expands(scope: str) -> tuple[str, ...]:
    return SCOPES[scope].included_scopes if scope in SCOPES else ()
