"""The platform of a test: URLs, users, bots, bots under test, diagnostics, clock and faults."""

import asyncio
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from datetime import UTC, datetime, timedelta
from typing import Any, TypeVar

from hubbub.people.actors import BotClient
from hubbub.people.context import PlatformContext
from hubbub.people.named_objects import NamedObjects
from hubbub.people.results import Result, StructT, to_result
from hubbub.people.users import UserClient
from hubbub.protocol import codec
from hubbub.protocol.control.clock import (
    ADVANCE_CLOCK,
    FREEZE_CLOCK,
    GET_CLOCK,
    RESUME_CLOCK,
    SET_CLOCK,
    AdvanceClock,
    ClockState,
    SetClock,
)
from hubbub.protocol.control.faults import CREATE_FAULT, DELETE_FAULTS, Fault, FaultResult, GatewayFault, HttpFault
from hubbub.protocol.control.rate_limits import GET_RATE_LIMITS, RateLimitReport
from hubbub.protocol.control.ready import WorldApplication, WorldGuild, WorldLobby, WorldUser
from hubbub.protocol.control.report import GET_REPORT, LintReport
from hubbub.protocol.control.snapshots import Fork
from hubbub.protocol.control.trace import GET_TRACE, TraceQuery, TraceState
from hubbub.protocol.ids import UserId, parse_wide
from hubbub.protocol.operation import BodyT, Operation
from hubbub.testing import bots
from hubbub.testing.actors import Actor, Bot
from hubbub.testing.background import Background
from hubbub.testing.process import PlatformProcess
from hubbub.testing.run_findings import RunFindings
from hubbub.testing.users import User

BotT = TypeVar("BotT")


class Platform:
    """A complete platform for one test."""

    def __init__(self, process: PlatformProcess, ready: Fork, timeout_seconds: float) -> None:
        self._process = process
        self.ready = ready
        """The ready document (docs/worlds.md)."""
        self.background = process.background
        """The thread in which the actors of this platform act."""
        self.context = PlatformContext(process.background.http, ready, timeout_seconds)
        """The state that the actors of this platform share."""
        self.api, self.gateway, self.web, self.cdn = ready.api, ready.gateway, ready.web, ready.cdn
        self.users: NamedObjects[User] = NamedObjects("user", {})
        """The users of the world by name."""
        for name, user in ready.users.items():
            self.users[name] = self._create_user(name, user.id, user.token)
        self.applications: NamedObjects[WorldApplication] = self.context.applications
        self.bots: NamedObjects[Bot] = NamedObjects("bot", {})
        """The bots of the world by the name of their application, for actions on their behalf."""
        for name, application in ready.applications.items():
            if application.bot is not None:
                client = BotClient(self.context, name, application.bot.id, application.bot.token)
                self.bots[name] = Bot(self.background, client)
        self.guilds: NamedObjects[WorldGuild] = NamedObjects("guild", ready.guilds)
        self.lobbies: NamedObjects[WorldLobby] = NamedObjects("lobby", ready.lobbies)
        self.clock = Clock(self.background, self.context)
        self.faults = Faults(self.background, self.context)
        self.has_failed_test = False
        """Whether a test that used the platform failed."""
        self._log_start = process.server.log_size()

    def __repr__(self) -> str:
        return f"<Platform at {self.web}>"

    def close(self) -> list[str]:
        """Stop the platform; return errors of actions that were never awaited, unless the test has already failed."""
        errors = self.background.unawaited_errors(wait=not self.has_failed_test)
        self.background.run_and_wait(self._stop())
        return errors

    async def _stop(self) -> None:
        await self._disconnect_all()
        await self._process.end_fork(self.ready.fork_id)

    async def _disconnect_all(self) -> None:
        actors: list[Actor] = [*self.users.values(), *self.bots.values()]
        await asyncio.gather(*(actor._disconnect() for actor in actors))

    def _create_user(self, name: str, user_id: str, token: str) -> User:
        return User(self.background, UserClient(self.context, name, user_id, token))

    # Additional users

    def add_user(self, name: str, **body: Any) -> Result[WorldUser]:
        """Create a user without guilds, who is then `users[name]`; return its ID, token and password."""
        __tracebackhide__ = True
        return self.background.run(self._add_user(name, body), f"add user {name}")

    async def _add_user(self, name: str, body: dict[str, Any]) -> Result[WorldUser]:
        __tracebackhide__ = True
        # The import is local, because few tests add users, and the module imports the models of accounts.
        from hubbub.protocol.control.users import CREATE_USER, CreateUser

        created_user = await self.context.control.call(CREATE_USER, CreateUser(username=name, **body))
        self.users[name] = self._create_user(name, created_user.id, created_user.token)
        self.context.names[created_user.id] = name
        return to_result(created_user)

    # Bots under test

    def start(
        self, bot: BotT, application: str | None = None, *, within: float = bots.READY_TIMEOUT_SECONDS
    ) -> AbstractAsyncContextManager[BotT]:
        """Run a bot of discord.py, disnake, nextcord, py-cord, interactions.py or hikari: `async with hubbub.start(bot):`.

        The block starts when the bot is ready, at most `within` seconds later, and the bot stops with the block. Errors
        of the bot itself are raised. `application` is the name of the application whose token the bot uses, by default
        the first one of the world with a bot; a bot of hikari uses its own token. The bot trusts the
        certificate authority of the platform's voice server, except with hikari, which has no voice.
        """
        name = application or next(iter(self.bots), "")
        return bots.run(self.ready, bot, self.bots[name].token, within)

    # Diagnostics

    def trace(self, **query: str) -> Result[TraceState]:
        """Return the delivery trace: `events`, rejected requests as `refused`, and closed connections (docs/control.md)."""
        __tracebackhide__ = True
        return self.background.run(self._get(GET_TRACE, codec.convert(query, TraceQuery, strict=False)), "trace")

    def rate_limits(self) -> Result[RateLimitReport]:
        """Return the requests that a rate limit rejected, or would have rejected in the mode `report` (docs/control.md)."""
        __tracebackhide__ = True
        return self.background.run(self._get(GET_RATE_LIMITS), "rate limits")

    def report(self) -> Result[LintReport]:
        """Return the findings about applications, such as reached rate limits and unused intents (docs/control.md)."""
        __tracebackhide__ = True
        return self.background.run(self._get(GET_REPORT), "report")

    async def _get(self, operation: Operation[None, StructT], query: TraceQuery | None = None) -> Result[StructT]:
        __tracebackhide__ = True
        return to_result(await self.context.control.call(operation, query=query))

    def add_findings(self, findings: RunFindings) -> None:
        """Add the report of this platform to the findings of a run."""
        report = self.background.run_and_wait(self.context.control.call(GET_REPORT))
        for finding in report.findings:
            application = finding.application or "any application"
            if finding.rule == "unused_intent":
                findings.add_intents(findings.unused_intents, application, finding.intents)
            else:
                findings.add_line(f"{finding.rule}: {application}: {finding.message}", finding.times)
        for application, names in report.used_intents.items():
            findings.add_intents(findings.used_intents, application, names)

    def log(self) -> str:
        """Return the log of the server process since the test started, at most its last 4000 bytes."""
        return self._process.server.log_since(self._log_start)


class Clock:
    """The platform's clock, which the test controls. Each method returns the state of the clock: `now`, `now_ms`, `running`."""

    def __init__(self, background: Background, context: PlatformContext) -> None:
        self._background = background
        self._context = context
        self.on_change: Callable[[ClockState], None] | None = None
        """Function called with every new state of the clock, on the thread of the actors."""

    def _call(self, operation: Operation[BodyT, ClockState], body: BodyT | None = None) -> Result[ClockState]:
        __tracebackhide__ = True
        return self._background.run(self._call_control(operation, body), operation.path[1:])

    async def _call_control(self, operation: Operation[BodyT, ClockState], body: BodyT | None) -> Result[ClockState]:
        __tracebackhide__ = True
        state = await self._context.control.call(operation, body)
        if self.on_change is not None and operation is not GET_CLOCK:
            self.on_change(state)
        return to_result(state)

    def get(self) -> Result[ClockState]:
        """Return the current state of the clock."""
        __tracebackhide__ = True
        return self._call(GET_CLOCK)

    def set(self, now: datetime | str) -> Result[ClockState]:
        """Set the time, from a string like `"2026-12-01T00:00:00Z"` or a datetime (UTC if it has no time zone)."""
        __tracebackhide__ = True
        return self._call(SET_CLOCK, SetClock(now=to_utc(now)))

    def advance(
        self,
        *,
        days: float = 0,
        hours: float = 0,
        minutes: float = 0,
        seconds: float = 0,
        milliseconds: float = 0,
    ) -> Result[ClockState]:
        """Advance the time, and wait until all jobs that became due have run."""
        __tracebackhide__ = True
        step = timedelta(days=days, hours=hours, minutes=minutes, seconds=seconds, milliseconds=milliseconds)
        return self._call(ADVANCE_CLOCK, AdvanceClock(ms=round(step / timedelta(milliseconds=1))))

    def freeze(self) -> Result[ClockState]:
        """Stop the clock at the current time."""
        __tracebackhide__ = True
        return self._call(FREEZE_CLOCK)

    def resume(self) -> Result[ClockState]:
        """Start the clock again."""
        __tracebackhide__ = True
        return self._call(RESUME_CLOCK)


class Faults:
    """Fault injection (docs/control.md). HTTP faults occur once, or as often as `times`; `times=None` means always."""

    def __init__(self, background: Background, context: PlatformContext) -> None:
        self._background = background
        self._context = context

    def fail(
        self, method: str | None = None, route: str | None = None, status: int = 500, **options: Any
    ) -> Result[FaultResult]:
        """Fail requests with an error: `fail("POST", "/channels/{channel_id}/messages", 503, times=3, user=bot)`."""
        __tracebackhide__ = True
        return self._add_http_fault("status", method=method, route=route, status=status, **options)

    def rate_limit(
        self, method: str | None = None, route: str | None = None, retry_after: float = 1.0, **options: Any
    ) -> Result[FaultResult]:
        """Fail requests with the status 429 and a `retry_after` in seconds."""
        __tracebackhide__ = True
        return self._add_http_fault(
            "status", method=method, route=route, status=429, retry_after=retry_after, **options
        )

    def drop(self, method: str | None = None, route: str | None = None, **options: Any) -> Result[FaultResult]:
        """Drop the connection of a request; with `moment="after"` only after the operation has run."""
        __tracebackhide__ = True
        return self._add_http_fault("drop", method=method, route=route, **options)

    def delay(
        self, method: str | None = None, route: str | None = None, delay_ms: int = 1000, **options: Any
    ) -> Result[FaultResult]:
        """Delay responses by `delay_ms`, in real time."""
        __tracebackhide__ = True
        return self._add_http_fault("delay", method=method, route=route, delay_ms=delay_ms, **options)

    def close_session(self, user: Any = None, code: int = 4000, **options: Any) -> Result[FaultResult]:
        """Close the gateway connections of a user, or of all users without `user`.

        `code` is the close code; with the default code the sessions can be resumed."""
        __tracebackhide__ = True
        return self._add_gateway_fault("close", user=user, code=code, **options)

    def drop_session(self, user: Any = None, **options: Any) -> Result[FaultResult]:
        """Drop the gateway connections of a user, or of all users, without a close frame."""
        __tracebackhide__ = True
        return self._add_gateway_fault("drop", user=user, **options)

    def invalidate_session(self, user: Any = None, resumable: bool = False, **options: Any) -> Result[FaultResult]:
        """Send Invalid Session to the gateway sessions of a user, or of all users; `resumable` lets them resume."""
        __tracebackhide__ = True
        return self._add_gateway_fault("invalid_session", user=user, resumable=resumable, **options)

    def reject_identify(self, user: Any = None, code: int = 4004, times: int | None = 1) -> Result[FaultResult]:
        """Close the next `times` connections of a user, or of any user, when they send Identify or Resume.

        `code` is the close code; `times=None` means all connections."""
        __tracebackhide__ = True
        return self._add_gateway_fault("close", user=user, code=code, moment="identify", times=times)

    def clear(self) -> Result[None]:
        """Remove all faults."""
        __tracebackhide__ = True
        return self._background.run(self._clear(), "clear faults")

    async def _clear(self) -> Result[None]:
        await self._context.control.call(DELETE_FAULTS)
        return Result()

    def _add_http_fault(self, effect: str, user: Any = None, **fields: Any) -> Result[FaultResult]:
        __tracebackhide__ = True
        return self._add_fault(HttpFault(effect=effect, user_id=_user_id_of(user), **fields))  # type: ignore[arg-type]

    def _add_gateway_fault(self, effect: str, user: Any = None, **fields: Any) -> Result[FaultResult]:
        __tracebackhide__ = True
        return self._add_fault(GatewayFault(effect=effect, user_id=_user_id_of(user), **fields))  # type: ignore[arg-type]

    def _add_fault(self, fault: Fault) -> Result[FaultResult]:
        __tracebackhide__ = True
        return self._background.run(self._create_fault(fault), f"fault {fault.effect}")

    async def _create_fault(self, fault: Fault) -> Result[FaultResult]:
        __tracebackhide__ = True
        result = await self._context.control.call(CREATE_FAULT, fault)
        return to_result(result)


def _user_id_of(user: Any) -> UserId | None:
    """Return the ID of an actor, of the bot of an application, or of a user ID as a string; None for any user."""
    if isinstance(user, WorldApplication):
        user = user.bot
    return None if user is None else parse_wide(UserId, user if isinstance(user, str) else user.id)


def to_utc(time: datetime | str) -> datetime:
    """Return a time with a time zone, which is UTC if it has none; raise ValueError if a string is not a time."""
    if isinstance(time, str):
        time = datetime.fromisoformat(time)
    return time if time.tzinfo is not None else time.replace(tzinfo=UTC)
