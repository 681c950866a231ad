"""System messages of stage channels."""

from hubbub.server.core.access import find_channel
from hubbub.server.core.call import Call
from hubbub.server.resources.messages import saying
from hubbub.server.resources.stage_instances import StageSaid


def hear(call: Call, signal: StageSaid) -> None:
    """Create the system message of a stage that started, ended, or has a new topic or speaker."""
    channel = find_channel(call.tx, signal.channel_id)
    if channel is not None:
        saying.system(call, channel, signal.kind, signal.user_id, content=signal.topic, everyone=signal.everyone)
