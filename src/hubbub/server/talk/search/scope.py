"""The channels that a caller may search: visible channels of a guild with readable history, or one private channel.

Age-restricted channels are included only on request."""

from collections.abc import Mapping
from typing import NamedTuple

import msgspec

from hubbub.protocol import changes, errors
from hubbub.protocol.enums import VOICE_TYPES, ChannelType
from hubbub.protocol.permissions import Permissions, effective_permissions
from hubbub.server.core.call import Call
from hubbub.server.places.standing import GuildAccess, access
from hubbub.server.talk import messages
from hubbub.server.talk.search import documents, store
from hubbub.server.talk.search.store import SearchedChannel

_READ_PERMISSIONS = Permissions.VIEW_CHANNEL | Permissions.READ_MESSAGE_HISTORY


class ScopeMarks(NamedTuple):
    """The fields of a `store.Query` that restrict it to a scope.

    A mark is an index term for a property of a message, such as its channel (see `documents`)."""

    required_groups: tuple[tuple[str, ...], ...]
    """Groups of marks; a message must have one mark of each group."""
    excluded_marks: tuple[str, ...]
    """Marks that a message must not have."""
    private_thread_marks: tuple[str, ...] | None
    """Marks of which a message in a private thread must have one; None if the caller may read all private threads."""


class SearchScope(msgspec.Struct, frozen=True, kw_only=True):
    """The channels that a search covers. Threads have the permissions of their parents."""

    index_id: int
    """ID of the index: the guild, or the private channel."""
    searchable_channels: dict[int, int]
    """The caller's permissions in each channel that the search covers, by channel ID."""
    excluded_channel_ids: frozenset[int]
    """IDs of the other channels of the guild except categories, including age-restricted channels that were not requested."""
    private_thread_ids: frozenset[int]
    """IDs of the private threads that the caller is a member of."""

    def can_search(self, channel_id: int, governing_channel_id: int, *, is_private_thread: bool) -> bool:
        """Return whether a channel or thread may be searched.

        `governing_channel_id` is the ID of the channel whose permissions apply: the channel itself, or the parent of a thread."""
        permissions = self.searchable_channels.get(governing_channel_id)
        if permissions is None:
            return False
        return (
            not is_private_thread
            or bool(permissions & Permissions.MANAGE_THREADS)
            or channel_id in self.private_thread_ids
        )

    def to_marks(self) -> ScopeMarks:
        """Return the marks that restrict a query to the scope.

        If fewer channels are searchable than excluded, `required_groups` has the marks of the searchable channels; otherwise
        `excluded_marks` has the marks of the excluded channels."""
        required_groups: tuple[tuple[str, ...], ...] = ()
        excluded_marks: tuple[str, ...] = ()
        if len(self.excluded_channel_ids) > len(self.searchable_channels):
            required_groups = (
                tuple(documents.governing_channel_mark(channel_id) for channel_id in self.searchable_channels),
            )
        else:
            excluded_marks = tuple(
                documents.governing_channel_mark(channel_id) for channel_id in self.excluded_channel_ids
            )
        managed_channel_ids = [
            channel_id
            for channel_id, permissions in self.searchable_channels.items()
            if permissions & Permissions.MANAGE_THREADS
        ]
        if len(managed_channel_ids) == len(self.searchable_channels):
            return ScopeMarks(required_groups, excluded_marks, None)
        private_thread_marks = [
            *map(documents.channel_mark, self.private_thread_ids),
            *map(documents.governing_channel_mark, managed_channel_ids),
        ]
        return ScopeMarks(required_groups, excluded_marks, tuple(private_thread_marks))


def require_scope(call: Call, guild_id: int, *, include_nsfw: bool) -> SearchScope:
    """Return the caller's scope in a guild; `include_nsfw` includes age-restricted channels.

    Raise MISSING_ACCESS if the caller cannot read any channel, or is a bot without message content intent (spec/http.md#3.4).
    Raise BOTS_CANNOT_USE_ENDPOINT for bots before `changes.MESSAGE_SEARCH_FOR_APPS`."""
    standing = access.get_guild_standing(call, guild_id)
    actor = call.actor
    if actor.is_bot:
        if not changes.MESSAGE_SEARCH_FOR_APPS.is_active(call.now_ms):
            raise errors.BOTS_CANNOT_USE_ENDPOINT()
        if not actor.application_flags & messages.views.CONTENT_INTENT_FLAGS:
            raise errors.MISSING_ACCESS()
    channels_by_id = store.find_guild_channels(call.tx, guild_id)
    readable_channels = _readable_channels(call, standing, channels_by_id)
    if not readable_channels:
        raise errors.MISSING_ACCESS()
    searchable_channels = {
        channel_id: permissions
        for channel_id, permissions in readable_channels.items()
        if include_nsfw or not channels_by_id[channel_id].is_nsfw
    }
    message_channel_ids = {
        channel_id for channel_id, channel in channels_by_id.items() if channel.type != ChannelType.GUILD_CATEGORY
    }
    private_thread_ids = store.list_joined_private_thread_ids(call.tx, guild_id, call.user_id)
    return SearchScope(
        index_id=int(guild_id),
        searchable_channels=searchable_channels,
        excluded_channel_ids=frozenset(message_channel_ids - searchable_channels.keys()),
        private_thread_ids=frozenset(private_thread_ids),
    )


def require_private_scope(call: Call, channel_id: int) -> SearchScope:
    """Return the caller's scope in a private channel.

    Raise MISSING_ACCESS if the caller is not a recipient, and WRONG_CHANNEL_TYPE for a guild channel."""
    channel_access = access.get_channel_standing(call, channel_id)
    if channel_access.guild is not None:
        raise errors.WRONG_CHANNEL_TYPE()
    return SearchScope(
        index_id=int(channel_id),
        searchable_channels={int(channel_id): int(channel_access.permissions)},
        excluded_channel_ids=frozenset(),
        private_thread_ids=frozenset(),
    )


def _readable_channels(
    call: Call, standing: GuildAccess, channels_by_id: Mapping[int, SearchedChannel]
) -> dict[int, int]:
    readable_channels = {}
    for channel_id, permissions in access.visible_channels(call.tx, standing).items():
        channel_type = channels_by_id[channel_id].type
        if channel_type == ChannelType.GUILD_CATEGORY:
            continue
        channel_permissions = effective_permissions(
            permissions, is_timed_out=standing.is_restricted, is_voice=channel_type in VOICE_TYPES
        )
        # Messages of voice channels require CONNECT, as in messages.rules.
        required_permissions = _READ_PERMISSIONS | (Permissions.CONNECT if channel_type in VOICE_TYPES else 0)
        if not required_permissions & ~channel_permissions:
            readable_channels[channel_id] = channel_permissions
    return readable_channels
