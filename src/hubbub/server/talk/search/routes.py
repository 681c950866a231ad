"""HTTP handlers that search messages and threads.

A search may have to build or update the index first, so it uses several transactions."""

from collections.abc import Callable
from functools import partial
from typing import NamedTuple, TypeVar

from hubbub.protocol import errors
from hubbub.protocol.ids import ChannelId, GuildId
from hubbub.protocol.resources import search as wire
from hubbub.server.core.async_operation import AsyncOperation
from hubbub.server.core.call import Call
from hubbub.server.core.slices import handles
from hubbub.server.places.standing import access
from hubbub.server.talk.search import index_jobs, results, scope, store
from hubbub.server.talk.search.index_jobs import BuildProgress

ResultT = TypeVar("ResultT")


class UnreadyIndex(NamedTuple):
    """An index that must be built or updated before a search; it may not exist."""

    index_id: int
    """ID of the guild or private channel."""


@handles(wire.GUILD_SEARCH, long=True)
async def guild_search(operation: AsyncOperation, guild_id: GuildId, query: wire.SearchMessages) -> wire.FoundMessages:
    """Search the messages of a guild.

    The first search in a guild starts building its index; until it is ready, the response is 202."""

    def search(call: Call, ignores_changes: bool) -> wire.FoundMessages | UnreadyIndex:
        search_scope = scope.require_scope(call, guild_id, include_nsfw=query.include_nsfw)
        return _find_unready_index(
            call, search_scope.index_id, ignores_changes=ignores_changes
        ) or results.search_messages(call, guild_id, search_scope, query)

    return await _search_with_index(operation, search)


@handles(wire.CHANNEL_SEARCH, long=True)
async def channel_search(
    operation: AsyncOperation, channel_id: ChannelId, query: wire.SearchMessages
) -> wire.FoundMessages:
    """Search the messages of a private channel.

    The first search in a channel starts building its index; until it is ready, the response is 202."""

    def search(call: Call, ignores_changes: bool) -> wire.FoundMessages | UnreadyIndex:
        search_scope = scope.require_private_scope(call, channel_id)
        return _find_unready_index(
            call, search_scope.index_id, ignores_changes=ignores_changes
        ) or results.search_messages(call, None, search_scope, query)

    return await _search_with_index(operation, search)


@handles(wire.THREAD_SEARCH, long=True)
async def thread_search(
    operation: AsyncOperation, channel_id: ChannelId, query: wire.SearchThreads
) -> wire.FoundThreads:
    """Search the threads of a channel.

    Until the index of the guild is built, the response is 202."""

    def search(call: Call, _ignores_changes: bool) -> wire.FoundThreads | UnreadyIndex:
        channel_access = access.get_channel_standing(call, channel_id)
        guild_id = results.require_thread_parent(channel_access)
        # A thread search also responds with 202 until the index of the guild is built (decisions/0023). Threads are not in
        # the index, so pending changes do not matter.
        return _find_unready_index(call, guild_id, ignores_changes=True) or results.search_threads(
            call, channel_access, query
        )

    return await _search_with_index(operation, search)


def _find_unready_index(call: Call, index_id: int, *, ignores_changes: bool) -> UnreadyIndex | None:
    """Return an index that must be built or updated first, otherwise None.

    With `ignores_changes`, an index with pending changes counts as up to date."""
    state = store.find_state(call.tx, index_id)
    if state is None or not state.is_ready or (state.has_pending_changes and not ignores_changes):
        return UnreadyIndex(index_id)
    return None


async def _search_with_index(
    operation: AsyncOperation, search: Callable[[Call, bool], ResultT | UnreadyIndex]
) -> ResultT:
    """Return the result of `search`; if the index is not ready, update the index once and search again.

    `search` returns the index if it is not ready. Its second argument is whether to ignore pending changes. Raise
    INDEX_NOT_AVAILABLE (202) if the index is not built yet."""
    result = await operation.read(lambda call: search(call, False), long=True)
    if isinstance(result, UnreadyIndex):
        await _prepare_index(operation, result.index_id)
        result = await operation.read(lambda call: search(call, True), long=True)
    if isinstance(result, UnreadyIndex):
        raise errors.INDEX_NOT_AVAILABLE(documents_indexed=0, retry_after=wire.RETRY_AFTER_SECONDS)
    return result


async def _prepare_index(operation: AsyncOperation, index_id: int) -> None:
    """Index a batch of pending changes if the index is built.

    Otherwise start building it and raise INDEX_NOT_AVAILABLE (202), unless the configuration requires that it is built
    immediately."""

    def start_or_update(call: Call) -> tuple[store.IndexState | None, bool]:
        index_jobs.start_build(call, index_id)
        state = store.find_state(call.tx, index_id)
        if state is not None and state.is_ready:
            index_jobs.index_changes(call, index_id)
        return state, call.config.search_waits_for_index

    state, builds_immediately = await operation.write(start_or_update)
    if state is None or state.is_ready:
        return
    # The field `guild_id` contains the ID of the index, which may be that of a private channel.
    progress: BuildProgress | None = BuildProgress(guild_id=GuildId(index_id)) if builds_immediately else None
    while progress is not None:
        progress = await operation.write(partial(index_jobs.build_step, progress=progress))
    if not builds_immediately:
        raise errors.INDEX_NOT_AVAILABLE(documents_indexed=state.document_count, retry_after=wire.RETRY_AFTER_SECONDS)
