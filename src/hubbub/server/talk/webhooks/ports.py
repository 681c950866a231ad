"""Port of the webhooks slice: applications that use webhook routes with an interaction token."""

from typing import Protocol

from hubbub.protocol.ids import MessageId
from hubbub.protocol.resources import webhooks as wire
from hubbub.protocol.resources.messages import Message
from hubbub.server.core.call import Call
from hubbub.server.core.ports import port


class WebhookAuthor(Protocol):
    """An author of messages that uses webhook routes without a webhook: an application that responds to an interaction."""

    def create(self, call: Call, body: wire.ExecuteWebhook) -> Message:
        """Create a follow-up message of the interaction."""

    def get(self, call: Call, message_id: MessageId) -> Message:
        """Return a message of the interaction, or raise an error."""

    def update(self, call: Call, message_id: MessageId, body: wire.UpdateWebhookMessage) -> Message:
        """Update a message of the interaction and return it."""

    def delete(self, call: Call, message_id: MessageId) -> None:
        """Delete a message of the interaction."""


@port
def find_interaction_author(call: Call, application_id: int, token: str) -> WebhookAuthor | None:
    """Return the author that an interaction token of an application belongs to, or None for an unknown token."""
