"""What the messages slice tells others, inside the transaction and before its own event."""

import msgspec

from hubbub.protocol.ids import RoleId, UserId
from hubbub.server.core.access import ChannelRef
from hubbub.server.resources.messages.store import MessageRow


class MessageCreated(msgspec.Struct, frozen=True, kw_only=True):
    """A message was kept; its event follows."""

    channel: ChannelRef
    row: MessageRow
    mentions: tuple[UserId, ...] = ()
    """Users it notifies."""
    mention_roles: tuple[RoleId, ...] = ()


class MessagesDeleted(msgspec.Struct, frozen=True, kw_only=True):
    """One or more messages of a channel are gone; their event follows."""

    channel: ChannelRef
    rows: tuple[MessageRow, ...]
    """As they were."""
