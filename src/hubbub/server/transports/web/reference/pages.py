"""The pages of the reference: what each shows, made once and kept.

They are the same for everybody, so one copy serves all; the only thing that changes while we run is which dates have come.
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
from hubbub.server.core.dispatch import Table
from hubbub.server.transports.web.portal.endpoints import WORDS
from hubbub.server.transports.web.reference import catalogue as places
from hubbub.server.transports.web.reference import search, types
from hubbub.server.transports.web.reference.catalogue import Catalogue
from hubbub.server.transports.web.reference.examples import VARIABLES
from hubbub.server.transports.web.reference.operations import Operations
from hubbub.server.transports.web.reference.words import Piece, prose, summary
from hubbub.server.transports.web.visits import Page, Visit, page_headers

KEPT_BYTES: Final = 2 * 1024 * 1024
"""Of compressed pages, about all there are; beyond it the one that was longest not asked for is made anew."""

EVERYWHERE: Final = (
    ("events", "Gateway events", "What a session is told, and what it must ask for to be told."),
    (
        "gateway",
        "Opcodes and close codes",
        "Frames of the gateway and of the voice gateway, and why a socket was closed.",
    ),
    ("intents", "Intents", "Which events each of them brings."),
    ("errors", "Errors", "Every code with its status, and the codes inside a refused form."),
    ("permissions", "Permissions", "The bits, and the operations that need them."),
    ("scopes", "OAuth2 scopes", "What an application may ask a person for, and what it opens."),
    ("webhook-events", "Webhook events", "What the platform posts to an application's own address."),
    ("changes", "Dated changes", "Behaviour with a day, both its sides, and which of them holds now."),
    ("objects", "Objects", "What operations answer with and events carry."),
    ("enums", "Enums and flags", "Closed lists of values, and sets of bits."),
)
"""The pages beside those of one resource: path, title, and a sentence."""

Context = dict[str, Any]


class Kept(NamedTuple):
    """A rendered page, compressed: nearly everybody takes it so."""

    version: str
    squeezed: bytes
    etag: str


class Reference:
    """Serves `/docs`."""

    def __init__(self, *, table: Table, now_ms: Callable[[], int], config: Config, templates: Environment) -> None:
        self._table = table
        self._now_ms = now_ms
        self._config = config
        self._templates = templates
        self._kept: OrderedDict[str, Kept] = OrderedDict()
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
        self._shelves: dict[str, Callable[[str], Context]] = {
            "resources": self._resource,
            "objects": self._object,
            "enums": self._enum,
        }

    def pages(self) -> list[tuple[Page, Callable[[Visit], Any]]]:
        """What the web door serves for us."""
        return [
            (Page("GET", places.ROOT, anyone=True), self.show_index),
            (Page("GET", f"{places.ROOT}/{{page}}", anyone=True), self.show_page),
            (Page("GET", f"{places.ROOT}/{{shelf}}/{{name}}", anyone=True), self.show_one),
        ]

    @cached_property
    def _catalogue(self) -> Catalogue:
        return Catalogue(self._table.endpoints)

    @cached_property
    def _operations(self) -> Operations:
        return Operations(self._catalogue, self._config.web_url)

    @cached_property
    def _entries(self) -> list[search.Entry]:
        return search.entries(self._catalogue)

    # Answering

    async def show_index(self, visit: Visit) -> web.Response:
        """What there is; or what was looked for."""
        if "q" not in visit.request.query:
            return await self._answer(visit, "index", lambda: self._render("index", "", self._index()))
        query = " ".join(visit.query("q")[: search.QUERY_MAX].split())
        return web.Response(body=await asyncio.to_thread(self._found, query), headers=page_headers())

    def _found(self, query: str) -> bytes:
        context = {"query": query, "found": search.find(self._entries, query), "most": search.FOUND_MAX}
        return self._render("found", "found", context)

    async def show_page(self, visit: Visit) -> web.Response:
        """A page that there is one of."""
        name = visit.path("page")
        make = self._single.get(name)
        if make is None:
            raise errors.NOT_FOUND(message="There is no page at this address.")
        # Only the page of dated changes depends on the time.
        version = self._today() if name == "changes" else ""
        return await self._answer(visit, name, lambda: self._render(name.replace("-", "_"), name, make()), version)

    async def show_one(self, visit: Visit) -> web.Response:
        """One resource, object or enum."""
        shelf, name = visit.path("shelf"), visit.path("name")
        path = f"{shelf}/{name}"
        make = self._shelves.get(shelf)
        if make is None or (path not in self._kept and name not in await asyncio.to_thread(self._names, shelf)):
            raise errors.NOT_FOUND(message="There is no page at this address.")
        here = path if shelf == "resources" else shelf
        return await self._answer(visit, path, lambda: self._render(shelf.removesuffix("s"), here, make(name)))

    async def _answer(self, visit: Visit, path: str, make: Callable[[], bytes], version: str = "") -> web.Response:
        kept = self._kept.get(path)
        if kept is None or kept.version != version:
            # The first pages take a tenth of a second, which sessions of the gateway need not wait for.
            kept = self._keep(path, await asyncio.to_thread(_squeeze, version, make))
        self._kept.move_to_end(path)
        sent = visit.request.headers
        squeezed = _takes_gzip(sent.get("Accept-Encoding", ""))
        etag = f'"{kept.etag}-gzip"' if squeezed else f'"{kept.etag}"'
        headers = {
            **page_headers(),
            # The same for everybody, but an answer may carry the cookie of a session.
            "Cache-Control": "private, no-cache",
            "ETag": etag,
            "Vary": "Accept-Encoding",
        }
        if etag in sent.get("If-None-Match", ""):
            return web.Response(status=304, headers=headers)
        if squeezed:
            headers["Content-Encoding"] = "gzip"
        return web.Response(body=kept.squeezed if squeezed else gzip.decompress(kept.squeezed), headers=headers)

    def _keep(self, path: str, kept: Kept) -> Kept:
        before = self._kept.pop(path, None)
        self._bytes += len(kept.squeezed) - (0 if before is None else len(before.squeezed))
        self._kept[path] = kept
        while self._bytes > KEPT_BYTES and len(self._kept) > 1:
            _, gone = self._kept.popitem(last=False)
            self._bytes -= len(gone.squeezed)
        return kept

    def _render(self, template: str, here: str, context: Context) -> bytes:
        shared = {
            "catalogue": self._catalogue,
            "config": self._config,
            "everywhere": EVERYWHERE,
            "here": here,
            "notice": None,
            "query": "",
        }
        text = self._templates.get_template(f"docs/{template}.html").render(shared | context)
        return text.encode("utf-8", "replace")

    # What the pages show

    def _index(self) -> Context:
        variables = [
            (name, "".join(f".{step}" if step.isidentifier() else f'["{step}"]' for step in path))
            for name, path in VARIABLES.items()
        ]
        return {"variables": variables}

    def _names(self, shelf: str) -> Container[str]:
        """What a shelf holds."""
        if shelf == "enums":
            return {name for name, enum in self._catalogue.enums.items() if enum.kind not in places.ELSEWHERE}
        return self._catalogue.objects if shelf == "objects" else self._catalogue.resources

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
            "own_fields": types.fields(kind, self._catalogue.links, asked=kind in self._catalogue.asked),
            "mentions": self._catalogue.mentions.get(kind, []),
        }

    def _enums(self) -> Context:
        return {"enums": list(self._catalogue.enums.values())}

    def _enum(self, name: str) -> Context:
        enum = self._catalogue.enums[name]
        return {"enum": enum, "mentions": self._catalogue.mentions.get(enum.kind, [])}

    def _permissions(self) -> Context:
        asked = {
            value.name: [
                Piece(endpoint.name, self._catalogue.operation_href(endpoint))
                for endpoint in self._catalogue.by_name.values()
                if endpoint.operation.needs & int(value.value)
            ]
            for value in self._catalogue.enumeration(Permissions).values
        }
        return {"enum": self._catalogue.enumeration(Permissions), "asked": asked}

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
        people = {command.opcode for command in self._catalogue.commands if not command.bots}
        return {"sides": sides, "payloads": payloads, "people": people, "capabilities": of(Capabilities)}

    def _events(self) -> Context:
        return {
            "events": [
                {
                    "event": event,
                    "payload": types.describe(event.payload, self._catalogue.links),
                    "summary": summary(event.payload),
                    "intents": _intents(event.intents),
                    "dm_intents": None if event.dm_intents is None else _intents(event.dm_intents),
                    "said_by": [
                        Piece(each.name, self._catalogue.operation_href(each))
                        for each in self._catalogue.emitters.get(event, [])
                    ],
                }
                for event in self._catalogue.events
            ]
        }

    def _intents(self) -> Context:
        told = {
            value.name: [
                Piece(event.name, f"{places.EVENTS}#{event.name}")
                for event in self._catalogue.events
                if (event.intents | (event.dm_intents or 0)) & int(value.value)
            ]
            for value in self._catalogue.enumeration(Intents).values
        }
        return {"enum": self._catalogue.enumeration(Intents), "told": told, "privileged": Intents.PRIVILEGED}

    def _scopes(self) -> Context:
        scopes = [
            {
                "value": value,
                "rule": SCOPES.get(value.value),
                "stands_for": [Piece(str(each), f"{places.SCOPES}#{each}") for each in _expands(value.value)],
                "opens": [
                    Piece(each.name, self._catalogue.operation_href(each))
                    for each in self._catalogue.admitted.get(value.value, [])
                ],
                "hears": [
                    Piece(event.name, f"{places.EVENTS}#{event.name}")
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
                    "words": WORDS[WebhookEventType(value.value)],
                    "data": None if kind is None else types.describe(kind, links),
                }
                for value in self._catalogue.enumeration(WebhookEventType).values
                for kind in [webhook_events.DATA[WebhookEventType(value.value)]]
            ],
            "payload": types.describe(webhook_events.WebhookEventPayload, links),
            "ping": types.describe(webhook_events.WebhookPing, links),
            "timeout_s": webhook_events.WEBHOOK_EVENT_TIMEOUT_MS // 1000,
            "retries_min": webhook_events.WEBHOOK_EVENT_RETRIES_MS // 60_000,
        }

    def _errors(self) -> Context:
        raised = {
            error.name: [
                Piece(each.name, self._catalogue.operation_href(each))
                for each in self._catalogue.raisers.get(error.kind, [])
            ]
            for error in self._catalogue.errors
        }
        return {"errors": self._catalogue.errors, "raised": raised, "forms": self._catalogue.form_errors}

    def _changes(self) -> Context:
        now = self._now_ms()
        dated = [
            {
                "change": each,
                "day": _day(each.at_ms),
                "active": each.active(now),
                "subject": prose(each.subject),
                "before": prose(each.before),
            }
            for each in sorted(changes.ALL.values(), key=lambda change: change.at_ms, reverse=True)
        ]
        return {"today": _day(now), "dated": dated}

    def _today(self) -> str:
        """What the page of dated changes depends on."""
        now = self._now_ms()
        active = sum(change.active(now) for change in changes.ALL.values())
        return f"{_day(now)} {active}"


def _day(ms: int) -> str:
    return f"{datetime.fromtimestamp(ms // 1000, UTC):%-d %B %Y}"


def _squeeze(version: str, make: Callable[[], bytes]) -> Kept:
    body = make()
    return Kept(version, gzip.compress(body, mtime=0), hashlib.sha256(body).hexdigest()[:16])


def _takes_gzip(accepted: str) -> bool:
    words = [each.replace(" ", "") for each in accepted.lower().split(",")]
    return any(each.startswith("gzip") and not each.endswith((";q=0", ";q=0.0")) for each in words)


def _intents(bits: int) -> list[Piece]:
    return [
        Piece(name, f"{places.INTENTS}#{name}")
        for name, value in vars(Intents).items()
        if name.isupper() and isinstance(value, int) and value.bit_count() == 1 and bits & value
    ]


def _expands(scope: str) -> tuple[str, ...]:
    return SCOPES[scope].expands if scope in SCOPES else ()
