"""System messages of stage channels."""

from hubbub.server.core.call import Call
from hubbub.server.places.stage_instances import StageMessageRequested
from hubbub.server.places.standing import access
from hubbub.server.talk.messages import creation


def create_stage_message(call: Call, signal: StageMessageRequested) -> None:
    """Create the system message of a stage that started, ended, or has a new topic or speaker."""
    channel = access.find_channel(call.tx, signal.channel_id)
    if channel is not None:
        creation.create_system_message(
            call, channel, signal.kind, signal.user_id, content=signal.topic, everyone=signal.everyone
        )
