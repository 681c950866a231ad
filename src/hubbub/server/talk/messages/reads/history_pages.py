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

# Placeholders that no real message contains, used to find the parts that differ between messages.
_SAMPLE_ROW: Final = MessageRow(0, 1, 0, 0, 0, "\x00words\x00")
_SAMPLE_SEPARATORS: Final = (
    codec.encode(_SAMPLE_ROW.content),
    codec.timestamp(_SAMPLE_ROW.created_ms).encode(),
    b'"id":"%d","channel_id"' % _SAMPLE_ROW.id,
)
MessageTemplate = tuple[bytes, bytes, bytes, bytes]
"""JSON of a content-only message before its content, timestamp and ID, and after its ID."""
_ENCODED_MILLISECONDS: Final = tuple(b".%03d000+00:00" % milliseconds for milliseconds in range(1000))
"""Encoded fraction and offset of a timestamp, by its milliseconds."""


def encode_page(
    call: Call, channel: ChannelRef, history_rows: Sequence[HistoryRow]
) -> list[wire.Message] | msgspec.Raw:
    """Return messages of one channel as the caller may read them, in the order of `history_rows`."""
    actor = call.actor_or_none
    if not views.can_read_all(actor, channel.guild_id):
        # Whether a bot may read a message depends on columns that history rows lack.
        message_ids = [message_id for message_id, *_ in history_rows]
        rows_by_id = store.find_many(call.tx, channel.id, message_ids)
        return views.messages(call, [rows_by_id[message_id] for message_id in message_ids], guild_id=channel.guild_id)
    complex_ids = [message_id for message_id, _, _, is_plain in history_rows if not is_plain]
    rows_by_id = store.find_many(call.tx, channel.id, complex_ids) if complex_ids else {}
    related_data = views.RelatedData(call)
    related_data.load_users({author_id for _, author_id, _, _ in history_rows})
    if rows_by_id:
        related_data.load(list(rows_by_id.values()), 0 if actor is None else actor.user_id)
    templates_by_author: dict[int, MessageTemplate] = {}
    # The parts of all messages are joined once, which is faster than building each message. A comma precedes each message.
    json_parts: list[bytes] = []
    for message_id, author_id, content, is_plain in history_rows:
        if not is_plain:
            message = views.build_message(wire.Message, related_data, rows_by_id[message_id])
            json_parts += (b",", codec.encode(message))
            continue
        template = templates_by_author.get(author_id)
        if template is None:
            template = templates_by_author[author_id] = _message_template(related_data, channel.id, author_id)
        # The time is `Snowflake(message_id).created_ms`, computed without creating an object for each message.
        seconds, milliseconds = divmod((message_id >> 22) + EPOCH_MS, 1000)
        before_content, before_timestamp, before_id, after_id = template
        json_parts += (
            before_content,
            codec.encode(content),
            before_timestamp,
            _encode_seconds(seconds),
            _ENCODED_MILLISECONDS[milliseconds],
            before_id,
            b"%d" % message_id,
            after_id,
        )
    return msgspec.Raw(b"[%b]" % b"".join(json_parts)[1:])


def _message_template(related_data: views.RelatedData, channel_id: int, author_id: int) -> MessageTemplate:
    """Return the JSON that all content-only messages of one author in a channel share, from an encoded sample message."""
    remaining_json = codec.encode(
        views.build_message(
            wire.Message, related_data, _SAMPLE_ROW._replace(channel_id=channel_id, author_id=author_id)
        )
    )
    json_parts: list[bytes] = []
    for sample_part in _SAMPLE_SEPARATORS:
        json_part, separator, remaining_json = remaining_json.partition(sample_part)
        if not separator:
            # Without this check, a changed order of fields would produce invalid JSON.
            raise ValueError(f"{sample_part!r} is not in an encoded message, or before another part")
        json_parts.append(json_part)
    before_content, before_timestamp, before_id = json_parts
    return b"," + before_content, before_timestamp, before_id + b'"id":"', b'","channel_id"' + remaining_json


@lru_cache(maxsize=4096)
def _encode_seconds(seconds: int) -> bytes:
    return codec.timestamp(seconds * 1000)[:19].encode()
