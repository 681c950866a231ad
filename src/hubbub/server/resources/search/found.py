"""From what was asked to what is found and shown."""

from collections.abc import Callable, Iterable, Sequence
from itertools import islice
from typing import Any, Final

import msgspec

from hubbub.protocol import errors
from hubbub.protocol import wire as json
from hubbub.protocol.enums import ChannelType
from hubbub.protocol.ids import GuildId, TagId
from hubbub.protocol.permissions import Permissions
from hubbub.protocol.resources import search as wire
from hubbub.protocol.resources.channels import Thread, ThreadMember
from hubbub.server.core.access import ChannelAccess
from hubbub.server.core.call import Call
from hubbub.server.resources import channels, messages
from hubbub.server.resources.channels import FORUMS, ChannelRow
from hubbub.server.resources.messages import MessageRow
from hubbub.server.resources.search import documents, store
from hubbub.server.resources.search.scope import Scope
from hubbub.server.resources.search.store import Query, ThreadRow
from hubbub.server.resources.search.words import Unit, near, score, units, words

COUNTED: Final = 2000
"""So many hits are counted, however few are asked for."""
RANKED: Final = 2000
"""By relevance so many of the newest hits are compared; older ones follow them in the order of time."""

THREAD_HOLDERS: Final = FORUMS | {ChannelType.GUILD_TEXT, ChannelType.GUILD_ANNOUNCEMENT}


# Messages


def find_messages(call: Call, guild_id: GuildId, scope: Scope, asked: wire.SearchMessages) -> wire.FoundMessages:
    """A page of the messages that fit."""
    query = _query(call, guild_id, scope, asked)
    ids = [] if query is None else _ordered(call, query, asked)
    page = ids[asked.offset : asked.offset + asked.limit]
    rows = _rows(call, scope, page)
    found = wire.FoundMessages(
        doing_deep_historical_index=False,
        total_results=len(ids),
        messages=[[_hit(shown)] for shown in messages.views.messages(call, rows, guild_id=guild_id)],
    )
    threads, members = _threads(call, {row.channel_id for row in rows})
    if threads:
        found.threads, found.members = threads, members
    return found


def _query(call: Call, guild_id: GuildId, scope: Scope, asked: wire.SearchMessages) -> Query | None:
    """What to ask the index; None where nothing can be found."""
    if not scope.seen:
        return None
    every, none, private = scope.narrow()
    groups = list(every)
    unwanted = list(none)
    if asked.channel_id:
        named = channels.find_many(call.tx, asked.channel_id)
        inside = [row.id for row in named.values() if row.guild_id == guild_id and _sees(scope, row)]
        if not inside:
            return None
        # Each of these is seen, so nothing else has to be said of channels.
        groups = [tuple(documents.in_channel(channel_id) for channel_id in inside)]
        unwanted, private = [], None
    for mark, values in _lists(asked):
        if values:
            groups.append(tuple(dict.fromkeys(mark(value) for value in values)))
    types = [value for value in asked.author_type if not value.startswith("-")]
    if types:
        groups.append(tuple(documents.AUTHOR_TYPES[value] for value in types))
    unwanted += [documents.AUTHOR_TYPES[value[1:]] for value in asked.author_type if value.startswith("-")]
    groups += [(documents.HAS[value],) for value in asked.has if not value.startswith("-")]
    unwanted += [documents.HAS[value[1:]] for value in asked.has if value.startswith("-")]
    for said, flag in ((asked.pinned, documents.PINNED), (asked.mention_everyone, documents.EVERYONE)):
        if said is True:
            groups.append((flag,))
        elif said is False:
            unwanted.append(flag)
    wanted = units(asked.content)
    if asked.content.strip() and not wanted:
        # Signs alone: nothing is a word of them.
        return None
    return Query(
        guild_id=guild_id,
        units=wanted,
        slop=asked.slop,
        every=tuple(groups),
        none=tuple(dict.fromkeys(unwanted)),
        private=private,
        after=asked.min_id or 0,
        before=asked.max_id if isinstance(asked.max_id, int) else None,
    )


def _lists(asked: wire.SearchMessages) -> Iterable[tuple[Callable[[Any], str], Sequence[Any]]]:
    return (
        (documents.author, asked.author_id),
        (documents.mentions_user, asked.mentions),
        (documents.mentions_role, asked.mentions_role_id),
        (documents.replies_to_user, asked.replied_to_user_id),
        (documents.replies_to_message, asked.replied_to_message_id),
        (documents.EMBED_TYPES.__getitem__, asked.embed_type),
        (documents.provider, asked.embed_provider),
        (documents.hostname, asked.link_hostname),
        (documents.filename, asked.attachment_filename),
        (documents.extension, asked.attachment_extension),
    )


def _sees(scope: Scope, row: ChannelRow) -> bool:
    is_thread = row.type in (
        ChannelType.ANNOUNCEMENT_THREAD,
        ChannelType.PUBLIC_THREAD,
        ChannelType.PRIVATE_THREAD,
    )
    ruling_id = row.parent_id if is_thread and row.parent_id is not None else row.id
    return scope.sees(row.id, ruling_id, private=row.type == ChannelType.PRIVATE_THREAD)


def _ordered(call: Call, query: Query, asked: wire.SearchMessages) -> list[int]:
    """The ids of all hits that a page can reach."""
    ascending = asked.sort_order == wire.SortOrder.ASC
    by_time = asked.sort_by == wire.SortBy.TIMESTAMP or not query.units
    limit = wire.SEARCH_REACH
    if by_time or not ascending:
        # Counting means visiting every hit: no more than a page needs, or a person reads. The least relevant come first only where
        # all are known.
        limit = min(limit, max(COUNTED, asked.offset + asked.limit))
    if by_time:
        return store.find(call.tx, query, newest_first=not ascending, limit=limit)
    ids = store.find(call.tx, query, newest_first=True, limit=limit)
    ranks = dict.fromkeys(ids[:RANKED], 0.0)
    ranks |= ((each, score(said, query.units)) for each, said in store.words_of(call.tx, ids[:RANKED]))
    # The sort is stable: equals stay newest first.
    ids = sorted(ids[:RANKED], key=ranks.__getitem__, reverse=True) + ids[RANKED:]
    return ids[::-1] if ascending else ids


def _rows(call: Call, scope: Scope, ids: Sequence[int]) -> list[MessageRow]:
    """The messages of a page, those left out that are gone by now or no longer to be seen."""
    indexed = store.find_documents(call.tx, ids)
    places = channels.find_many(call.tx, {document.channel_id for document in indexed.values()})
    by_channel: dict[int, list[int]] = {}
    for document in indexed.values():
        place = places.get(document.channel_id)
        if place is not None and _sees(scope, place):
            by_channel.setdefault(document.channel_id, []).append(document.id)
    found = {
        message_id: row
        for channel_id, some in by_channel.items()
        for message_id, row in messages.find_many(call.tx, channel_id, some).items()
    }
    return [found[each] for each in ids if each in found]


def _hit(shown: Any) -> wire.FoundMessage:
    keys = {name: getattr(shown, name) for name in shown.__struct_fields__}
    keys["reactions"] = msgspec.UNSET
    return wire.FoundMessage(**keys)


def _threads(call: Call, channel_ids: Iterable[int]) -> tuple[list[Thread], list[ThreadMember]]:
    """Those of some channels that are threads, with the caller's own memberships."""
    rows = [
        row
        for row in channels.find_many(call.tx, sorted(channel_ids)).values()
        if row.type in (ChannelType.ANNOUNCEMENT_THREAD, ChannelType.PUBLIC_THREAD, ChannelType.PRIVATE_THREAD)
    ]
    return _with_memberships(call, rows)


def _with_memberships(call: Call, rows: Sequence[ChannelRow]) -> tuple[list[Thread], list[ThreadMember]]:
    mine = store.memberships(call.tx, call.user_id, [row.id for row in rows])
    members = [channels.thread_member(mine[row.id]) for row in rows if row.id in mine]
    threads = [
        channels.thread(row, member=channels.thread_member(mine[row.id]) if row.id in mine else msgspec.UNSET)
        for row in rows
    ]
    return threads, members


# Threads


def require_holder(here: ChannelAccess) -> GuildId:
    """The guild of a channel that has threads to search, or why not."""
    if here.guild is None:
        raise errors.CANNOT_EXECUTE_ON_DM()
    if here.channel.type not in THREAD_HOLDERS:
        raise errors.WRONG_CHANNEL_TYPE()
    return here.guild.guild_id


def find_threads(call: Call, here: ChannelAccess, asked: wire.SearchThreads) -> wire.FoundThreads:
    """A page of the threads of a channel that fit."""
    wanted = units(asked.name)
    rows = store.list_threads(
        call.tx,
        here.channel.id,
        archived=asked.archived if isinstance(asked.archived, bool) else None,
        after=asked.min_id or 0,
        before=asked.max_id if isinstance(asked.max_id, int) else None,
        with_last=asked.sort_by == wire.ThreadSortBy.LAST_MESSAGE_TIME,
    )
    if asked.name.strip():
        rows = [row for row in rows if wanted and near(words(row.name or ""), wanted, asked.slop)]
    if asked.tag:
        rows = [row for row in rows if _wears(row, set(asked.tag), asked.tag_setting)]
    if not here.can(Permissions.MANAGE_THREADS):
        joined = set(store.joined_private_threads(call.tx, here.guild_id, call.user_id))
        rows = [row for row in rows if row.type != ChannelType.PRIVATE_THREAD or row.id in joined]
    rows.sort(key=_order(asked, wanted), reverse=asked.sort_order == wire.SortOrder.DESC)
    page = [row.id for row in islice(rows, asked.offset, asked.offset + asked.limit)]
    full = channels.find_many(call.tx, page)
    threads, members = _with_memberships(call, [full[each] for each in page if each in full])
    found = wire.FoundThreads(
        threads=threads,
        members=members,
        has_more=len(rows) > asked.offset + asked.limit,
        total_results=len(rows),
    )
    if here.channel.type in FORUMS:
        # The first message of a post has the post's id.
        first = [row for each in page if (row := messages.find(call.tx, each, each)) is not None]
        found.first_messages = messages.views.messages(call, first, guild_id=here.guild_id)
    return found


def _wears(row: ThreadRow, tags: set[TagId], setting: wire.TagSetting) -> bool:
    worn = set(json.decode(row.applied_tags or "[]", list[TagId]))
    return tags <= worn if setting == wire.TagSetting.MATCH_ALL else bool(tags & worn)


def _order(asked: wire.SearchThreads, wanted: tuple[Unit, ...]) -> Callable[[ThreadRow], tuple[float, int]]:
    """What to sort threads by; equals by their age."""
    match asked.sort_by:
        case wire.ThreadSortBy.RELEVANCE:
            return lambda row: (score(words(row.name or ""), wanted), row.id)
        case wire.ThreadSortBy.LAST_MESSAGE_TIME:
            return lambda row: (row.last_message_id or row.id, row.id)
        case wire.ThreadSortBy.ARCHIVE_TIME:
            return lambda row: (row.archive_changed_ms or 0, row.id)
        case _:
            return lambda row: (row.created_ms or 0, row.id)
