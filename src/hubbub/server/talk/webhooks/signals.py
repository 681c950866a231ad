"""Signals that the webhooks slice raises inside the transaction."""

from typing import Protocol

import msgspec

from hubbub.protocol.ids import MessageId
from hubbub.protocol.resources import webhooks as wire
from hubbub.protocol.resources.messages import Message
from hubbub.server.core.call import Call


class WebhookAuthor(Protocol):
    """An author other than a webhook that uses webhook routes: an application that responds to an interaction."""

    def create(self, call: Call, body: wire.ExecuteWebhook) -> Message:
        """Create a message."""

    def get(self, call: Call, message_id: MessageId) -> Message:
        """Return a message."""

    def change(self, call: Call, message_id: MessageId, body: wire.UpdateWebhookMessage) -> Message:
        """Update a message."""

    def delete(self, call: Call, message_id: MessageId) -> None:
        """Delete a message."""


class TokenPresented(msgspec.Struct, kw_only=True):
    """Raised for a token that does not belong to a webhook; a listener that recognizes it sets `author`."""

    webhook_id: int
    token: str
    author: WebhookAuthor | None = None
