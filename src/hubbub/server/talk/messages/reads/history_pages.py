"""Encode pages of a channel's history, with a fast path for messages that consist of content only."""

from collections.abc import Sequence
from functools import lru_cache
from typing import Final

import msgspec

from hubbub.protocol import codec
from hubbub.protocol.ids import EPOCH_MS
from hubbub.protocol.resources import messages as wire
from hubbub.server.core.call import Call
from hubbub.server.places.standing import ChannelRef
from hubbub.server.talk.messages import store, views
from hubbub.server.talk.messages.content.records import HistoryRow, MessageRow

MessageTemplate = tuple[bytes, bytes, bytes, bytes]
"""Encoded parts of a content-only message: before the content, before the timestamp, before the ID, and after the ID."""

# Placeholders that no real message contains, used to find the parts that differ between messages.
_SAMPLE: Final = MessageRow(0, 1, 0, 0, 0, "\x00words\x00")
_SAMPLE_PARTS: Final = (
    codec.encode(_SAMPLE.content),
    codec.timestamp(_SAMPLE.created_ms).encode(),
    b'"id":"%d","channel_id"' % _SAMPLE.id,
)
_MILLISECONDS: Final = tuple(b".%03d000+00:00" % milliseconds for milliseconds in range(1000))
"""Encoded fraction and offset of a timestamp, by its milliseconds."""


def encode_page(call: Call, channel: ChannelRef, history: Sequence[HistoryRow]) -> list[wire.Message] | msgspec.Raw:
    """Return messages of one channel as the caller may read them, in the order of `history`."""
    actor = call.actor_or_none
    if not views.can_read_all(actor, channel.guild_id):
        # Whether a bot may read a message depends on columns that history rows lack.
        rows = store.find_many(call.tx, channel.id, [history_row.id for history_row in history])
        return views.messages(call, [rows[history_row.id] for history_row in history], guild_id=channel.guild_id)
    complex_ids = [history_row.id for history_row in history if not history_row.is_plain]
    rows = store.find_many(call.tx, channel.id, complex_ids) if complex_ids else {}
    related = views.RelatedData(call)
    related.load_users({history_row.author_id for history_row in history})
    if rows:
        related.load(list(rows.values()), 0 if actor is None else actor.user_id)
    templates: dict[int, MessageTemplate] = {}
    pieces: list[bytes] = []
    for message_id, author_id, content, is_plain in history:
        if not is_plain:
            pieces += (b",", codec.encode(views.build_message(wire.Message, related, rows[message_id])))
            continue
        template = templates.get(author_id)
        if template is None:
            template = templates[author_id] = _message_template(related, channel.id, author_id)
        before_content, before_timestamp, before_id, after_id = template
        # The time is `Snowflake(message_id).created_ms`, computed without creating an object for each message.
        seconds, milliseconds = divmod((message_id >> 22) + EPOCH_MS, 1000)
        pieces += (
            before_content,
            codec.encode(content),
            before_timestamp,
            _encode_seconds(seconds),
            _MILLISECONDS[milliseconds],
            before_id,
            b"%d" % message_id,
            after_id,
        )
    return msgspec.Raw(b"[%b]" % b"".join(pieces)[1:])


def _message_template(related: views.RelatedData, channel_id: int, author_id: int) -> MessageTemplate:
    """Encode a sample message and split it where content-only messages of one author and channel differ."""
    rest = codec.encode(
        views.build_message(wire.Message, related, _SAMPLE._replace(channel_id=channel_id, author_id=author_id))
    )
    parts: list[bytes] = []
    for sample_part in _SAMPLE_PARTS:
        part, found, rest = rest.partition(sample_part)
        if not found:
            # Without this check, a changed order of fields would produce invalid JSON.
            raise ValueError(f"{sample_part!r} is not in an encoded message, or before another part")
        parts.append(part)
    before_content, before_timestamp, before_id = parts
    return b"," + before_content, before_timestamp, before_id + b'"id":"', b'","channel_id"' + rest


@lru_cache(maxsize=4096)
def _encode_seconds(seconds: int) -> bytes:
    return codec.timestamp(seconds * 1000)[:19].encode()
