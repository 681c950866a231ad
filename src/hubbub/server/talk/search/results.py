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
from hubbub.protocol.resources.channels import Thread
from hubbub.protocol.resources.thread_membership import ThreadMember
from hubbub.server.core.call import Call
from hubbub.server.places import channels
from hubbub.server.places.channels import ChannelRow
from hubbub.server.places.standing import ChannelAccess
from hubbub.server.talk import messages
from hubbub.server.talk.messages import MessageRow
from hubbub.server.talk.search import documents, store
from hubbub.server.talk.search.scope import SearchScope
from hubbub.server.talk.search.store import Query, ThreadRow
from hubbub.server.talk.search.tokens import Phrase, is_near, parse_query, score, tokenize

COUNTED_HITS_MAX: Final = 2000
"""Maximum number of counted hits, unless a page or the order by ascending relevance needs more."""
RANKED_HITS_MAX: Final = 2000
"""Maximum number of newest hits that are ranked by relevance; older hits follow by time."""

THREAD_PARENT_TYPES: Final = FORUM_TYPES | {ChannelType.GUILD_TEXT, ChannelType.GUILD_ANNOUNCEMENT}


# Messages


def search_messages(
    call: Call, guild_id: GuildId | None, scope: SearchScope, parameters: wire.SearchMessages
) -> wire.FoundMessages:
    """Return a page of matching messages of a guild, or of a private channel if `guild_id` is None."""
    query = _build_query(call, guild_id, scope, parameters)
    message_ids = [] if query is None else _find_ordered_ids(call, query, parameters)
    page_ids = message_ids[parameters.offset : parameters.offset + parameters.limit]
    rows = _find_rows(call, scope, page_ids)
    result = wire.FoundMessages(
        doing_deep_historical_index=False,
        total_results=len(message_ids),
        messages=[[_found_message(view)] for view in messages.views.messages(call, rows, guild_id=guild_id)],
    )
    threads, members = _find_threads_of(call, {row.channel_id for row in rows})
    if threads:
        result.threads, result.members = threads, members
    return result


def _build_query(
    call: Call, guild_id: GuildId | None, scope: SearchScope, parameters: wire.SearchMessages
) -> Query | None:
    """Build the index query, or return None if nothing can match."""
    if not scope.searchable_channels:
        return None
    scope_groups, scope_excluded_marks, private_marks = scope.to_marks()
    required_groups = list(scope_groups)
    excluded_marks = list(scope_excluded_marks)
    if parameters.channel_id:
        channel_rows = channels.find_many(call.tx, parameters.channel_id)
        channel_ids = [row.id for row in channel_rows.values() if row.guild_id == guild_id and _can_search(scope, row)]
        if not channel_ids:
            return None
        # The caller can see each channel of the filter, so no other channel condition is needed.
        required_groups = [tuple(documents.channel_mark(channel_id) for channel_id in channel_ids)]
        excluded_marks, private_marks = [], None
    for build_mark, values in _mark_filters(parameters):
        if values:
            required_groups.append(tuple(dict.fromkeys(build_mark(value) for value in values)))
    author_types = [value for value in parameters.author_type if not value.startswith("-")]
    if author_types:
        required_groups.append(tuple(documents.AUTHOR_TYPE_MARKS[value] for value in author_types))
    excluded_marks += [
        documents.AUTHOR_TYPE_MARKS[value[1:]] for value in parameters.author_type if value.startswith("-")
    ]
    required_groups += [(documents.HAS_MARKS[value],) for value in parameters.has if not value.startswith("-")]
    excluded_marks += [documents.HAS_MARKS[value[1:]] for value in parameters.has if value.startswith("-")]
    for requested_value, mark in (
        (parameters.pinned, documents.PINNED_MARK),
        (parameters.mention_everyone, documents.MENTIONS_EVERYONE_MARK),
    ):
        if requested_value is True:
            required_groups.append((mark,))
        elif requested_value is False:
            excluded_marks.append(mark)
    phrases = parse_query(parameters.content)
    if parameters.content.strip() and not phrases:
        # The text has only punctuation, which contains no words.
        return None
    return Query(
        index_id=scope.index_id,
        phrases=phrases,
        slop=parameters.slop,
        required_groups=tuple(required_groups),
        excluded_marks=tuple(dict.fromkeys(excluded_marks)),
        private_thread_marks=private_marks,
        after_id=parameters.min_id or 0,
        before_id=parameters.max_id if isinstance(parameters.max_id, int) else None,
    )


def _mark_filters(parameters: wire.SearchMessages) -> Iterable[tuple[Callable[[Any], str], Sequence[Any]]]:
    """Return the values of search parameters, each with the function that returns the mark of a value."""
    return (
        (documents.author_mark, parameters.author_id),
        (documents.user_mention_mark, parameters.mentions),
        (documents.role_mention_mark, parameters.mentions_role_id),
        (documents.replied_user_mark, parameters.replied_to_user_id),
        (documents.replied_message_mark, parameters.replied_to_message_id),
        (documents.EMBED_TYPE_MARKS.__getitem__, parameters.embed_type),
        (documents.provider_mark, parameters.embed_provider),
        (documents.hostname_mark, parameters.link_hostname),
        (documents.filename_mark, parameters.attachment_filename),
        (documents.extension_mark, parameters.attachment_extension),
    )


def _can_search(scope: SearchScope, row: ChannelRow) -> bool:
    """Return whether a scope covers a channel or thread."""
    is_thread = row.type in (
        ChannelType.ANNOUNCEMENT_THREAD,
        ChannelType.PUBLIC_THREAD,
        ChannelType.PRIVATE_THREAD,
    )
    governing_id = row.parent_id if is_thread and row.parent_id is not None else row.id
    return scope.can_search(row.id, governing_id, is_private_thread=row.type == ChannelType.PRIVATE_THREAD)


def _find_ordered_ids(call: Call, query: Query, parameters: wire.SearchMessages) -> list[int]:
    """Return the IDs of the hits in order, up to the maximum number of counted hits."""
    is_ascending = parameters.sort_order == wire.SearchSortOrder.ASC
    is_sorted_by_time = parameters.sort_by == wire.MessageSortBy.TIMESTAMP or not query.phrases
    limit = wire.SEARCH_RESULTS_MAX
    if is_sorted_by_time or not is_ascending:
        # Counting reads every hit, so the count stops at COUNTED_HITS_MAX unless a page needs more. Ascending relevance
        # needs all hits, since the least relevant one comes first.
        limit = min(limit, max(COUNTED_HITS_MAX, parameters.offset + parameters.limit))
    if is_sorted_by_time:
        return store.find_message_ids(call.tx, query, newest_first=not is_ascending, limit=limit)
    message_ids = store.find_message_ids(call.tx, query, newest_first=True, limit=limit)
    scores_by_id = dict.fromkeys(message_ids[:RANKED_HITS_MAX], 0.0)
    scores_by_id |= (
        (message_id, score(words, query.phrases))
        for message_id, words in store.iterate_words(call.tx, message_ids[:RANKED_HITS_MAX])
    )
    # The sort is stable, so equal hits stay newest first.
    message_ids = (
        sorted(message_ids[:RANKED_HITS_MAX], key=scores_by_id.__getitem__, reverse=True)
        + message_ids[RANKED_HITS_MAX:]
    )
    return message_ids[::-1] if is_ascending else message_ids


def _find_rows(call: Call, scope: SearchScope, message_ids: Sequence[int]) -> list[MessageRow]:
    """Return the messages of a page without those that were deleted or became invisible since they were indexed."""
    documents_by_id = store.find_documents(call.tx, message_ids)
    channels_by_id = channels.find_many(call.tx, {document.channel_id for document in documents_by_id.values()})
    message_ids_by_channel: dict[int, list[int]] = {}
    for document in documents_by_id.values():
        channel = channels_by_id.get(document.channel_id)
        if channel is not None and _can_search(scope, channel):
            message_ids_by_channel.setdefault(document.channel_id, []).append(document.id)
    rows_by_id = {
        message_id: row
        for channel_id, channel_message_ids in message_ids_by_channel.items()
        for message_id, row in messages.history.find_many(call.tx, channel_id, channel_message_ids).items()
    }
    return [rows_by_id[message_id] for message_id in message_ids if message_id in rows_by_id]


def _found_message(view: Any) -> wire.FoundMessage:
    """Build a search hit from the wire model of a message, without its reactions."""
    fields = {name: getattr(view, name) for name in view.__struct_fields__}
    fields["reactions"] = msgspec.UNSET
    return wire.FoundMessage(**fields)


def _find_threads_of(call: Call, channel_ids: Iterable[int]) -> tuple[list[Thread], list[ThreadMember]]:
    """Return the threads among channels, and the caller's memberships in them."""
    rows = [
        row
        for row in channels.find_many(call.tx, sorted(channel_ids)).values()
        if row.type in (ChannelType.ANNOUNCEMENT_THREAD, ChannelType.PUBLIC_THREAD, ChannelType.PRIVATE_THREAD)
    ]
    return _with_memberships(call, rows)


def _with_memberships(call: Call, rows: Sequence[ChannelRow]) -> tuple[list[Thread], list[ThreadMember]]:
    memberships = channels.thread_members.find_memberships(call.tx, call.user_id, [row.id for row in rows])
    members = [channels.thread_channels.thread_member(memberships[row.id]) for row in rows if row.id in memberships]
    threads = [
        channels.views.thread(
            row,
            member=channels.thread_channels.thread_member(memberships[row.id])
            if row.id in memberships
            else msgspec.UNSET,
        )
        for row in rows
    ]
    return threads, members


# Threads


def require_thread_parent(channel_access: ChannelAccess) -> GuildId:
    """Return the guild of a channel that can have threads, or raise CANNOT_EXECUTE_ON_DM or WRONG_CHANNEL_TYPE."""
    if channel_access.guild is None:
        raise errors.CANNOT_EXECUTE_ON_DM()
    if channel_access.channel.type not in THREAD_PARENT_TYPES:
        raise errors.WRONG_CHANNEL_TYPE()
    return channel_access.guild.guild_id


def search_threads(call: Call, channel_access: ChannelAccess, parameters: wire.SearchThreads) -> wire.FoundThreads:
    """Return a page of matching threads of a channel."""
    phrases = parse_query(parameters.name)
    rows = store.list_threads(
        call.tx,
        channel_access.channel.id,
        archived=parameters.archived if isinstance(parameters.archived, bool) else None,
        after_id=parameters.min_id or 0,
        before_id=parameters.max_id if isinstance(parameters.max_id, int) else None,
        with_last_message=parameters.sort_by == wire.ThreadSortBy.LAST_MESSAGE_TIME,
    )
    if parameters.name.strip():
        rows = [row for row in rows if phrases and is_near(tokenize(row.name or ""), phrases, parameters.slop)]
    if parameters.tag:
        rows = [row for row in rows if _has_tags(row, set(parameters.tag), parameters.tag_setting)]
    if not channel_access.can(Permissions.MANAGE_THREADS):
        joined_ids = set(store.list_joined_private_thread_ids(call.tx, channel_access.guild_id, call.user_id))
        rows = [row for row in rows if row.type != ChannelType.PRIVATE_THREAD or row.id in joined_ids]
    rows.sort(key=_thread_sort_key(parameters, phrases), reverse=parameters.sort_order == wire.SearchSortOrder.DESC)
    page_ids = [row.id for row in islice(rows, parameters.offset, parameters.offset + parameters.limit)]
    rows_by_id = channels.find_many(call.tx, page_ids)
    threads, members = _with_memberships(
        call, [rows_by_id[thread_id] for thread_id in page_ids if thread_id in rows_by_id]
    )
    result = wire.FoundThreads(
        threads=threads,
        members=members,
        has_more=len(rows) > parameters.offset + parameters.limit,
        total_results=len(rows),
    )
    if channel_access.channel.type in FORUM_TYPES:
        # The first message of a forum post has the ID of the post.
        first_message_rows = [
            row for thread_id in page_ids if (row := messages.history.find(call.tx, thread_id, thread_id)) is not None
        ]
        result.first_messages = messages.views.messages(call, first_message_rows, guild_id=channel_access.guild_id)
    return result


def _has_tags(row: ThreadRow, tags: set[TagId], tag_matching: wire.TagMatching) -> bool:
    applied_tags = set(codec.decode(row.applied_tags or "[]", list[TagId]))
    return tags <= applied_tags if tag_matching == wire.TagMatching.MATCH_ALL else bool(tags & applied_tags)


def _thread_sort_key(
    parameters: wire.SearchThreads, phrases: tuple[Phrase, ...]
) -> Callable[[ThreadRow], tuple[float, int]]:
    """Return the sort key of threads; equal threads are sorted by ID."""
    match parameters.sort_by:
        case wire.ThreadSortBy.RELEVANCE:
            return lambda row: (score(tokenize(row.name or ""), phrases), row.id)
        case wire.ThreadSortBy.LAST_MESSAGE_TIME:
            return lambda row: (row.last_message_id or row.id, row.id)
        case wire.ThreadSortBy.ARCHIVE_TIME:
            return lambda row: (row.archive_changed_ms or 0, row.id)
        case _:
            return lambda row: (row.created_ms or 0, row.id)
