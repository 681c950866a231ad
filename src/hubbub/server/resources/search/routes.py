"""Search over HTTP. A search may have to begin an index or bring it up to date, so it is not one transaction."""

from collections.abc import Callable
from functools import partial
from typing import TypeVar

from hubbub.protocol import errors
from hubbub.protocol.ids import ChannelId, GuildId
from hubbub.protocol.resources import search as wire
from hubbub.server.core import access
from hubbub.server.core.call import Call
from hubbub.server.core.slices import handles
from hubbub.server.core.work import Work
from hubbub.server.resources.search import found, indexing, scope, store
from hubbub.server.resources.search.indexing import Build

T = TypeVar("T")


@handles(wire.GUILD_SEARCH, long=True)
async def guild_search(work: Work, guild_id: GuildId, query: wire.SearchMessages) -> wire.FoundMessages:
    """Messages of a guild that fit."""

    def look(call: Call, fresh: bool) -> wire.FoundMessages | GuildId:
        where = scope.require(call, guild_id, nsfw=query.include_nsfw)
        return _behind(call, guild_id, fresh) or found.find_messages(call, guild_id, where, query)

    return await _find(work, look)


@handles(wire.THREAD_SEARCH, long=True)
async def thread_search(work: Work, channel_id: ChannelId, query: wire.SearchThreads) -> wire.FoundThreads:
    """Threads of a channel that fit."""

    def look(call: Call, fresh: bool) -> wire.FoundThreads | GuildId:
        here = access.channel(call, channel_id)
        guild_id = found.require_holder(here)
        # Threads are not looked for in the index of messages, so what it still lacks does not matter.
        return _behind(call, guild_id, True) or found.find_threads(call, here, query)

    return await _find(work, look)


def _behind(call: Call, guild_id: GuildId, fresh: bool) -> GuildId | None:
    """The guild whose index must be worked on first, if it must."""
    state = store.find_state(call.tx, guild_id)
    return guild_id if state is None or not state.ready or (state.behind and not fresh) else None


async def _find(work: Work, look: Callable[[Call, bool], T | GuildId]) -> T:
    """Search; where the index is behind, bring it up to date once, and search what there is."""
    answer = await work.read(lambda call: look(call, False), long=True)
    if isinstance(answer, GuildId):
        await _prepare(work, answer)
        answer = await work.read(lambda call: look(call, True), long=True)
    if isinstance(answer, GuildId):
        raise errors.INDEX_NOT_AVAILABLE(documents_indexed=0, retry_after=wire.RETRY_AFTER_S)
    return answer


async def _prepare(work: Work, guild_id: GuildId) -> None:
    """Index the changes that wait; a guild without an index gets one, and until it is there the answer is 202."""

    def step(call: Call) -> tuple[store.State | None, bool]:
        indexing.begin(call, guild_id)
        state = store.find_state(call.tx, guild_id)
        if state is not None and state.ready:
            indexing.look_at_changes(call, guild_id)
        return state, call.config.search_at_once

    state, at_once = await work.write(step)
    if state is None or state.ready:
        return
    at: Build | None = Build(guild_id=guild_id) if at_once else None
    while at is not None:
        at = await work.write(partial(indexing.build_more, at=at))
    if not at_once:
        raise errors.INDEX_NOT_AVAILABLE(documents_indexed=state.documents, retry_after=wire.RETRY_AFTER_S)
