"""Table of the handlers of gateway events by name, with the models of their payloads.

Events and models are passed as functions without parameters, so that they are imported with the first event and not with
the SDK (decisions/0074).
"""

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, Final, Generic, TypeVar, overload

if TYPE_CHECKING:
    from hubbub.protocol.operation import Event

T = TypeVar("T")
OwnerT = TypeVar("OwnerT")
EmittedEvents = Iterable[tuple[Any, ...]]
"""Events for the game: tuples of the event name and the arguments of its callback."""
Handler = Callable[[OwnerT, T], EmittedEvents]
"""Method that handles a payload and returns the events to emit to the game."""


class EventTable(Generic[OwnerT]):
    """The handlers of gateway events among the methods of a class."""

    def __init__(self) -> None:
        self._declared: Final[
            list[tuple[Callable[[], Event[Any]], Callable[[], Any] | None, Handler[OwnerT, Any]]]
        ] = []
        """Functions that return the event and the model of its payload, if it is not the declared one, with the handler."""
        self._handlers: dict[str, tuple[type[Any], Handler[OwnerT, Any]]] = {}

    @overload
    def handles(self, event: "Callable[[], Event[T]]") -> Callable[[Handler[OwnerT, T]], Handler[OwnerT, T]]: ...

    @overload
    def handles(
        self, event: "Callable[[], Event[Any]]", model: Callable[[], type[T]]
    ) -> Callable[[Handler[OwnerT, T]], Handler[OwnerT, T]]: ...

    def handles(
        self, event: "Callable[[], Event[Any]]", model: Callable[[], type[T]] | None = None
    ) -> Callable[[Handler[OwnerT, T]], Handler[OwnerT, T]]:
        """Register a method as the handler of an event.

        `model` returns the type of the payload; None uses the type that the event declares."""

        def register(method: Handler[OwnerT, T]) -> Handler[OwnerT, T]:
            self._declared.append((event, model, method))
            return method

        return register

    @property
    def handlers(self) -> dict[str, tuple[type[Any], Handler[OwnerT, Any]]]:
        """Model of the payload and handler by the name of the event."""
        if not self._handlers:
            handlers: dict[str, tuple[type[Any], Handler[OwnerT, Any]]] = {}
            for get_event, get_model, method in self._declared:
                event = get_event()
                handlers[event.name] = (event.payload if get_model is None else get_model(), method)
            self._handlers = handlers
        return self._handlers
