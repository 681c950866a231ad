"""Signals that the messages slice sends inside the transaction, from the creation of a message to its deletion."""

from typing import Any

import msgspec

from hubbub.protocol.ids import GuildId, RoleId, UserId
from hubbub.server.places.standing import ChannelRef
from hubbub.server.talk.messages.content.records import MessageRow


class MessageCreated(msgspec.Struct, frozen=True, kw_only=True):
    """A message was stored; its event follows."""

    channel: ChannelRef
    row: MessageRow
    mentions: tuple[UserId, ...] = ()
    """IDs of the users that the message notifies."""
    mention_roles: tuple[RoleId, ...] = ()
    """IDs of the roles that the message notifies."""
    is_new_member: bool = False
    """Whether the message makes its author a member of its thread."""
    lobby_message_row: tuple[Any, ...] | None = None
    """Row of the lobby message that this message is a copy of, from its `ApplicationOrigin`; None for other messages."""


class MessageChanged(msgspec.Struct, frozen=True, kw_only=True):
    """The content, files, link previews, flags, poll or voice call of a message changed; its event follows."""

    channel: ChannelRef
    row: MessageRow
    are_previews_current: bool = False
    """Whether the server only replaced the previews of links, which therefore match the content."""


class DeferredMessageCompleted(msgspec.Struct, frozen=True, kw_only=True):
    """A deferred interaction response was completed; its event follows."""

    channel: ChannelRef
    row: MessageRow


class MessageCrossposted(msgspec.Struct, frozen=True, kw_only=True):
    """A message was marked as crossposted, to be copied to the following channels; its event is already emitted."""

    channel: ChannelRef
    row: MessageRow


class MessagePinned(msgspec.Struct, frozen=True, kw_only=True):
    """A message was pinned or unpinned; its event follows."""

    channel: ChannelRef
    row: MessageRow


class MessagesImported(msgspec.Struct, frozen=True, kw_only=True):
    """Messages with mentions, reactions, polls or files were imported; their guild is not visible yet, so there are no events."""

    guild_id: GuildId
    rows: tuple[MessageRow, ...]


class MessagesDeleted(msgspec.Struct, frozen=True, kw_only=True):
    """Messages of a channel were deleted; their events follow."""

    channel: ChannelRef
    rows: tuple[MessageRow, ...]
    """The rows before deletion."""
