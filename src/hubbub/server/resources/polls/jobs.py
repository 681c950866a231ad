"""Polls end by the clock."""

from hubbub.server.core.access import find_channel
from hubbub.server.core.call import Call
from hubbub.server.core.jobs import Job
from hubbub.server.resources import messages
from hubbub.server.resources.polls import actions, rules


def expire(call: Call, job: Job) -> None:
    """End a poll whose time is over, unless it ended before or its message is gone."""
    wanted = job.decode(actions.Ending)
    channel = find_channel(call.tx, wanted.channel_id)
    row = messages.find(call.tx, wanted.channel_id, wanted.message_id)
    poll = None if row is None else rules.find_poll(row)
    if channel is None or row is None or poll is None or poll.results.is_finalized:
        return
    actions.end(call, channel, row, poll)
