"""What a stage says of itself in its own chat."""

from hubbub.server.core.access import find_channel
from hubbub.server.core.call import Call
from hubbub.server.resources.messages import saying
from hubbub.server.resources.stage_instances import StageSaid


def hear(call: Call, fact: StageSaid) -> None:
    """A stage began, ended, has another topic or another speaker."""
    channel = find_channel(call.tx, fact.channel_id)
    if channel is not None:
        saying.system(call, channel, fact.kind, fact.user_id, content=fact.topic, everyone=fact.everyone)
