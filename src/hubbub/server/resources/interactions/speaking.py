"""An app that goes on answering, under an address like a webhook's (webhooks-and-interactions.md 3.1)."""

from typing import Final

from hubbub.protocol import errors
from hubbub.protocol.flags import MessageFlags
from hubbub.protocol.ids import MessageId
from hubbub.protocol.resources import webhooks as wire
from hubbub.protocol.resources.interactions import CallbackMessage
from hubbub.protocol.resources.messages import Message, UpdateMessage
from hubbub.server.core.call import Call
from hubbub.server.resources import messages
from hubbub.server.resources.interactions import actions, asking, rules, showing
from hubbub.server.resources.interactions.store import App, InteractionRow
from hubbub.server.resources.messages import MessageRow
from hubbub.server.resources.webhooks import TokenPresented

_FLAGS: Final = MessageFlags.SETTABLE & ~MessageFlags.IS_VOICE_MESSAGE | MessageFlags.EPHEMERAL
"""What later answers may set; only the first one can be a voice message."""


class Voice:
    """What an app can do with an interaction's token: a `webhooks.Speaker`."""

    def __init__(self, row: InteractionRow, application: App) -> None:
        self._row = row
        self._application = application

    def say(self, call: Call, body: wire.ExecuteWebhook) -> Message:
        """Say more; name, picture and thread of webhooks are not for apps."""
        said = CallbackMessage(
            content=body.content,
            embeds=body.embeds,
            allowed_mentions=body.allowed_mentions,
            components=body.components,
            attachments=body.attachments,
            poll=body.poll,
            tts=body.tts,
            flags=(body.flags or 0) & _FLAGS,
        )
        return actions.follow_up(call, self._row, self._application, said)

    def get(self, call: Call, message_id: MessageId) -> Message:
        """What was said."""
        return showing.message(call, self._message(call, message_id), self._application, self._row.guild_id)

    def change(self, call: Call, message_id: MessageId, body: wire.UpdateWebhookMessage) -> Message:
        """Say something else instead."""
        return self._change(call, self._message(call, message_id), body)

    def delete(self, call: Call, message_id: MessageId) -> None:
        """Take it back."""
        actions.delete(call, self._row, self._application, self._message(call, message_id))

    def get_original(self, call: Call) -> Message:
        """The first answer."""
        return showing.message(call, self._original(call), self._application, self._row.guild_id)

    def change_original(self, call: Call, body: wire.UpdateWebhookMessage) -> Message:
        """Answer something else first; or say what was promised."""
        return self._change(call, self._original(call), body)

    def delete_original(self, call: Call) -> None:
        """Take the first answer back."""
        actions.delete(call, self._row, self._application, self._original(call))

    def _change(self, call: Call, message: MessageRow, body: wire.UpdateWebhookMessage) -> Message:
        if message.flags & MessageFlags.LOADING:
            said = CallbackMessage(
                content=body.content,
                embeds=body.embeds,
                allowed_mentions=body.allowed_mentions,
                components=body.components,
                attachments=body.attachments,
                poll=body.poll,
                flags=(body.flags or 0) & _FLAGS,
            )
            return actions.fill(call, self._row, self._application, message, said)
        if body.poll:
            raise errors.POLL_CANNOT_EDIT()
        change = UpdateMessage(
            content=body.content,
            embeds=body.embeds,
            flags=body.flags,
            allowed_mentions=body.allowed_mentions,
            components=body.components,
            attachments=body.attachments,
        )
        return actions.change(call, self._row, self._application, message, change)

    def _original(self, call: Call) -> MessageRow:
        found = actions.find_original(call, self._row)
        if found is None:
            raise errors.UNKNOWN_MESSAGE()
        return found

    def _message(self, call: Call, message_id: int) -> MessageRow:
        """An answer to this interaction and to no other."""
        row = asking.find_message(call, self._row.channel_id, message_id)
        answers = messages.views.extra(row).interaction
        if message_id != self._row.original_id and (answers is None or answers.id != self._row.id):
            raise errors.UNKNOWN_MESSAGE()
        return row


def find(call: Call, application_id: int, token: str) -> Voice | None:
    """Who answers with this token, or None."""
    found = rules.find_answered(call, application_id, token)
    return None if found is None else Voice(*found)


def require(call: Call, application_id: int, token: str) -> Voice:
    """Who answers with this token; raises UNKNOWN_WEBHOOK."""
    voice = find(call, application_id, token)
    if voice is None:
        raise errors.UNKNOWN_WEBHOOK()
    return voice


def hear_token(call: Call, fact: TokenPresented) -> None:
    """A token for what is no webhook: perhaps it is ours."""
    fact.speaker = fact.speaker or find(call, fact.webhook_id, fact.token)
