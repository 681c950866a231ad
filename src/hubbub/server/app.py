"""The one place that knows everyone: it builds the core, lists the slices, opens the doors, and shuts all down in order.

Nothing here is global. Two Apps live in one process without knowing of each other.
"""

import asyncio
import contextlib
import functools
import logging
import socket
from collections.abc import Awaitable, Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import msgspec
from aiohttp import web

from hubbub.protocol.operation import Operation
from hubbub.server.core import cdn_urls
from hubbub.server.core.auth import ACTOR_CHANGED, Authenticator
from hubbub.server.core.bus import Bus, BusError, open_bus
from hubbub.server.core.call import Actor, Call
from hubbub.server.core.clock import Clock, ControlledClock, RealClock
from hubbub.server.core.config import Config
from hubbub.server.core.dispatch import Table
from hubbub.server.core.dispatches import Audience, Dispatch
from hubbub.server.core.faults import Faults
from hubbub.server.core.files import Files
from hubbub.server.core.guarded import GuardedClient
from hubbub.server.core.guarded_streams import GuardedStreams
from hubbub.server.core.images import Images
from hubbub.server.core.jobs import Job, Worker
from hubbub.server.core.logs import Secrets
from hubbub.server.core.metrics import Metrics
from hubbub.server.core.payments import PaymentProvider, open_payments
from hubbub.server.core.presences import Presences
from hubbub.server.core.rate_limits import RateLimits
from hubbub.server.core.realtime import GuildState, MemberState
from hubbub.server.core.slices import Slice
from hubbub.server.core.snowflakes import SnowflakeFactory
from hubbub.server.core.sqlite import SqliteDatabase
from hubbub.server.core.store import Database, StoreUnavailable, Tx
from hubbub.server.core.trace import Trace
from hubbub.server.core.url_maps import Site
from hubbub.server.core.work import Work
from hubbub.server.resources import (
    accounts,
    activity_instances,
    activity_links,
    activity_proxies,
    application_attachments,
    applications,
    attachments,
    audit_log,
    auto_moderation,
    bans,
    channels,
    commands,
    connections,
    developers,
    direct_messages,
    emojis,
    entitlements,
    game_sessions,
    gateway_info,
    guild_state,
    guild_tags,
    guilds,
    identities,
    identity_providers,
    incident_actions,
    installations,
    integrations,
    interactions,
    invites,
    join_requests,
    lobbies,
    lobby_calls,
    members,
    messages,
    oauth2,
    onboarding,
    pins,
    polls,
    private_calls,
    reactions,
    read_states,
    relationships,
    releases,
    role_connections,
    roles,
    scheduled_events,
    search,
    skus,
    soundboard,
    stage_instances,
    stickers,
    subscriptions,
    templates,
    threads,
    typing,
    user_messages,
    user_settings,
    users,
    vanity_urls,
    voice_regions,
    voice_states,
    webhook_events,
    webhooks,
    welcome_screens,
    widgets,
)
from hubbub.server.transports.activities import ActivityDoor
from hubbub.server.transports.cdn import Cdn
from hubbub.server.transports.discovery import Discovery
from hubbub.server.transports.gateway import Gateway, PresenceFeed
from hubbub.server.transports.http import HttpDoor
from hubbub.server.transports.voice import VoiceDoor, listening
from hubbub.server.transports.web import WebDoor

log = logging.getLogger(__name__)

SLICES: tuple[Slice, ...] = (
    users.SLICE,
    applications.SLICE,
    accounts.SLICE,
    connections.SLICE,
    identity_providers.SLICE,
    oauth2.SLICE,
    developers.SLICE,
    identities.SLICE,
    user_settings.SLICE,
    relationships.SLICE,
    game_sessions.SLICE,
    gateway_info.SLICE,
    releases.SLICE,
    guilds.SLICE,
    roles.SLICE,
    members.SLICE,
    role_connections.SLICE,
    guild_tags.SLICE,
    bans.SLICE,
    channels.SLICE,
    audit_log.SLICE,
    invites.SLICE,
    voice_states.SLICE,
    activity_instances.SLICE,
    activity_proxies.SLICE,
    activity_links.SLICE,
    voice_regions.SLICE,
    stage_instances.SLICE,
    scheduled_events.SLICE,
    templates.SLICE,
    welcome_screens.SLICE,
    onboarding.SLICE,
    vanity_urls.SLICE,
    widgets.SLICE,
    integrations.SLICE,
    incident_actions.SLICE,
    join_requests.SLICE,
    emojis.SLICE,
    stickers.SLICE,
    soundboard.SLICE,
    messages.SLICE,
    attachments.SLICE,
    application_attachments.SLICE,
    threads.SLICE,
    auto_moderation.SLICE,
    reactions.SLICE,
    pins.SLICE,
    polls.SLICE,
    search.SLICE,
    typing.SLICE,
    read_states.SLICE,
    direct_messages.SLICE,
    private_calls.SLICE,
    webhooks.SLICE,
    installations.SLICE,
    webhook_events.SLICE,
    skus.SLICE,
    entitlements.SLICE,
    subscriptions.SLICE,
    commands.SLICE,
    interactions.SLICE,
    lobbies.SLICE,
    lobby_calls.SLICE,
    user_messages.SLICE,
)

DATABASE_FILE = "hubbub.sqlite3"
"""The embedded database in the data folder,"""
FILES_FOLDER = "files"
"""and the files beside it."""

HEAVY_THREADS = 2
"""Passwords are hashed this many at a time, so that logins cannot take the whole machine."""

POLL_MS = 5_000
"""How often workers look for jobs by themselves, where other processes leave some too."""
JOBS_SUBJECT = "jobs"
"""The bus subject on which workers hear of new jobs."""
PRESENCE_SWEEP_S = 5.0
CUT_S = 1.0
"""How long a request that outlived the drain may take to notice."""
SETTLE_S = 1.0
"""How long the answer to a change of permissions waits for the bus."""


class App:
    """A running platform: store, bus, clock, files, doors."""

    def __init__(
        self,
        config: Config,
        *,
        clock: Clock | None = None,
        slices: tuple[Slice, ...] = SLICES,
        payments: PaymentProvider | None = None,
    ) -> None:
        self.config = config
        self.clock = clock or _clock(config)
        self.slices = slices
        self.metrics = Metrics()
        self.ids = SnowflakeFactory(self.clock, worker=config.worker)
        self.presences = Presences()
        self.database = _database(config)
        self.database.metrics = self.metrics
        self.bus: Bus[Dispatch] = open_bus(
            config.nats_url,
            Dispatch,
            metrics=self.metrics,
            prefix=config.bus.prefix,
            max_pending_bytes=config.bus.max_pending_bytes,
        )
        self.files = _files(config)
        self.images = Images()
        self.outside = GuardedClient(allow_private=config.private_targets)
        self.streams = GuardedStreams(allow_private=config.private_targets)
        self.payments = payments or open_payments(config.payments, rehearsal=config.control)
        self.auth = Authenticator(self.database, self.clock, hears=lambda: self.bus.healthy)
        self.listeners = _listeners(slices)
        self.rate_limits = RateLimits(
            self.clock.now_ms,
            config.rate_limits,
            global_calls=config.http.global_requests,
            invalid_calls=config.http.invalid_requests,
            invalid_window_ms=config.http.invalid_requests_window_ms,
            caps=config.approval_caps,
        )
        self.table = _whole_table() if slices is SLICES else Table(slices)
        self.faults = Faults()
        self.trace = Trace()
        self.routes: list[web.RouteDef] = []
        """What is served beside the doors (the control API); filled before `start`."""
        self.gateway: Gateway | None = None
        self.voice: VoiceDoor | None = None
        self.worker: Worker | None = None
        self._presence_feed: PresenceFeed | None = None
        self._watching: asyncio.Task[None] | None = None
        self._heavy = ThreadPoolExecutor(HEAVY_THREADS, thread_name_prefix="hubbub-heavy")
        self._door: HttpDoor | None = None
        self._activities: ActivityDoor | None = None
        self._runner: web.AppRunner | None = None
        self._draining = False

    # Life

    async def start(self, sock: socket.socket | None = None) -> None:
        """Open everything, and accept connections on the configured address (or on the socket given)."""
        sock = sock or _listen(self.config)
        if self.config.public_url is None:
            host, port = sock.getsockname()[:2]
            shown = f"[{host}]" if ":" in host else host
            self.config = msgspec.structs.replace(self.config, public_url=f"http://{shown}:{port}")
        listens = listening.listen(self.config) if listening.is_open(self.config) else None
        endpoint = None if listens is None else listens.endpoint
        self.config = msgspec.structs.replace(
            self.config, voice=msgspec.structs.replace(self.config.voice, endpoint=endpoint)
        )
        self.database.on_commit = self.publish
        await self.database.start()
        await self.bus.start()
        self.bus.subscribe("nodes", self.auth.hear)
        self.bus.on_gap(self.auth.forget_all)
        if self.config.nats_url is None:
            # Alone, so nobody is connected yet: what a killed process left behind is over.
            await self.database.write(lambda tx: self._nobody_is_here(self.make_call(tx)))
        routes: list[web.RouteDef] = [
            web.get("/healthz", self._healthz),
            web.get("/readyz", self._readyz),
            web.get("/metrics", self._metrics),
            *Discovery(self.config).routes(),
            *self.routes,
        ]
        routes += Cdn(
            files=self.files,
            images=self.images,
            clock=self.clock,
            find_key=lambda: self.database.read(cdn_urls.find_key),
            find_asset=self._find_asset,
        ).routes()
        if listens is not None:
            await self._open_voice(listens)
        if "gateway" in self.config.roles:
            self.gateway = Gateway(
                db=self.database,
                bus=self.bus,
                clock=self.clock,
                config=self.config,
                metrics=self.metrics,
                ids=self.ids,
                presences=self.presences,
                source=Source(),
                slices=self.slices,
                authenticate=self.auth.by_token,
                listeners=self.listeners,
                faults=self.faults,
                trace=self.trace,
                rate_limits=self.rate_limits,
            )
            await self.gateway.start()
            self.listeners[gateway_info.SessionStartsAsked] = [self._tell_session_starts]
            routes += [web.get("/gateway", self.gateway.handle), web.get("/gateway/", self.gateway.handle)]
        else:
            # Operations ask who is online here too.
            self._presence_feed = PresenceFeed(self.bus, self.clock, self.presences)
            self._presence_feed.start()
            self._watching = asyncio.get_running_loop().create_task(self._watch_presences(self._presence_feed))
        self.database.on_wake = self._wake_workers
        if "worker" in self.config.roles:
            # A process that dies between a commit and its word to us leaves jobs that nobody speaks of. Not where the clock
            # may leap over days.
            poll_ms = POLL_MS if self.config.database_url is not None and not self.config.control else None
            self.worker = Worker(self.database, self.clock, self._jobs(), metrics=self.metrics, poll_ms=poll_ms)
            self.bus.subscribe(JOBS_SUBJECT, lambda _: self._wake_own_worker())
            self.bus.on_gap(self._wake_own_worker)
        door = HttpDoor(
            table=self.table if "api" in self.config.roles else Table(()),
            db=self.database,
            clock=self.clock,
            ids=self.ids,
            config=self.config,
            presences=self.presences,
            authenticator=self.auth,
            rate_limits=self.rate_limits,
            files=self.files,
            images=self.images,
            metrics=self.metrics,
            executor=self._heavy,
            outside=self.outside,
            payments=self.payments,
            listeners=self.listeners,
            faults=self.faults,
            trace=self.trace,
            settle=None if self.config.nats_url is None else self._settle,
            routes=routes,
        )
        if "api" in self.config.roles:
            web_door = WebDoor(http=door, authenticator=self.auth, config=self.config, metrics=self.metrics)
            door.serve(web_door.routes(), lost=web_door.lost)
            if self.config.activities.proxy_host is not None:
                self._activities = ActivityDoor(
                    config=self.config,
                    clock=self.clock,
                    metrics=self.metrics,
                    streams=self.streams,
                    find_site=self._find_site,
                    busy=door.busy,
                )
        self._door = door
        if self.worker is not None:
            self.worker.start()
        self._runner = door.runner(
            access_log=None, handle_signals=False, shutdown_timeout=CUT_S, elsewhere=self._activities
        )
        await self._runner.setup()
        await web.SockSite(self._runner, sock, backlog=1024).start()

    async def _open_voice(self, listens: listening.Listening) -> None:
        self.voice = VoiceDoor(
            listens,
            db=self.database,
            bus=self.bus,
            clock=self.clock,
            config=self.config,
            metrics=self.metrics,
            source=voice_states.tickets,
            make_call=self.make_call,
        )
        await self.voice.start()

    async def stop(self) -> None:
        """Drain: sessions are told to reconnect elsewhere, requests finish, then everything closes."""
        self._draining = True
        if self.voice is not None:
            await self.voice.close()
        if self.gateway is not None:
            await self.gateway.drain()
        if self._runner is not None and self._door is not None:
            for site in list(self._runner.sites):
                await site.stop()
            if self._activities is not None:
                await self._activities.drain()
            # Requests are given as long as sessions are.
            await self._door.drain(self.config.gateway.drain_ms / 1000)
            await self._runner.cleanup()
        await self.images.close()
        if self.worker is not None:
            await self.worker.stop()
        # Last of those who commit something: with its sessions the node takes leave of the others.
        if self.gateway is not None:
            await self.gateway.close()
        await self.outside.close()
        await self.streams.close()
        if self._watching is not None:
            self._watching.cancel()
        if self._presence_feed is not None:
            self._presence_feed.close()
        await self.bus.close()
        await self.database.close()
        self._heavy.shutdown(wait=False, cancel_futures=True)

    # What the doors use

    def make_call(self, tx: Tx, actor: Actor | None = None, **more: Any) -> Call:
        """A call inside a transaction."""
        return Call(
            tx,
            actor=actor,
            now=self.clock.now_ms(),
            ids=self.ids,
            config=self.config,
            presences=self.presences,
            listeners=self.listeners,
            **more,
        )

    def _nobody_is_here(self, call: Call) -> None:
        private_calls.reset(call)
        voice_states.reset(call)
        game_sessions.reset(call)
        activity_instances.reset(call)

    def publish(self, dispatches: Iterable[Dispatch]) -> None:
        """Send what a commit said to every node that is interested."""
        for dispatch in dispatches:
            if dispatch.event == ACTOR_CHANGED.name:
                # Here at once: the bus brings it back later, or much later when it is away.
                self.auth.hear(dispatch)
            self.metrics.dispatches(dispatch.event).inc()
            for subject in dispatch.subjects:
                self.bus.publish(subject, dispatch)

    def _tell_session_starts(self, _: Call, asked: gateway_info.SessionStartsAsked) -> None:
        if self.gateway is not None:
            asked.limit = self.gateway.starts.left(asked.user_id, asked.guilds)

    async def _settle(self) -> None:
        """Return once the bus has what was said so far; soon if it is away, for then every node reads anew afterwards."""
        if self.bus.healthy:
            with contextlib.suppress(BusError, TimeoutError):
                async with asyncio.timeout(SETTLE_S):
                    await self.bus.flush()

    def _wake_workers(self) -> None:
        """A job was left: some worker, here or elsewhere, looks now."""
        if self.worker is not None:
            self.worker.wake()
        else:
            self.bus.publish(JOBS_SUBJECT, Dispatch(event="_JOBS", body=b"", audience=Audience()))

    def _wake_own_worker(self) -> None:
        if self.worker is not None:
            self.worker.wake()

    async def _watch_presences(self, feed: PresenceFeed) -> None:
        while True:
            await asyncio.sleep(PRESENCE_SWEEP_S)
            feed.sweep(asyncio.get_running_loop().time())

    async def _find_asset(self, kind: str, asset_id: int) -> str | bytes | None:
        find = next(part.assets[kind] for part in self.slices if kind in part.assets)
        return await self.database.read(lambda tx: find(tx, asset_id))

    async def _find_site(self, application_id: int, tickets: Sequence[str]) -> Site | None:
        def find(tx: Tx) -> Site | None:
            return activity_proxies.find_site(self.make_call(tx), application_id, tickets)

        return await self.database.read(find)

    def _jobs(self) -> dict[str, Callable[..., Any]]:
        handlers: dict[str, Callable[..., Any]] = {}
        for part in self.slices:
            for kind, function in part.jobs.items():
                waits = asyncio.iscoroutinefunction(function)
                handlers[kind] = self._in_work(function) if waits else self._in_call(function)
        return handlers

    def _in_call(self, function: Callable[[Call, Job], None]) -> Callable[[Tx, Job], None]:
        def run(tx: Tx, job: Job) -> None:
            function(self.make_call(tx), job)

        return run

    def _in_work(self, function: Callable[[Work, Job], Awaitable[None]]) -> Callable[[Job], Awaitable[None]]:
        async def run(job: Job) -> None:
            work = Work(
                self.database,
                self.make_call,
                self._heavy,
                None,
                files=self.files,
                outside=self.outside,
                payments=self.payments,
                perform=self._perform,
            )
            await function(work, job)

        return run

    async def _perform(
        self, operation: Operation[Any, Any], path: Sequence[Any], content_type: str, data: bytes
    ) -> None:
        assert self._door is not None
        await self._door.perform(self.table.of(operation), path, content_type, data)

    # For operators

    async def _healthz(self, _: web.Request) -> web.Response:
        return web.Response(text="ok\n")

    async def _readyz(self, _: web.Request) -> web.Response:
        problems = []
        if self._draining:
            problems.append("draining")
        if not self.bus.healthy:
            problems.append("bus")
        try:
            await self.database.check()
        except Exception:
            log.warning("the store is not ready", exc_info=True)
            problems.append("store")
        return web.Response(
            text=f"not ready: {', '.join(problems)}\n" if problems else "ready\n", status=503 if problems else 200
        )

    async def _metrics(self, _: web.Request) -> web.Response:
        return web.Response(
            body=self.metrics.render(), headers={"Content-Type": "text/plain; version=0.0.4; charset=utf-8"}
        )


class Source:
    """What the gateway reads the world with."""

    def guild_state(self, tx: Tx, guild_id: int) -> GuildState | None:
        """The guild, or None when it is gone."""
        return guild_state.state(tx, guild_id)

    def member_states(self, tx: Tx, guild_id: int, users: Iterable[int]) -> dict[int, MemberState]:
        """The named users' membership."""
        return guild_state.member_states(tx, guild_id, users)

    def guild_ids(self, tx: Tx, user_id: int) -> list[int]:
        """The guilds a user is in."""
        return guild_state.guild_ids(tx, user_id)

    def guild_count(self, tx: Tx, user_id: int) -> int:
        """How many guilds a user is in."""
        return guilds.count_of_user(tx, user_id)

    def guild_names(self, tx: Tx, guild_ids: Iterable[int]) -> dict[int, str]:
        """What guilds are called."""
        return {row.id: row.name for row in guilds.find_many(tx, list(guild_ids)).values()}

    def friends(self, tx: Tx, user_id: int) -> list[tuple[int, int]]:
        """A user's friends, each behind the family of games they are friends in."""
        return relationships.friends(tx, user_id)

    def families(self, tx: Tx, user_id: int) -> set[int]:
        """The families of games that a user plays."""
        return relationships.Cast(tx, [user_id]).families(user_id)


async def _to_store(request: web.Request) -> web.Response:
    """What the store link shows: the same that the API tells of it."""
    named = request.match_info
    sku = f"/{named['sku_id']}" if "sku_id" in named else ""
    raise web.HTTPFound(f"/api/v10/applications/{named['application_id']}/store{sku}")


@functools.cache
def _whole_table() -> Table:
    """Every operation there is; nothing in it changes, so all Apps of a process look into the same one."""
    return Table(SLICES)


def _clock(config: Config) -> Clock:
    if config.control:
        real = RealClock().now_ms()
        return ControlledClock(config.now_ms if config.now_ms is not None else real)
    return RealClock()


def _database(config: Config) -> Database:
    if config.database_url is not None:
        # Here and not above: the embedded default starts without the PostgreSQL library.
        from hubbub.server.core.postgres import PostgresDatabase

        return PostgresDatabase(config.database_url)
    if config.data is None:
        return SqliteDatabase(None)
    folder = Path(config.data)
    try:
        # Messages and addresses of people are in it: whoever else has an account on this machine does not read them.
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise StoreUnavailable(f"the data folder {folder} cannot be used: {error.strerror}") from error
    return SqliteDatabase(folder / DATABASE_FILE, cache_bytes=config.database_cache_bytes)


def _files(config: Config) -> Files:
    url = config.files_url
    if url is None:
        url = "memory://" if config.data is None else str(Path(config.data) / FILES_FOLDER)
    try:
        return Files(url)
    except OSError as error:
        raise StoreUnavailable(f"files cannot be kept at {Secrets().clean(url)}: {error.strerror or error}") from error


def _listeners(slices: tuple[Slice, ...]) -> dict[type, list[Callable[[Call, Any], None]]]:
    found: dict[type, list[Callable[[Call, Any], None]]] = {}
    for part in slices:
        for fact, listener in part.hears.items():
            found.setdefault(fact, []).append(listener)
    return found


def _listen(config: Config) -> socket.socket:
    family = socket.AF_INET6 if ":" in config.host else socket.AF_INET
    sock = socket.socket(family, socket.SOCK_STREAM)
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    sock.bind((config.host, config.port))
    sock.setblocking(False)
    return sock
