"""Who may vote, for what, and who may end a poll."""

from hubbub.protocol import errors
from hubbub.protocol.resources import polls as wire
from hubbub.server.core.access import ChannelAccess
from hubbub.server.core.call import Call
from hubbub.server.resources import messages
from hubbub.server.resources.messages import MessageRow


def find_poll(row: MessageRow) -> wire.Poll | None:
    """The poll of a message, without its votes."""
    return messages.views.extra(row).poll if row.polled else None


def require_answer(row: MessageRow, answer_id: int) -> None:
    """Raise unless a message has a poll with this answer."""
    poll = find_poll(row)
    if poll is None:
        raise errors.UNKNOWN_MESSAGE()
    known = [answer.answer_id for answer in poll.answers]
    if answer_id not in known:
        raise errors.invalid("answer_id", *errors.choices(known))


def require_vote(here: ChannelAccess, row: MessageRow, body: wire.VoteInPoll) -> set[int]:
    """The answers to vote for, or why not."""
    if here.guild is not None and here.guild.only_reads:
        # Who is timed out or pending only reads.
        raise errors.MISSING_PERMISSIONS()
    if here.channel.archived:
        raise errors.THREAD_ARCHIVED()
    poll = find_poll(row)
    if poll is None:
        raise errors.POLL_VOTING_BLOCKED()
    if poll.results.is_finalized:
        raise errors.POLL_EXPIRED()
    known = [answer.answer_id for answer in poll.answers]
    form = errors.FormErrors()
    for place, answer_id in enumerate(body.answer_ids):
        if answer_id not in known:
            form.add(("answer_ids", place), *errors.choices(known))
    chosen = {int(answer_id) for answer_id in body.answer_ids}
    if len(chosen) > 1 and not poll.allow_multiselect:
        form.add(("answer_ids",), *errors.bad_length(0, 1))
    form.raise_if_any()
    return chosen


def require_end(call: Call, row: MessageRow) -> wire.Poll:
    """The poll that the caller may end, or why not."""
    if row.author_id != call.user_id:
        raise errors.CANNOT_EDIT_OTHERS_MESSAGE()
    poll = find_poll(row)
    if poll is None:
        raise errors.POLL_CANNOT_EXPIRE_NON_POLL()
    if poll.results.is_finalized:
        raise errors.POLL_EXPIRED()
    return poll
