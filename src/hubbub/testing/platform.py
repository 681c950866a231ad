"""The platform of a test: URLs, users, bots, clock and faults."""

import asyncio
from datetime import UTC, datetime, timedelta
from typing import Any

from hubbub.testing.actors import Actor, Bot
from hubbub.testing.answers import Answer
from hubbub.testing.context import PlatformContext
from hubbub.testing.people import Person
from hubbub.testing.process import PlatformProcess
from hubbub.testing.ready import Application, Guild, Lobby, NamedObjects, ReadyDocument


class Platform:
    """A complete platform for one test."""

    def __init__(self, process: PlatformProcess, ready: ReadyDocument, within: float) -> None:
        self._process = process
        self.ready = ready
        """The ready document (docs/worlds.md)."""
        self.context = PlatformContext(process.background, ready, within)
        """The state that its actors share."""
        self.api, self.gateway, self.web, self.cdn = ready.api, ready.gateway, ready.web, ready.cdn
        self.users: NamedObjects[Person] = NamedObjects("user", {})
        """The users of the world by name."""
        for name, user in ready.users.items():
            self.users[name] = Person(self.context, name, user.id, user.token)
        self.applications: NamedObjects[Application] = self.context.applications
        self.bots: NamedObjects[Bot] = NamedObjects("bot", {})
        """The bots of the world by the name of their application, for actions on their behalf."""
        for name, application in ready.applications.items():
            if application.bot is not None:
                self.bots[name] = Bot(self.context, name, application.bot.id, application.bot.token)
        self.guilds: NamedObjects[Guild] = NamedObjects("guild", ready.guilds)
        self.lobbies: NamedObjects[Lobby] = NamedObjects("lobby", ready.lobbies)
        self.clock = Clock(self.context)
        self.faults = Faults(self.context)
        self.test_failed = False
        """Whether a test that used the platform failed."""
        self._log_start = process.log_size()
        self.context.background.run_and_wait(self.context.control.request("POST", "/trace", {"on": True}))

    def __repr__(self) -> str:
        return f"<Platform at {self.web}>"

    def close(self) -> list[str]:
        """Stop the platform; return errors of actions that were never awaited, unless the test has already failed."""
        forgotten = self.context.background.unawaited_errors(wait=not self.test_failed)
        self.context.background.run_and_wait(self._disconnect_all())
        self._process.end_fork(self.ready.fork_id)
        return forgotten

    async def _disconnect_all(self) -> None:
        actors: list[Actor] = [*self.users.values(), *self.bots.values()]
        await asyncio.gather(*(actor._disconnect() for actor in actors))

    # Additional users

    def add_user(self, name: str, **body: Any) -> Answer:
        """Create a user without guilds, who is then `users[name]`; return id, token and password."""
        __tracebackhide__ = True
        return self.context.background.run(self._add_user(name, body), f"add user {name}")

    async def _add_user(self, name: str, body: dict[str, Any]) -> Answer:
        __tracebackhide__ = True
        made = await self.context.control.request("POST", "/users", {"username": name, **body})
        self.users[name] = Person(self.context, name, made["id"], made["token"])
        self.context.names[made["id"]] = name
        return Answer(made)

    # Diagnostics

    def trace(self, **query: str) -> Answer:
        """Return the delivery trace: `events`, and `refused` requests (docs/control.md)."""
        __tracebackhide__ = True
        return self.context.background.run(self.context.get("/trace", query), "trace")

    def rate_limits(self) -> Answer:
        """Return the rate limit report."""
        __tracebackhide__ = True
        return self.context.background.run(self.context.get("/rate-limits", {}), "rate limits")

    def log(self) -> str:
        """Return the platform's log since the test started."""
        return self._process.log_since(self._log_start)


class Clock:
    """The platform's clock, controlled by the test. Each method returns its state: `now`, `now_ms`, `running`."""

    def __init__(self, scene: PlatformContext) -> None:
        self._scene = scene

    def _do(self, method: str, path: str, body: dict[str, Any] | None = None) -> Answer:
        __tracebackhide__ = True
        return self._scene.background.run(self._request(method, path, body), f"clock {path}")

    async def _request(self, method: str, path: str, body: dict[str, Any] | None) -> Answer:
        __tracebackhide__ = True
        return Answer(await self._scene.control.request(method, f"/clock{path}", body))

    def get(self) -> Answer:
        """Return the current state of the clock."""
        __tracebackhide__ = True
        return self._do("GET", "")

    def set(self, now: datetime | str) -> Answer:
        """Set the time, from a string like `"2026-12-01T00:00:00Z"` or a datetime (UTC if it has no time zone)."""
        __tracebackhide__ = True
        return self._do("POST", "/set", {"now": to_iso(now)})

    def advance(
        self,
        *,
        days: float = 0,
        hours: float = 0,
        minutes: float = 0,
        seconds: float = 0,
        milliseconds: float = 0,
    ) -> Answer:
        """Advance the time; everything that becomes due meanwhile has happened when this returns."""
        __tracebackhide__ = True
        step = timedelta(days=days, hours=hours, minutes=minutes, seconds=seconds, milliseconds=milliseconds)
        return self._do("POST", "/advance", {"ms": round(step / timedelta(milliseconds=1))})

    def freeze(self) -> Answer:
        """Stop the clock at the current time."""
        __tracebackhide__ = True
        return self._do("POST", "/freeze")

    def resume(self) -> Answer:
        """Let the clock run again."""
        __tracebackhide__ = True
        return self._do("POST", "/resume")


class Faults:
    """Fault injection (docs/control.md). HTTP faults happen once, or `times` times (None: always)."""

    def __init__(self, scene: PlatformContext) -> None:
        self._scene = scene

    def fail(self, method: str | None = None, route: str | None = None, status: int = 500, **more: Any) -> Answer:
        """Fail requests with an error: `fail("POST", "/channels/{channel_id}/messages", 503, times=3, user=bot)`."""
        __tracebackhide__ = True
        return self._inflict("http", "status", method=method, route=route, status=status, **more)

    def rate_limit(
        self, method: str | None = None, route: str | None = None, retry_after: float = 1.0, **more: Any
    ) -> Answer:
        """Fail requests with 429."""
        __tracebackhide__ = True
        fault = {"method": method, "route": route, "status": 429, "retry_after": retry_after}
        return self._inflict("http", "status", **fault, **more)

    def drop(self, method: str | None = None, route: str | None = None, **more: Any) -> Answer:
        """Drop the connection of a request; with `to_iso="after"` only after the operation has run."""
        __tracebackhide__ = True
        return self._inflict("http", "drop", method=method, route=route, **more)

    def delay(self, method: str | None = None, route: str | None = None, delay_ms: int = 1000, **more: Any) -> Answer:
        """Delay responses by `delay_ms`, in real time."""
        __tracebackhide__ = True
        return self._inflict("http", "delay", method=method, route=route, delay_ms=delay_ms, **more)

    def close_session(self, user: Any = None, code: int = 4000, **more: Any) -> Answer:
        """Close the gateway connections of a user, or of all users without `user`; the sessions can be resumed."""
        __tracebackhide__ = True
        return self._inflict("gateway", "close", user=user, code=code, **more)

    def drop_session(self, user: Any = None, **more: Any) -> Answer:
        """Drop the gateway connections of a user, or of all users, without a close frame."""
        __tracebackhide__ = True
        return self._inflict("gateway", "drop", user=user, **more)

    def invalidate_session(self, user: Any = None, resumable: bool = False, **more: Any) -> Answer:
        """Send Invalid Session to the gateway sessions of a user, or of all users."""
        __tracebackhide__ = True
        return self._inflict("gateway", "invalid_session", user=user, resumable=resumable, **more)

    def refuse_identify(self, user: Any = None, code: int = 4004, times: int | None = 1) -> Answer:
        """Close the next connections that identify or resume with a code."""
        __tracebackhide__ = True
        return self._inflict("gateway", "close", user=user, code=code, moment="identify", times=times)

    def clear(self) -> Answer:
        """Remove all faults."""
        __tracebackhide__ = True
        return self._scene.background.run(self._clear(), "clear faults")

    async def _clear(self) -> Answer:
        await self._scene.control.request("DELETE", "/faults")
        return Answer()

    def _inflict(self, door: str, effect: str, user: Any = None, **fault: Any) -> Answer:
        """Add a fault. `user` is an actor, an application (for its bot) or a user id."""
        __tracebackhide__ = True
        if isinstance(user, Application):
            user = user.bot
        if user is not None:
            fault["user_id"] = user if isinstance(user, str) else user.id
        # Only for `times` does null differ from absent.
        given = {key: value for key, value in fault.items() if value is not None or key == "times"}
        return self._scene.background.run(self._add({"door": door, "effect": effect, **given}), f"fault {effect}")

    async def _add(self, fault: dict[str, Any]) -> Answer:
        __tracebackhide__ = True
        return Answer(await self._scene.control.request("POST", "/faults", fault))


def to_iso(time: datetime | str) -> str:
    """Return a time in ISO 8601 format for the control API; raise ValueError if it is not a time."""
    if isinstance(time, str):
        time = datetime.fromisoformat(time)
    return (time if time.tzinfo is not None else time.replace(tzinfo=UTC)).isoformat()
