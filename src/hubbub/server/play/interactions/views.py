"""Build the wire models that accompany an interaction, and those of failed interactions."""

from itertools import chain

from msgspec import UNSET

from hubbub.protocol.ids import ApplicationId, ChannelId, GuildId, InteractionId
from hubbub.protocol.resources import interactions as wire
from hubbub.protocol.resources.message_parts import MessageApplication
from hubbub.protocol.resources.messages import Message
from hubbub.server.core.call import Call
from hubbub.server.play.interactions.store import InteractionApplication, InteractionRow
from hubbub.server.talk import messages
from hubbub.server.talk.messages import MessageRow


def message(call: Call, row: MessageRow, application: InteractionApplication, guild_id: int | None) -> Message:
    """Return a message as the invoked app may read it.

    Without the message content intent, the content of replied-to and forwarded messages in guilds is removed, unless
    they concern the app."""
    message_views = messages.views
    related_data = message_views.RelatedData(call)
    related_data.load((row,), application.bot_id or 0)
    view = message_views.build_message(Message, related_data, row)
    if guild_id is None or application.flags & message_views.CONTENT_INTENT_FLAGS:
        return view
    # The first part is the message itself, which the app may always read.
    related_parts = message_views.list_parts(related_data, row)[1:]
    parts_concern_app = (
        message_views.concerns_bot(part, application.bot_id or 0, application.id) for part in related_parts
    )
    return message_views.redact_parts(view, chain((True,), parts_concern_app))


def application(row: InteractionApplication) -> MessageApplication:
    """Return the partial application that users see with its commands and modals."""
    return MessageApplication(
        id=ApplicationId(row.id), name=row.name, icon=row.icon, description=row.description, type=None
    )


def failed_interaction(row: InteractionRow) -> wire.FailedInteraction:
    """Build a failed interaction with its endpoint error."""
    return wire.FailedInteraction(
        id=InteractionId(row.id),
        type=row.type,
        channel_id=ChannelId(row.channel_id),
        guild_id=UNSET if row.guild_id is None else GuildId(row.guild_id),
        error=row.problem or "",
    )
