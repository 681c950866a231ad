"""The channels that a caller may search: visible ones with readable history; age-restricted ones only on request."""

from collections.abc import Mapping

import msgspec

from hubbub.protocol import changes, errors
from hubbub.protocol.enums import VOICE_TYPES, ChannelType
from hubbub.protocol.permissions import Permissions, effective_permissions
from hubbub.server.core.call import Call
from hubbub.server.places.standing import GuildAccess, access
from hubbub.server.talk import messages
from hubbub.server.talk.search import documents, store

_READ_PERMISSIONS = Permissions.VIEW_CHANNEL | Permissions.READ_MESSAGE_HISTORY


class Scope(msgspec.Struct, frozen=True, kw_only=True):
    """The channels that a search covers. Threads have the permissions of their parents."""

    readable: dict[int, int]
    """The caller's permissions in each readable channel, by channel ID."""
    hidden: frozenset[int]
    """IDs of the other channels of the guild that can contain messages."""
    threads: frozenset[int]
    """IDs of the private threads that the caller is a member of."""

    def can_search(self, channel_id: int, governing_channel_id: int, *, is_private_thread: bool) -> bool:
        """Return whether a channel or thread may be searched.

        `governing_channel_id` is the ID of the channel whose permissions apply: the channel itself, or the parent of a thread.
        `is_private_thread` is True for a private thread."""
        permissions = self.readable.get(governing_channel_id)
        if permissions is None:
            return False
        return not is_private_thread or bool(permissions & Permissions.MANAGE_THREADS) or channel_id in self.threads

    def to_marks(self) -> tuple[tuple[tuple[str, ...], ...], tuple[str, ...], tuple[str, ...] | None]:
        """Return `required_groups`, `excluded` and `private_thread_marks` that restrict a `Query` to the scope.

        The marks name either the readable or the hidden channels, whichever are fewer."""
        required_groups: tuple[tuple[str, ...], ...] = ()
        excluded: tuple[str, ...] = ()
        if len(self.hidden) > len(self.readable):
            required_groups = (tuple(documents.governed_by(channel_id) for channel_id in self.readable),)
        else:
            excluded = tuple(documents.governed_by(channel_id) for channel_id in self.hidden)
        managed_ids = [channel_id for channel_id, bits in self.readable.items() if bits & Permissions.MANAGE_THREADS]
        if len(managed_ids) == len(self.readable):
            return required_groups, excluded, None
        private_thread_marks = [*map(documents.in_channel, self.threads), *map(documents.governed_by, managed_ids)]
        return required_groups, excluded, tuple(private_thread_marks)


def require_scope(call: Call, guild_id: int, *, nsfw: bool) -> Scope:
    """Return the caller's scope in a guild; `nsfw` includes age-restricted channels.

    Raises MISSING_ACCESS if the caller cannot read any channel, or is a bot without message content intent (spec/http.md#3.4)."""
    standing = access.get_guild_standing(call, guild_id)
    actor = call.actor
    if actor.is_bot:
        if not changes.MESSAGE_SEARCH_FOR_APPS.is_active(call.now_ms):
            raise errors.BOTS_CANNOT_USE_ENDPOINT()
        if not actor.application_flags & messages.views.CONTENT_INTENT_FLAGS:
            raise errors.MISSING_ACCESS()
    channel_types = store.list_guild_channels(call.tx, guild_id)
    readable = _readable_channels(call, standing, channel_types)
    if not readable:
        raise errors.MISSING_ACCESS()
    searchable = {channel_id: bits for channel_id, bits in readable.items() if nsfw or not channel_types[channel_id][1]}
    message_channel_ids = {
        channel_id for channel_id, (kind, _) in channel_types.items() if kind != ChannelType.GUILD_CATEGORY
    }
    threads = store.list_joined_private_threads(call.tx, guild_id, call.user_id)
    return Scope(
        readable=searchable, hidden=frozenset(message_channel_ids - searchable.keys()), threads=frozenset(threads)
    )


def _readable_channels(
    call: Call, standing: GuildAccess, channel_types: Mapping[int, tuple[int, int]]
) -> dict[int, int]:
    readable = {}
    for channel_id, bits in access.visible_channels(call.tx, standing).items():
        kind = channel_types[channel_id][0]
        if kind == ChannelType.GUILD_CATEGORY:
            continue
        allowed = effective_permissions(bits, is_timed_out=standing.is_restricted, is_voice=kind in VOICE_TYPES)
        # Messages of voice channels require CONNECT, as in messages.rules.
        required = _READ_PERMISSIONS | (Permissions.CONNECT if kind in VOICE_TYPES else 0)
        if not required & ~allowed:
            readable[channel_id] = allowed
    return readable
