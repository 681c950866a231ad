"""Handlers of `control.traffic`, for the console: traffic, sending entries again, dated changes, the world and links.

The traffic is also available as a stream of server-sent events.
"""

import asyncio
import ssl
from collections.abc import AsyncIterator, Callable
from contextlib import aclosing
from typing import Final, Protocol

import aiohttp
import msgspec
from aiohttp import web

from hubbub.protocol import changes, codec, errors
from hubbub.protocol.control import traffic as models
from hubbub.protocol.control.faults import SessionState
from hubbub.protocol.control.trace import ExplainedRequest, Outcome
from hubbub.protocol.control.traffic import TrafficEntry
from hubbub.protocol.ids import ChannelId, GuildId, UserId
from hubbub.server.app import App
from hubbub.server.control import request_copies
from hubbub.server.control.console import Console
from hubbub.server.control.request_copies import WorldActor
from hubbub.server.control.secret_masks import Masker
from hubbub.server.control.snapshots import Snapshots
from hubbub.server.core.batches import batches
from hubbub.server.core.clock import ControlledClock
from hubbub.server.core.store import Tx
from hubbub.server.core.trace import TracedRejection
from hubbub.server.core.traffic import BODY_BYTES_MAX, TrafficContent, TrafficRecord
from hubbub.server.places import channels, guilds, members
from hubbub.server.transports.http import decoding
from hubbub.server.transports.http.request_trace import REPLAY_HEADER
from hubbub.server.worlds import BuiltWorld

STREAM_PATH: Final = "/control/traffic/stream"
KEEP_ALIVE_SECONDS: Final = 15.0
"""Seconds of silence after which the stream sends a comment, so that a lost connection is noticed."""
LINGER_SECONDS: Final = 60.0
"""Seconds for which recording continues after the last reader left, so that a reader that reconnects misses nothing."""
STREAM_BATCH_MAX: Final = 500
"""Maximum number of entries in one event of the stream."""
REPLAY_TIMEOUT_SECONDS: Final = 30.0

_STREAM_HEADERS: Final = {
    "Content-Type": "text/event-stream",
    "Cache-Control": "no-store",
    "X-Content-Type-Options": "nosniff",
    "X-Accel-Buffering": "no",
}


class TracedPlatform(Protocol):
    """The part of the control API that the traffic uses."""

    app: App
    clock: ControlledClock
    token: str
    built_world: BuiltWorld
    console: Console
    snapshots: Snapshots

    def refuse(self, request: web.Request) -> web.StreamResponse | None:
        """Return the error response to a request that is not authorized, or None for an authorized request."""

    def respond_with_error(self, request: web.Request, error: errors.ApiError) -> web.StreamResponse:
        """Return an error as a response in the format of the API."""

    async def explain(self, rejected_requests: list[TracedRejection]) -> list[ExplainedRequest]:
        """Return rejected requests with their causes."""

    async def list_sessions(self) -> list[SessionState]:
        """Return the gateway sessions, connected or resumable."""


class TrafficApi:
    """The traffic, the world, the dated changes and the links to the console of one platform."""

    def __init__(self, control: TracedPlatform) -> None:
        self._control = control
        self._app = control.app
        self._traffic = control.app.trace.traffic
        self._reader_count = 0
        self._stays_on = False
        """Whether recording was turned on explicitly, so that it does not end with the last reader."""
        self._turn_off_timer: asyncio.TimerHandle | None = None
        self._http: aiohttp.ClientSession | None = None

    async def close(self) -> None:
        """Stop recording and close connections."""
        self._traffic.is_enabled = False
        if self._turn_off_timer is not None:
            self._turn_off_timer.cancel()
        if self._http is not None:
            await self._http.close()

    def routes(self) -> list[web.RouteDef]:
        """Return the route of the stream, which is not an operation with a JSON response."""
        return [web.get(STREAM_PATH, self._stream)]

    # Recording

    def keep_on(self) -> None:
        """Record the traffic until it is turned off."""
        self._stays_on = True
        self._turn_on()

    def _turn_on(self) -> None:
        # The trace determines the recipients of events.
        self._app.trace.is_enabled = True
        self._traffic.is_enabled = True

    def _add_reader(self) -> None:
        self._reader_count += 1
        if self._turn_off_timer is not None:
            self._turn_off_timer.cancel()
            self._turn_off_timer = None
        self._turn_on()

    def _remove_reader(self) -> None:
        self._reader_count -= 1
        if not self._reader_count and not self._stays_on:
            loop = asyncio.get_running_loop()
            self._turn_off_timer = loop.call_later(LINGER_SECONDS, self._turn_off)

    def _turn_off(self) -> None:
        self._turn_off_timer = None
        if not self._reader_count and not self._stays_on:
            self._traffic.is_enabled = False

    async def set_traffic(self, body: models.SetTraffic) -> models.TrafficState:
        """Turn the recording of traffic on or off."""
        self._stays_on = body.on
        if body.on:
            self._turn_on()
        else:
            self._turn_off()
        return models.TrafficState(on=self._traffic.is_enabled, last_id=self._traffic.last_id)

    async def clear_traffic(self) -> None:
        """Remove all entries of the traffic."""
        self._traffic.clear()

    # Reading

    async def list_traffic(self, query: models.TrafficQuery) -> list[TrafficEntry]:
        """List entries of the traffic, oldest first."""
        matches = _matcher(query)
        entries = [record.entry for record in self._traffic.after(query.after) if matches(record)]
        return entries[-query.limit :]

    async def _stream(self, request: web.Request) -> web.StreamResponse:
        """Send entries as server-sent events; `Last-Event-ID` or `after` is the last entry that the client has."""
        refusal = self._control.refuse(request)
        if refusal is not None:
            return refusal
        fields = decoding.split_fields(request.rel_url.raw_query_string)
        try:
            query = decoding.convert_fields(fields, models.TrafficQuery)
        except errors.ApiError as error:
            return self._control.respond_with_error(request, error)
        last_event_id = request.headers.get("Last-Event-ID", "")
        last_id = int(last_event_id) if last_event_id.isdecimal() else query.after
        if last_id > self._traffic.last_id:
            # The client has entries of an earlier process.
            last_id = 0
        response = web.StreamResponse(headers=_STREAM_HEADERS)
        self._add_reader()
        try:
            await response.prepare(request)
            await response.write(b"retry: 1000\n\n")
            async for stream_event in self._iter_stream_events(last_id, _matcher(query)):
                await response.write(stream_event)
        except ConnectionError:
            pass  # The client has left.
        finally:
            self._remove_reader()
        return response

    async def _iter_stream_events(self, last_id: int, matches: Callable[[TrafficRecord], bool]) -> AsyncIterator[bytes]:
        """Yield events of the stream, and a comment after each silence."""
        async with aclosing(self._traffic.follow(last_id)) as record_lists:
            next_records: asyncio.Task[list[TrafficRecord]] | None = None
            try:
                while True:
                    next_records = next_records or asyncio.ensure_future(anext(record_lists))
                    done, _ = await asyncio.wait((next_records,), timeout=KEEP_ALIVE_SECONDS)
                    if not done:
                        yield b": keep-alive\n\n"
                        continue
                    records, next_records = next_records.result(), None
                    for batch in batches(records, STREAM_BATCH_MAX):
                        missed_count = batch[0].entry.id - last_id - 1
                        last_id = batch[-1].entry.id
                        body = codec.encode([record.entry for record in batch if matches(record)])
                        yield b'id: %d\ndata: {"missed":%d,"entries":%b}\n\n' % (last_id, missed_count, body)
            finally:
                if next_records is not None:
                    next_records.cancel()
                    await asyncio.gather(next_records, return_exceptions=True)

    async def get_traffic_entry(self, entry_id: str, query: models.RevealQuery) -> models.TrafficDetails:
        """Return an entry of the traffic with its payload; secrets are masked by default."""
        record = self._require_record(entry_id)
        entry, content = record.entry, record.content
        masker = Masker(() if query.reveal else self._known_secrets())

        def show(body: bytes) -> str:
            return body.decode("utf-8", "replace") if query.reveal else masker.mask_body(body)

        path = content.path if query.reveal else masker.mask_text(content.path)
        headers = dict(content.headers) if query.reveal else masker.mask_headers(content.headers)
        response = None
        if entry.status is not None and content.method:
            response_headers = dict(content.response_headers)
            response = models.TrafficMessage(
                headers=response_headers if query.reveal else masker.mask_headers(response_headers),
                body=show(content.response_body),
            )
        body = show(content.body)
        return models.TrafficDetails(
            entry=entry,
            method=content.method,
            path=path,
            request=models.TrafficMessage(headers=headers, body=body),
            response=response,
            outcomes=[self._named_outcome(outcome) for outcome in content.outcomes],
            cause=await self._find_cause(record),
            can_replay=_can_replay(record),
            copies=self._make_copies(record, path, headers, body),
        )

    def _named_outcome(self, outcome: Outcome) -> models.NamedOutcome:
        sender = self._find_actor(outcome.user_id)
        name = str(int(outcome.user_id)) if sender is None else sender.name
        return models.NamedOutcome(
            session_id=outcome.session_id, user_id=outcome.user_id, outcome=outcome.outcome, name=name
        )

    def _make_copies(self, record: TrafficRecord, path: str, headers: dict[str, str], body: str) -> models.Copies:
        entry, content = record.entry, record.content
        if content.dispatch is not None:
            recipients = [self._find_actor(outcome.user_id) for outcome in content.outcomes if outcome.delivered]
            recipient = next((recipient for recipient in recipients if recipient is not None), None)
            person = next((recipient for recipient in recipients if recipient and not recipient.is_bot), None)
            return models.Copies(
                curl=None,
                python=request_copies.python_test(entry, content, path, body, recipient),
                javascript=request_copies.javascript_test(entry, content, path, body, person),
            )
        if not content.method or entry.kind == "control":
            return models.Copies(curl=None, python=None, javascript=None)
        if entry.direction == "out":
            return models.Copies(
                curl=request_copies.curl_command(content, path, headers, body), python=None, javascript=None
            )
        actor = None if entry.user_id is None else self._find_actor(entry.user_id)
        return models.Copies(
            curl=request_copies.curl_command(content, self._app.config.web_url + path, headers, body),
            python=request_copies.python_test(entry, content, path, body, actor),
            javascript=request_copies.javascript_test(entry, content, path, body, actor),
        )

    def _find_actor(self, user_id: int) -> WorldActor | None:
        built_world = self._control.built_world
        for name, user in built_world.users.items():
            if user.id == user_id:
                return WorldActor(name, False)
        for name, application in built_world.applications.items():
            if application.bot is not None and application.bot.id == user_id:
                return WorldActor(name, True)
        return None

    def _known_secrets(self) -> list[str]:
        built_world = self._control.built_world
        secrets = [self._control.token]
        for user in built_world.users.values():
            secrets += [user.token, user.password]
        for application in built_world.applications.values():
            secrets.append(application.client_secret)
            if application.bot is not None:
                secrets.append(application.bot.token)
        return secrets

    async def _find_cause(self, record: TrafficRecord) -> str | None:
        """Return why a request was rejected, in the current state, or None."""
        entry, content = record.entry, record.content
        if entry.direction != "in" or (entry.status or 0) < 400 or not content.route:
            return None
        rejected_request = TracedRejection(
            number=0,
            at=entry.at,
            method=content.method,
            route=content.route,
            parameters=dict(content.parameters),
            user_id=entry.user_id,
            status=entry.status or 0,
            body=msgspec.Raw(content.response_body or b"null"),
            denial=content.denial,
        )
        [explained_request] = await self._control.explain([rejected_request])
        return explained_request.cause

    def _require_record(self, entry_id: str) -> TrafficRecord:
        record = self._traffic.find(int(entry_id)) if entry_id.isdecimal() and len(entry_id) < 16 else None
        if record is None:
            raise errors.NOT_FOUND(message="Unknown entry, or it was removed because newer entries took its place")
        return record

    # Sending again

    async def replay_traffic_entry(self, entry_id: str) -> models.ReplayResult:
        """Send a request again as the same caller, or publish an event again to the same audience."""
        record = self._require_record(entry_id)
        if not _can_replay(record):
            raise errors.BAD_REQUEST(
                message="Only requests to the API with a complete body, and events, can be replayed"
            )
        content = record.content
        if content.dispatch is not None:
            # Without a stamp no session treats the event as part of its initial state.
            self._app.publish([msgspec.structs.replace(content.dispatch, stamp=0)])
            return models.ReplayResult(status=None)
        headers = {**content.headers, REPLAY_HEADER: entry_id}
        try:
            async with self._client().request(
                content.method,
                f"{self._app.config.web_url}{content.path}",
                headers=headers,
                data=content.body or None,
                allow_redirects=False,
            ) as response:
                await response.read()
                return models.ReplayResult(status=response.status)
        except (aiohttp.ClientError, TimeoutError) as error:
            raise errors.BAD_REQUEST(
                message=f"The request could not be sent: {error or type(error).__name__}"
            ) from error

    def _client(self) -> aiohttp.ClientSession:
        if self._http is None:
            tls = self._app.tls
            context = True if tls is None else ssl.create_default_context(cafile=tls.authority)
            self._http = aiohttp.ClientSession(
                cookie_jar=aiohttp.DummyCookieJar(),
                connector=aiohttp.TCPConnector(ssl=context),
                timeout=aiohttp.ClientTimeout(total=REPLAY_TIMEOUT_SECONDS),
            )
        return self._http

    # World and time

    async def list_changes(self) -> list[models.DatedChange]:
        """List the dated changes of the platform's behavior, oldest first."""
        now_ms = self._control.clock.now_ms()
        return [
            models.DatedChange(
                name=change.name,
                at=codec.timestamp(change.at_ms),
                at_ms=change.at_ms,
                before=change.before,
                after=change.after,
                active=change.is_active(now_ms),
            )
            for change in sorted(changes.ALL.values(), key=lambda change: change.at_ms)
        ]

    async def get_world(self) -> models.WorldSummary:
        """Return the users, bots and guilds of the world, without tokens."""
        built_world = self._control.built_world
        connected_ids = {session.user_id for session in await self._control.list_sessions() if session.connected}
        users = [
            models.SummaryUser(
                id=user.id, name=name, bot=False, application_id=None, connected=user.id in connected_ids
            )
            for name, user in built_world.users.items()
        ]
        users += [
            models.SummaryUser(
                id=application.bot.id,
                name=name,
                bot=True,
                application_id=application.id,
                connected=application.bot.id in connected_ids,
            )
            for name, application in built_world.applications.items()
            if application.bot is not None
        ]
        return models.WorldSummary(
            users=users, guilds=await self._app.database.read(lambda tx: _read_guilds(tx, [user.id for user in users]))
        )

    # Links

    async def create_console_link(self) -> models.ConsoleLink:
        """Create a link that opens the console in one browser."""
        return models.ConsoleLink(url=self._control.console.create_link())

    async def create_fork_console_link(self, fork_id: str) -> models.ConsoleLink:
        """Create a link that opens the console of a fork in one browser."""
        return models.ConsoleLink(url=self._control.snapshots.require_fork(fork_id).create_console_url())

    async def create_window(self, name: str) -> models.ConsoleLink:
        """Create a link that opens the chat client as a user of the world, beside the windows of other users."""
        return models.ConsoleLink(url=self._control.console.create_window(name))


def _matcher(query: models.TrafficQuery) -> Callable[[TrafficRecord], bool]:
    """Return the function that checks whether a record meets the conditions of a query."""
    kinds = {kind for kind in query.kinds.split(",") if kind}
    text, user_id = query.text.casefold(), query.user_id

    def matches(record: TrafficRecord) -> bool:
        entry = record.entry
        return (
            (not kinds or entry.kind in kinds)
            and (not text or text in entry.summary.casefold())
            and (user_id is None or entry.user_id == user_id or _concerns(record.content, user_id))
            and (not query.failed or _has_failed(entry))
        )

    return matches


def _concerns(content: TrafficContent, user_id: UserId) -> bool:
    return any(outcome.user_id == user_id for outcome in content.outcomes)


def _has_failed(entry: TrafficEntry) -> bool:
    return (entry.status or 0) >= 400 or bool(entry.missed) or (entry.direction == "out" and entry.note is not None)


def _can_replay(record: TrafficRecord) -> bool:
    """Return whether an entry can be sent again: an event, or a request to the API whose body is complete."""
    entry, content = record.entry, record.content
    if content.dispatch is not None:
        return True
    is_complete = len(content.body) < BODY_BYTES_MAX
    return entry.direction == "in" and content.path.startswith("/api") and is_complete


def _read_guilds(tx: Tx, user_ids: list[UserId]) -> list[models.SummaryGuild]:
    """Return the guilds that any of the users is a member of, ordered by ID."""
    member_ids_by_guild: dict[int, list[UserId]] = {}
    for user_id in user_ids:
        for guild_id, *_ in members.list_memberships(tx, user_id):
            member_ids_by_guild.setdefault(guild_id, []).append(user_id)
    return [
        models.SummaryGuild(
            id=GuildId(guild_id),
            name=row.name,
            owner_id=UserId(row.owner_id),
            channels=[
                models.SummaryChannel(id=ChannelId(channel.id), name=channel.name or "", type=int(channel.type))
                for channel in channels.list_guild_channels(tx, guild_id)
            ],
            member_ids=member_ids_by_guild[guild_id],
        )
        for guild_id, row in sorted(guilds.find_many(tx, member_ids_by_guild).items())
    ]
