"""What an interaction shows beside itself: the message it is about, the application that answers."""

from itertools import chain

from hubbub.protocol.ids import ApplicationId
from hubbub.protocol.resources.messages import Message, MessageApplication
from hubbub.server.core.call import Call
from hubbub.server.resources import messages
from hubbub.server.resources.interactions.store import App
from hubbub.server.resources.messages import MessageRow


def message(call: Call, row: MessageRow, app: App, guild_id: int | None) -> Message:
    """A message as an app may read it that is asked about it: what it answers or carries is judged for itself."""
    views = messages.views
    around = views.Around(call)
    around.load((row,), app.bot_id or 0)
    shown = views.show(Message, around, row)
    if guild_id is None or app.flags & views.READS_CONTENT:
        return shown
    inside = (views.concerns(part, app.bot_id or 0, app.id) for part in views.parts(around, row)[1:])
    return views.veiled(shown, chain((True,), inside))


def application(row: App) -> MessageApplication:
    """The little of an application that a person is shown beside its modal."""
    return MessageApplication(
        id=ApplicationId(row.id), name=row.name, icon=row.icon, description=row.description, type=None
    )
