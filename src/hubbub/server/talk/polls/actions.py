"""Store, reassign and delete votes, schedule and execute the end of polls, and publish their events."""

from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Any, Final

import msgspec
from msgspec import UNSET

from hubbub.protocol import codec
from hubbub.protocol.enums import MessageType
from hubbub.protocol.ids import ChannelId, MessageId, UserId
from hubbub.protocol.operation import Event
from hubbub.protocol.resources import polls as wire
from hubbub.protocol.resources.messages import Message, MessageReference
from hubbub.server.core import jobs
from hubbub.server.core.call import Call
from hubbub.server.identity import users
from hubbub.server.identity.imports import ImportedMessageKey
from hubbub.server.places.standing import ChannelRef, access
from hubbub.server.talk import messages
from hubbub.server.talk.messages import MessageRow
from hubbub.server.talk.polls import rules, store, views

EXPIRE_JOB: Final = "polls.expire"
"""Kind of the job that ends a poll at its expiry."""
BATCH_SIZE: Final = 100
"""Number of votes that one transaction of the deletion of an account deletes."""


class PollExpiry(msgspec.Struct):
    """Payload of the job that ends a poll."""

    channel_id: ChannelId
    message_id: MessageId


def schedule_end(
    call: Call, signal: messages.signals.MessageCreated | messages.signals.DeferredMessageCompleted
) -> None:
    """Schedule the end of the poll of a new message or of a completed deferred response, if it has one."""
    _schedule_end(call, signal.row, earliest_ms=0)


def on_messages_imported(call: Call, signal: messages.signals.MessagesImported) -> None:
    """Store the channel of the votes in imported polls, and schedule the end of those that have not expired."""
    store.set_channels(call.tx, [(row.channel_id, row.id) for row in signal.rows if row.has_poll])
    for row in signal.rows:
        _schedule_end(call, row, earliest_ms=call.now_ms)


def _schedule_end(call: Call, row: MessageRow, *, earliest_ms: int) -> None:
    poll = rules.find_poll(row)
    if poll is not None:
        due_ms = codec.milliseconds(datetime.fromisoformat(poll.expiry))
        if due_ms >= earliest_ms:
            expiry_payload = PollExpiry(channel_id=ChannelId(row.channel_id), message_id=MessageId(row.id))
            call.tx.enqueue(EXPIRE_JOB, expiry_payload, due_ms=due_ms, key=_expiry_job_key(row.id))


def set_votes(call: Call, channel: ChannelRef, row: MessageRow, answer_ids: set[int]) -> None:
    """Replace the caller's votes with votes for the answer IDs `answer_ids`, and publish the differences."""
    previous_ids = store.find_voted_answer_ids(call.tx, row.id, call.user_id)
    removed_ids, added_ids = sorted(previous_ids - answer_ids), sorted(answer_ids - previous_ids)
    store.delete_votes(call.tx, row.id, call.user_id, removed_ids)
    store.insert_votes(call.tx, channel.id, row.id, call.user_id, added_ids)
    _publish_votes(call, channel, row, call.user_id, wire.MESSAGE_POLL_VOTE_REMOVE, removed_ids)
    _publish_votes(call, channel, row, call.user_id, wire.MESSAGE_POLL_VOTE_ADD, added_ids)


def delete_by_user(call: Call, user_id: UserId) -> bool:
    """Delete a batch of a user's votes. Return whether the user may have more votes.

    A vote in a running poll is subtracted from the count and its removal is published; the result of an ended poll does not
    change. The count includes a vote whose channel is unknown because an earlier version stored it."""
    rows = store.list_by_user(call.tx, user_id, BATCH_SIZE)
    for vote in rows:
        message = None if vote.channel_id is None else messages.history.find(call.tx, vote.channel_id, vote.message_id)
        poll = None if message is None else rules.find_poll(message)
        channel = None if vote.channel_id is None else access.find_channel(call.tx, vote.channel_id)
        if message is None or channel is None or poll is None or poll.results.is_finalized:
            store.delete_uncounted_vote(call.tx, vote)
            continue
        store.delete_votes(call.tx, vote.message_id, user_id, [vote.answer_id])
        _publish_votes(call, channel, message, user_id, wire.MESSAGE_POLL_VOTE_REMOVE, [vote.answer_id])
    return len(rows) == BATCH_SIZE


def export_data(call: Call, user_id: UserId) -> dict[str, Any]:
    """Return a user's votes for the export of their data."""
    return {
        "poll_votes": [
            {
                "message_id": str(row.message_id),
                "channel_id": None if row.channel_id is None else str(row.channel_id),
                "answer_id": row.answer_id,
            }
            for row in store.list_by_user(call.tx, user_id)
        ]
    }


def _publish_votes(
    call: Call,
    channel: ChannelRef,
    row: MessageRow,
    user_id: int,
    event: Event[wire.PollVote],
    answer_ids: Iterable[int],
) -> None:
    for answer_id in answer_ids:
        payload = wire.PollVote(
            user_id=UserId(user_id),
            channel_id=ChannelId(channel.id),
            message_id=MessageId(row.id),
            answer_id=answer_id,
            guild_id=channel.guild_id or UNSET,
        )
        call.tx.emit(event, payload, messages.audience(call, channel))


def end_poll(call: Call, channel: ChannelRef, row: MessageRow, poll: wire.Poll) -> Message:
    """End a poll, store the final state and post the result."""
    jobs.cancel_jobs(call.tx, EXPIRE_JOB, _expiry_job_key(row.id))
    poll.results.is_finalized = True
    # The message does not contain the counts; views read them from `poll_counts`.
    poll.results.answer_counts = []
    if codec.milliseconds(datetime.fromisoformat(poll.expiry)) > call.now_ms:
        poll.expiry = codec.timestamp(call.now_ms)
    extra = messages.views.extra(row)
    extra.poll = poll
    view = messages.changes.update(call, channel, row._replace(extra=codec.encode(extra).decode()))
    _post_result(call, channel, row, poll)
    return view


def _post_result(call: Call, channel: ChannelRef, row: MessageRow, poll: wire.Poll) -> None:
    if users.find(call.tx, row.author_id) is None:
        # The author is a webhook or a deleted user, so the result message would have no author.
        return
    reference = MessageReference(
        channel_id=ChannelId(channel.id), message_id=MessageId(row.id), guild_id=channel.guild_id or UNSET
    )
    messages.system_messages.create_system_message(
        call,
        # `on_message_created` of the threads slice unarchives a thread that is passed as archived. Pass the channel as not
        # archived, so that the result leaves the thread as it is.
        channel._replace(archived=0),
        MessageType.POLL_RESULT,
        row.author_id,
        reference=reference,
        embeds=(views.result_embed(poll, store.find_vote_counts(call.tx, row.id)),),
    )


def _expiry_job_key(message_id: int) -> str:
    return f"poll-{int(message_id)}"


def on_messages_deleted(call: Call, signal: messages.signals.MessagesDeleted) -> None:
    """Delete the votes of deleted polls."""
    store.delete_message_votes(call.tx, [row.id for row in signal.rows if row.has_poll])


def reassign_votes(
    call: Call, guild_id: int, keys: Sequence[ImportedMessageKey], placeholder_id: UserId, user_id: UserId
) -> None:
    """Transfer the votes of a placeholder account to a user."""
    store.reassign(call.tx, [key.message_id for key in keys], placeholder_id, user_id)
