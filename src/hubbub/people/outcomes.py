"""The outcome of an interaction, determined from the events that its user receives."""

from collections.abc import Mapping
from typing import Any, TypeAlias

from hubbub.people.sessions import ActorSession
from hubbub.protocol.resources.interactions import (
    APPLICATION_COMMAND_AUTOCOMPLETE_RESPONSE,
    INTERACTION_CREATE,
    INTERACTION_FAILURE,
    INTERACTION_MODAL_CREATE,
    INTERACTION_SUCCESS,
    AutocompleteResponse,
    ModalCreated,
)
from hubbub.protocol.resources.messages import MESSAGE_CREATE, MESSAGE_UPDATE, DispatchedMessage

Response: TypeAlias = DispatchedMessage | ModalCreated | AutocompleteResponse
"""What an application can send to the user in response to an interaction."""


class InteractionOutcome:
    """The outcome of one interaction, which is identified by its nonce.

    `first_position` is the position of the first event in the session that can belong to it."""

    def __init__(
        self, session: ActorSession, nonce: str, first_position: int, message: Mapping[str, Any] | None
    ) -> None:
        self._session = session
        self._nonce = nonce
        self._position = self._first_position = first_position
        self._message = message
        """The message whose component the user used, which the response may update; None for other interactions."""
        self._id: str | None = None
        self._has_succeeded = False
        self.response: Any = None
        """The response: a message, a modal, or autocomplete choices."""
        self.response_model: type[Response] = DispatchedMessage
        """Type of the response."""
        self.is_modal = False
        """Whether the response is a modal."""
        self.failure: dict[str, Any] | None = None
        """The data of INTERACTION_FAILURE, or None."""

    def process_events(self) -> bool:
        """Process the events received so far; return whether the outcome is known."""
        received_events = self._session.received
        while self._position < len(received_events) and not self._is_known():
            event = received_events[self._position]
            if isinstance(event.data, dict) and event.data.get("nonce") == self._nonce:
                self._record_event(event.name, event.data)
            elif self._is_response(event.name, event.data):
                self.response = self._session.consume(self._position)
            self._position += 1
        return self._is_known()

    def _is_known(self) -> bool:
        return self.response is not None or self.failure is not None or self._has_succeeded

    def _record_event(self, name: str, data: dict[str, Any]) -> None:
        self._session.consume(self._position)
        if name == INTERACTION_CREATE.name:
            self._id = data["id"]
        elif name == INTERACTION_FAILURE.name:
            self.failure = data
        elif name in (INTERACTION_MODAL_CREATE.name, APPLICATION_COMMAND_AUTOCOMPLETE_RESPONSE.name):
            self.response, self.is_modal = data, name == INTERACTION_MODAL_CREATE.name
            self.response_model = (
                INTERACTION_MODAL_CREATE if self.is_modal else APPLICATION_COMMAND_AUTOCOMPLETE_RESPONSE
            ).payload
        elif name == INTERACTION_SUCCESS.name:
            self._has_succeeded = True

    def _is_response(self, name: str, data: Any) -> bool:
        if name == MESSAGE_CREATE.name:
            return self._id is not None and (data.get("interaction_metadata") or {}).get("id") == self._id
        return name == MESSAGE_UPDATE.name and self._message is not None and data["id"] == self._message["id"]

    def record_late_response(self) -> None:
        """Set `response` to the message that responds to the interaction, if one arrived after INTERACTION_SUCCESS.

        Call it once all pending events have arrived.
        """
        for position in range(self._first_position, len(self._session.received)):
            event = self._session.received[position]
            if self._is_response(event.name, event.data):
                # An update of the message may be a later action of the application, so it is not consumed and `expect` can
                # return it.
                self.response = self._session.consume(position) if self._message is None else event.data
                return
