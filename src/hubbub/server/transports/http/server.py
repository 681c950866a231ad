"""The HTTP server: the steps between a request and its operation, and between the result and the response.

route -> authenticate -> check rate limits -> read and decode -> store files -> run in a transaction -> respond

The server depends on the operation table, not on single resources. Every error becomes the platform's error body.
"""

import asyncio
import contextlib
import itertools
import logging
import secrets
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Executor
from types import NoneType
from typing import Any, Final

from aiohttp import web

from hubbub.protocol import codec, errors
from hubbub.protocol.control.faults import HttpFault
from hubbub.protocol.errors import ApiError
from hubbub.protocol.flags import ApplicationFlags
from hubbub.protocol.ids import AttachmentId, Snowflake
from hubbub.protocol.operation import BodyT, Operation, ResultT
from hubbub.protocol.resources.audit_log import REASON_MAX
from hubbub.server.core.async_operation import AsyncOperation
from hubbub.server.core.auth import Authenticator
from hubbub.server.core.call import Actor, Call, Listeners, Ports, Upload
from hubbub.server.core.clock import Clock
from hubbub.server.core.config import Config
from hubbub.server.core.endpoints import READ_METHODS, Endpoint, EndpointTable, run, run_async
from hubbub.server.core.faults import Faults
from hubbub.server.core.files import Files
from hubbub.server.core.images import ImageConverter
from hubbub.server.core.loop_monitor import LoopMonitor
from hubbub.server.core.metrics import Metrics
from hubbub.server.core.observation import Observer
from hubbub.server.core.outbound_http import OutboundClient
from hubbub.server.core.payments import PaymentProvider
from hubbub.server.core.presences import Presences
from hubbub.server.core.rate_limits import LookupKind, RateLimits, address_key
from hubbub.server.core.rejections import RejectedWithSideEffects, run_side_effects
from hubbub.server.core.snowflakes import SnowflakeFactory
from hubbub.server.core.store import Database, StoreUnavailable, Tx
from hubbub.server.core.trace import Trace
from hubbub.server.core.upload_scanners import UploadScanners
from hubbub.server.transports import request_observation, sockets
from hubbub.server.transports.http import (
    decoding,
    fault_injection,
    openapi,
    request_limits,
    request_trace,
    responses,
)
from hubbub.server.transports.http.admission import Admission
from hubbub.server.transports.http.aiohttp_adapter import ServerRunner, SubtreeResource
from hubbub.server.transports.http.incoming_requests import (
    DEFAULT_VERSION,
    KNOWN_METHODS,
    RequestState,
    decode_text,
    has_unknown_body,
    path_ids,
    preflight_response,
    split_path,
)
from hubbub.server.transports.http.origin_policy import find_policy
from hubbub.server.transports.http.request_bodies import BodyReader, BufferedBody, DecodedBody
from hubbub.server.transports.http.responses import EncodedResponse
from hubbub.server.transports.http.shared_routes import Pages, SharedRoutes
from hubbub.server.transports.http.upload_storage import UploadStorage, new_upload

log = logging.getLogger(__name__)
requests_log = logging.getLogger("hubbub.http")

LINGER_SECONDS: Final = 3.0
"""Seconds during which the rest of a rejected body is read and discarded, so that the client sees the response."""

IDLE_TIMEOUT_FACTOR: Final = 1.25
"""Idle timeout as a multiple of the read timeout: 75 seconds by default, more than the 60 of common load balancers."""

FAILED_LOOKUP_STATUSES: Final = frozenset({401, 404})
"""Statuses of a request without a caller that count as a wrong guess of an ID, code or token."""


class HttpServer:
    """Serves every operation of the table under /api and under /api/v6 to /api/v10."""

    def __init__(
        self,
        *,
        endpoints: EndpointTable,
        database: Database,
        clock: Clock,
        ids: SnowflakeFactory,
        config: Config,
        presences: Presences,
        authenticator: Authenticator,
        rate_limits: RateLimits,
        files: Files,
        images: ImageConverter,
        metrics: Metrics,
        executor: Executor,
        outbound: OutboundClient | None = None,
        payments: PaymentProvider | None = None,
        listeners: Listeners | None = None,
        ports: Ports | None = None,
        faults: Faults | None = None,
        trace: Trace | None = None,
        settle: Callable[[], Awaitable[None]] | None = None,
        scanners: UploadScanners | None = None,
        observer: Observer | None = None,
        loop_monitor: LoopMonitor | None = None,
        routes: Iterable[web.RouteDef] = (),
    ) -> None:
        self._table = endpoints
        self._db = database
        self._clock = clock
        self._ids = ids
        self._config = config
        self._presences = presences
        self._authenticator = authenticator
        self.rate_limits = rate_limits
        self._files = files
        self._upload_storage = UploadStorage(files, images, scanners)
        self._metrics = metrics
        self._executor = executor
        self._outbound = outbound
        self._payments = payments
        self._listeners = listeners
        self._ports = ports
        self._faults = faults if faults is not None else Faults()
        self._trace = trace if trace is not None else Trace()
        self._settle = settle
        """Function that waits until no process uses outdated permissions or tokens; None for a single process."""
        self.observer = observer
        """The observer of requests; None if they are not observed."""
        self._observed_handle = request_observation.observe(observer, "http", self.handle)
        self._routes = list(routes)
        self._load_pages: Callable[[], Pages] | None = None
        self._pages: Pages | None = None
        """The pages, once they are loaded."""
        self._admission = Admission(metrics, loop_monitor, config.http)
        self._bodies = BodyReader(config.http, self._admission.record_rejection)
        self._read_timeout_seconds = config.http.read_timeout_ms / 1000
        # Request IDs are a random prefix per process and a counter: unique across processes and cheap to create.
        self._request_prefix, self._request_numbers = secrets.token_hex(6), itertools.count(1)
        self._openapi: bytes | None = None
        self._running_count = 0
        self._request_finished = asyncio.Event()
        self.is_draining = False
        """Whether connections are closed after their next response, so that a load balancer does not reuse them."""
        metrics.watch(metrics.http_active, lambda: self._running_count)

    @property
    def table(self) -> EndpointTable:
        """The table of operations that the server runs."""
        return self._table

    def now_ms(self) -> int:
        """Return the time of the platform's clock in Unix milliseconds."""
        return self._clock.now_ms()

    def application(self) -> web.Application:
        """Return the aiohttp application with the operations under /api, the additional routes and the pages."""
        # 0 disables aiohttp's limit: this server bounds every body itself.
        app = web.Application(client_max_size=0)
        app.router.register_resource(SubtreeResource("/api", self._observed_handle))
        app.router.register_resource(SharedRoutes(self._routes))
        app.router.register_resource(SharedRoutes(lambda: self.pages().routes))
        app.router.register_resource(SubtreeResource("/", self._not_found))
        return app

    def runner(self, **options: Any) -> web.AppRunner:
        """Return the runner of the application, which also responds to malformed HTTP with the platform's error body."""
        options.setdefault("lingering_time", LINGER_SECONDS)
        # This also limits the time until the request head is complete, and until the first request on a connection.
        options.setdefault("keepalive_timeout", self._read_timeout_seconds * IDLE_TIMEOUT_FACTOR)
        options.setdefault("policy", find_policy(self._config))
        return ServerRunner(self.application(), prefix="/api", handler=self._observed_handle, **options)

    async def drain(self, timeout_seconds: float) -> None:
        """Wait at most `timeout_seconds` until running requests have finished.

        aiohttp stops reading their bodies when it closes.
        """
        self.is_draining = True
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(timeout_seconds):
                while self._running_count:
                    self._request_finished.clear()
                    await self._request_finished.wait()

    async def handle(self, request: web.Request) -> web.StreamResponse:
        """Handle a request under /api."""
        loop = asyncio.get_running_loop()
        started_at = loop.time()
        request_id = f"{self._request_prefix}{next(self._request_numbers):08x}"
        headers = {"Via": responses.VIA, "Server": "hubbub", "X-Request-Id": request_id}
        if "Origin" in request.headers:
            headers["Access-Control-Allow-Origin"] = "*"
            headers["Access-Control-Expose-Headers"] = responses.EXPOSED_HEADERS
        state = RequestState(request, self.client_address(request), headers)
        self._running_count += 1
        try:
            encoded_response = await self._handle_operation(state)
        except ApiError as error:
            encoded_response = responses.encode_error(error, headers)
            if isinstance(error, request_limits.RateLimitError):
                self._metrics.rate_limited(error.scope).inc()
                self.rate_limits.record_status(state.ip, 429, is_shared=error.scope == "shared")
            else:
                self._record_failure(state, encoded_response.status)
        except StoreUnavailable as error:
            log.warning("Database unavailable: %s", error, extra={"request_id": request_id})
            self._db.record_failure(error)
            encoded_response = responses.encode_error(errors.UNAVAILABLE(), headers)
            headers["Retry-After"] = "1"
        except fault_injection.ConnectionDropped:
            encoded_response = responses.encode_error(errors.UNAVAILABLE(), headers)
        except Exception:
            # Log the route instead of the path, which may contain a token.
            log.exception("%s failed", state.route, extra={"request_id": request_id})
            encoded_response = responses.encode_error(errors.INTERNAL(), headers)
        finally:
            self._running_count -= 1
            if self.is_draining:
                self._request_finished.set()
        seconds = loop.time() - started_at
        # Unknown methods share one label, because clients could invent any number of them.
        method = state.method if state.method in KNOWN_METHODS else "other"
        self._metrics.http_requests(method, state.route, str(encoded_response.status)).inc()
        self._metrics.http_seconds(method, state.route).observe(seconds)
        if self._trace.is_enabled or self._trace.traffic.is_enabled:
            request_trace.record_request(self._trace, self._clock.now_ms(), state, method, encoded_response, seconds)
        if self._config.log.requests:
            requests_log.info(
                "%s %s %d",
                method,
                state.route,
                encoded_response.status,
                extra={
                    "request_id": request_id,
                    "milliseconds": round(seconds * 1000, 1),
                    "client_address": state.ip,
                    "user_id": None if state.actor is None else state.actor.user_id,
                },
            )
        # Use the platform's clock, like every timestamp in responses: clients compare X-RateLimit-Reset with this date.
        headers["Date"] = responses.http_date(self._clock.now_ms() // 1000)
        return responses.respond(request, encoded_response, headers, closes_connection=self.is_draining)

    async def run_operation(
        self,
        request: web.Request,
        operation: Operation[BodyT, ResultT],
        *values: object,
        actor: Actor | None = None,
        body: Mapping[str, Any] | None = None,
        query: Mapping[str, Sequence[str]] | None = None,
    ) -> ResultT:
        """Run an operation for another server of this process, with the checks and limits of an HTTP request.

        `values` are the path parameters in order. `request` is the request that the other server handles.
        """
        state = RequestState(request, self.client_address(request), {})
        try:
            encoded_response = await self._run_checked(state, operation, values, actor, body, query)
        except ApiError as error:
            is_shared = isinstance(error, request_limits.RateLimitError) and error.scope == "shared"
            self._record_failure(state, error.status, is_shared=is_shared)
            raise
        if encoded_response.body is None or operation.media_type != responses.JSON:
            return encoded_response.body  # type: ignore[return-value]
        return codec.decode(encoded_response.body, operation.result)

    async def _run_checked(
        self,
        state: RequestState,
        operation: Operation[Any, Any],
        values: Sequence[object],
        actor: Actor | None,
        body: Mapping[str, Any] | None,
        query: Mapping[str, Sequence[str]] | None,
    ) -> EncodedResponse:
        """Run an operation with decoded values, after the checks and limits of an HTTP request."""
        self._reject_blocked(state)
        endpoint = self._table.for_operation(operation)
        caller = None if endpoint.ignores_tokens else endpoint.authorize(actor)
        path_values = [str(int(value)) if isinstance(value, int) else str(value) for value in values]
        self._check_rate_limits(state, endpoint, caller, path_values)
        fault = await self._take_fault(state, endpoint, caller) if self._faults.http else None
        query_model = None if operation.query is NoneType else decoding.convert_fields(query or {}, operation.query)
        path = endpoint.read_path(path_values)
        model = (
            None
            if operation.body is NoneType
            else decoding.convert(dict(body or {}), operation.body, checks_storable=True)
        )
        if endpoint.media:
            await self._upload_storage.store(endpoint, model, (), caller)
        make_call = self._request_call_factory(state, caller, DEFAULT_VERSION, (), operation.headers)
        encoded_response = await self._run_in_transaction(
            endpoint, endpoint.arguments(path, model, query_model), make_call, caller
        )
        if fault is not None and fault.moment == "after":
            await fault_injection.apply_fault(fault, state.request)
        return encoded_response

    def set_pages(self, load: Callable[[], Pages]) -> None:
        """Serve pages at the paths without another route; `load` is called when they are first needed."""
        self._load_pages = load

    def pages(self) -> Pages:
        """Return the pages, which are loaded on first use."""
        if self._pages is None:
            self._pages = Pages() if self._load_pages is None else self._load_pages()
        return self._pages

    @contextlib.contextmanager
    def count_running(self) -> Iterator[None]:
        """Count a request outside /api as running, so that `drain` waits for it."""
        self._running_count += 1
        try:
            yield
        finally:
            self._running_count -= 1
            if self.is_draining:
                self._request_finished.set()

    def _record_failure(self, state: RequestState, status: int, *, is_shared: bool = False) -> None:
        """Count a rejected request against the limits of its IP address."""
        self.rate_limits.record_status(state.ip, status, is_shared=is_shared)
        if state.is_anonymous and status in FAILED_LOOKUP_STATUSES:
            self.rate_limits.record_failed_lookup(state.ip, LookupKind.REQUEST)

    def _reject_blocked(self, state: RequestState) -> None:
        """Reject a request from an IP address that is blocked because of too many invalid requests."""
        blocked_ms = self.rate_limits.compute_remaining_block_ms(state.ip)
        if blocked_ms:
            # This simulates a ban at the edge, which clients recognize by the missing Via header.
            state.headers.pop("Via", None)
            error_fields: dict[str, object] = {"retry_after": blocked_ms / 1000, "global": True}
            raise request_limits.RateLimitError(errors.RATE_LIMITED, error_fields, "global")

    async def _take_fault(self, state: RequestState, endpoint: Endpoint, actor: Actor | None) -> HttpFault | None:
        """Return the injected fault of this request, or None. Apply it now if it precedes the operation."""
        operation = endpoint.operation
        fault = self._faults.take_http(operation.method, operation.path, None if actor is None else actor.user_id)
        if fault is not None and fault.moment == "before":
            await fault_injection.apply_fault(fault, state.request)
        return fault

    async def _handle_operation(self, state: RequestState) -> EncodedResponse:
        """Run the steps from the route to the encoded result."""
        request = state.request
        self._reject_blocked(state)
        if request.method == "OPTIONS":
            return preflight_response(request)
        self._admission.require_capacity()
        segments, version = split_path(request.rel_url.raw_path)
        if request.method in READ_METHODS and segments == ["openapi.json"]:
            state.route = "/openapi.json"
            return EncodedResponse(200, await self.openapi())
        endpoint, values = self._table.resolve(state.method, segments)
        state.route = endpoint.operation.path
        request_observation.set_route(state.method, state.route)
        if self._trace.is_enabled or self._trace.traffic.is_enabled:
            state.ids, state.start = path_ids(endpoint, values), self._trace.traffic.mark_start()
        actor = None if endpoint.ignores_tokens else await self._authenticate(state, endpoint)
        state.actor = actor
        self._check_rate_limits(state, endpoint, actor, values)
        fault = await self._take_fault(state, endpoint, actor) if self._faults.http else None
        query = None
        if endpoint.operation.query is not NoneType:
            query = decoding.convert_query(request.rel_url.raw_query_string, endpoint.operation.query)
        path = endpoint.read_path(values)
        source = request_trace.open_body(self._trace, state, self._read_timeout_seconds)
        if has_unknown_body(request, endpoint):
            body = await self._bodies.discard(source)
        else:
            body = await self._bodies.read(source, endpoint.operation, endpoint.media_bytes if endpoint.media else 0)
        try:
            uploads = await self._store_uploads(body, endpoint, actor) if body.files or endpoint.media else []
            make_call = self._request_call_factory(state, actor, version, uploads, endpoint.operation.headers)
            if self._trace.traffic.is_enabled:
                make_call = request_trace.attribute_events(
                    self._trace.traffic, state.headers["X-Request-Id"], make_call
                )
            arguments = endpoint.arguments(path, body.model, query)
            if uploads:
                encoded_response = await self._run_with_files(endpoint, arguments, make_call, uploads, actor)
            else:
                encoded_response = await self._run_in_transaction(endpoint, arguments, make_call, actor)
            if fault is not None and fault.moment == "after":
                await fault_injection.apply_fault(fault, request)
            return responses.for_version(encoded_response, version)
        finally:
            self._bodies.release(body)

    async def run_with_body(self, endpoint: Endpoint, path: Sequence[Any], content_type: str, data: bytes) -> None:
        """Run an operation with a body that is the response to an outgoing request, as if a client had sent it.

        Raise ApiError if a request with this body would have been rejected.
        """
        operation = endpoint.operation
        body = await self._bodies.read(BufferedBody(content_type, data), operation)
        try:
            uploads = await self._store_uploads(body, endpoint, None)
            query = None if operation.query is NoneType else decoding.convert_fields({}, operation.query)
            arguments = endpoint.arguments(path, body.model, query)
            await self._run_with_files(endpoint, arguments, self._call_factory(None, uploads), uploads, None)
        finally:
            self._bodies.release(body)

    async def _authenticate(self, state: RequestState, endpoint: Endpoint) -> Actor | None:
        """Return the caller, or None for a request without a caller; raise ApiError if the operation does not accept it."""
        header = state.request.headers.get("Authorization")
        try:
            if header is not None and not header.isascii():
                raise errors.UNAUTHORIZED()
            return endpoint.authorize(await self._authenticator.authenticate(header))
        except ApiError:
            # Failed authentication counts against the IP's limit, to slow down guessing of tokens.
            request_limits.require_allowed(self.rate_limits.check_global(address_key(state.ip)))
            raise

    def _check_rate_limits(
        self, state: RequestState, endpoint: Endpoint, actor: Actor | None, values: Sequence[str]
    ) -> None:
        """Check the limits of failed lookups, of all requests, of the bucket and of unapproved applications, in this order.

        The limit of failed lookups applies only to requests without a caller. The limit of all requests does not apply to
        operations that ignore tokens. A request that one of the limits rejects does not count against the limits after it.
        """
        rate_limit_key: str | int
        if actor is None:
            rate_limit_key = address_key(state.ip)
        elif actor.kind == "bearer":
            rate_limit_key = f"{actor.user_id}:{actor.application_id}"
        else:
            rate_limit_key = actor.user_id
        if actor is None:
            state.is_anonymous = True
            request_limits.require_allowed(self.rate_limits.check_lookups(state.ip, LookupKind.REQUEST))
        if not endpoint.ignores_tokens:
            # spec/http.md#1.14: webhook and interaction requests, whose token is in the path, are exempt from the global
            # limit.
            request_limits.require_allowed(self.rate_limits.check_global(rate_limit_key))
        rule = endpoint.rule
        if rule is not None:
            verdict = self.rate_limits.check(
                rule, "" if endpoint.ignores_tokens and rule.major_positions else rate_limit_key, values
            )
            if verdict is not None:
                request_limits.add_rate_limit_headers(state.headers, verdict)
                request_limits.require_allowed(verdict)
        calls_max = endpoint.operation.unapproved_calls_max
        if calls_max and actor is not None and actor.application_id is not None:
            if not actor.application_flags & ApplicationFlags.SOCIAL_LAYER_INTEGRATION:
                request_limits.require_allowed(
                    self.rate_limits.check_cap(endpoint.name, actor.application_id, calls_max)
                )

    async def _store_uploads(self, body: DecodedBody, endpoint: Endpoint, actor: Actor | None) -> list[Upload]:
        """Return the files of a body, after scanning all files and storing images and sounds."""
        uploads = [new_upload(file, endpoint, self._ids.new(AttachmentId)) for file in body.files]
        if endpoint.media or uploads:
            await self._upload_storage.store(endpoint, body.model, uploads, actor)
        return uploads

    def _request_call_factory(
        self,
        state: RequestState,
        actor: Actor | None,
        version: int,
        uploads: Sequence[Upload],
        header_names: Sequence[str] = (),
    ) -> Callable[[Tx], Call]:
        """Return a function that creates the call of an HTTP request inside a transaction."""
        request_headers = state.request.headers
        headers = (
            {name: decode_text(request_headers[name]) for name in header_names if name in request_headers}
            if header_names
            else None
        )
        reason = request_headers.get("X-Audit-Log-Reason")
        if reason is not None:
            reason = decode_text(reason)[:REASON_MAX].strip() or None
        return self._call_factory(actor, uploads, reason=reason, headers=headers, api_version=version, ip=state.ip)

    def _call_factory(
        self, actor: Actor | None, uploads: Sequence[Upload], **call_options: Any
    ) -> Callable[[Tx], Call]:
        """Return a function that creates a call inside a transaction; all its calls have the same time."""
        now_ms = self._clock.now_ms()

        def make_call(tx: Tx) -> Call:
            return Call(
                tx,
                actor=actor,
                now=now_ms,
                ids=self._ids,
                config=self._config,
                presences=self._presences,
                files=uploads,
                listeners=self._listeners,
                ports=self._ports,
                **call_options,
            )

        return make_call

    async def _run_with_files(
        self,
        endpoint: Endpoint,
        arguments: list[Any],
        make_call: Callable[[Tx], Call],
        uploads: Sequence[Upload],
        actor: Actor | None,
    ) -> EncodedResponse:
        """Store the files, run the operation, and delete the files if it fails."""
        stored_uploads = [upload for upload in uploads if upload.key]
        if not stored_uploads:
            return await self._run_in_transaction(endpoint, arguments, make_call, actor)
        try:
            await self._upload_storage.store_files(stored_uploads)
            return await self._run_in_transaction(endpoint, arguments, make_call, actor)
        except Exception:
            # Files are not deleted on cancellation, because the transaction may have been committed.
            await asyncio.gather(*(self._files.delete(upload.key) for upload in stored_uploads), return_exceptions=True)
            raise

    async def _run_in_transaction(
        self, endpoint: Endpoint, arguments: list[Any], make_call: Callable[[Tx], Call], actor: Actor | None
    ) -> EncodedResponse:
        """Run an operation and encode its result; an async operation opens its own transactions."""
        operation = endpoint.operation
        if endpoint.is_async:
            async_operation = AsyncOperation(
                self._db,
                make_call,
                self._executor,
                actor,
                files=self._files,
                outbound=self._outbound,
                payments=self._payments,
            )
            encoded_response = responses.encode(operation, await run_async(async_operation, endpoint, arguments))
            if self._settle is not None and endpoint.writes:
                await self._settle()
            return encoded_response
        affects_other_processes = False
        with self._admission.enter() as pending_request:

            def unit(tx: Tx) -> EncodedResponse:
                nonlocal affects_other_processes
                pending_request.start()
                encoded_response = responses.encode(operation, run(make_call(tx), endpoint, arguments))
                affects_other_processes = self._settle is not None and any(
                    dispatch.refresh or dispatch.event.startswith("_") for dispatch in tx.dispatches
                )
                return encoded_response

            if not endpoint.writes:
                return await self._db.read(unit, long=endpoint.is_long)
            try:
                # After a conflict, writes with the same key run one after the other. The first ID of the path is that of
                # the guild, channel or lobby.
                key = next((argument for argument in arguments if isinstance(argument, Snowflake)), 0)
                encoded_response = await self._db.write(
                    unit, quick=endpoint.is_quick, has_updates=endpoint.has_updates, key=key
                )
            except RejectedWithSideEffects as rejection:
                await run_side_effects(rejection, self._db, make_call)
                raise
        if affects_other_processes and self._settle is not None:
            # Permissions changed or a token was revoked: the next request to any process must see it (decisions/0004).
            await self._settle()
        return encoded_response

    async def openapi(self) -> bytes:
        """Return the OpenAPI document, which is generated on first use."""
        if self._openapi is None:
            # Generate the document in a thread, because that takes several hundred milliseconds.
            self._openapi = await asyncio.to_thread(openapi.encode_document, self._table)
        return self._openapi

    def client_address(self, request: web.Request) -> str:
        """Return the client's IP address: the peer's, or the one reported by the trusted proxies."""
        return sockets.client_address(request, self._config.http.trusted_proxies)

    async def _not_found(self, request: web.Request) -> web.StreamResponse:
        handler = self.pages().not_found_handler
        if handler is not None and request.method == "GET" and "text/html" in request.headers.get("Accept", ""):
            return await handler(request)
        return responses.plain_error(404)
