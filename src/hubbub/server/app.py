"""The composition root: builds the core and the transports, starts them, and shuts everything down in order.

`composition.py` lists the slices and binds their ports.

There is no global state: several Apps can run in one process independently.
"""

import asyncio
import functools
import logging
import secrets
import socket
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import msgspec
from aiohttp import web

from hubbub.protocol.operation import Operation
from hubbub.protocol.resources.gateway import SessionStartLimit
from hubbub.server.composition import PORTS, SLICES
from hubbub.server.core import backends, cdn_urls
from hubbub.server.core.async_operation import AsyncOperation
from hubbub.server.core.auth import ACTOR_CHANGED, Authenticator
from hubbub.server.core.backends import ServerTls
from hubbub.server.core.call import Actor, Call
from hubbub.server.core.change_relay import ChangeRelay
from hubbub.server.core.clock import Clock
from hubbub.server.core.config import Config
from hubbub.server.core.endpoints import EndpointTable
from hubbub.server.core.event_dispatch import NO_SESSIONS, NODES_SUBJECT, Dispatch
from hubbub.server.core.faults import Faults
from hubbub.server.core.id_marks import IdMark
from hubbub.server.core.images import ImageConverter
from hubbub.server.core.job_handlers import job_handlers
from hubbub.server.core.job_queue_monitor import JobQueueMonitor
from hubbub.server.core.jobs import Worker, release_leases
from hubbub.server.core.loop_monitor import LoopMonitor
from hubbub.server.core.mail import Mailbox, open_mailer
from hubbub.server.core.metrics import Metrics
from hubbub.server.core.observation import Observer, Tracer
from hubbub.server.core.outbound_http import OutboundClient
from hubbub.server.core.outbound_streams import OutboundStreams
from hubbub.server.core.page_reader import PageReader
from hubbub.server.core.payments import PaymentProvider, open_payments
from hubbub.server.core.ports import Binding, compose
from hubbub.server.core.presences import Presences
from hubbub.server.core.process_leases import ProcessLease
from hubbub.server.core.publication_log import PublicationLog
from hubbub.server.core.rate_limits import RateLimits
from hubbub.server.core.schema_monitor import SchemaMonitor
from hubbub.server.core.slices import Slice, collect_listeners
from hubbub.server.core.snowflakes import SnowflakeFactory
from hubbub.server.core.store import Tx
from hubbub.server.core.trace import Trace
from hubbub.server.core.upload_scanners import RejectedUpload, open_scanners
from hubbub.server.core.url_maps import ActivitySite
from hubbub.server.identity import (
    administration,
    applications,
    game_sessions,
    identity_providers,
    passkeys,
    retention,
)
from hubbub.server.places import activity_instances, activity_proxies, gateway_info, guild_state, voice_states
from hubbub.server.talk import private_calls
from hubbub.server.transports.activities import ActivityServer
from hubbub.server.transports.cdn import Cdn
from hubbub.server.transports.discovery import DiscoveryEndpoint
from hubbub.server.transports.external_media import ExternalMedia
from hubbub.server.transports.failed_lookups import limit_file_routes
from hubbub.server.transports.gateway import Gateway, PresenceFeed
from hubbub.server.transports.http import HttpServer
from hubbub.server.transports.http.shared_routes import Pages
from hubbub.server.transports.operator_endpoints import OperatorEndpoints
from hubbub.server.transports.voice import VoiceServer, sockets, webrtc

log = logging.getLogger(__name__)

HEAVY_THREADS_MAX = 2
"""Maximum number of threads for CPU-heavy code such as password hashing; few, so that logins cannot use all CPU cores."""

POLL_MS = 5_000
"""Interval in milliseconds at which workers of a server with PostgreSQL poll for jobs; rehearsals do not poll."""
JOBS_SUBJECT = "jobs"
"""The bus subject on which workers are notified of new jobs."""
PRESENCE_SWEEP_SECONDS = 5.0
"""Interval in seconds at which a process without a gateway removes the presences of nodes that stopped responding."""
FIRST_REQUEST_SECONDS = 0.1
"""Time in seconds after the last accepted connection within which a load balancer sends its request."""
SHUTDOWN_GRACE_SECONDS = 1.0
"""Time in seconds for which a request that still runs after the drain may handle its cancellation."""


class App:
    """A running platform: store, bus, clock, files and transports."""

    def __init__(
        self,
        config: Config,
        *,
        clock: Clock | None = None,
        slices: tuple[Slice, ...] = SLICES,
        ports: Sequence[Binding] = PORTS,
        payments: PaymentProvider | None = None,
        tls: ServerTls | None = None,
        database_image: bytes | None = None,
    ) -> None:
        """Create a platform; with `tls` it serves HTTPS instead of HTTP.

        `database_image` is the serialized database that a platform in memory starts with, or None.
        """
        self.config = config
        self.tls = tls
        self.clock = clock or backends.new_clock(config)
        self.slices = slices
        self.metrics = Metrics()
        tracer = backends.open_tracer(config, self.metrics)
        self.observer = Observer(self.metrics, slow_ms=config.log.slow_ms, tracer=tracer)
        self._loop_monitor = LoopMonitor(self.metrics.loop_lag)
        self.ids = SnowflakeFactory(self.clock, worker=config.worker)
        self.presences = Presences()
        self.database = backends.open_database(config, database_image)
        self.database.metrics = self.metrics
        self.bus = backends.open_bus(config, self.metrics)
        self.bus.tracer = tracer
        self.files = backends.open_files(config)
        self.images = ImageConverter()
        self.scanners = open_scanners(config, self._record_rejected_upload)
        self.outbound = OutboundClient(allow_private=config.allow_private_targets)
        self.page_reader = PageReader()
        self.streams = OutboundStreams(allow_private=config.allow_private_targets)
        self.payments = payments or open_payments(config.payments, is_rehearsal=config.control)
        self.mailer = open_mailer(config, self.clock)
        self._relay = None if config.nats_url is None else ChangeRelay(self.database, self.bus)
        self.auth = Authenticator(
            self.database, self.clock, applications.access.find_token_application, is_receiving=self._is_receiving
        )
        self.listeners = collect_listeners(slices)
        session_starts = gateway_info.ports.find_session_start_limit.bind(self._find_session_start_limit)
        self.ports = compose(slices, (*ports, session_starts))
        self.rate_limits = RateLimits(
            self.clock.now_ms,
            config.rate_limits,
            global_calls=config.http.global_requests_max,
            invalid_calls=config.http.invalid_requests_max,
            invalid_window_ms=config.http.invalid_requests_window_ms,
            approval_mode=config.approval_caps,
        )
        self.table = _full_table() if slices is SLICES else EndpointTable(slices)
        self.faults = Faults()
        self.trace = Trace(self.clock.now_ms)
        self.outbound.traffic = self.trace.traffic
        self.outbound.metrics = self.metrics
        self.routes: list[web.RouteDef] = []
        """Additional HTTP routes, such as those of the control API; they must be added before `start`."""
        self.gateway: Gateway | None = None
        self.voice: VoiceServer | None = None
        self.worker: Worker | None = None
        self.job_queue_monitor = JobQueueMonitor(
            self.database,
            self.clock,
            stored_jobs=self.metrics.stored_jobs,
            failed_jobs=self.metrics.failed_jobs,
        )
        self.on_fatal: Callable[[], None] | None = None
        """Function called when the process must stop: another process took its number or migrated to an incompatible schema."""
        self._process_lease: ProcessLease | None = None
        self._schema_monitor = SchemaMonitor(self.database, self._handle_fatal)
        self._id_mark = IdMark(self.database, self.ids, self.clock, config.worker)
        self._publication_log = (
            None
            if config.nats_url is None
            else PublicationLog(self.database, self.bus, self.clock, node=secrets.token_hex(8))
        )
        self._presence_feed: PresenceFeed | None = None
        self._presence_sweeper: asyncio.Task[None] | None = None
        self._heavy_executor = ThreadPoolExecutor(HEAVY_THREADS_MAX, thread_name_prefix="hubbub-heavy")
        self._http_server: HttpServer | None = None
        self._activities: ActivityServer | None = None
        self._runner: web.AppRunner | None = None
        self._operator_endpoints = OperatorEndpoints(self.database, self.bus, self.metrics)
        self.metrics.watch(self.metrics.db_queued, lambda: self.database.queued_units)
        self.metrics.watch(self.metrics.db_connections, lambda: self.database.count_connections()[0])
        self.metrics.watch(self.metrics.db_connections_busy, lambda: self.database.count_connections()[1])
        self.metrics.watch(self.metrics.jobs_running, lambda: 0 if self.worker is None else self.worker.running_count)

    # Lifecycle

    async def start(self, sock: socket.socket | None = None) -> None:
        """Start the parts of the configured roles, and listen on the configured address or the given socket."""
        if "api" in self.config.roles and not self.config.control:
            # A rehearsal starts faster without the libraries.
            passkeys.load_library()
            identity_providers.jwts.load_library()
        sock = sock or backends.open_socket(self.config)
        self._loop_monitor.start()
        if self.config.public_url is None:
            host, port = sock.getsockname()[:2]
            url_host = f"[{host}]" if ":" in host else host
            scheme = "http" if self.tls is None else "https"
            self.config = msgspec.structs.replace(self.config, public_url=f"{scheme}://{url_host}:{port}")
        voice_sockets = sockets.bind(self.config) if sockets.is_voice_enabled(self.config) else None
        endpoint = None if voice_sockets is None else voice_sockets.endpoint
        self.config = msgspec.structs.replace(
            self.config, voice=msgspec.structs.replace(self.config.voice, endpoint=endpoint)
        )
        self.database.on_commit = self.publish
        await self.database.start()
        await self._acquire_process_number()
        try:
            await self._start_parts(sock, voice_sockets)
        except BaseException:
            # Another process could not use the number until the lease expires.
            await self.stop()
            raise

    async def _start_parts(self, sock: socket.socket, voice_sockets: sockets.VoiceSockets | None) -> None:
        """Start everything that needs the store."""
        await self._id_mark.start()
        await self.bus.start()
        if self._publication_log is not None:
            await self._publication_log.start()
        if self._relay is not None:
            await self._relay.start()
            self.bus.can_deliver = lambda: self._relay is None or self._relay.is_current
        self.bus.subscribe(NODES_SUBJECT, self.auth.handle_dispatch)
        self.bus.on_gap(self.auth.clear_cache)
        if self.config.nats_url is None:
            # This is the only process, so no client is connected yet: state left by a killed process is outdated.
            await self.database.write(lambda tx: self._reset_connection_state(self.make_call(tx)))
        routes: list[web.RouteDef] = [
            *self._operator_endpoints.routes(),
            *DiscoveryEndpoint(self.config).routes(),
            *self.routes,
        ]
        external_media = ExternalMedia(
            outbound=self.outbound,
            images=self.images,
            config=self.config,
            find_key=lambda: self.database.read(cdn_urls.find_signing_key),
        )
        cdn = Cdn(
            files=self.files,
            images=self.images,
            clock=self.clock,
            find_key=lambda: self.database.read(cdn_urls.find_signing_key),
            find_asset=self._find_asset,
        )
        routes += limit_file_routes(
            (*external_media.routes(), *cdn.routes()), self.rate_limits, self.config.http.trusted_proxies
        )
        if voice_sockets is not None:
            voice = await self._open_voice(voice_sockets)
            # Pages of this origin need no certificate for the voice endpoint (decisions/0072).
            routes += [web.get("/voice", voice.handle), web.get("/voice/", voice.handle)]
        if "gateway" in self.config.roles:
            self.gateway = Gateway(
                db=self.database,
                bus=self.bus,
                clock=self.clock,
                config=self.config,
                metrics=self.metrics,
                ids=self.ids,
                presences=self.presences,
                guild_reader=guild_state.StoreGuildReader(),
                slices=self.slices,
                authenticate=self.auth.find_by_token,
                listeners=self.listeners,
                ports=self.ports,
                faults=self.faults,
                trace=self.trace,
                rate_limits=self.rate_limits,
                observer=self.observer,
                publication_log=self._publication_log,
            )
            self.database.publication_scope = self.gateway.frame_batch
            await self.gateway.start()
            routes += [web.get("/gateway", self.gateway.handle), web.get("/gateway/", self.gateway.handle)]
        else:
            # Operations also need presences in a process without a gateway.
            self._presence_feed = PresenceFeed(
                self.bus,
                self.clock,
                self.presences,
                publication_log=self._publication_log,
            )
            self._presence_feed.start()
            self._presence_sweeper = asyncio.get_running_loop().create_task(self._sweep_presences(self._presence_feed))
        self.database.on_wake = self._wake_workers
        if "worker" in self.config.roles:
            # A process that dies between a commit and its notification leaves jobs that no worker is notified of, so
            # workers poll. Not in a rehearsal, whose clock may jump over days.
            poll_ms = POLL_MS if self.config.database_url is not None and not self.config.control else None
            self.worker = Worker(
                self.database,
                self.clock,
                job_handlers(self.slices, self.make_call, self._make_operation),
                metrics=self.metrics,
                poll_ms=poll_ms,
                name=None if self._process_lease is None else self._process_lease.owner,
                observer=self.observer,
            )
            self.bus.subscribe(JOBS_SUBJECT, lambda _: self._wake_own_worker())
            self.bus.on_gap(self._wake_own_worker)
            if self.config.retention.is_limited:
                await self.database.write(lambda tx: retention.schedule(self.make_call(tx)))
        http_server = HttpServer(
            endpoints=self.table if "api" in self.config.roles else EndpointTable(()),
            database=self.database,
            clock=self.clock,
            ids=self.ids,
            config=self.config,
            presences=self.presences,
            authenticator=self.auth,
            rate_limits=self.rate_limits,
            files=self.files,
            images=self.images,
            metrics=self.metrics,
            executor=self._heavy_executor,
            outbound=self.outbound,
            payments=self.payments,
            listeners=self.listeners,
            ports=self.ports,
            faults=self.faults,
            trace=self.trace,
            settle=None if self._relay is None else self._relay.settle,
            scanners=self.scanners,
            loop_monitor=self._loop_monitor,
            observer=self.observer,
            routes=routes,
        )
        if "api" in self.config.roles:
            http_server.set_pages(lambda: self._load_pages(http_server))
            if not self.config.control:
                # Rehearsals are started often, and few of them show a page.
                http_server.pages()
            if self.config.activities.proxy_host is not None:
                self._activities = ActivityServer(
                    config=self.config,
                    clock=self.clock,
                    metrics=self.metrics,
                    streams=self.streams,
                    rate_limits=self.rate_limits,
                    find_site=self._find_site,
                    count_running=http_server.count_running,
                )
        self._http_server = http_server
        if self.worker is not None:
            self.worker.start()
            if not self.config.control:
                # A rehearsal is copied while it waits, so it runs no periodic reads.
                self.job_queue_monitor.start()
        self._runner = http_server.runner(
            access_log=None,
            handle_signals=False,
            shutdown_timeout=SHUTDOWN_GRACE_SECONDS,
            host_handler=self._activities,
        )
        await self._runner.setup()
        ssl_context = None if self.tls is None else self.tls.context
        await web.SockSite(self._runner, sock, backlog=1024, ssl_context=ssl_context).start()

    def _load_pages(self, http_server: HttpServer) -> Pages:
        from hubbub.server.transports.web.server import WebServer

        return WebServer(
            http=http_server,
            authenticator=self.auth,
            config=self.config,
            metrics=self.metrics,
            mailbox=self.mailbox,
        ).pages()

    async def _acquire_process_number(self) -> None:
        """Acquire the lease of the process number; the embedded database admits one process and needs no lease."""
        if self.config.database_url is None:
            return
        lease = ProcessLease(self.database, self.config.worker, self._handle_fatal)
        try:
            await lease.acquire()
        except BaseException:
            await self.database.close()
            raise
        self._process_lease = lease
        self._schema_monitor.start()
        if lease.replaced_owner is not None:
            # The worker of the killed process leased jobs under the name of the owner of the lease.
            killed_worker = lease.replaced_owner
            await self.database.write(lambda tx: release_leases(tx, killed_worker))
        self.ids.require_lease = lease.require

    def _handle_fatal(self) -> None:
        if self.on_fatal is not None:
            self.on_fatal()

    async def _open_voice(self, voice_sockets: sockets.VoiceSockets) -> VoiceServer:
        if not self.config.control:
            webrtc.load_libraries()
        self.voice = VoiceServer(
            voice_sockets,
            db=self.database,
            bus=self.bus,
            clock=self.clock,
            config=self.config,
            metrics=self.metrics,
            trace=self.trace,
            rate_limits=self.rate_limits,
            tickets=voice_states.voice_server,
            make_call=self.make_call,
        )
        await self.voice.start()
        return self.voice

    async def stop(self) -> None:
        """Drain and stop: sessions receive Reconnect, requests finish, then everything closes."""
        self._operator_endpoints.is_draining = True
        if self._http_server is not None:
            self._http_server.is_draining = True
        if self.voice is not None:
            await self.voice.close()
        if self.gateway is not None:
            await self.gateway.drain()
        if self._runner is not None and self._http_server is not None:
            for site in list(self._runner.sites):
                await site.stop()
            if self.config.gateway.drain_ms and self.config.nats_url is not None:
                # A load balancer continues with other processes. The request of a connection that was just accepted has not
                # arrived yet, and is not counted as running.
                await asyncio.sleep(FIRST_REQUEST_SECONDS)
            if self._activities is not None:
                await self._activities.drain()
            # Requests get as much time as sessions.
            await self._http_server.drain(self.config.gateway.drain_ms / 1000)
            await self._runner.cleanup()
        await self.images.close()
        await self.job_queue_monitor.close()
        if self.worker is not None:
            await self.worker.stop()
        # The gateway closes after everything else that commits: it announces the node's shutdown to the other nodes.
        if self.gateway is not None:
            await self.gateway.close()
        await self.outbound.close()
        await self.streams.close()
        if self._presence_sweeper is not None:
            self._presence_sweeper.cancel()
        if self._presence_feed is not None:
            self._presence_feed.close()
        if self._relay is not None:
            await self._relay.close()
        if self._publication_log is not None:
            await self._publication_log.close()
        await self.bus.close()
        await self._id_mark.close()
        await self._schema_monitor.close()
        if self._process_lease is not None:
            await self._process_lease.release()
        await self.database.close()
        self._heavy_executor.shutdown(wait=False, cancel_futures=True)
        self._loop_monitor.stop()
        if self.observer.tracer is not None:
            await self.observer.tracer.close()

    # Functions that the transports and jobs receive

    async def _record_rejected_upload(self, rejected_upload: RejectedUpload) -> None:
        await self.database.write(lambda tx: administration.record_rejected_upload(self.make_call(tx), rejected_upload))

    def make_call(self, tx: Tx, actor: Actor | None = None) -> Call:
        """Create a call inside a transaction."""
        return Call(
            tx,
            actor=actor,
            now=self.clock.now_ms(),
            ids=self.ids,
            config=self.config,
            presences=self.presences,
            listeners=self.listeners,
            ports=self.ports,
        )

    @property
    def mailbox(self) -> Mailbox | None:
        """The mailbox of a rehearsal, or None if mail is sent or disabled."""
        return self.mailer if isinstance(self.mailer, Mailbox) else None

    def _reset_connection_state(self, call: Call) -> None:
        private_calls.reset(call)
        voice_states.reset(call)
        game_sessions.reset(call)
        activity_instances.delete_all(call)
        release_leases(call.tx)

    def publish(self, dispatches: Iterable[Dispatch]) -> None:
        """Publish the events of a commit to every node that subscribes to one of their subjects."""
        for dispatch in dispatches:
            if dispatch.event == ACTOR_CHANGED.name:
                # Handle it immediately: the bus delivers it to this process later, or much later during an outage.
                self.auth.handle_dispatch(dispatch)
            self.metrics.dispatches(dispatch.event).inc()
            if self._relay is not None:
                self._relay.record(dispatch)
            if dispatch.traceparent and self.observer.tracer is not None:
                self._publish_traced(dispatch, self.observer.tracer)
                continue
            for subject in dispatch.subjects:
                self.bus.publish(subject, dispatch)

    def _publish_traced(self, dispatch: Dispatch, tracer: Tracer) -> None:
        """Publish an event in a new span, which becomes the parent of the spans of the receiving processes."""
        span = tracer.start(f"publish {dispatch.event}", "producer", traceparent=dispatch.traceparent, is_trusted=True)
        if span is not None:
            dispatch = msgspec.structs.replace(dispatch, traceparent=span.traceparent)
        for subject in dispatch.subjects:
            self.bus.publish(subject, dispatch)
        if span is not None:
            span.end()

    def _find_session_start_limit(self, call: Call, guild_count: int) -> SessionStartLimit | None:
        return None if self.gateway is None else self.gateway.session_starts.remaining(call.user_id, guild_count)

    def _is_receiving(self) -> bool:
        """Return whether this process receives the changes of other processes, so that it may use cached tokens."""
        return self.bus.is_healthy and (self._relay is None or self._relay.is_current)

    def _wake_workers(self) -> None:
        """Notify the worker of this process of a new job; without a worker, notify those of other processes."""
        if self.worker is not None:
            self.worker.wake()
        else:
            self.bus.publish(JOBS_SUBJECT, Dispatch(event="_JOBS", body=b"", audience=NO_SESSIONS))

    def _wake_own_worker(self) -> None:
        if self.worker is not None:
            self.worker.wake()

    async def _sweep_presences(self, feed: PresenceFeed) -> None:
        while True:
            await asyncio.sleep(PRESENCE_SWEEP_SECONDS)
            feed.sweep(asyncio.get_running_loop().time())

    async def _find_asset(self, kind: str, asset_id: int) -> str | bytes | None:
        """Return the key or content of an asset of the CDN, or None."""
        find_slice_asset = next(slice_.assets[kind] for slice_ in self.slices if kind in slice_.assets)
        return await self.database.read(lambda tx: find_slice_asset(tx, asset_id))

    async def _find_site(self, application_id: int, tickets: Sequence[str]) -> ActivitySite | None:
        def find_in_transaction(tx: Tx) -> ActivitySite | None:
            return activity_proxies.find_site(self.make_call(tx), application_id, tickets)

        return await self.database.read(find_in_transaction)

    def _make_operation(self) -> AsyncOperation:
        """Create the context in which the handler of an async job runs."""
        return AsyncOperation(
            self.database,
            self.make_call,
            self._heavy_executor,
            None,
            files=self.files,
            outbound=self.outbound,
            payments=self.payments,
            mailer=self.mailer,
            perform=self._perform,
            page_reader=self.page_reader,
        )

    async def _perform(
        self, operation: Operation[Any, Any], path: Sequence[Any], content_type: str, body: bytes
    ) -> None:
        """Run an operation whose body is the response of an application to an outbound request."""
        assert self._http_server is not None
        await self._http_server.run_with_body(self.table.for_operation(operation), path, content_type, body)


@functools.cache
def _full_table() -> EndpointTable:
    """Return the table of all operations; it never changes, so all Apps of a process share it."""
    return EndpointTable(SLICES)
