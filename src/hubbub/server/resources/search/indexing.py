"""Keeping the index: what was said before the first search is indexed bit by bit, what happens since by jobs that each take
many changes at once. A search looks itself at changes that wait, so it finds what was said a moment ago.

Nothing is indexed in a guild that nobody has searched.
"""

from collections.abc import Iterable, Sequence
from typing import Final

import msgspec

from hubbub.protocol.ids import ChannelId, GuildId, MessageId
from hubbub.server.core.access import ChannelRef, find_channel
from hubbub.server.core.call import Call
from hubbub.server.core.jobs import Job
from hubbub.server.resources import messages
from hubbub.server.resources.channels import ChannelsDeleted
from hubbub.server.resources.guilds import GuildDeleted
from hubbub.server.resources.messages import MessageRow
from hubbub.server.resources.search import documents, store

BUILD: Final = "search.build"
CATCH_UP: Final = "search.catch_up"
FORGET: Final = "search.forget"

AT_ONCE: Final = 250
"""So many messages are indexed in one transaction, so that nobody waits long for the store."""
STEPS_AT_ONCE: Final = 100
"""So many channels with few messages are looked at in one transaction."""
DELAY_MS: Final = 1000
"""Changes gather for so long before a job looks at them."""


class Build(msgspec.Struct, kw_only=True):
    """Where the indexing of a guild's old messages goes on."""

    guild_id: GuildId
    channel_id: ChannelId = ChannelId(0)
    after: MessageId = MessageId(0)
    """The last message of the channel that is indexed."""


class CatchUp(msgspec.Struct, kw_only=True):
    """Whose changes to index."""

    guild_id: GuildId


class Forget(msgspec.Struct, kw_only=True):
    """Channels that are gone."""

    channel_ids: list[ChannelId]


# What happens below


def hear_message(call: Call, fact: messages.MessageCreated | messages.MessageChanged | messages.MessagePinned) -> None:
    """A message came or changed."""
    row = fact.row
    if fact.channel.guild_id is not None and row.type in messages.SAID:
        if store.note(call.tx, fact.channel.guild_id, row.channel_id, row.id):
            _have_looked_at(call, fact.channel.guild_id)


def hear_deletion(call: Call, fact: messages.MessagesDeleted) -> None:
    """Messages are gone."""
    guild_id = fact.channel.guild_id
    if guild_id is None:
        return
    waited_for = True
    for row in fact.rows:
        if row.type in messages.SAID and store.note(call.tx, guild_id, row.channel_id, row.id):
            waited_for = False
    if not waited_for:
        _have_looked_at(call, guild_id)


def hear_channels_deleted(call: Call, fact: ChannelsDeleted) -> None:
    """Channels are going: what was said there is found no more."""
    if fact.guild_id is not None:
        indexed = store.channels_with_documents(call.tx, fact.channel_ids)
        if indexed:
            call.tx.enqueue(FORGET, Forget(channel_ids=[ChannelId(each) for each in indexed]))


def hear_guild_deleted(call: Call, fact: GuildDeleted) -> None:
    """A guild is going."""
    store.forget_guild(call.tx, fact.guild_id)


def _have_looked_at(call: Call, guild_id: GuildId) -> None:
    store.set_pending(call.tx, guild_id, True)
    key = f"{CATCH_UP}:{int(guild_id)}"
    call.tx.enqueue(CATCH_UP, CatchUp(guild_id=guild_id), due_ms=call.now + DELAY_MS, key=key)


# Jobs


def begin(call: Call, guild_id: GuildId) -> None:
    """Have a guild indexed, from its first message on."""
    if store.begin(call.tx, guild_id):
        call.tx.enqueue(BUILD, Build(guild_id=guild_id), key=f"{BUILD}:{int(guild_id)}")


def build(call: Call, job: Job) -> None:
    """Index some old messages of a guild, and come back while there are more."""
    following = build_more(call, job.decode(Build))
    if following is not None:
        call.tx.enqueue(BUILD, following, key=job.key)


def build_more(call: Call, at: Build) -> Build | None:
    """Index some old messages; where to go on, or None when all are indexed or the guild is gone."""
    if not store.is_building(call.tx, at.guild_id):
        return None
    rows: list[MessageRow] = []
    channel_id, after, over = int(at.channel_id), int(at.after), False
    for _ in range(STEPS_AT_ONCE):
        if not after:
            following = store.next_channel(call.tx, at.guild_id, channel_id)
            if following is None:
                over = True
                break
            channel_id = following
        room = AT_ONCE - len(rows)
        found = messages.following(call.tx, channel_id, after, room)
        rows += found
        # They come newest first. A full page may be followed by more of this channel.
        after = found[0].id if len(found) == room else 0
        if len(rows) >= AT_ONCE:
            break
    _index(call, at.guild_id, [row.id for row in rows], rows)
    if over:
        store.finish(call.tx, at.guild_id)
        return None
    store.count_built(call.tx, at.guild_id, len(rows))
    return Build(guild_id=at.guild_id, channel_id=ChannelId(channel_id), after=MessageId(after))


def catch_up(call: Call, job: Job) -> None:
    """Index what changed lately, and come back while there is more."""
    guild_id = job.decode(CatchUp).guild_id
    if look_at_changes(call, guild_id) == AT_ONCE:
        call.tx.enqueue(CATCH_UP, CatchUp(guild_id=guild_id), key=job.key)
    else:
        store.set_pending(call.tx, guild_id, False)


def look_at_changes(call: Call, guild_id: int) -> int:
    """Index some of the messages that changed, and say how many there were."""
    changed = store.take_changes(call.tx, guild_id, AT_ONCE)
    by_channel: dict[int, list[int]] = {}
    for channel_id, message_id in changed:
        by_channel.setdefault(channel_id, []).append(message_id)
    rows = [
        row for channel_id, ids in by_channel.items() for row in messages.find_many(call.tx, channel_id, ids).values()
    ]
    _index(call, guild_id, [message_id for _, message_id in changed], rows)
    return len(changed)


def forget(call: Call, job: Job) -> None:
    """Drop what was said in channels that are gone, and come back while there is more."""
    left = job.decode(Forget).channel_ids
    room = AT_ONCE
    while left and room > 0:
        gone = store.remove_of_channel(call.tx, left[0], room)
        room -= gone
        if room > 0:
            left = left[1:]
    if left:
        call.tx.enqueue(FORGET, Forget(channel_ids=left))


def _index(call: Call, guild_id: int, ids: Sequence[int], rows: Iterable[MessageRow]) -> None:
    """Make the index hold these messages as they are now; those without a row, or not said by anybody, go."""
    said = [row for row in rows if row.type in messages.SAID]
    channels = _channels(call, guild_id, {row.channel_id for row in said})
    bots = store.bots_among(call.tx, (row.author_id for row in said))
    replied = _replied(call, said)
    new = [
        documents.document(row, channels[row.channel_id], bots, replied) for row in said if row.channel_id in channels
    ]
    store.replace(call.tx, ids, new)


def _channels(call: Call, guild_id: int, channel_ids: Iterable[int]) -> dict[int, ChannelRef]:
    """The channels there still are of these."""
    found: dict[int, ChannelRef] = {}
    for channel_id in channel_ids:
        channel = find_channel(call.tx, channel_id)
        if channel is not None and channel.guild_id == guild_id:
            found[channel_id] = channel
    return found


def _replied(call: Call, rows: Iterable[MessageRow]) -> dict[int, int]:
    """The authors of the messages that these answer, by message."""
    wanted: dict[int, list[int]] = {}
    for row in rows:
        answered = documents.replied_to(row)
        if answered is not None:
            # http.md 3.4: a reply answers a message of its own channel.
            wanted.setdefault(row.channel_id, []).append(answered)
    return {
        found.id: found.author_id
        for channel_id, ids in wanted.items()
        for found in messages.find_many(call.tx, channel_id, ids).values()
    }
