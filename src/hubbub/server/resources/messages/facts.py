"""What the messages slice tells others, inside the transaction and before its own event."""

import msgspec

from hubbub.protocol.ids import MessageId, RoleId, UserId
from hubbub.server.core.access import ChannelAccess, ChannelRef
from hubbub.server.resources.messages.records import MessageRow


class MessageDrafted(msgspec.Struct, frozen=True, kw_only=True):
    """Somebody is about to say something in a guild that moderates, or to change what they said. Nothing is kept yet: whoever hears
    it may refuse."""

    access: ChannelAccess
    message_id: MessageId
    text: str
    """All that people would read of it."""
    edited: bool = False


class DirectMessageDrafted(msgspec.Struct, frozen=True, kw_only=True):
    """Somebody is about to say something to another alone. Nothing is kept yet: whoever hears it may refuse."""

    channel: ChannelRef
    recipient_id: UserId


class SkusNamed(msgspec.Struct, kw_only=True):
    """A message is about to show premium buttons. Whoever knows SKUs adds those that the application can sell to `active`."""

    application_id: int | None
    sku_ids: tuple[int, ...]
    active: set[int]


class MessageCreated(msgspec.Struct, frozen=True, kw_only=True):
    """A message was kept; its event follows."""

    channel: ChannelRef
    row: MessageRow
    mentions: tuple[UserId, ...] = ()
    """Users it notifies."""
    mention_roles: tuple[RoleId, ...] = ()


class MessageChanged(msgspec.Struct, frozen=True, kw_only=True):
    """A message says something else now, or has other flags; its event follows."""

    channel: ChannelRef
    row: MessageRow


class MessageFilled(msgspec.Struct, frozen=True, kw_only=True):
    """A deferred answer to an interaction says something at last; its event follows."""

    channel: ChannelRef
    row: MessageRow


class MessageCrossposted(msgspec.Struct, frozen=True, kw_only=True):
    """A message was published to the channels that follow; its event is told."""

    channel: ChannelRef
    row: MessageRow


class MessagePinned(msgspec.Struct, frozen=True, kw_only=True):
    """A message was pinned, or is no longer; its event follows."""

    channel: ChannelRef
    row: MessageRow


class MessagesDeleted(msgspec.Struct, frozen=True, kw_only=True):
    """One or more messages of a channel are gone; their event follows."""

    channel: ChannelRef
    rows: tuple[MessageRow, ...]
    """As they were."""
