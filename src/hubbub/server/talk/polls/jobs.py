"""Job that ends a poll at its expiry."""

from hubbub.server.core.call import Call
from hubbub.server.core.jobs import Job
from hubbub.server.places.standing import access
from hubbub.server.talk import messages
from hubbub.server.talk.polls import actions, rules


def expire_poll(call: Call, job: Job) -> None:
    """End an expired poll, unless it has ended already or its message was deleted."""
    expiry_payload = job.decode(actions.PollExpiry)
    channel = access.find_channel(call.tx, expiry_payload.channel_id)
    row = messages.history.find(call.tx, expiry_payload.channel_id, expiry_payload.message_id)
    poll = None if row is None else rules.find_poll(row)
    if channel is None or row is None or poll is None or poll.results.is_finalized:
        return
    actions.end_poll(call, channel, row, poll)
