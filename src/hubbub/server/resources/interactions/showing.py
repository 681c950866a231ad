"""What an interaction shows beside itself: the message it is about, the application that answers."""

from hubbub.protocol.ids import ApplicationId
from hubbub.protocol.resources.messages import Message, MessageApplication
from hubbub.server.core.call import Call
from hubbub.server.resources import messages
from hubbub.server.resources.applications import ApplicationRow
from hubbub.server.resources.messages import MessageRow


def message(call: Call, row: MessageRow, viewer_id: int) -> Message:
    """A message as somebody may read it who is concerned with it."""
    around = messages.views.Around(call)
    around.load((row,), viewer_id)
    return messages.views.show(Message, around, row)


def application(row: ApplicationRow) -> MessageApplication:
    """The little of an application that a person is shown beside its modal."""
    return MessageApplication(
        id=ApplicationId(row.id), name=row.name, icon=row.icon, description=row.description, type=None
    )
