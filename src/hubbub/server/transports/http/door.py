"""The HTTP door: what happens between a request and its operation, and between the result and the answer.

route -> authenticate -> count -> read and decode -> keep files -> run in a transaction -> answer

It knows the operation table and no resource by name. Whatever goes wrong on the way becomes the platform's error body.
"""

import asyncio
import contextlib
import itertools
import logging
import re
import secrets
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Executor
from types import NoneType
from typing import Any, Final
from urllib.parse import unquote

from aiohttp import http_exceptions, web
from aiohttp.typedefs import Handler

from hubbub.protocol import errors, wire
from hubbub.protocol.errors import ApiError
from hubbub.protocol.flags import ApplicationFlags
from hubbub.protocol.ids import AttachmentId
from hubbub.protocol.operation import BodyT, Operation, ResultT
from hubbub.server.core import cdn_urls
from hubbub.server.core.auth import Authenticator
from hubbub.server.core.call import Actor, Call, Listeners, Upload
from hubbub.server.core.clock import Clock
from hubbub.server.core.config import Config
from hubbub.server.core.dispatch import Endpoint, Table, run, run_waiting
from hubbub.server.core.faults import Faults, HttpFault
from hubbub.server.core.files import Files
from hubbub.server.core.guarded import GuardedClient
from hubbub.server.core.images import Images
from hubbub.server.core.metrics import Metrics
from hubbub.server.core.payments import PaymentProvider
from hubbub.server.core.presences import Presences
from hubbub.server.core.rate_limits import RateLimits, Verdict
from hubbub.server.core.refusals import Refusal, follow
from hubbub.server.core.snowflakes import SnowflakeFactory
from hubbub.server.core.store import Database, StoreUnavailable, Tx
from hubbub.server.core.trace import Trace
from hubbub.server.core.work import Work
from hubbub.server.transports.http import answers, failing, forms, limits, multipart, openapi
from hubbub.server.transports.http.answers import Encoded
from hubbub.server.transports.http.bodies import Bodies, Body, Held, Sent
from hubbub.server.transports.http.keeping import Keeper
from hubbub.server.transports.http.serving import Runner, Subtree

log = logging.getLogger(__name__)
requests_log = logging.getLogger("hubbub.http")

DEFAULT_VERSION: Final = 10
VERSIONS: Final = {f"v{number}": number for number in (6, 7, 8, 9, 10)}
"""9 and 10 are current, 6 to 8 deprecated but answered, all alike; any other is refused with 50041 (http.md 1.1)."""

REASON_MAX: Final = 512
"""An audit log reason is cut here (http.md 1.4: our choice)."""

LINGERING_S: Final = 3.0
"""How long the rest of a refused body is read and thrown away, so that its sender gets to see the answer."""

IDLE_FACTOR: Final = 1.25
"""Read timeouts that a connection may be idle: 75 seconds by default, more than the 60 of common balancers."""

_VERSION: Final = re.compile(r"v[0-9]{1,9}", re.ASCII)
_HEADER_NAMES: Final = re.compile(r"[A-Za-z0-9 ,_-]{1,1024}", re.ASCII)


class HttpDoor:
    """Serves every operation of the table under /api, /api/v9 and /api/v10."""

    def __init__(
        self,
        *,
        table: Table,
        db: Database,
        clock: Clock,
        ids: SnowflakeFactory,
        config: Config,
        presences: Presences,
        authenticator: Authenticator,
        rate_limits: RateLimits,
        files: Files,
        images: Images,
        metrics: Metrics,
        executor: Executor,
        outside: GuardedClient | None = None,
        payments: PaymentProvider | None = None,
        listeners: Listeners | None = None,
        faults: Faults | None = None,
        trace: Trace | None = None,
        settle: Callable[[], Awaitable[None]] | None = None,
        routes: Iterable[web.AbstractRouteDef] = (),
    ) -> None:
        self._table = table
        self._db = db
        self._clock = clock
        self._ids = ids
        self._config = config
        self._presences = presences
        self._authenticator = authenticator
        self._rate_limits = rate_limits
        self._files = files
        self._keeper = Keeper(files, images)
        self._metrics = metrics
        self._executor = executor
        self._outside = outside
        self._payments = payments
        self._listeners = listeners
        self._faults = faults if faults is not None else Faults()
        self._trace = trace if trace is not None else Trace()
        self._settle = settle
        """Waits until the other processes are told; none where there are no others."""
        self._routes = list(routes)
        self._lost: Handler | None = None
        self._bodies = Bodies(config.http)
        self._read_timeout_s = config.http.read_timeout_ms / 1000
        # Unique among processes, cheap for each request.
        self._request_prefix = secrets.token_hex(6)
        self._request_numbers = itertools.count(1)
        self._openapi: bytes | None = None
        self._active = 0
        self._left: asyncio.Event | None = None
        """Set when a request has been answered; only while draining."""
        metrics.watch(metrics.http_active, lambda: self._active)

    @property
    def table(self) -> Table:
        """What it serves."""
        return self._table

    def now_ms(self) -> int:
        """What the platform's clock says."""
        return self._clock.now_ms()

    def application(self) -> web.Application:
        """The door's operations and the routes it was given beside them, as one aiohttp application."""
        # The door bounds every body itself.
        app = web.Application(client_max_size=0)
        app.router.register_resource(Subtree("/api", self.handle))
        app.add_routes(self._routes)
        app.router.register_resource(Subtree("/", self._nothing_here))
        return app

    def runner(self, **options: Any) -> web.AppRunner:
        """What serves the application, so that even a request that is not HTTP gets the platform's body."""
        options.setdefault("lingering_time", LINGERING_S)
        # This also bounds how long the head of a request may take, and a connection on which none comes.
        options.setdefault("keepalive_timeout", self._read_timeout_s * IDLE_FACTOR)
        return Runner(self.application(), prefix="/api", handler=self.handle, **options)

    async def drain(self, patience_s: float) -> None:
        """Let requests under way finish, their bodies included, which aiohttp stops reading when it closes."""
        self._left = asyncio.Event()
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(patience_s):
                while self._active:
                    self._left.clear()
                    await self._left.wait()

    async def handle(self, request: web.Request) -> web.StreamResponse:
        """Answer one request under /api."""
        loop = asyncio.get_running_loop()
        started = loop.time()
        request_id = f"{self._request_prefix}{next(self._request_numbers):08x}"
        headers = {"Via": answers.VIA, "Server": "hubbub", "X-Request-Id": request_id}
        if "Origin" in request.headers:
            headers["Access-Control-Allow-Origin"] = "*"
            headers["Access-Control-Expose-Headers"] = answers.EXPOSED
        exchange = Exchange(request, self.address(request), headers)
        self._active += 1
        try:
            encoded = await self._answer(exchange)
        except ApiError as error:
            encoded = answers.encode_error(error, headers)
            if isinstance(error, limits.RateLimited):
                self._metrics.rate_limited(error.scope).inc()
                self._rate_limits.note_status(exchange.ip, 429, shared=error.scope == "shared")
            else:
                self._rate_limits.note_status(exchange.ip, encoded.status)
        except StoreUnavailable as error:
            log.warning("the store is unavailable: %s", error, extra={"request_id": request_id})
            encoded = answers.encode_error(errors.UNAVAILABLE(), headers)
            headers["Retry-After"] = "1"
        except failing.Dropped:
            encoded = answers.encode_error(errors.UNAVAILABLE(), headers)
        except (http_exceptions.HttpProcessingError, web.RequestPayloadError):
            # The body broke off, or is not encoded as it says.
            encoded = answers.encode_error(errors.BAD_REQUEST(), headers)
        except Exception:
            # The route and not the path: a path may hold a token.
            log.exception("%s failed", exchange.route, extra={"request_id": request_id})
            encoded = answers.encode_error(errors.INTERNAL(), headers)
        finally:
            self._active -= 1
            if self._left is not None:
                self._left.set()
        seconds = loop.time() - started
        # What no operation is asked with is not counted by name: callers could make up as many as they like.
        method = exchange.method if exchange.method in METHODS else "other"
        self._metrics.http_requests(method, exchange.route, str(encoded.status)).inc()
        self._metrics.http_seconds(method, exchange.route).observe(seconds)
        if encoded.status >= 400 and self._trace.on:
            user_id = None if exchange.actor is None else exchange.actor.user_id
            at = wire.timestamp(self._clock.now_ms())
            self._trace.add_refused(at, method, exchange.route, user_id, encoded.status, encoded.body)
        if self._config.log.requests:
            requests_log.info(
                "%s %s %d",
                method,
                exchange.route,
                encoded.status,
                extra={
                    "request_id": request_id,
                    "milliseconds": round(seconds * 1000, 1),
                    "user_id": None if exchange.actor is None else exchange.actor.user_id,
                },
            )
        # By the platform's clock, as every moment in its answers is: clients reckon what X-RateLimit-Reset says from this.
        headers["Date"] = answers.date(self._clock.now_ms() // 1000)
        return answers.respond(request, encoded, headers, closing=self._left is not None)

    async def ask(
        self,
        request: web.Request,
        operation: Operation[BodyT, ResultT],
        *values: object,
        actor: Actor | None = None,
        body: Mapping[str, Any] | None = None,
        query: Mapping[str, Sequence[str]] | None = None,
    ) -> ResultT:
        """Do an operation for another door: admitted, counted, read and run as if its caller had sent it here."""
        exchange = Exchange(request, self.address(request), {})
        try:
            encoded = await self._ask(exchange, operation, values, actor, body, query)
        except ApiError as error:
            shared = isinstance(error, limits.RateLimited) and error.scope == "shared"
            self._rate_limits.note_status(exchange.ip, error.status, shared=shared)
            raise
        if encoded.body is None or operation.media_type != answers.JSON:
            return encoded.body  # type: ignore[return-value]
        return wire.decode(encoded.body, operation.result)

    async def _ask(
        self,
        exchange: "Exchange",
        operation: Operation[Any, Any],
        values: Sequence[object],
        actor: Actor | None,
        body: Mapping[str, Any] | None,
        query: Mapping[str, Sequence[str]] | None,
    ) -> Encoded:
        self._refuse_blocked(exchange)
        endpoint = self._table.of(operation)
        admitted = None if endpoint.ignores_tokens else endpoint.admit(actor)
        texts = [str(int(value)) if isinstance(value, int) else str(value) for value in values]
        self._count(exchange, endpoint, admitted, texts)
        fault = await self._fail_before(exchange, endpoint, admitted)
        asked = None if operation.query is NoneType else forms.read_fields(query or {}, operation.query)
        path = endpoint.read_path(texts)
        sent = None if operation.body is NoneType else forms.read(dict(body or {}), operation.body, careful=True)
        if endpoint.media:
            await self._keeper.keep(endpoint, sent, ())
        make_call = self._caller(exchange, admitted, DEFAULT_VERSION, (), operation.headers)
        encoded = await self._run(endpoint, endpoint.arguments(path, sent, asked), make_call, admitted)
        if fault is not None and fault.moment == "after":
            await failing.happen(fault, exchange.request)
        return encoded

    def serve(self, routes: Iterable[web.AbstractRouteDef], lost: Handler | None = None) -> None:
        """Serve these too; before the application is made. `lost` answers browsers where nothing else does."""
        self._routes += routes
        self._lost = lost

    @contextlib.contextmanager
    def busy(self) -> Iterator[None]:
        """A request outside /api is being answered: draining waits for it too."""
        self._active += 1
        try:
            yield
        finally:
            self._active -= 1
            if self._left is not None:
                self._left.set()

    def _refuse_blocked(self, exchange: "Exchange") -> None:
        blocked_ms = self._rate_limits.blocked_ms(exchange.ip)
        if blocked_ms:
            # This stands for a ban at the edge, which clients know by the missing Via.
            exchange.headers.pop("Via", None)
            raise limits.RateLimited(errors.RATE_LIMITED, {"retry_after": blocked_ms / 1000, "global": True}, "global")

    async def _fail_before(self, exchange: "Exchange", endpoint: Endpoint, actor: Actor | None) -> HttpFault | None:
        """The fault that somebody wants of this call, if any; one that comes before the operation happens here."""
        if not self._faults.http:
            return None
        operation = endpoint.operation
        fault = self._faults.take_http(operation.method, operation.path, None if actor is None else actor.user_id)
        if fault is not None and fault.moment == "before":
            await failing.happen(fault, exchange.request)
        return fault

    async def _answer(self, exchange: "Exchange") -> Encoded:
        request = exchange.request
        self._refuse_blocked(exchange)
        if request.method == "OPTIONS":
            return _preflight(request)
        segments, version = _split(request.rel_url.raw_path)
        if request.method in READABLE and segments == ["openapi.json"]:
            exchange.route = "/openapi.json"
            return Encoded(200, self.openapi())
        endpoint, values = self._table.find(exchange.method, segments)
        exchange.route = endpoint.operation.path
        actor = await self._admit(exchange, endpoint)
        exchange.actor = actor
        self._count(exchange, endpoint, actor, values)
        fault = await self._fail_before(exchange, endpoint, actor)
        query = None
        if endpoint.operation.query is not NoneType:
            query = forms.read_fields(forms.split_fields(request.rel_url.raw_query_string), endpoint.operation.query)
        path = endpoint.read_path(values)
        sent = Sent(request, self._read_timeout_s)
        if _means_nothing(request, endpoint):
            body = await self._bodies.skip(sent)
        else:
            body = await self._bodies.read(sent, endpoint.operation, endpoint.media_bytes if endpoint.media else 0)
        try:
            uploads = await self._uploads(body, endpoint)
            make_call = self._caller(exchange, actor, version, uploads, endpoint.operation.headers)
            arguments = endpoint.arguments(path, body.model, query)
            encoded = await self._run_keeping(endpoint, arguments, make_call, uploads, actor)
            if fault is not None and fault.moment == "after":
                await failing.happen(fault, request)
            return encoded
        finally:
            self._bodies.give_back(body)

    async def perform(self, endpoint: Endpoint, path: Sequence[Any], content_type: str, data: bytes) -> None:
        """Do an operation with a body that came as an answer to a call of ours, as if it had been sent here; ApiError where
        it would have been refused."""
        operation = endpoint.operation
        body = await self._bodies.read(Held(content_type, data), operation)
        try:
            uploads = await self._uploads(body, endpoint)
            query = None if operation.query is NoneType else forms.read_fields({}, operation.query)
            arguments = endpoint.arguments(path, body.model, query)
            await self._run_keeping(endpoint, arguments, self._make_calls(None, uploads), uploads, None)
        finally:
            self._bodies.give_back(body)

    async def _admit(self, exchange: "Exchange", endpoint: Endpoint) -> Actor | None:
        if endpoint.ignores_tokens:
            return None
        header = exchange.request.headers.get("Authorization")
        try:
            if header is not None and not header.isascii():
                raise errors.UNAUTHORIZED()
            return endpoint.admit(await self._authenticator.actor(header))
        except ApiError:
            # Whoever guesses tokens is counted too.
            self._require(self._rate_limits.check_global(exchange.ip))
            raise

    def _count(self, exchange: "Exchange", endpoint: Endpoint, actor: Actor | None, values: Sequence[str]) -> None:
        """Count the call against the global limit and its bucket; a call refused by the one does not use up the other."""
        caller: str | int
        if actor is None:
            caller = exchange.ip
        elif actor.kind == "bearer":
            caller = f"{actor.user_id}:{actor.application_id}"
        else:
            caller = actor.user_id
        if not endpoint.ignores_tokens:
            # http.md 1.14: webhook and interaction calls, which have their token in the path, do not count here.
            self._require(self._rate_limits.check_global(caller))
        rule = endpoint.rule
        if rule is not None:
            verdict = self._rate_limits.check(rule, "" if endpoint.ignores_tokens and rule.major else caller, values)
            if verdict is not None:
                limits.put_headers(exchange.headers, verdict)
                self._require(verdict)
        cap = endpoint.operation.cap
        if cap and actor is not None and actor.application_id is not None:
            if not actor.application_flags & ApplicationFlags.SOCIAL_LAYER_INTEGRATION:
                self._require(self._rate_limits.check_cap(endpoint.name, actor.application_id, cap))

    def _require(self, verdict: Verdict | None) -> None:
        if verdict is not None and not verdict.allowed:
            raise limits.refusal(verdict)

    async def _uploads(self, body: Body, endpoint: Endpoint) -> list[Upload]:
        """The files of a body, and pictures and sounds within it in their store."""
        uploads = [self._upload(file, endpoint) for file in body.files]
        if endpoint.media or uploads:
            await self._keeper.keep(endpoint, body.model, uploads)
        return uploads

    def _upload(self, file: multipart.RawUpload, endpoint: Endpoint) -> Upload:
        attachment_id = self._ids.new(AttachmentId)
        keep = endpoint.operation.uploads is not None and endpoint.operation.uploads.keep
        return Upload(
            field=file.field,
            index=file.index,
            filename=file.filename,
            content_type=file.content_type,
            size=len(file.data),
            attachment_id=attachment_id,
            key=cdn_urls.attachment_key(attachment_id) if keep else "",
            data=file.data,
        )

    def _caller(
        self,
        exchange: "Exchange",
        actor: Actor | None,
        version: int,
        uploads: Sequence[Upload],
        declared: Sequence[str] = (),
    ) -> Callable[[Tx], Call]:
        sent = exchange.request.headers
        headers = {name: _clean(sent[name]) for name in declared if name in sent} if declared else None
        reason = sent.get("X-Audit-Log-Reason")
        if reason is not None:
            reason = _clean(reason)[:REASON_MAX].strip() or None
        return self._make_calls(actor, uploads, reason=reason, headers=headers, api_version=version, ip=exchange.ip)

    def _make_calls(self, actor: Actor | None, uploads: Sequence[Upload], **more: Any) -> Callable[[Tx], Call]:
        now = self._clock.now_ms()

        def make_call(tx: Tx) -> Call:
            return Call(
                tx,
                actor=actor,
                now=now,
                ids=self._ids,
                config=self._config,
                presences=self._presences,
                files=uploads,
                listeners=self._listeners,
                **more,
            )

        return make_call

    async def _run_keeping(
        self,
        endpoint: Endpoint,
        arguments: list[Any],
        make_call: Callable[[Tx], Call],
        uploads: Sequence[Upload],
        actor: Actor | None,
    ) -> Encoded:
        """Put the files into their store, run the operation, and take the files back if it fails."""
        kept = [upload for upload in uploads if upload.key]
        if not kept:
            return await self._run(endpoint, arguments, make_call, actor)
        try:
            await asyncio.gather(*(self._files.put(upload.key, upload.data, upload.content_type) for upload in kept))
            return await self._run(endpoint, arguments, make_call, actor)
        except Exception:
            # Not for a cancellation: then the write may well have happened.
            await asyncio.gather(*(self._files.delete(upload.key) for upload in kept), return_exceptions=True)
            raise

    async def _run(
        self, endpoint: Endpoint, arguments: list[Any], make_call: Callable[[Tx], Call], actor: Actor | None
    ) -> Encoded:
        operation = endpoint.operation
        if endpoint.waits:
            work = Work(
                self._db,
                make_call,
                self._executor,
                actor,
                files=self._files,
                outside=self._outside,
                payments=self._payments,
            )
            encoded = answers.encode(operation, await run_waiting(work, endpoint, arguments))
            if self._settle is not None and endpoint.writes:
                await self._settle()
            return encoded
        concerns_others = False

        def unit(tx: Tx) -> Encoded:
            nonlocal concerns_others
            encoded = answers.encode(operation, run(make_call(tx), endpoint, arguments))
            concerns_others = any(each.refresh or each.event.startswith("_") for each in tx.dispatches)
            return encoded

        if not endpoint.writes:
            return await self._db.read(unit, long=endpoint.long)
        try:
            encoded = await self._db.write(unit, quick=endpoint.quick)
        except Refusal as refusal:
            await follow(refusal, self._db, make_call)
            raise
        if concerns_others and self._settle is not None:
            # Who may see what has changed, or a token ended: what is asked next, of any process, goes by it (decisions/0004).
            await self._settle()
        return encoded

    def openapi(self) -> bytes:
        """The OpenAPI document, made on first demand."""
        if self._openapi is None:
            self._openapi = openapi.document(self._table)
        return self._openapi

    def address(self, request: web.Request) -> str:
        """Who calls: the peer, or what the proxies that the operator trusts say of it."""
        peer = request.remote or ""
        proxies = self._config.http.trusted_proxies
        if not proxies:
            return peer
        forwarded = ",".join(request.headers.getall("X-Forwarded-For", [])).split(",")
        # The last proxy added the last address: so many from the right were written by those we trust.
        return forwarded[-min(proxies, len(forwarded))].strip()[:64] or peer

    async def _nothing_here(self, request: web.Request) -> web.StreamResponse:
        if self._lost is not None and request.method == "GET" and "text/html" in request.headers.get("Accept", ""):
            return await self._lost(request)
        return answers.plain_error(404)


METHODS: Final = frozenset(("GET", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"))
READABLE: Final = frozenset(("GET", "HEAD"))


class Exchange:
    """One request on its way through the door, for what is said about it at the end."""

    __slots__ = ("actor", "headers", "ip", "method", "request", "route")

    def __init__(self, request: web.Request, ip: str, headers: dict[str, str]) -> None:
        self.request = request
        self.ip = ip
        self.headers = headers
        # aiohttp leaves the body out of an answer to HEAD.
        self.method = "GET" if request.method == "HEAD" else request.method
        self.route = "unknown"
        self.actor: Actor | None = None


def _split(raw_path: str) -> tuple[list[str], int]:
    """The decoded segments after /api and its version, and the version."""
    segments = raw_path.split("/")[2:]
    if "%" in raw_path or not raw_path.isascii():
        segments = [_clean(segment) for segment in segments]
    if segments:
        version = VERSIONS.get(segments[0])
        if version is not None:
            return segments[1:], version
        if _VERSION.fullmatch(segments[0]):
            raise errors.INVALID_API_VERSION()
    return segments, DEFAULT_VERSION


def _clean(text: str) -> str:
    """Percent-decoded text that every store can keep: what is no UTF-8 is replaced, NUL is left out."""
    text = unquote(text, errors="replace")
    if not text.isascii():
        text = text.encode("utf-8", "surrogateescape").decode("utf-8", "replace")
    return text.replace("\x00", "")


def _means_nothing(request: web.Request, endpoint: Endpoint) -> bool:
    """Whether a header says that the body is nothing we know the form of."""
    if endpoint.operation.body_of is None:
        return False
    header, known = endpoint.operation.body_of
    said = request.headers.get(header)
    return said is not None and said not in known


def _preflight(request: web.Request) -> Encoded:
    asked = request.headers.get("Access-Control-Request-Headers", "")
    return Encoded(
        204,
        None,
        "",
        {
            "Access-Control-Allow-Origin": "*",
            "Access-Control-Allow-Methods": "GET, POST, PUT, PATCH, DELETE",
            "Access-Control-Allow-Headers": asked if _HEADER_NAMES.fullmatch(asked) else answers.ASKABLE,
            "Access-Control-Max-Age": "86400",
            "Vary": "Access-Control-Request-Headers",
        },
    )
