"""Actors of a test: users and bots that use the platform's public API through HTTP requests and a gateway session."""

import asyncio
from collections.abc import Callable, Coroutine, Mapping
from typing import Any, Final, TypeVar
from urllib.parse import quote, urlencode

import aiohttp

from hubbub.protocol.flags import ApplicationFlags as Flags
from hubbub.protocol.intents import Intents
from hubbub.protocol.operation import Operation
from hubbub.protocol.resources.applications import GET_MY_APPLICATION
from hubbub.testing import control
from hubbub.testing.context import PlatformContext
from hubbub.testing.errors import EventNotReceived
from hubbub.testing.results import Result, ResultList
from hubbub.testing.sessions import ActorSession, EventPredicate, ReceivedEvent, contains_fields, format_event

T = TypeVar("T")

PRIVILEGED_INTENT_FLAGS: Final = {
    Intents.GUILD_MEMBERS: Flags.GATEWAY_GUILD_MEMBERS | Flags.GATEWAY_GUILD_MEMBERS_LIMITED,
    Intents.GUILD_PRESENCES: Flags.GATEWAY_PRESENCE | Flags.GATEWAY_PRESENCE_LIMITED,
    Intents.MESSAGE_CONTENT: Flags.GATEWAY_MESSAGE_CONTENT | Flags.GATEWAY_MESSAGE_CONTENT_LIMITED,
}
"""Privileged intents and the application flags that grant them; any of the flags is enough."""


class Actor:
    """A user or bot with a token."""

    _token_prefix = ""

    def __init__(self, context: PlatformContext, name: str, user_id: str, token: str) -> None:
        self._context = context
        self.name = name
        self.id = user_id
        self.token = token
        self._session: ActorSession | None = None
        self._connect_lock = asyncio.Lock()

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.name}>"

    # HTTP

    def request(self, method: str, path: str, json: Any = None, **options: Any) -> Any:
        """Send any API request with this actor's token: `alice.request("GET", "/users/@me")`."""
        __tracebackhide__ = True
        return self._run_action(self._call(method, path, json, **options), f"{method} {path}")

    async def _call(self, method: str, path: str, json: Any = None, **options: Any) -> Any:
        __tracebackhide__ = True
        http, api = self._context.background.http, self._context.ready.api
        body = await control.request(
            http, self.name, method, api, path, self._token_prefix + self.token, json=json, **options
        )
        return Result(body) if isinstance(body, dict) else ResultList(body) if isinstance(body, list) else body

    async def _send(
        self,
        operation: Operation[Any, Any],
        json: Any = None,
        *,
        query: Mapping[str, Any] | None = None,
        data: aiohttp.FormData | None = None,
        **parameters: str,
    ) -> Any:
        """Send an operation with this actor's token; `parameters` are the parameters of its path."""
        __tracebackhide__ = True
        path = operation.url(**{name: quote(value, safe="") for name, value in parameters.items()})
        return await self._call(operation.method, f"{path}?{urlencode(query)}" if query else path, json, data=data)

    def _run_action(self, coroutine: Coroutine[Any, Any, T], description: str) -> T:
        __tracebackhide__ = True
        return self._context.background.run(coroutine, f"{self.name}: {description}")

    # Gateway

    def connect(self) -> Result:
        """Connect to the gateway; return READY. Other actions connect automatically."""
        __tracebackhide__ = True
        return self._run_action(self._connect(), "connect")

    async def _connect(self) -> Result:
        session = await self._ensure_session()
        return Result(session.received[0].data)

    def disconnect(self) -> Result:
        """Disconnect from the gateway; the events received so far are discarded."""
        __tracebackhide__ = True
        return self._run_action(self._disconnect(), "disconnect")

    async def _disconnect(self) -> Result:
        session, self._session = self._session, None
        if session is not None:
            await session.close()
        return Result()

    async def _ensure_session(self) -> ActorSession:
        async with self._connect_lock:
            if self._session is None or not self._session.is_open:
                await self._disconnect()
                context, intents = self._context, await self._requested_intents()
                gateway = context.ready.gateway
                self._session = await ActorSession.open(
                    context.background.http, gateway, self.name, self.token, intents
                )
            return self._session

    async def _requested_intents(self) -> int | None:
        return None

    def expect(
        self, event: str, where: EventPredicate | None = None, *, within: float | None = None, **fields: Any
    ) -> Result:
        """Return the next event of this name: one that has already arrived, or one that arrives within `within` seconds.

        Keyword arguments such as `content="pong"` are values that it must contain (objects are compared recursively).
        `where` is a predicate of its data. Each event is returned once: events that an earlier `expect` or action
        returned are skipped. If the event does not arrive, `EventNotReceived` is raised and lists the events that did.
        """
        __tracebackhide__ = True
        timeout_seconds = self._context.timeout_seconds if within is None else within
        return self._run_action(self._expect(event, where, timeout_seconds, fields), f"expect {event}")

    async def _expect(
        self, event: str, where: EventPredicate | None, timeout_seconds: float, fields: dict[str, Any]
    ) -> Result:
        __tracebackhide__ = True
        is_first_connection = self._session is None
        # A session that has ended is not replaced, because its events are lost; the failure reports that.
        session = self._session or await self._ensure_session()
        try:
            data = await session.wait_event(
                event,
                _combine_predicates(where, fields),
                timeout_seconds=timeout_seconds,
                match_description=_describe_match(where, fields),
            )
        except EventNotReceived as error:
            hint = (
                f"\n{self.name} connected only with this expect; call `connect()` earlier to receive earlier events."
                if is_first_connection
                else ""
            )
            raise EventNotReceived(f"{error}{await self._context.explain_missing(self.id, event)}{hint}") from None
        return Result(data)

    def expect_none(self, event: str, where: EventPredicate | None = None, **fields: Any) -> Result:
        """Check that no earlier action caused such an event.

        It waits only until pending events are delivered.
        """
        __tracebackhide__ = True
        return self._run_action(self._expect_none(event, where, fields), f"expect no {event}")

    async def _expect_none(self, event: str, where: EventPredicate | None, fields: dict[str, Any]) -> Result:
        __tracebackhide__ = True
        session = await self._ensure_session()
        await self._wait_for_delivery(session)
        position = session.find(event, _combine_predicates(where, fields))
        if position is not None:
            match_description = _describe_match(where, fields)
            raise EventNotReceived(
                f"{self.name} received unexpected {event}{match_description}:\n  {format_event(session.received[position])}"
            )
        return Result()

    async def _wait_for_delivery(self, session: ActorSession) -> None:
        await self._context.control.request("POST", "/settle")
        await session.wait_for_sent_events()

    @property
    def received_events(self) -> list[ReceivedEvent]:
        """All events that the session has received, in order; empty while disconnected."""
        return [] if self._session is None else list(self._session.received)


class Bot(Actor):
    """An application's bot, for actions that a test performs on its behalf; a bot under test uses its own library."""

    _token_prefix = "Bot "

    async def _requested_intents(self) -> int:
        # Request all intents that the application may have.
        flags = (await self._send(GET_MY_APPLICATION))["flags"]
        return Intents.BOT_MASK & ~Intents.PRIVILEGED | sum(
            intent for intent, granting_flags in PRIVILEGED_INTENT_FLAGS.items() if flags & granting_flags
        )


def _combine_predicates(where: EventPredicate | None, fields: Mapping[str, Any]) -> EventPredicate | None:
    if not fields:
        return where
    return lambda data: contains_fields(fields, data) and (where is None or where(data))


def _describe_match(where: Callable[..., object] | None, fields: Mapping[str, Any]) -> str:
    parts = [f"{key}={value!r}" for key, value in fields.items()]
    if where is not None:
        parts.append(f"where={getattr(where, '__name__', where)!s}")
    return f" ({', '.join(parts)})" if parts else ""
