"""Execute searches: build the query, order the hits and build the response."""

from collections.abc import Callable, Iterable, Sequence
from itertools import islice
from typing import Any, Final

import msgspec

from hubbub.protocol import codec, errors
from hubbub.protocol.enums import FORUM_TYPES, ChannelType
from hubbub.protocol.ids import GuildId, TagId
from hubbub.protocol.permissions import Permissions
from hubbub.protocol.resources import search as wire
from hubbub.protocol.resources.channels import Thread, ThreadMember
from hubbub.server.core.call import Call
from hubbub.server.places import channels
from hubbub.server.places.channels import ChannelRow
from hubbub.server.places.standing import ChannelAccess
from hubbub.server.talk import messages
from hubbub.server.talk.messages import MessageRow
from hubbub.server.talk.search import documents, store
from hubbub.server.talk.search.scope import Scope
from hubbub.server.talk.search.store import Query, ThreadRow
from hubbub.server.talk.search.tokens import Phrase, is_near, parse_query, score, tokenize

COUNTED_HITS_MAX: Final = 2000
"""Maximum number of counted hits, unless a page needs more."""
RANKED_HITS_MAX: Final = 2000
"""Number of newest hits that are ranked by relevance; older hits follow by time."""

THREAD_PARENT_TYPES: Final = FORUM_TYPES | {ChannelType.GUILD_TEXT, ChannelType.GUILD_ANNOUNCEMENT}


# Messages


def find_messages(call: Call, guild_id: GuildId, scope: Scope, params: wire.SearchMessages) -> wire.FoundMessages:
    """Return a page of matching messages."""
    query = _query(call, guild_id, scope, params)
    ids = [] if query is None else _ordered(call, query, params)
    page = ids[params.offset : params.offset + params.limit]
    rows = _rows(call, scope, page)
    found = wire.FoundMessages(
        doing_deep_historical_index=False,
        total_results=len(ids),
        messages=[[_found_message(view)] for view in messages.views.messages(call, rows, guild_id=guild_id)],
    )
    threads, members = _threads(call, {row.channel_id for row in rows})
    if threads:
        found.threads, found.members = threads, members
    return found


def _query(call: Call, guild_id: GuildId, scope: Scope, params: wire.SearchMessages) -> Query | None:
    """Build the index query, or return None if nothing can match."""
    if not scope.readable:
        return None
    required, excluded, private = scope.to_marks()
    groups = list(required)
    unwanted = list(excluded)
    if params.channel_id:
        found_channels = channels.find_many(call.tx, params.channel_id)
        channel_ids = [
            row.id for row in found_channels.values() if row.guild_id == guild_id and _can_search(scope, row)
        ]
        if not channel_ids:
            return None
        # The caller can see each of these channels, so no other channel condition is needed.
        groups = [tuple(documents.in_channel(channel_id) for channel_id in channel_ids)]
        unwanted, private = [], None
    for mark, values in _mark_filters(params):
        if values:
            groups.append(tuple(dict.fromkeys(mark(value) for value in values)))
    types = [value for value in params.author_type if not value.startswith("-")]
    if types:
        groups.append(tuple(documents.AUTHOR_TYPES[value] for value in types))
    unwanted += [documents.AUTHOR_TYPES[value[1:]] for value in params.author_type if value.startswith("-")]
    groups += [(documents.HAS[value],) for value in params.has if not value.startswith("-")]
    unwanted += [documents.HAS[value[1:]] for value in params.has if value.startswith("-")]
    for expected, flag in ((params.pinned, documents.PINNED), (params.mention_everyone, documents.EVERYONE)):
        if expected is True:
            groups.append((flag,))
        elif expected is False:
            unwanted.append(flag)
    wanted = parse_query(params.content)
    if params.content.strip() and not wanted:
        # The text has only punctuation, which contains no words.
        return None
    return Query(
        guild_id=guild_id,
        phrases=wanted,
        slop=params.slop,
        required_groups=tuple(groups),
        excluded=tuple(dict.fromkeys(unwanted)),
        private_thread_marks=private,
        after_id=params.min_id or 0,
        before_id=params.max_id if isinstance(params.max_id, int) else None,
    )


def _mark_filters(params: wire.SearchMessages) -> Iterable[tuple[Callable[[Any], str], Sequence[Any]]]:
    return (
        (documents.author, params.author_id),
        (documents.mentions_user, params.mentions),
        (documents.mentions_role, params.mentions_role_id),
        (documents.replies_to_user, params.replied_to_user_id),
        (documents.replies_to_message, params.replied_to_message_id),
        (documents.EMBED_TYPES.__getitem__, params.embed_type),
        (documents.provider, params.embed_provider),
        (documents.hostname, params.link_hostname),
        (documents.filename, params.attachment_filename),
        (documents.extension, params.attachment_extension),
    )


def _can_search(scope: Scope, row: ChannelRow) -> bool:
    is_thread = row.type in (
        ChannelType.ANNOUNCEMENT_THREAD,
        ChannelType.PUBLIC_THREAD,
        ChannelType.PRIVATE_THREAD,
    )
    ruling_id = row.parent_id if is_thread and row.parent_id is not None else row.id
    return scope.can_search(row.id, ruling_id, private=row.type == ChannelType.PRIVATE_THREAD)


def _ordered(call: Call, query: Query, params: wire.SearchMessages) -> list[int]:
    """Return the IDs of all hits that pages can reach, in order."""
    ascending = params.sort_order == wire.SearchSortOrder.ASC
    by_time = params.sort_by == wire.MessageSortBy.TIMESTAMP or not query.phrases
    limit = wire.SEARCH_RESULTS_MAX
    if by_time or not ascending:
        # Counting visits every hit, so no more are counted than a page needs or a user would read. Ascending relevance
        # needs all hits, since the least relevant one comes first.
        limit = min(limit, max(COUNTED_HITS_MAX, params.offset + params.limit))
    if by_time:
        return store.find(call.tx, query, newest_first=not ascending, limit=limit)
    ids = store.find(call.tx, query, newest_first=True, limit=limit)
    ranks = dict.fromkeys(ids[:RANKED_HITS_MAX], 0.0)
    ranks |= (
        (each, score(found_words, query.phrases))
        for each, found_words in store.iterate_words(call.tx, ids[:RANKED_HITS_MAX])
    )
    # The sort is stable, so equal hits stay newest first.
    ids = sorted(ids[:RANKED_HITS_MAX], key=ranks.__getitem__, reverse=True) + ids[RANKED_HITS_MAX:]
    return ids[::-1] if ascending else ids


def _rows(call: Call, scope: Scope, ids: Sequence[int]) -> list[MessageRow]:
    """Return the messages of a page without those that were deleted or became invisible since they were indexed."""
    indexed = store.find_documents(call.tx, ids)
    found_channels = channels.find_many(call.tx, {document.channel_id for document in indexed.values()})
    by_channel: dict[int, list[int]] = {}
    for document in indexed.values():
        channel = found_channels.get(document.channel_id)
        if channel is not None and _can_search(scope, channel):
            by_channel.setdefault(document.channel_id, []).append(document.id)
    found = {
        message_id: row
        for channel_id, message_ids in by_channel.items()
        for message_id, row in messages.find_many(call.tx, channel_id, message_ids).items()
    }
    return [found[each] for each in ids if each in found]


def _found_message(view: Any) -> wire.FoundMessage:
    keys = {name: getattr(view, name) for name in view.__struct_fields__}
    keys["reactions"] = msgspec.UNSET
    return wire.FoundMessage(**keys)


def _threads(call: Call, channel_ids: Iterable[int]) -> tuple[list[Thread], list[ThreadMember]]:
    """Return those of the channels that are threads, with the caller's memberships."""
    rows = [
        row
        for row in channels.find_many(call.tx, sorted(channel_ids)).values()
        if row.type in (ChannelType.ANNOUNCEMENT_THREAD, ChannelType.PUBLIC_THREAD, ChannelType.PRIVATE_THREAD)
    ]
    return _with_memberships(call, rows)


def _with_memberships(call: Call, rows: Sequence[ChannelRow]) -> tuple[list[Thread], list[ThreadMember]]:
    memberships = store.find_memberships(call.tx, call.user_id, [row.id for row in rows])
    members = [channels.thread_member(memberships[row.id]) for row in rows if row.id in memberships]
    threads = [
        channels.thread(
            row, member=channels.thread_member(memberships[row.id]) if row.id in memberships else msgspec.UNSET
        )
        for row in rows
    ]
    return threads, members


# Threads


def require_thread_parent(channel_access: ChannelAccess) -> GuildId:
    """Return the guild of a channel that can have threads, or raise an error."""
    if channel_access.guild is None:
        raise errors.CANNOT_EXECUTE_ON_DM()
    if channel_access.channel.type not in THREAD_PARENT_TYPES:
        raise errors.WRONG_CHANNEL_TYPE()
    return channel_access.guild.guild_id


def find_threads(call: Call, channel_access: ChannelAccess, params: wire.SearchThreads) -> wire.FoundThreads:
    """Return a page of matching threads of a channel."""
    wanted = parse_query(params.name)
    rows = store.list_threads(
        call.tx,
        channel_access.channel.id,
        archived=params.archived if isinstance(params.archived, bool) else None,
        after=params.min_id or 0,
        before=params.max_id if isinstance(params.max_id, int) else None,
        with_last=params.sort_by == wire.ThreadSortBy.LAST_MESSAGE_TIME,
    )
    if params.name.strip():
        rows = [row for row in rows if wanted and is_near(tokenize(row.name or ""), wanted, params.slop)]
    if params.tag:
        rows = [row for row in rows if _has_tags(row, set(params.tag), params.tag_setting)]
    if not channel_access.can(Permissions.MANAGE_THREADS):
        joined = set(store.list_joined_private_threads(call.tx, channel_access.guild_id, call.user_id))
        rows = [row for row in rows if row.type != ChannelType.PRIVATE_THREAD or row.id in joined]
    rows.sort(key=_order(params, wanted), reverse=params.sort_order == wire.SearchSortOrder.DESC)
    page = [row.id for row in islice(rows, params.offset, params.offset + params.limit)]
    full = channels.find_many(call.tx, page)
    threads, members = _with_memberships(call, [full[each] for each in page if each in full])
    found = wire.FoundThreads(
        threads=threads,
        members=members,
        has_more=len(rows) > params.offset + params.limit,
        total_results=len(rows),
    )
    if channel_access.channel.type in FORUM_TYPES:
        # The first message of a forum post has the ID of the post.
        first = [row for each in page if (row := messages.find(call.tx, each, each)) is not None]
        found.first_messages = messages.views.messages(call, first, guild_id=channel_access.guild_id)
    return found


def _has_tags(row: ThreadRow, tags: set[TagId], setting: wire.TagMatching) -> bool:
    applied = set(codec.decode(row.applied_tags or "[]", list[TagId]))
    return tags <= applied if setting == wire.TagMatching.MATCH_ALL else bool(tags & applied)


def _order(params: wire.SearchThreads, wanted: tuple[Phrase, ...]) -> Callable[[ThreadRow], tuple[float, int]]:
    """Return the sort key of threads; equal threads are sorted by ID."""
    match params.sort_by:
        case wire.ThreadSortBy.RELEVANCE:
            return lambda row: (score(tokenize(row.name or ""), wanted), row.id)
        case wire.ThreadSortBy.LAST_MESSAGE_TIME:
            return lambda row: (row.last_message_id or row.id, row.id)
        case wire.ThreadSortBy.ARCHIVE_TIME:
            return lambda row: (row.archive_changed_ms or 0, row.id)
        case _:
            return lambda row: (row.created_ms or 0, row.id)
