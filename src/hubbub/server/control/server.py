"""The control API: authorization, decoding of requests, responses, and the handlers of its operations."""

import asyncio
import hmac
import logging
import secrets
from collections import Counter
from collections.abc import Callable
from functools import cache, partial
from types import NoneType
from typing import Any, Final, TypeVar

from aiohttp import web
from msgspec import UNSET

from hubbub.protocol import codec, errors
from hubbub.protocol.control.clock import AdvanceClock, ClockState, SetClock
from hubbub.protocol.control.faults import (
    SETTLE,
    ActiveFault,
    Fault,
    FaultResult,
    GatewayFault,
    HttpFault,
    SessionState,
)
from hubbub.protocol.control.identities import CreateCredential, Credential, LinkPublisher
from hubbub.protocol.control.mail import MailQuery, ReceivedMail
from hubbub.protocol.control.rate_limits import RateLimitReport
from hubbub.protocol.control.ready import ReadyDocument, WorldUser
from hubbub.protocol.control.report import LintReport
from hubbub.protocol.control.snapshots import CreateFork, Fork, ForkState, SnapshotState
from hubbub.protocol.control.trace import ExplainedRequest, SetTrace, TraceQuery, TraceState
from hubbub.protocol.control.users import BanUser, CreateUser, Token
from hubbub.protocol.control.worlds import LOAD_WORLD, LoadWorldQuery, World
from hubbub.protocol.errors import ApiError
from hubbub.protocol.ids import EPOCH_MS, LATEST_MS, ApplicationId, UserId
from hubbub.protocol.operation import Operation
from hubbub.protocol.resources.interactions import INTERACTION_FAILURE
from hubbub.server import worlds
from hubbub.server.app import App
from hubbub.server.control import openapi, request_checks
from hubbub.server.control.causes import Causes
from hubbub.server.control.console import Console
from hubbub.server.control.emulated_providers import EmulatedProviders
from hubbub.server.control.lint import Linter, find_webhook_id, is_late_response
from hubbub.server.control.operations import CONTROL_TAG, PEOPLE_TAG, TRAFFIC_TAG, list_operations
from hubbub.server.control.people import People, run_action
from hubbub.server.control.secret_masks import mask_tokens
from hubbub.server.control.snapshots import Snapshots
from hubbub.server.control.traffic_api import TrafficApi
from hubbub.server.control.try_it import TryIt
from hubbub.server.core import auth
from hubbub.server.core.call import Call
from hubbub.server.core.clock import ControlledClock
from hubbub.server.core.endpoints import Endpoint, build_endpoint
from hubbub.server.core.faults import ACTIVE_FAULTS_MAX
from hubbub.server.core.mail import Mailbox
from hubbub.server.core.store import StoreUnavailable
from hubbub.server.core.trace import TracedRejection
from hubbub.server.core.traffic import TrafficContent, TrafficStart
from hubbub.server.identity import accounts, applications, identities, users
from hubbub.server.play import interactions
from hubbub.server.ready_document import build_document, build_user
from hubbub.server.talk import webhooks
from hubbub.server.transports.http import request_limits, responses
from hubbub.server.transports.http.aiohttp_adapter import cancel_on_disconnect
from hubbub.server.worlds import BuiltWorld, WorldError
from hubbub.server.worlds.builder import BuiltUser

log = logging.getLogger(__name__)

BODY_BYTES_MAX: Final = 8 * 1024 * 1024
"""Size limit of a request body in bytes."""
READ_TIMEOUT_SECONDS: Final = 30.0
"""Timeout of reading a request body in seconds."""

T = TypeVar("T")


class ControlApi:
    """The control API of one App; create it before the App starts."""

    def __init__(self, app: App) -> None:
        if not app.config.control or not isinstance(app.clock, ControlledClock):
            raise ValueError("the control API needs a rehearsal: config.control and a controlled clock")
        self.app = app
        self.clock = app.clock
        self.token = app.config.control_token or secrets.token_urlsafe(32)
        self.built_world = BuiltWorld()
        """Everything built from worlds so far."""
        self.snapshots = Snapshots(self)
        self.emulated_providers = EmulatedProviders(app)
        self.people = People(app, self.token, lambda: self.built_world, self.create_user)
        self.console = Console(self)
        self.traffic_api = TrafficApi(self)
        # Clock, snapshots and worlds affect the whole platform, so only one of them runs at a time.
        self._lock = asyncio.Lock()
        app.routes.extend(self._routes())
        app.routes.extend(self.emulated_providers.routes())
        app.routes.extend(self.console.routes())
        app.routes.extend(TryIt(app.config, lambda: self.built_world).routes())
        # The first matching route handles a request.
        app.routes.append(web.route("*", "/control/{path:.*}", self._respond_to_unknown_operation))

    def create_fork_control(self, app: App) -> "ControlApi":
        """Return the control API of a fork."""
        return ControlApi(app)

    def create_console_url(self) -> str:
        """Return a link that opens the console in one browser."""
        return self.console.create_link()

    async def close(self) -> None:
        """Disconnect all people, stop recording traffic and close all forks; call it before the App stops."""
        await self.people.close()
        await self.traffic_api.close()
        await self.snapshots.close()

    def _routes(self) -> list[web.RouteDef]:
        return [
            web.get("/control/openapi.json", _respond_with_document),
            *self.traffic_api.routes(),
            *(
                web.route(
                    endpoint.operation.method, f"/control{endpoint.operation.path}", partial(self._respond, endpoint)
                )
                for endpoint in ENDPOINTS
            ),
        ]

    async def _respond(self, endpoint: Endpoint, request: web.Request) -> web.StreamResponse:
        """Authorize a request, run its handler, and return the response."""
        headers: dict[str, str] = {"Via": responses.VIA}
        received_body, start = bytearray(), self.app.trace.traffic.mark_start()
        try:
            self._authorize(request)
            encoded_response = responses.encode(
                endpoint.operation, await self._run_handler(endpoint, request, received_body)
            )
        except ApiError as error:
            encoded_response = responses.encode_error(error, headers)
        except WorldError as error:
            world_error = errors.invalid(error.path, "WORLD_INVALID", error.problem)
            encoded_response = responses.encode_error(world_error, headers)
        except StoreUnavailable:
            encoded_response = responses.encode_error(errors.UNAVAILABLE(), headers)
        except Exception:
            log.exception("%s failed", request.match_info.route.resource)
            encoded_response = responses.encode_error(errors.INTERNAL(), headers)
        is_change = request.method != "GET" and endpoint.operation is not SETTLE
        if self.app.trace.traffic.is_enabled and is_change and encoded_response.status != 401:
            self._record(endpoint, request, bytes(received_body), encoded_response, start)
        return responses.respond(request, encoded_response, headers)

    def _record(
        self,
        endpoint: Endpoint,
        request: web.Request,
        body: bytes,
        encoded_response: responses.EncodedResponse,
        start: TrafficStart,
    ) -> None:
        """Record a change through the control API in the traffic."""
        self.app.trace.traffic.add(
            TrafficContent(
                method=request.method,
                path=request.rel_url.raw_path_qs,
                route=f"/control{endpoint.operation.path}",
                headers={"Content-Type": request.headers.get("Content-Type", "")},
                body=body,
                start=start,
                response_body=encoded_response.body or b"",
            ),
            kind="control",
            direction="in",
            summary=f"{request.method} /control{endpoint.operation.path}",
            status=encoded_response.status,
        )

    async def _respond_to_unknown_operation(self, request: web.Request) -> web.StreamResponse:
        """Respond to a request that no operation handles."""
        operations = [endpoint.operation for endpoint in ENDPOINTS]
        path = request.path.removeprefix("/control")
        message = request_checks.describe_unknown_operation(request.method, path, operations)
        return self.respond_with_error(request, errors.NOT_FOUND(message=message))

    def refuse(self, request: web.Request) -> web.StreamResponse | None:
        """Return the error response to a request that is not authorized, or None for an authorized request."""
        try:
            self._authorize(request)
        except ApiError as error:
            return self.respond_with_error(request, error)
        return None

    def respond_with_error(self, request: web.Request, error: ApiError) -> web.StreamResponse:
        """Return an error as a response in the format of the API."""
        headers = {"Via": responses.VIA}
        return responses.respond(request, responses.encode_error(error, headers), headers)

    def _authorize(self, request: web.Request) -> None:
        scheme, _, token = request.headers.get("Authorization", "").partition(" ")
        token_bytes = token.strip().encode("utf-8", "replace")
        if not scheme and self.console.has_access(request):
            return
        if scheme.lower() != "bearer" or not hmac.compare_digest(token_bytes, self.token.encode()):
            raise errors.UNAUTHORIZED()

    async def _run_handler(self, endpoint: Endpoint, request: web.Request, received_body: bytearray) -> Any:
        """Decode path, query and body, and run the handler of an operation. The body is also added to `received_body`."""
        operation = endpoint.operation
        path_arguments = endpoint.read_path([request.match_info[name] for name in operation.parameters])
        query = None
        if operation.query is not NoneType:
            query = request_checks.decode_query(request.rel_url.raw_query_string, operation.query)
        body = None if operation.body is NoneType else await self._read_body(operation, request, received_body)
        arguments = endpoint.arguments(path_arguments, body, query)
        if endpoint.tag == PEOPLE_TAG:
            with cancel_on_disconnect(request):
                return await run_action(endpoint.function(self.people, *arguments))
        owner = self.traffic_api if endpoint.tag == TRAFFIC_TAG else self
        return await endpoint.function(owner, *arguments)

    async def _read_body(self, operation: Operation[Any, Any], request: web.Request, received_body: bytearray) -> Any:
        """Decode the body of a request; an empty JSON body counts as `{}`. The body is also added to `received_body`."""
        data = await request_limits.read_body(request, BODY_BYTES_MAX, READ_TIMEOUT_SECONDS)
        received_body += data
        if operation is LOAD_WORLD:
            return request_checks.decode_world(request.headers.get("Content-Type", ""), data)
        return request_checks.decode_body(data, operation.body)

    async def _run_write(self, action: Callable[[Call], T]) -> T:
        """Run an action in one transaction and return its result."""
        return await self.app.database.write(lambda tx: action(self.app.make_call(tx)))

    async def get_ready_document(self) -> ReadyDocument:
        """Return the ready document, including all worlds and users created since the start."""
        return build_document(self.app.config, self.built_world, self.token, tls=self.app.tls)

    # Clock

    async def get_clock(self) -> ClockState:
        """Return the state of the clock."""
        now_ms = self.clock.now_ms()
        return ClockState(now=codec.timestamp(now_ms), now_ms=now_ms, running=self.clock.is_running)

    async def set_clock(self, body: SetClock) -> ClockState:
        """Set the time, forward or back."""
        async with self._lock:
            await self._move_clock(_check_time("now", codec.milliseconds(body.now)))
            return await self.get_clock()

    async def advance_clock(self, body: AdvanceClock) -> ClockState:
        """Advance the clock.

        The response is sent after all work that became due has run.
        """
        async with self._lock:
            await self._move_clock(_check_time("ms", self.clock.now_ms() + body.ms))
            return await self.get_clock()

    async def _move_clock(self, now_ms: int) -> None:
        """Set the clock, run the work that became due, and let the SDK's clients read the new time."""
        await self.clock.run_until(now_ms)
        if self.app.gateway is not None:
            self.app.gateway.request_heartbeats()

    async def freeze_clock(self) -> ClockState:
        """Stop the clock."""
        self.clock.freeze()
        return await self.get_clock()

    async def resume_clock(self) -> ClockState:
        """Start the clock again."""
        self.clock.resume()
        return await self.get_clock()

    # Worlds and users

    async def load_world(self, body: World, query: LoadWorldQuery) -> ReadyDocument:
        """Load a world file.

        The body is TOML with the media type `application/toml`, or the same content as JSON.
        """
        seed = (self.app.config.seed or 0) if query.seed is UNSET else query.seed
        async with self._lock:
            built_world = await worlds.load(self.app, body, seed)
            self.built_world = self.built_world.merge(built_world)
        return build_document(self.app.config, built_world, self.token, tls=self.app.tls)

    async def create_user(self, body: CreateUser) -> WorldUser:
        """Create a user without guilds."""
        password = body.password if body.password is not None else secrets.token_urlsafe(9)
        password_hash = accounts.passwords.hash_password_weakly(password, salt=secrets.token_bytes(16))

        def create(call: Call) -> tuple[str, BuiltUser]:
            row = accounts.create_user(call, body.username, global_name=body.global_name)
            accounts.set_password(call, row.id, password_hash)
            token = auth.issue(call.tx, kind="user", user_id=row.id, now=call.now_ms, ids=call.ids)
            return row.username, BuiltUser(id=row.id, token=token, password=password)

        name, user = await self._run_write(create)
        self.built_world = self.built_world.merge(BuiltWorld(users={name: user}))
        return build_user(user)

    async def create_token(self, user_id: UserId) -> Token:
        """Create another token of a user."""

        def create(call: Call) -> Token:
            row = users.find(call.tx, user_id)
            if row is None:
                raise errors.UNKNOWN_USER()
            if row.bot:
                raise errors.BOTS_CANNOT_USE_ENDPOINT()
            token = auth.issue(call.tx, kind="user", user_id=user_id, now=call.now_ms, ids=call.ids)
            return Token(user_id=user_id, token=token)

        return await self._run_write(create)

    async def ban_user(self, user_id: UserId, body: BanUser) -> None:
        """Disable an account."""
        ends_ms = None if body.until is None else _check_time("until", codec.milliseconds(body.until))
        await self._run_write(lambda call: accounts.ban(call, user_id, ends_ms=ends_ms, reason=body.reason))

    async def unban_user(self, user_id: UserId) -> None:
        """Enable a disabled account."""

        def unban(call: Call) -> None:
            if not accounts.unban(call, user_id):
                raise errors.NOT_FOUND(message="This account is not banned")

        await self._run_write(unban)

    # Identities

    async def link_publisher(self, application_id: ApplicationId, body: LinkPublisher) -> None:
        """Link an application to its publisher."""

        def link(call: Call) -> None:
            child, parent = applications.find(call.tx, application_id), applications.find(call.tx, body.parent_id)
            if child is None or parent is None:
                raise errors.UNKNOWN_APPLICATION()
            problem = identities.find_publisher_problem(call, child, parent)
            if problem is not None:
                raise errors.BAD_REQUEST(message=problem)
            identities.join_family(call, child, parent)

        await self._run_write(link)

    async def create_credential(self, provider: str, body: CreateCredential) -> Credential:
        """Create a credential of an emulated identity provider."""
        return self.emulated_providers.create_credential(provider, body)

    async def rotate_keys(self, provider: str) -> None:
        """Rotate the signing key of an emulated identity provider."""
        self.emulated_providers.rotate_key(provider)

    # Snapshots and forks

    async def list_snapshots(self) -> list[SnapshotState]:
        """List the stored snapshots."""
        return self.snapshots.list_states()

    async def create_snapshot(self) -> SnapshotState:
        """Take a snapshot."""
        async with self._lock:
            return await self.snapshots.take()

    async def restore_snapshot(self, snapshot_id: str) -> ClockState:
        """Restore the data, files and time of a snapshot."""
        async with self._lock:
            await self.snapshots.restore(snapshot_id)
            return await self.get_clock()

    async def delete_snapshot(self, snapshot_id: str) -> None:
        """Delete a stored snapshot."""
        self.snapshots.delete(snapshot_id)

    async def list_forks(self) -> list[ForkState]:
        """List open forks."""
        return self.snapshots.list_forks()

    async def create_fork(self, body: CreateFork) -> Fork:
        """Start a fork: a platform on its own port that starts from a snapshot or the current state."""
        now_ms = None if body.now is None else _check_time("now", codec.milliseconds(body.now))
        async with self._lock:
            return await self.snapshots.create_fork(body, now_ms)

    async def delete_fork(self, fork_id: str) -> None:
        """Stop a fork."""
        await self.snapshots.close_fork(fork_id)

    # Faults

    async def list_sessions(self) -> list[SessionState]:
        """List gateway sessions."""
        if self.app.gateway is None:
            return []
        return [
            SessionState(
                session_id=session.id,
                user_id=UserId(session.user_id),
                shard=session.shard,
                intents=session.intents,
                connected=session.connection is not None,
            )
            for session in self.app.gateway.sessions
        ]

    async def list_faults(self) -> list[ActiveFault]:
        """List active faults."""
        return list(self.app.faults)

    async def create_fault(self, body: Any) -> FaultResult:
        """Add a fault."""
        fault: Fault = body
        if isinstance(fault, GatewayFault) and fault.moment == "now":
            affected_count = 0 if self.app.gateway is None else self.app.gateway.apply_fault(fault)
            return FaultResult(affected_sessions=affected_count, active_fault=None)
        if isinstance(fault, HttpFault):
            request_checks.require_operation(fault, [endpoint.operation for endpoint in self.app.table])
        if len(self.app.faults) >= ACTIVE_FAULTS_MAX:
            raise errors.BAD_REQUEST(message=f"At most {ACTIVE_FAULTS_MAX} faults can be active; delete some first")
        return FaultResult(affected_sessions=0, active_fault=self.app.faults.add(fault))

    async def delete_faults(self) -> None:
        """Remove all faults."""
        self.app.faults.clear()

    async def delete_fault(self, fault_id: str) -> None:
        """Remove a fault."""
        if not self.app.faults.remove(fault_id):
            raise errors.NOT_FOUND(message="Unknown fault")

    async def settle(self) -> None:
        """Wait until all earlier events have been delivered to the sessions."""
        if self.app.gateway is not None:
            await self.app.gateway.sessions.settle()

    # Mail

    async def list_mail(self, query: MailQuery) -> list[ReceivedMail]:
        """List the mail in the mailbox, oldest first, after all due jobs have run."""
        mailbox = self._require_mailbox()
        if self.app.worker is not None:
            await self.app.worker.run_due()
        recipient = query.to
        return [mail for mail in mailbox if recipient is None or mail.to == recipient.lower()]

    async def clear_mail(self) -> None:
        """Remove all mail."""
        self._require_mailbox().replace(())

    def _require_mailbox(self) -> Mailbox:
        if self.app.mailbox is None:
            raise errors.NOT_FOUND(
                message="Mail is sent to the server mail.host; remove this setting to keep mail here"
            )
        return self.app.mailbox

    # Trace and rate limits

    async def get_trace(self, query: TraceQuery) -> TraceState:
        """Return the delivery trace."""
        trace = self.app.trace
        rejected_requests = trace.find_rejected(user_id=query.user_id, after=query.after)
        return TraceState(
            on=trace.is_enabled,
            events=trace.find(event=query.event, user_id=query.user_id, after=query.after),
            refused=await self.explain(rejected_requests),
            closed=trace.find_closed(user_id=query.user_id, after=query.after),
        )

    async def explain(self, rejected_requests: list[TracedRejection]) -> list[ExplainedRequest]:
        """Return rejected requests with their causes."""
        if not rejected_requests:
            return []
        now_ms = self.clock.now_ms()
        names: dict[int, str] = {user.id: name for name, user in self.built_world.users.items()} | self._bot_names()
        causes = Causes(names.get)
        return await self.app.database.read(lambda tx: causes.explain_all(tx, now_ms, rejected_requests))

    def _bot_names(self) -> dict[int, str]:
        """Return the names of applications by the ID of their bot."""
        return {
            application.bot.id: name
            for name, application in self.built_world.applications.items()
            if application.bot is not None
        }

    def _application_names(self) -> dict[int, str]:
        return {application.id: name for name, application in self.built_world.applications.items()}

    async def get_report(self) -> LintReport:
        """Return problems of applications that the rehearsal found.

        They come from the rate limits, from upcoming dated changes, and from requests, sessions and events since the
        delivery trace was turned on.
        """
        explained_requests = await self.explain(self.app.trace.find_rejected())
        failure_counts = await self._count_interaction_failures()
        hits = self.app.rate_limits.report()
        webhook_ids = {webhook_id for hit in hits if (webhook_id := find_webhook_id(hit)) is not None}
        interaction_ids = {
            request.parameters["interaction_id"] for request in explained_requests if is_late_response(request)
        }
        webhook_owner_ids, interaction_owner_ids = await self.app.database.read(
            lambda tx: (webhooks.map_owner_ids(tx, webhook_ids), interactions.map_application_ids(tx, interaction_ids))
        )
        linter = Linter(self._bot_names(), self._application_names(), self.app.trace, self.clock.now_ms())
        return LintReport(
            findings=linter.find_all(
                self.app.table, hits, webhook_owner_ids, interaction_owner_ids, explained_requests, failure_counts
            ),
            used_intents=linter.list_used_intents(),
        )

    async def _count_interaction_failures(self) -> Counter[tuple[str, str | None]]:
        """Count the failed interactions since the trace was turned on by names of application and command."""
        failure_count = self.app.trace.events.get(INTERACTION_FAILURE.name, 0)
        if not failure_count:
            return Counter()
        names = self._application_names()
        counts = await self.app.database.read(lambda tx: interactions.count_failures(tx, failure_count))
        counts_by_name: Counter[tuple[str, str | None]] = Counter()
        for (application_id, command), count in counts.items():
            counts_by_name[names.get(application_id, str(application_id)), command] += count
        return counts_by_name

    async def set_trace(self, body: SetTrace) -> TraceState:
        """Turn the delivery trace on or off."""
        trace = self.app.trace
        trace.is_enabled = body.on
        return await self.get_trace(TraceQuery())

    async def clear_trace(self) -> None:
        """Remove all entries of the delivery trace."""
        self.app.trace.clear()

    async def get_rate_limits(self) -> RateLimitReport:
        """Return the requests that a rate limit rejected, or would have rejected."""
        hits = [mask_tokens(hit) for hit in self.app.rate_limits.report()]
        return RateLimitReport(mode=self.app.rate_limits.mode.value, refusals=hits)

    async def clear_rate_limits(self) -> None:
        """Reset all rate limits, and remove all entries of the rate limit report."""
        self.app.rate_limits.clear()


def _check_time(path: str, ms: int) -> int:
    """Return a time that IDs can represent; raise if it is out of range."""
    if not EPOCH_MS <= ms <= LATEST_MS:
        raise errors.invalid(path, "CLOCK_OUT_OF_RANGE", "The time must be between 2015-01-01 and 2084-01-01.")
    return ms


async def _respond_with_document(request: web.Request) -> web.StreamResponse:
    """Respond with the OpenAPI document, which needs no token."""
    return responses.respond(request, responses.EncodedResponse(200, _encode_document()), {"Via": responses.VIA})


@cache
def _encode_document() -> bytes:
    return openapi.encode_document(ENDPOINTS)


def _build_endpoints() -> list[Endpoint]:
    """Return the operations of the control API with their handlers, which have the same names."""
    owners = {CONTROL_TAG: ControlApi, PEOPLE_TAG: People, TRAFFIC_TAG: TrafficApi}
    return [
        build_endpoint(operation, getattr(owners[tag], name), name=name, tag=tag)
        for tag, name, operation in list_operations()
    ]


ENDPOINTS: Final = _build_endpoints()
"""The operations of the control API, in the order of their declaration."""
