"""Find the users who may read a message, or parts of it, without the message content intent (spec/gateway.md#5.2)."""

from collections.abc import Iterable, Sequence

from hubbub.protocol.resources import messages as wire
from hubbub.server.core.call import Call
from hubbub.server.identity import applications
from hubbub.server.talk.messages import views
from hubbub.server.talk.messages.content import json_columns
from hubbub.server.talk.messages.content.records import MessageRow

PartialViews = Sequence[tuple[frozenset[int], wire.DispatchedMessage]]
"""Sets of users who may read only some parts of a message, each with its redacted message."""


def find_reader_ids(call: Call, row: MessageRow, mentioned_user_ids: Iterable[int]) -> frozenset[int]:
    """Return the IDs of the users who may read a message itself: author, bot of its application, and mentioned users."""
    # The author of an interaction response is already the app's bot: both have the ID of the application.
    has_other_bot = row.application_id is not None and row.application_id != row.author_id
    application = applications.find(call.tx, row.application_id or 0) if has_other_bot else None
    bot_ids = () if application is None or application.bot_id is None else (application.bot_id,)
    return frozenset((row.author_id, *bot_ids, *mentioned_user_ids))


def split_readers(
    call: Call,
    row: MessageRow,
    related_data: views.RelatedData,
    payload: wire.DispatchedMessage,
    reader_ids: frozenset[int],
) -> tuple[frozenset[int], PartialViews]:
    """Return the IDs of the bots that may read all parts of a message, and redacted messages for other bots.

    Parts are the message itself and the messages that it replies to or forwards. `reader_ids` are the IDs of the users who
    may read the message itself."""
    reader_ids_by_part = [reader_ids]
    for part in views.list_parts(related_data, row)[1:]:
        if isinstance(part, MessageRow):
            reader_ids_by_part.append(find_reader_ids(call, part, json_columns.mentions(part)))
        else:
            reader_ids_by_part.append(frozenset((part.author_id, *part.mentions)))
    user_ids_by_readable_parts: dict[tuple[bool, ...], set[int]] = {}
    for user_id in frozenset[int]().union(*reader_ids_by_part):
        user = related_data.users.get(user_id)
        # Users may read everything and need no redacted message.
        if user is None or user.bot:
            user_ids_by_readable_parts.setdefault(
                tuple(user_id in part_reader_ids for part_reader_ids in reader_ids_by_part), set()
            ).add(user_id)
    full_reader_ids = frozenset(user_ids_by_readable_parts.pop((True,) * len(reader_ids_by_part), ()))
    return full_reader_ids, [
        (frozenset(user_ids), views.redact_parts(payload, iter(readable_parts)))
        for readable_parts, user_ids in user_ids_by_readable_parts.items()
    ]
