"""What the webhooks slice asks upper floors, inside the transaction."""

from typing import Protocol

import msgspec

from hubbub.protocol.ids import MessageId
from hubbub.protocol.resources import webhooks as wire
from hubbub.protocol.resources.messages import Message
from hubbub.server.core.call import Call


class Speaker(Protocol):
    """Who speaks through an address of the same form as a webhook's: an app that answers an interaction."""

    def say(self, call: Call, body: wire.ExecuteWebhook) -> Message:
        """Say something."""

    def get(self, call: Call, message_id: MessageId) -> Message:
        """What was said."""

    def change(self, call: Call, message_id: MessageId, body: wire.UpdateWebhookMessage) -> Message:
        """Say something else instead."""

    def delete(self, call: Call, message_id: MessageId) -> None:
        """Take it back."""


class TokenPresented(msgspec.Struct, kw_only=True):
    """Somebody has a token for what is no webhook. Whoever knows it says who speaks."""

    webhook_id: int
    token: str
    speaker: Speaker | None = None
