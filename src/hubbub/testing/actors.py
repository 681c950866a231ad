"""Actors of a test: users and bots that use the platform's public API through HTTP requests and a gateway session."""

from collections.abc import Coroutine
from typing import Any, TypeVar

from hubbub.people.actors import ActorClient, BotClient
from hubbub.people.results import Result
from hubbub.people.sessions import EventPredicate, ReceivedEvent
from hubbub.protocol.operation import Event, PayloadT
from hubbub.protocol.resources.gateway import Ready
from hubbub.testing.background import Background

T = TypeVar("T")


class Actor:
    """A user or bot with a token."""

    def __init__(self, background: Background, client: ActorClient) -> None:
        self._background = background
        self._client = client
        self.name = client.name
        self.id = client.id
        self.token = client.token

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.name}>"

    # HTTP

    def request(self, method: str, path: str, json: Any = None, **options: Any) -> Any:
        """Send any API request with this actor's token: `alice.request("GET", "/users/@me")`."""
        __tracebackhide__ = True
        return self._run_action(self._client.request(method, path, json, **options), f"{method} {path}")

    def _run_action(self, coroutine: Coroutine[Any, Any, T], description: str) -> T:
        __tracebackhide__ = True
        return self._background.run(coroutine, f"{self.name}: {description}")

    # Gateway

    def connect(self) -> Result[Ready]:
        """Connect to the gateway; return READY. `expect` and actions that cause events connect automatically."""
        __tracebackhide__ = True
        return self._run_action(self._client.connect(), "connect")

    def disconnect(self) -> Result[None]:
        """Disconnect from the gateway; the events received so far are discarded."""
        __tracebackhide__ = True
        return self._run_action(self._client.disconnect(), "disconnect")

    async def _disconnect(self) -> None:
        await self._client.disconnect()

    def expect(
        self,
        event: Event[PayloadT] | str,
        where: EventPredicate | None = None,
        *,
        within: float | None = None,
        **fields: Any,
    ) -> Result[PayloadT]:
        """Return the next event of this name: one that has already arrived, or one that arrives within `within` seconds.

        `event` is a name, or the declaration of the event in `hubbub.protocol`, which gives the result its static type.

        Keyword arguments such as `content="pong"` are values that it must contain (objects are compared recursively).
        `where` is a predicate of its data. Each event is returned once: events that an earlier `expect` or action
        returned are skipped. If the event does not arrive, `EventNotReceived` is raised and lists the events that did,
        with the differences of the most similar one.
        """
        __tracebackhide__ = True
        return self._run_action(
            self._client.expect(event, where, within, fields),
            f"expect {event if isinstance(event, str) else event.name}",
        )

    def expect_none(self, event: Event[Any] | str, where: EventPredicate | None = None, **fields: Any) -> Result[None]:
        """Check that no earlier action caused such an event.

        It waits only until pending events are delivered.
        """
        __tracebackhide__ = True
        return self._run_action(
            self._client.expect_none(event, where, fields),
            f"expect no {event if isinstance(event, str) else event.name}",
        )

    @property
    def received_events(self) -> list[ReceivedEvent]:
        """The latest 10,000 events that the session has received, in order; empty while disconnected."""
        return self._client.received_events


class Bot(Actor):
    """An application's bot, for actions that a test performs on its behalf; a bot under test uses its own library."""

    def __init__(self, background: Background, client: BotClient) -> None:
        super().__init__(background, client)
