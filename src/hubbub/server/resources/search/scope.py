"""Where a caller may search: channels they can see and read the history of, age-restricted ones only on request."""

from collections.abc import Mapping

import msgspec

from hubbub.protocol import changes, errors
from hubbub.protocol.enums import ChannelType
from hubbub.protocol.permissions import Permissions, effective
from hubbub.server.core import access
from hubbub.server.core.access import VOICES, GuildAccess
from hubbub.server.core.call import Call
from hubbub.server.resources import messages
from hubbub.server.resources.search import documents, store

_READS = Permissions.VIEW_CHANNEL | Permissions.READ_MESSAGE_HISTORY


class Scope(msgspec.Struct, frozen=True, kw_only=True):
    """The channels to search; threads are ruled by their parents."""

    seen: dict[int, int]
    """Readable channels, and the caller's bits there."""
    hidden: frozenset[int]
    """All others of the guild that hold messages."""
    threads: frozenset[int]
    """Private threads the caller is in."""

    def sees(self, channel_id: int, ruling_id: int, *, private: bool) -> bool:
        """Whether a channel or thread may be searched."""
        bits = self.seen.get(ruling_id)
        if bits is None:
            return False
        return not private or bool(bits & Permissions.MANAGE_THREADS) or channel_id in self.threads

    def narrow(self) -> tuple[tuple[tuple[str, ...], ...], tuple[str, ...], tuple[str, ...] | None]:
        """The same for the index: `every`, `none` and `private` of a Query. What is said shorter is said."""
        every: tuple[tuple[str, ...], ...] = ()
        none: tuple[str, ...] = ()
        if len(self.hidden) > len(self.seen):
            every = (tuple(documents.under(channel_id) for channel_id in self.seen),)
        else:
            none = tuple(documents.under(channel_id) for channel_id in self.hidden)
        managed = [channel_id for channel_id, bits in self.seen.items() if bits & Permissions.MANAGE_THREADS]
        if len(managed) == len(self.seen):
            return every, none, None
        open_to = [*map(documents.in_channel, self.threads), *map(documents.under, managed)]
        return every, none, tuple(open_to)


def require(call: Call, guild_id: int, *, nsfw: bool) -> Scope:
    """Where the caller may search in a guild; http.md 3.4: MISSING_ACCESS for who reads nothing, or has not the intent."""
    standing = access.guild(call, guild_id)
    actor = call.actor
    if actor.is_bot:
        if not changes.MESSAGE_SEARCH.active(call.now):
            raise errors.BOTS_CANNOT_USE_ENDPOINT()
        if not actor.application_flags & messages.views.READS_CONTENT:
            raise errors.MISSING_ACCESS()
    kinds = store.guild_channels(call.tx, guild_id)
    readable = _readable(call, standing, kinds)
    if not readable:
        raise errors.MISSING_ACCESS()
    seen = {channel_id: bits for channel_id, bits in readable.items() if nsfw or not kinds[channel_id][1]}
    holding = {channel_id for channel_id, (kind, _) in kinds.items() if kind != ChannelType.GUILD_CATEGORY}
    threads = store.joined_private_threads(call.tx, guild_id, call.user_id)
    return Scope(seen=seen, hidden=frozenset(holding - seen.keys()), threads=frozenset(threads))


def _readable(call: Call, standing: GuildAccess, kinds: Mapping[int, tuple[int, int]]) -> dict[int, int]:
    readable = {}
    for channel_id, bits in access.visible_channels(call.tx, standing).items():
        kind = kinds[channel_id][0]
        if kind == ChannelType.GUILD_CATEGORY:
            continue
        allowed = effective(bits, timed_out=standing.restricted, voice=kind in VOICES)
        # What was said in a voice channel is for those who may come in; messages.rules asks the same of who lists them.
        needed = _READS | (Permissions.CONNECT if kind in VOICES else 0)
        if not needed & ~allowed:
            readable[channel_id] = allowed
    return readable
