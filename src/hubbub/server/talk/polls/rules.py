"""Permission and validity checks for votes and for ending polls."""

from hubbub.protocol import errors
from hubbub.protocol.resources import polls as wire
from hubbub.server.core.call import Call
from hubbub.server.core.denials import READ_ONLY_REASON, Denial, PermissionDenied
from hubbub.server.places.standing import ChannelAccess
from hubbub.server.talk import messages
from hubbub.server.talk.messages import MessageRow


def find_poll(row: MessageRow) -> wire.Poll | None:
    """Return the poll of a message without its votes, or None."""
    return messages.views.extra(row).poll if row.has_poll else None


def require_answer(row: MessageRow, answer_id: int) -> None:
    """Raise an error unless the message has a poll with the answer."""
    poll = find_poll(row)
    if poll is None:
        raise errors.UNKNOWN_MESSAGE()
    answer_ids = [answer.answer_id for answer in poll.answers]
    if answer_id not in answer_ids:
        raise errors.invalid("answer_id", *errors.choices(answer_ids))


def require_valid_vote(channel_access: ChannelAccess, row: MessageRow, body: wire.VoteInPoll) -> set[int]:
    """Return the answer IDs to vote for, or raise an error if the vote is not allowed."""
    if channel_access.guild is not None and channel_access.guild.is_read_only:
        # Members who are timed out, pending or quarantined have read-only access.
        raise PermissionDenied(Denial(reason=READ_ONLY_REASON))
    if channel_access.channel.archived:
        raise errors.THREAD_ARCHIVED()
    poll = find_poll(row)
    if poll is None:
        raise errors.POLL_VOTING_BLOCKED()
    if poll.results.is_finalized:
        raise errors.POLL_EXPIRED()
    valid_ids = [answer.answer_id for answer in poll.answers]
    form = errors.FormErrors()
    for index, answer_id in enumerate(body.answer_ids):
        if answer_id not in valid_ids:
            form.add(("answer_ids", index), *errors.choices(valid_ids))
    chosen_ids = {int(answer_id) for answer_id in body.answer_ids}
    if len(chosen_ids) > 1 and not poll.allow_multiselect:
        form.add(("answer_ids",), *errors.bad_length(0, 1))
    form.raise_if_any()
    return chosen_ids


def require_can_end(call: Call, row: MessageRow) -> wire.Poll:
    """Return the poll if the caller may end it, otherwise raise an error."""
    if row.author_id != call.user_id:
        raise errors.CANNOT_EDIT_OTHERS_MESSAGE()
    poll = find_poll(row)
    if poll is None:
        raise errors.POLL_CANNOT_EXPIRE_NON_POLL()
    if poll.results.is_finalized:
        raise errors.POLL_EXPIRED()
    return poll
