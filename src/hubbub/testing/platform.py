"""The platform of a test: where it is, who is there, its clock and its faults."""

import asyncio
from datetime import UTC, datetime, timedelta
from typing import Any

from hubbub.testing.actors import Actor, Bot
from hubbub.testing.answers import Answer
from hubbub.testing.people import Person
from hubbub.testing.process import Process
from hubbub.testing.ready import Application, Guild, Lobby, Named, Ready
from hubbub.testing.scene import Scene


class Platform:
    """A whole platform that belongs to one test."""

    def __init__(self, process: Process, ready: Ready, within: float) -> None:
        self._process = process
        self.ready = ready
        """The ready document (docs/worlds.md)."""
        self.scene = Scene(process.background, ready, within)
        """What its actors share."""
        self.api, self.gateway, self.web, self.cdn = ready.api, ready.gateway, ready.web, ready.cdn
        self.users: Named[Person] = Named("user", {})
        """The people of the world, by name."""
        for name, user in ready.users.items():
            self.users[name] = Person(self.scene, name, user.id, user.token)
        self.applications: Named[Application] = self.scene.applications
        self.bots: Named[Bot] = Named("bot", {})
        """The bots of the world by their application's name, for what a test does in their place."""
        for name, application in ready.applications.items():
            if application.bot is not None:
                self.bots[name] = Bot(self.scene, name, application.bot.id, application.bot.token)
        self.guilds: Named[Guild] = Named("guild", ready.guilds)
        self.lobbies: Named[Lobby] = Named("lobby", ready.lobbies)
        self.clock = Clock(self.scene)
        self.faults = Faults(self.scene)
        self.test_failed = False
        """Whether a test that used it went wrong."""
        self._log_begins = process.log_size()
        self.scene.background.wait(self.scene.control.ask("POST", "/trace", {"on": True}))

    def __repr__(self) -> str:
        return f"<Platform at {self.web}>"

    def close(self) -> list[str]:
        """End it, with everything in it. Gives why acts failed that nobody awaited, unless the test has failed anyway."""
        forgotten = self.scene.background.forgotten(patient=not self.test_failed)
        self.scene.background.wait(self._leave())
        self._process.end_fork(self.ready.fork_id)
        return forgotten

    async def _leave(self) -> None:
        actors: list[Actor] = [*self.users.values(), *self.bots.values()]
        await asyncio.gather(*(actor._disconnect() for actor in actors))

    # More people

    def add_user(self, name: str, **body: Any) -> Answer:
        """A new person, who is in no guild; then `users[name]`. Gives their id, token and password."""
        __tracebackhide__ = True
        return self.scene.background.do(self._add_user(name, body), f"add user {name}")

    async def _add_user(self, name: str, body: dict[str, Any]) -> Answer:
        __tracebackhide__ = True
        made = await self.scene.control.ask("POST", "/users", {"username": name, **body})
        self.users[name] = Person(self.scene, name, made["id"], made["token"])
        self.scene.names[made["id"]] = name
        return Answer(made)

    # What happened

    def trace(self, **query: str) -> Answer:
        """The delivery trace: `events`, and the calls that were `refused` (docs/control.md)."""
        __tracebackhide__ = True
        return self.scene.background.do(self.scene.ask_for("/trace", query), "trace")

    def rate_limits(self) -> Answer:
        """The report of rate limits."""
        __tracebackhide__ = True
        return self.scene.background.do(self.scene.ask_for("/rate-limits", {}), "rate limits")

    def log(self) -> str:
        """What the platform logged since the test began."""
        return self._process.log_since(self._log_begins)


class Clock:
    """The platform's clock, which belongs to the test; each call gives what it shows then: `now`, `now_ms`, `running`."""

    def __init__(self, scene: Scene) -> None:
        self._scene = scene

    def _ask(self, method: str, path: str, body: dict[str, Any] | None = None) -> Answer:
        __tracebackhide__ = True
        return self._scene.background.do(self._asked(method, path, body), f"clock {path}")

    async def _asked(self, method: str, path: str, body: dict[str, Any] | None) -> Answer:
        __tracebackhide__ = True
        return Answer(await self._scene.control.ask(method, f"/clock{path}", body))

    def get(self) -> Answer:
        """What it shows."""
        __tracebackhide__ = True
        return self._ask("GET", "")

    def set(self, now: datetime | str) -> Answer:
        """Show another time: `"2026-12-01T00:00:00Z"`, or a datetime (UTC unless it says)."""
        __tracebackhide__ = True
        return self._ask("POST", "/set", {"now": moment(now)})

    def advance(
        self,
        *,
        days: float = 0,
        hours: float = 0,
        minutes: float = 0,
        seconds: float = 0,
        milliseconds: float = 0,
    ) -> Answer:
        """Go forward; what falls due on the way has happened when this returns."""
        __tracebackhide__ = True
        step = timedelta(days=days, hours=hours, minutes=minutes, seconds=seconds, milliseconds=milliseconds)
        return self._ask("POST", "/advance", {"ms": round(step / timedelta(milliseconds=1))})

    def freeze(self) -> Answer:
        """Stop time where it is."""
        __tracebackhide__ = True
        return self._ask("POST", "/freeze")

    def resume(self) -> Answer:
        """Let time pass again."""
        __tracebackhide__ = True
        return self._ask("POST", "/resume")


class Faults:
    """What goes wrong on demand (docs/control.md); HTTP faults happen once unless `times` says how often (None: always)."""

    def __init__(self, scene: Scene) -> None:
        self._scene = scene

    def fail(self, method: str | None = None, route: str | None = None, status: int = 500, **more: Any) -> Answer:
        """Answer calls with an error: `fail("POST", "/channels/{channel_id}/messages", 503, times=3, user=bot)`."""
        __tracebackhide__ = True
        return self._inflict("http", "status", method=method, route=route, status=status, **more)

    def rate_limit(
        self, method: str | None = None, route: str | None = None, retry_after: float = 1.0, **more: Any
    ) -> Answer:
        """Answer calls with 429."""
        __tracebackhide__ = True
        fault = {"method": method, "route": route, "status": 429, "retry_after": retry_after}
        return self._inflict("http", "status", **fault, **more)

    def drop(self, method: str | None = None, route: str | None = None, **more: Any) -> Answer:
        """Cut the connection instead of answering; with `moment="after"` when the thing is done."""
        __tracebackhide__ = True
        return self._inflict("http", "drop", method=method, route=route, **more)

    def delay(self, method: str | None = None, route: str | None = None, delay_ms: int = 1000, **more: Any) -> Answer:
        """Answer calls late, in real time."""
        __tracebackhide__ = True
        return self._inflict("http", "delay", method=method, route=route, delay_ms=delay_ms, **more)

    def close_session(self, user: Any = None, code: int = 4000, **more: Any) -> Answer:
        """Close somebody's gateway connections (everybody's, if nobody is named); the sessions can be resumed."""
        __tracebackhide__ = True
        return self._inflict("gateway", "close", user=user, code=code, **more)

    def drop_session(self, user: Any = None, **more: Any) -> Answer:
        """Cut somebody's gateway connections without a word."""
        __tracebackhide__ = True
        return self._inflict("gateway", "drop", user=user, **more)

    def invalidate_session(self, user: Any = None, resumable: bool = False, **more: Any) -> Answer:
        """End somebody's gateway sessions with Invalid Session."""
        __tracebackhide__ = True
        return self._inflict("gateway", "invalid_session", user=user, resumable=resumable, **more)

    def refuse_identify(self, user: Any = None, code: int = 4004, times: int | None = 1) -> Answer:
        """Close the next connections that identify or resume."""
        __tracebackhide__ = True
        return self._inflict("gateway", "close", user=user, code=code, moment="identify", times=times)

    def clear(self) -> Answer:
        """Let nothing go wrong any more."""
        __tracebackhide__ = True
        return self._scene.background.do(self._clear(), "clear faults")

    async def _clear(self) -> Answer:
        await self._scene.control.ask("DELETE", "/faults")
        return Answer()

    def _inflict(self, door: str, effect: str, user: Any = None, **fault: Any) -> Answer:
        """Whose calls or sessions: an actor, an application (its bot) or an id."""
        __tracebackhide__ = True
        if isinstance(user, Application):
            user = user.bot
        if user is not None:
            fault["user_id"] = user if isinstance(user, str) else user.id
        # Null means something else only where `times` says so.
        said = {key: value for key, value in fault.items() if value is not None or key == "times"}
        return self._scene.background.do(self._ask({"door": door, "effect": effect, **said}), f"fault {effect}")

    async def _ask(self, fault: dict[str, Any]) -> Answer:
        __tracebackhide__ = True
        return Answer(await self._scene.control.ask("POST", "/faults", fault))


def moment(time: datetime | str) -> str:
    """A time as the control API reads it; ValueError where it is none."""
    if isinstance(time, str):
        time = datetime.fromisoformat(time)
    return (time if time.tzinfo is not None else time.replace(tzinfo=UTC)).isoformat()
