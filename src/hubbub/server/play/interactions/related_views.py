"""Wire models that accompany an interaction: its message and its application."""

from itertools import chain

from hubbub.protocol.ids import ApplicationId
from hubbub.protocol.resources.messages import Message, MessageApplication
from hubbub.server.core.call import Call
from hubbub.server.play.interactions.store import InteractionApplication
from hubbub.server.talk import messages
from hubbub.server.talk.messages import MessageRow


def message(call: Call, row: MessageRow, application: InteractionApplication, guild_id: int | None) -> Message:
    """Return a message as the invoked app may read it.

    Without the message content intent, the content of replied-to and forwarded messages in guilds is removed, unless
    they concern the app."""
    views = messages.views
    related = views.RelatedData(call)
    related.load((row,), application.bot_id or 0)
    view = views.build_message(Message, related, row)
    if guild_id is None or application.flags & views.CONTENT_INTENT_FLAGS:
        return view
    # The first part is the message itself, which the app may always read.
    related_parts = views.list_parts(related, row)[1:]
    parts_concern_app = (views.concerns_bot(part, application.bot_id or 0, application.id) for part in related_parts)
    return views.redact_parts(view, chain((True,), parts_concern_app))


def application(row: InteractionApplication) -> MessageApplication:
    """Return the partial application that users see with its modals."""
    return MessageApplication(
        id=ApplicationId(row.id), name=row.name, icon=row.icon, description=row.description, type=None
    )
