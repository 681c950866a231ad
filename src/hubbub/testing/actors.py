"""Actors of a test, who use the platform's public API: HTTP requests and a gateway session."""

import asyncio
from collections.abc import Callable, Coroutine, Mapping
from typing import Any, Final, TypeVar

from hubbub.protocol.flags import ApplicationFlags as Flags
from hubbub.protocol.intents import Intents
from hubbub.testing import control
from hubbub.testing.answers import Answer, Answers
from hubbub.testing.context import PlatformContext
from hubbub.testing.errors import NotHeard
from hubbub.testing.sessions import ActorSession, EventPredicate, ReceivedEvent, contains_fields, format_event

T = TypeVar("T")

PRIVILEGED: Final = {
    Intents.GUILD_MEMBERS: Flags.GATEWAY_GUILD_MEMBERS | Flags.GATEWAY_GUILD_MEMBERS_LIMITED,
    Intents.GUILD_PRESENCES: Flags.GATEWAY_PRESENCE | Flags.GATEWAY_PRESENCE_LIMITED,
    Intents.MESSAGE_CONTENT: Flags.GATEWAY_MESSAGE_CONTENT | Flags.GATEWAY_MESSAGE_CONTENT_LIMITED,
}
"""Privileged intents and the application flags that grant them; any of the flags is enough."""


class Actor:
    """A user or bot with a token."""

    _prefix = ""

    def __init__(self, scene: PlatformContext, name: str, user_id: str, token: str) -> None:
        self._scene = scene
        self.name = name
        self.id = user_id
        self.token = token
        self._session: ActorSession | None = None
        self._connecting = asyncio.Lock()

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.name}>"

    # Over HTTP

    def request(self, method: str, path: str, json: Any = None, **more: Any) -> Any:
        """Send any API request with this actor's token: `alice.request("GET", "/users/@me")`."""
        __tracebackhide__ = True
        return self._do(self._call(method, path, json, **more), f"{method} {path}")

    async def _call(self, method: str, path: str, json: Any = None, **more: Any) -> Any:
        __tracebackhide__ = True
        http, api = self._scene.background.http, self._scene.ready.api
        found = await control.request(http, self.name, method, api, path, self._prefix + self.token, json=json, **more)
        return Answer(found) if isinstance(found, dict) else Answers(found) if isinstance(found, list) else found

    def _do(self, work: Coroutine[Any, Any, T], description: str) -> T:
        __tracebackhide__ = True
        return self._scene.background.run(work, f"{self.name}: {description}")

    # Over the gateway

    def connect(self) -> Answer:
        """Connect to the gateway; return READY. Other actions connect by themselves if necessary."""
        __tracebackhide__ = True
        return self._do(self._connect(), "connect")

    async def _connect(self) -> Answer:
        session = await self._online()
        return Answer(session.received[0].data)

    def disconnect(self) -> Answer:
        """Disconnect from the gateway; the events received so far are discarded."""
        __tracebackhide__ = True
        return self._do(self._disconnect(), "disconnect")

    async def _disconnect(self) -> Answer:
        session, self._session = self._session, None
        if session is not None:
            await session.close()
        return Answer()

    async def _online(self) -> ActorSession:
        async with self._connecting:
            if self._session is None or not self._session.is_open:
                await self._disconnect()
                scene, intents = self._scene, await self._intents()
                gateway = scene.ready.gateway
                self._session = await ActorSession.open(scene.background.http, gateway, self.name, self.token, intents)
            return self._session

    async def _intents(self) -> int | None:
        return None

    def expect(
        self, event: str, where: EventPredicate | None = None, *, within: float | None = None, **fields: Any
    ) -> Answer:
        """Return the next event of this name, which may already have arrived or arrives within `within` seconds.

        Keyword arguments such as `content="pong"` are values that it must contain (objects are compared recursively).
        `where` is a predicate of its data. Each event is returned once: events that an earlier `expect` or action
        returned are not found again. `NotHeard` lists the events that did arrive.
        """
        __tracebackhide__ = True
        seconds = self._scene.within if within is None else within
        return self._do(self._expect(event, where, seconds, fields), f"expect {event}")

    async def _expect(self, event: str, where: EventPredicate | None, within: float, fields: dict[str, Any]) -> Answer:
        __tracebackhide__ = True
        connected_late = self._session is None
        # A session that has ended is not replaced, because its events are lost; the failure reports that.
        session = self._session or await self._online()
        try:
            found = await session.take(event, _both(where, fields), within=within, sought=_describe(where, fields))
        except NotHeard as error:
            hint = (
                f"\n{self.name} connected only with this expect; call `connect()` earlier to receive earlier events."
                if connected_late
                else ""
            )
            raise NotHeard(f"{error}{await self._scene.explain_missing(self.id, event)}{hint}") from None
        return Answer(found)

    def expect_none(self, event: str, where: EventPredicate | None = None, **fields: Any) -> Answer:
        """Check that no such event resulted from anything done so far.

        It waits until pending events are delivered, but no longer.
        """
        __tracebackhide__ = True
        return self._do(self._expect_none(event, where, fields), f"expect no {event}")

    async def _expect_none(self, event: str, where: EventPredicate | None, fields: dict[str, Any]) -> Answer:
        __tracebackhide__ = True
        session = await self._online()
        await self._settle(session)
        position = session.find(event, _both(where, fields))
        if position is not None:
            sought = _describe(where, fields)
            raise NotHeard(
                f"{self.name} received unexpected {event}{sought}:\n  {format_event(session.received[position])}"
            )
        return Answer()

    async def _settle(self, session: ActorSession) -> None:
        await self._scene.control.request("POST", "/settle")
        await session.wait_for_sent()

    @property
    def heard(self) -> list[ReceivedEvent]:
        """All events of the session so far, in order; empty while disconnected."""
        return [] if self._session is None else list(self._session.received)


class Bot(Actor):
    """An application's bot, for actions that a test performs on its behalf; a bot under test uses its own library."""

    _prefix = "Bot "

    async def _intents(self) -> int:
        # Request all intents that the application may have.
        flags = (await self._call("GET", "/applications/@me"))["flags"]
        return Intents.BOT_MASK & ~Intents.PRIVILEGED | sum(
            intent for intent, needed in PRIVILEGED.items() if flags & needed
        )


def _both(where: EventPredicate | None, fields: Mapping[str, Any]) -> EventPredicate | None:
    if not fields:
        return where
    return lambda data: contains_fields(fields, data) and (where is None or where(data))


def _describe(where: Callable[..., object] | None, fields: Mapping[str, Any]) -> str:
    parts = [f"{key}={value!r}" for key, value in fields.items()]
    if where is not None:
        parts.append(f"where={getattr(where, '__name__', where)!s}")
    return f" ({', '.join(parts)})" if parts else ""
