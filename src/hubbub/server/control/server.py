"""The control API's server: authorization, request decoding, and responses in the platform's own format."""

import asyncio
import hmac
import logging
import secrets
from collections.abc import Awaitable, Callable
from functools import partial
from typing import Any, Final, TypeVar

from aiohttp import web

from hubbub.protocol import codec, errors
from hubbub.protocol.errors import ApiError
from hubbub.protocol.ids import EPOCH_MS, LATEST_MS, UserId, parse_wide
from hubbub.server import worlds
from hubbub.server.app import App
from hubbub.server.control import bodies
from hubbub.server.control.emulated_providers import CreateCredential, Credential, EmulatedProviders
from hubbub.server.control.snapshots import Snapshots
from hubbub.server.control.try_it import TryIt
from hubbub.server.core import auth
from hubbub.server.core.call import Call
from hubbub.server.core.clock import ControlledClock
from hubbub.server.core.faults import ACTIVE_FAULTS_MAX, Fault, GatewayFault, HttpFault
from hubbub.server.core.mail import Mailbox, ReceivedMail
from hubbub.server.core.store import StoreUnavailable
from hubbub.server.identity import accounts, applications, identities, users
from hubbub.server.ready_document import ReadyDocument, build_document
from hubbub.server.transports.http import decoding, request_limits, responses
from hubbub.server.worlds import BuiltWorld, WorldError
from hubbub.server.worlds.builder import BuiltUser

log = logging.getLogger(__name__)

BODY_BYTES_MAX: Final = 8 * 1024 * 1024
"""Size limit of a request body in bytes."""
READ_TIMEOUT_SECONDS: Final = 30.0
"""Timeout of reading a request body."""
TOML_TYPES: Final = frozenset({"application/toml", "text/plain", "text/x-toml"})

T = TypeVar("T")
Handler = Callable[[web.Request], Awaitable[Any]]
"""Handles a request and returns the body of the response, or None for status 204."""


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
        # Clock, snapshots and worlds affect the whole platform, so only one of them runs at a time.
        self._lock = asyncio.Lock()
        app.routes.extend(self._routes())
        app.routes.extend(self.emulated_providers.routes())
        app.routes.extend(TryIt(app.config, lambda: self.built_world).routes())

    def create_fork_control(self, app: App) -> "ControlApi":
        """Return the control API of a fork."""
        return ControlApi(app)

    async def close(self) -> None:
        """Close all forks; call it before the App stops."""
        await self.snapshots.close()

    def _routes(self) -> list[web.RouteDef]:
        table: list[tuple[str, str, Handler]] = [
            ("GET", "", self._get_ready_document),
            ("GET", "/clock", self._get_clock),
            ("POST", "/clock/set", self._set_clock),
            ("POST", "/clock/advance", self._advance_clock),
            ("POST", "/clock/freeze", self._freeze_clock),
            ("POST", "/clock/resume", self._resume_clock),
            ("POST", "/worlds", self._load_world),
            ("POST", "/users", self._create_user),
            ("POST", "/users/{user_id}/tokens", self._create_token),
            ("POST", "/users/{user_id}/ban", self._ban_user),
            ("DELETE", "/users/{user_id}/ban", self._unban_user),
            ("POST", "/applications/{application_id}/publisher", self._link_publisher),
            ("POST", "/issuers/{provider}/tokens", self._create_credential),
            ("POST", "/issuers/{provider}/rotate", self._rotate_keys),
            ("GET", "/snapshots", self._list_snapshots),
            ("POST", "/snapshots", self._create_snapshot),
            ("POST", "/snapshots/{snapshot_id}/restore", self._restore_snapshot),
            ("DELETE", "/snapshots/{snapshot_id}", self._delete_snapshot),
            ("GET", "/forks", self._list_forks),
            ("POST", "/forks", self._create_fork),
            ("DELETE", "/forks/{fork_id}", self._delete_fork),
            ("GET", "/sessions", self._list_sessions),
            ("POST", "/settle", self._settle),
            ("GET", "/faults", self._list_faults),
            ("POST", "/faults", self._create_fault),
            ("DELETE", "/faults", self._delete_faults),
            ("DELETE", "/faults/{fault_id}", self._delete_fault),
            ("GET", "/trace", self._get_trace),
            ("POST", "/trace", self._set_trace),
            ("DELETE", "/trace", self._clear_trace),
            ("GET", "/mail", self._list_mail),
            ("DELETE", "/mail", self._clear_mail),
            ("GET", "/rate-limits", self._get_rate_limits),
            ("DELETE", "/rate-limits", self._clear_rate_limits),
        ]
        return [
            web.route(method, f"/control{path}", partial(self._respond, handler)) for method, path, handler in table
        ]

    async def _respond(self, handler: Handler, request: web.Request) -> web.StreamResponse:
        """Authorize a request, run its handler, and return the response."""
        headers: dict[str, str] = {"Via": responses.VIA}
        try:
            self._authorize(request)
            result = await handler(request)
            encoded = (
                responses.EncodedResponse(204, None, "")
                if result is None
                else responses.EncodedResponse(200, codec.encode(result))
            )
        except ApiError as error:
            encoded = responses.encode_error(error, headers)
        except WorldError as error:
            invalid = errors.invalid(error.path, "WORLD_INVALID", error.problem)
            encoded = responses.encode_error(invalid, headers)
        except StoreUnavailable:
            encoded = responses.encode_error(errors.UNAVAILABLE(), headers)
        except Exception:
            log.exception("%s failed", request.match_info.route.resource)
            encoded = responses.encode_error(errors.INTERNAL(), headers)
        return responses.respond(request, encoded, headers)

    def _authorize(self, request: web.Request) -> None:
        scheme, _, token = request.headers.get("Authorization", "").partition(" ")
        token_bytes = token.strip().encode("utf-8", "replace")
        if scheme.lower() != "bearer" or not hmac.compare_digest(token_bytes, self.token.encode()):
            raise errors.UNAUTHORIZED()

    async def _read_body(self, request: web.Request, body_type: type[T] | Any) -> T:
        """Decode the body of a request as `body_type`; an empty body counts as `{}`."""
        data = await request_limits.read_body(request, BODY_BYTES_MAX, READ_TIMEOUT_SECONDS)
        body: T = decoding.decode(data or b"{}", body_type)
        return body

    async def _run_write(self, action: Callable[[Call], T]) -> T:
        """Run an action in one transaction and return its result."""
        return await self.app.database.write(lambda tx: action(self.app.make_call(tx)))

    async def _get_ready_document(self, _: web.Request) -> ReadyDocument:
        """Return the ready document, including all worlds and users created since the start."""
        return build_document(self.app.config, self.built_world, self.token, tls=self.app.tls)

    # Clock

    async def _get_clock(self, _: web.Request) -> bodies.ClockState:
        now_ms = self.clock.now_ms()
        return bodies.ClockState(now=codec.timestamp(now_ms), now_ms=now_ms, running=self.clock.is_running)

    async def _set_clock(self, request: web.Request) -> bodies.ClockState:
        body: bodies.SetClock = await self._read_body(request, bodies.SetClock)
        async with self._lock:
            await self._move_clock(_check_time("now", codec.milliseconds(body.now)))
            return await self._get_clock(request)

    async def _advance_clock(self, request: web.Request) -> bodies.ClockState:
        body: bodies.AdvanceClock = await self._read_body(request, bodies.AdvanceClock)
        async with self._lock:
            await self._move_clock(_check_time("ms", self.clock.now_ms() + body.ms))
            return await self._get_clock(request)

    async def _move_clock(self, now_ms: int) -> None:
        """Set the clock, run the work that became due, and let the SDK's clients read the new time."""
        await self.clock.run_until(now_ms)
        if self.app.gateway is not None:
            self.app.gateway.request_heartbeats()

    async def _freeze_clock(self, request: web.Request) -> bodies.ClockState:
        self.clock.freeze()
        return await self._get_clock(request)

    async def _resume_clock(self, request: web.Request) -> bodies.ClockState:
        self.clock.resume()
        return await self._get_clock(request)

    # Worlds and users

    async def _load_world(self, request: web.Request) -> ReadyDocument:
        """Load a world file, as TOML or JSON; `?seed=` determines its IDs and tokens."""
        data = await request_limits.read_body(request, BODY_BYTES_MAX, READ_TIMEOUT_SECONDS)
        media_type = request.headers.get("Content-Type", "").partition(";")[0].strip().lower()
        if media_type == responses.JSON:
            world = worlds.read_mapping(decoding.decode(data, dict[str, Any]))
        elif media_type in TOML_TYPES:
            world = worlds.read_text(data.decode("utf-8", "replace"))
        else:
            media_types = ", ".join([responses.JSON, *sorted(TOML_TYPES)])
            raise errors.INVALID_FORM_BODY(message=f'Expected "Content-Type" header to be one of {{{media_types}}}.')
        seed_text = request.query.get("seed")
        seed = self.app.config.seed or 0
        if seed_text is not None:
            if not seed_text.isascii() or not seed_text.isdigit() or len(seed_text) > 19:
                raise errors.invalid("seed", *errors.not_number(seed_text))
            seed = int(seed_text)
        async with self._lock:
            built = await worlds.load(self.app, world, seed)
            self.built_world = self.built_world.merge(built)
        return build_document(self.app.config, built, self.token, tls=self.app.tls)

    async def _create_user(self, request: web.Request) -> BuiltUser:
        body: bodies.CreateUser = await self._read_body(request, bodies.CreateUser)
        password = body.password if body.password is not None else secrets.token_urlsafe(9)
        password_hash = accounts.passwords.hash_password_weakly(password, salt=secrets.token_bytes(16))

        def create(call: Call) -> tuple[str, BuiltUser]:
            row = accounts.create_user(call, body.username, global_name=body.global_name)
            accounts.set_password(call, row.id, password_hash)
            token = auth.issue(call.tx, kind="user", user_id=row.id, now=call.now_ms, ids=call.ids)
            return row.username, BuiltUser(id=row.id, token=token, password=password)

        name, user = await self._run_write(create)
        self.built_world = self.built_world.merge(BuiltWorld(users={name: user}))
        return user

    async def _create_token(self, request: web.Request) -> bodies.Token:
        user_id = _parse_snowflake("user_id", request.match_info["user_id"])

        def create(call: Call) -> bodies.Token:
            row = users.find(call.tx, user_id)
            if row is None:
                raise errors.UNKNOWN_USER()
            if row.bot:
                raise errors.BOTS_CANNOT_USE_ENDPOINT()
            token = auth.issue(call.tx, kind="user", user_id=user_id, now=call.now_ms, ids=call.ids)
            return bodies.Token(user_id=user_id, token=token)

        return await self._run_write(create)

    async def _ban_user(self, request: web.Request) -> None:
        body: bodies.BanUser = await self._read_body(request, bodies.BanUser)
        user_id = _parse_snowflake("user_id", request.match_info["user_id"])
        ends_ms = None if body.until is None else _check_time("until", codec.milliseconds(body.until))
        await self._run_write(lambda call: accounts.ban(call, user_id, ends_ms=ends_ms, reason=body.reason))

    async def _unban_user(self, request: web.Request) -> None:
        user_id = _parse_snowflake("user_id", request.match_info["user_id"])

        def unban(call: Call) -> None:
            if not accounts.unban(call, user_id):
                raise errors.NOT_FOUND(message="This account is not banned")

        await self._run_write(unban)

    # Identities

    async def _link_publisher(self, request: web.Request) -> None:
        body: bodies.LinkPublisher = await self._read_body(request, bodies.LinkPublisher)
        child_id = _parse_snowflake("application_id", request.match_info["application_id"])

        def link(call: Call) -> None:
            child, parent = applications.find(call.tx, child_id), applications.find(call.tx, body.parent_id)
            if child is None or parent is None:
                raise errors.UNKNOWN_APPLICATION()
            problem = identities.find_publisher_problem(call, child, parent)
            if problem is not None:
                raise errors.BAD_REQUEST(message=problem)
            identities.join_family(call, child, parent)

        await self._run_write(link)

    async def _create_credential(self, request: web.Request) -> Credential:
        body: CreateCredential = await self._read_body(request, CreateCredential)
        return self.emulated_providers.create_credential(request.match_info["provider"], body)

    async def _rotate_keys(self, request: web.Request) -> None:
        self.emulated_providers.rotate_key(request.match_info["provider"])

    # Snapshots and forks

    async def _list_snapshots(self, _: web.Request) -> list[bodies.SnapshotState]:
        return self.snapshots.list_states()

    async def _create_snapshot(self, _: web.Request) -> bodies.SnapshotState:
        async with self._lock:
            return await self.snapshots.take()

    async def _restore_snapshot(self, request: web.Request) -> bodies.ClockState:
        async with self._lock:
            await self.snapshots.restore(request.match_info["snapshot_id"])
            return await self._get_clock(request)

    async def _delete_snapshot(self, request: web.Request) -> None:
        self.snapshots.delete(request.match_info["snapshot_id"])

    async def _list_forks(self, _: web.Request) -> list[bodies.ForkState]:
        return self.snapshots.list_forks()

    async def _create_fork(self, request: web.Request) -> bodies.Fork:
        body: bodies.CreateFork = await self._read_body(request, bodies.CreateFork)
        now_ms = None if body.now is None else _check_time("now", codec.milliseconds(body.now))
        async with self._lock:
            return await self.snapshots.create_fork(body, now_ms)

    async def _delete_fork(self, request: web.Request) -> None:
        await self.snapshots.close_fork(request.match_info["fork_id"])

    # Faults

    async def _list_sessions(self, _: web.Request) -> list[bodies.SessionState]:
        if self.app.gateway is None:
            return []
        return [
            bodies.SessionState(
                session_id=session.id,
                user_id=UserId(session.user_id),
                shard=session.shard,
                intents=session.intents,
                connected=session.connection is not None,
            )
            for session in self.app.gateway.sessions
        ]

    async def _list_faults(self, _: web.Request) -> list[Any]:
        return list(self.app.faults)

    async def _create_fault(self, request: web.Request) -> bodies.FaultResult:
        fields: dict[str, Any] = await self._read_body(request, dict[str, Any])
        if "door" in fields:  # The name of `transport` before 0.1.0.
            fields.setdefault("transport", fields.pop("door"))
        fault: Fault = decoding.decode(codec.encode(fields), Fault)
        if isinstance(fault, GatewayFault) and fault.moment == "now":
            affected = 0 if self.app.gateway is None else self.app.gateway.apply_fault(fault)
            return bodies.FaultResult(sessions=affected, waiting=None)
        if isinstance(fault, HttpFault):
            self._require_operation(fault)
        if len(self.app.faults) >= ACTIVE_FAULTS_MAX:
            raise errors.BAD_REQUEST(message=f"At most {ACTIVE_FAULTS_MAX} faults can be active; delete some first")
        return bodies.FaultResult(sessions=0, waiting=self.app.faults.add(fault))

    def _require_operation(self, fault: HttpFault) -> None:
        """Reject a fault that no request can match: a test that relies on it would test nothing."""
        operations = [endpoint.operation for endpoint in self.app.table]
        if fault.route is not None:
            operations = [operation for operation in operations if operation.path == fault.route]
            if not operations:
                raise errors.invalid(
                    "route",
                    "ROUTE_UNKNOWN",
                    "No operation has this path; write it like /channels/{channel_id}/messages.",
                )
        if fault.method is not None and fault.method.upper() not in {operation.method for operation in operations}:
            raise errors.invalid("method", "METHOD_UNKNOWN", "No operation with this path has this method.")

    async def _delete_faults(self, _: web.Request) -> None:
        self.app.faults.clear()

    async def _delete_fault(self, request: web.Request) -> None:
        if not self.app.faults.remove(request.match_info["fault_id"]):
            raise errors.NOT_FOUND(message="Unknown fault")

    async def _settle(self, _: web.Request) -> None:
        """Respond once all earlier events have been delivered to the sessions."""
        if self.app.gateway is not None:
            await self.app.gateway.sessions.settle()

    # Mail

    async def _list_mail(self, request: web.Request) -> list[ReceivedMail]:
        """Return the mails in the mailbox, oldest first, after all due jobs have run; `?to=` selects a recipient."""
        mailbox = self._require_mailbox()
        if self.app.worker is not None:
            await self.app.worker.run_due()
        recipient = request.query.get("to")
        return [mail for mail in mailbox if recipient is None or mail.to == recipient.lower()]

    async def _clear_mail(self, _: web.Request) -> None:
        self._require_mailbox().replace(())

    def _require_mailbox(self) -> Mailbox:
        if self.app.mailbox is None:
            raise errors.NOT_FOUND(
                message="Mail is sent to the server mail.host; remove this setting to keep mail here"
            )
        return self.app.mailbox

    # Trace and rate limits

    async def _get_trace(self, request: web.Request) -> bodies.TraceState:
        query = request.query
        user_id = _parse_snowflake("user_id", query["user_id"]) if "user_id" in query else None
        after = query.get("after", "0")
        if not after.isascii() or not after.isdigit():
            raise errors.invalid("after", *errors.not_number(after))
        trace = self.app.trace
        events = trace.find(event=query.get("event"), user_id=user_id, after=int(after))
        refused = trace.find_rejected(user_id=user_id, after=int(after))
        closed = trace.find_closed(user_id=user_id, after=int(after))
        return bodies.TraceState(on=trace.is_enabled, events=events, refused=refused, closed=closed)

    async def _set_trace(self, request: web.Request) -> bodies.TraceState:
        body: bodies.SetTrace = await self._read_body(request, bodies.SetTrace)
        trace = self.app.trace
        trace.is_enabled = body.on
        return bodies.TraceState(
            on=body.on, events=trace.find(), refused=trace.find_rejected(), closed=trace.find_closed()
        )

    async def _clear_trace(self, _: web.Request) -> None:
        self.app.trace.clear()

    async def _get_rate_limits(self, _: web.Request) -> bodies.RateLimitReport:
        return bodies.RateLimitReport(mode=self.app.rate_limits.mode.value, refusals=self.app.rate_limits.report())

    async def _clear_rate_limits(self, _: web.Request) -> None:
        self.app.rate_limits.clear()


def _check_time(path: str, ms: int) -> int:
    """Return a time that IDs can represent; raise if it is out of range."""
    if not EPOCH_MS <= ms <= LATEST_MS:
        raise errors.invalid(path, "CLOCK_OUT_OF_RANGE", "The time must be between 2015-01-01 and 2084-01-01.")
    return ms


def _parse_snowflake(path: str, text: str) -> UserId:
    """Return an ID; raise a form error for the field `path` if the text is not an ID."""
    try:
        return parse_wide(UserId, text)
    except ValueError:
        raise errors.invalid(path, *errors.not_snowflake(text)) from None
