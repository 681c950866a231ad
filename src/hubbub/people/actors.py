"""Clients of users and bots: requests to the public API with the actor's token, and the actor's gateway session."""

import asyncio
from collections.abc import Callable, Mapping
from typing import Any, Final
from urllib.parse import urlencode

import aiohttp
import msgspec

from hubbub.people import requests
from hubbub.people.context import PlatformContext
from hubbub.people.errors import EventNotReceived, RequestRejected, UnexpectedEvent
from hubbub.people.expectations import (
    contains_fields,
    find_differences,
    format_difference,
    resolve_event,
)
from hubbub.people.results import Result, wrap_body
from hubbub.people.sessions import ActorSession, EventPredicate, ReceivedEvent, format_event
from hubbub.protocol.control.expectations import Difference
from hubbub.protocol.control.faults import SETTLE
from hubbub.protocol.flags import ApplicationFlags as Flags
from hubbub.protocol.intents import Intents
from hubbub.protocol.operation import BodyT, Event, Operation, PayloadT, ResultT
from hubbub.protocol.request_paths import build_path
from hubbub.protocol.resources.applications import GET_MY_APPLICATION
from hubbub.protocol.resources.gateway import READY, Ready

PRIVILEGED_INTENT_FLAGS: Final = {
    Intents.GUILD_MEMBERS: Flags.GATEWAY_GUILD_MEMBERS | Flags.GATEWAY_GUILD_MEMBERS_LIMITED,
    Intents.GUILD_PRESENCES: Flags.GATEWAY_PRESENCE | Flags.GATEWAY_PRESENCE_LIMITED,
    Intents.MESSAGE_CONTENT: Flags.GATEWAY_MESSAGE_CONTENT | Flags.GATEWAY_MESSAGE_CONTENT_LIMITED,
}
"""Privileged intents and the application flags that grant them; any of the flags is enough."""


class ActorClient:
    """Client of a user or bot."""

    token_prefix = ""

    def __init__(self, context: PlatformContext, name: str, user_id: str, token: str) -> None:
        self.context = context
        self.name = name
        self.id = user_id
        self.token = token
        self.session: ActorSession | None = None
        """The gateway session; None while the actor is disconnected."""
        self._connect_lock = asyncio.Lock()

    # HTTP

    async def request(self, method: str, path: str, json: Any = None, **options: Any) -> Any:
        """Send a request to the public API with this actor's token; return the decoded response."""
        __tracebackhide__ = True
        body = (await self._exchange(method, path, json=json, **options)).decode()
        return wrap_body(body)

    async def send(
        self,
        operation: Operation[Any, Any],
        json: Any = None,
        *,
        query: Mapping[str, Any] | None = None,
        data: aiohttp.FormData | None = None,
        **parameters: str,
    ) -> Any:
        """Send an operation with an untyped JSON body, and return its result as JSON with its model.

        `call` sends a typed body and returns the model. `parameters` are the parameters of the path."""
        __tracebackhide__ = True
        path = build_path(operation, parameters)
        response = await self._exchange(
            operation.method, f"{path}?{urlencode(query)}" if query else path, json=json, data=data
        )
        return wrap_body(response.decode(), operation.result)

    async def call(
        self,
        operation: Operation[BodyT, ResultT],
        body: BodyT | None = None,
        *,
        query: msgspec.Struct | None = None,
        **parameters: int | str,
    ) -> ResultT:
        """Send an operation with this actor's token and return its result; `parameters` are the parameters of its path."""
        __tracebackhide__ = True
        path, options = build_path(operation, parameters, query), requests.encode_body(body)
        return (await self._exchange(operation.method, path, **options)).decode_result(operation)

    async def _exchange(self, method: str, path: str, **options: Any) -> requests.Response:
        """Send a request; add the cause to the error if the platform rejects it."""
        __tracebackhide__ = True
        context, authorization = self.context, self.token_prefix + self.token
        try:
            return await requests.send(
                context.http, self.name, method, context.ready.api, path, authorization, **options
            )
        except RequestRejected as error:
            cause = await context.find_cause(self.id, error.status, error.code)
            raise RequestRejected(self.name, method, path, error.status, error.body, cause) from None

    # Gateway

    async def connect(self) -> Result[Ready]:
        """Connect to the gateway, unless the actor is connected; return READY."""
        session = await self.ensure_session()
        return Result.of(session.ready, READY.payload)

    async def disconnect(self) -> Result[None]:
        """Disconnect from the gateway; the events received so far are discarded."""
        session, self.session = self.session, None
        if session is not None:
            await session.close()
        return Result()

    async def ensure_session(self) -> ActorSession:
        """Return the open gateway session; connect if there is none."""
        async with self._connect_lock:
            if self.session is None or not self.session.is_open:
                await self.disconnect()
                context, intents = self.context, await self._requested_intents()
                self.session = await ActorSession.open(
                    context.http, context.ready.gateway, self.name, self.token, intents
                )
            return self.session

    async def _requested_intents(self) -> int | None:
        return None

    async def expect(
        self,
        event: Event[PayloadT] | str,
        where: EventPredicate | None,
        timeout_seconds: float | None,
        fields: Mapping[str, Any],
    ) -> Result[PayloadT]:
        """Return the data of the next event of this name that contains `fields` and satisfies `where`.

        An event that has arrived and was not returned before is returned immediately. If none arrives within
        `timeout_seconds`, `EventNotReceived` is raised with the differences of the most similar event.
        """
        __tracebackhide__ = True
        declared_event = resolve_event(event)
        event = declared_event.name
        is_first_connection = self.session is None
        # A session that has ended is not replaced, because its events are lost; the failure reports that.
        session = self.session or await self.ensure_session()
        try:
            data = await session.wait_event(
                event,
                _combine_predicates(where, fields),
                timeout_seconds=self.context.timeout_seconds if timeout_seconds is None else timeout_seconds,
                match_description=_describe_match(where, fields),
            )
        except EventNotReceived as error:
            differences = _closest_differences(event, fields, error.received)
            lines = [str(error)]
            if differences:
                lines.append(f"Differences of the most similar {event}:")
                lines += [f"  {format_difference(difference)}" for difference in differences]
            if is_first_connection:
                lines.append(
                    f"{self.name} connected only with this expect; call `connect()` earlier to receive earlier events."
                )
            explanation = await self.context.explain_missing(self.id, event)
            lines[1:1] = [explanation] if explanation else []
            raise EventNotReceived("\n".join(lines), error.received, differences) from None
        return Result.of(data, declared_event.payload)

    async def expect_none(
        self, event: Event[Any] | str, where: EventPredicate | None, fields: Mapping[str, Any]
    ) -> Result[None]:
        """Raise `UnexpectedEvent` if an earlier action caused a matching event that was not returned before.

        This waits only until pending events have arrived."""
        __tracebackhide__ = True
        event = resolve_event(event).name
        session = await self.ensure_session()
        await self.wait_for_delivery(session)
        position = session.find(event, _combine_predicates(where, fields))
        if position is not None:
            match_description = _describe_match(where, fields)
            raise UnexpectedEvent(
                f"{self.name} received unexpected {event}{match_description}:\n  {format_event(session.received[position])}",
                [session.received[position]],
            )
        return Result()

    async def wait_for_delivery(self, session: ActorSession) -> None:
        """Wait until the session has received the events of all earlier actions."""
        await self.context.control.call(SETTLE)
        await session.wait_for_sent_events()

    @property
    def received_events(self) -> list[ReceivedEvent]:
        """The latest 10,000 events that the session has received, in order; empty while disconnected."""
        return [] if self.session is None else self.session.kept_events


class BotClient(ActorClient):
    """Client of an application's bot."""

    token_prefix = "Bot "

    async def _requested_intents(self) -> int:
        # Request all intents that the application may have.
        flags = (await self.call(GET_MY_APPLICATION)).flags
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


def _closest_differences(name: str, fields: Mapping[str, Any], received: Any) -> list[Difference]:
    """Return the differences of the event of this name that differs in the fewest fields; of equals, the latest."""
    candidates = [list(find_differences(fields, event.data)) for event in received if event.name == name]
    return min(reversed(candidates), key=len, default=[])
