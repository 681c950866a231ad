"""HTTP handlers for polls."""

from hubbub.protocol.ids import ChannelId, MessageId
from hubbub.protocol.resources import polls as wire
from hubbub.protocol.resources.messages import Message
from hubbub.protocol.resources.poll_ends import POLL_EXPIRE
from hubbub.server.core.call import Call
from hubbub.server.core.slices import handles
from hubbub.server.identity import users
from hubbub.server.places.standing import access
from hubbub.server.talk import messages
from hubbub.server.talk.polls import actions, rules, store


@handles(wire.GET_ANSWER_VOTERS)
def get_answer_voters(
    call: Call, channel_id: ChannelId, message_id: MessageId, answer_id: int, query: wire.ListVoters
) -> wire.PollVoters:
    """List the users who voted for a poll answer.

    Users are ordered by ID."""
    row = messages.history.get(call.tx, channel_id, message_id)
    rules.require_answer(row, answer_id)
    user_ids = store.list_voter_ids(call.tx, message_id, answer_id, query.after or 0, query.limit)
    users_by_id = users.find_many(call.tx, user_ids)
    return wire.PollVoters(
        users=[users.user_view(users_by_id[user_id]) for user_id in user_ids if user_id in users_by_id]
    )


@handles(wire.VOTE_IN_POLL)
def vote_in_poll(call: Call, channel_id: ChannelId, message_id: MessageId, body: wire.VoteInPoll) -> None:
    """Vote in a poll.

    The listed answers replace the caller's earlier votes; an empty list removes them."""
    channel_access = access.get_channel_standing(call, channel_id)
    row = messages.history.get(call.tx, channel_id, message_id)
    answer_ids = rules.require_valid_vote(channel_access, row, body)
    actions.set_votes(call, channel_access.channel, row, answer_ids)


@handles(POLL_EXPIRE)
def poll_expire(call: Call, channel_id: ChannelId, message_id: MessageId) -> Message:
    """End a poll.

    Only the author of the poll may end it before its expiry."""
    channel_access = access.get_channel_standing(call, channel_id)
    row = messages.history.get(call.tx, channel_id, message_id)
    poll = rules.require_can_end(call, row)
    return actions.end_poll(call, channel_access.channel, row, poll)
