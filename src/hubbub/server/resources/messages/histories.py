"""A page of a channel's history, encoded while it is put together: most of it is words and nothing else."""

from collections.abc import Sequence
from functools import lru_cache
from typing import Final

import msgspec

from hubbub.protocol import wire as json
from hubbub.protocol.ids import EPOCH_MS
from hubbub.protocol.resources import messages as wire
from hubbub.server.core.access import ChannelRef
from hubbub.server.core.call import Call
from hubbub.server.resources.messages import store, views
from hubbub.server.resources.messages.records import Line, MessageRow

Mold = tuple[bytes, bytes, bytes, bytes]
"""What comes before the words, the time and the id of a plain message, and after them."""

# Stand-ins that no real message contains, to find the places that differ between messages.
_SAMPLE: Final = MessageRow(0, 1, 0, 0, 0, "\x00words\x00")
_SAMPLE_PARTS: Final = (
    json.encode(_SAMPLE.content),
    json.timestamp(_SAMPLE.created_ms).encode(),
    b'"id":"%d","channel_id"' % _SAMPLE.id,
)
_MILLISECONDS: Final = tuple(b".%03d000+00:00" % each for each in range(1000))


def page(call: Call, channel: ChannelRef, lines: Sequence[Line]) -> list[wire.Message] | msgspec.Raw:
    """Messages of one channel as the caller may read them, in the order given."""
    actor = call.find_actor
    if not views.reads_all(actor, channel.guild_id):
        # Whether a bot may read a message hangs on what a line does not have.
        rows = store.find_many(call.tx, channel.id, [line.id for line in lines])
        return views.messages(call, [rows[line.id] for line in lines], guild_id=channel.guild_id)
    more = [line.id for line in lines if not line.plain]
    rows = store.find_many(call.tx, channel.id, more) if more else {}
    around = views.Around(call)
    around.load_users({line.author_id for line in lines})
    if rows:
        around.load(list(rows.values()), 0 if actor is None else actor.user_id)
    molds: dict[int, Mold] = {}
    pieces: list[bytes] = []
    for message_id, author_id, content, plain in lines:
        if not plain:
            pieces += (b",", json.encode(views.show(wire.Message, around, rows[message_id])))
            continue
        mold = molds.get(author_id)
        if mold is None:
            mold = molds[author_id] = _mold(around, channel.id, author_id)
        seconds, milliseconds = divmod((message_id >> 22) + EPOCH_MS, 1000)
        pieces += (
            mold[0],
            json.encode(content),
            mold[1],
            _second(seconds),
            _MILLISECONDS[milliseconds],
            mold[2],
            b"%d" % message_id,
            mold[3],
        )
    return msgspec.Raw(b"[%b]" % b"".join(pieces)[1:])


def _mold(around: views.Around, channel_id: int, author_id: int) -> Mold:
    """What all plain messages of one author in a channel have in common: a real message, encoded, cut where they differ."""
    rest = json.encode(views.show(wire.Message, around, _SAMPLE._replace(channel_id=channel_id, author_id=author_id)))
    words, moment, number = _SAMPLE_PARTS
    before_words, _, rest = rest.partition(words)
    before_time, _, rest = rest.partition(moment)
    before_id, _, rest = rest.partition(number)
    return b"," + before_words, before_time, before_id + b'"id":"', b'","channel_id"' + rest


@lru_cache(maxsize=4096)
def _second(seconds: int) -> bytes:
    return json.timestamp(seconds * 1000)[:19].encode()
