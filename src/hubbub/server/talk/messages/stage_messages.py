"""System messages of stage channels."""

from hubbub.protocol.enums import MessageType
from hubbub.server.core.call import Call
from hubbub.server.places.standing import access
from hubbub.server.talk.messages import creation


def create_stage_message(
    call: Call, channel_id: int, message_type: MessageType, user_id: int, *, topic: str, mentions_everyone: bool
) -> None:
    """Create the system message of a stage that started, ended, or has a new topic or speaker.

    `mentions_everyone` notifies all members. Does nothing if the channel does not exist."""
    channel = access.find_channel(call.tx, channel_id)
    if channel is not None:
        creation.create_system_message(
            call, channel, message_type, user_id, content=topic, mentions_everyone=mentions_everyone
        )
