"""Pinned messages, on the new routes and the old."""

from datetime import datetime
from typing import Annotated, Final

from msgspec import UNSET, Meta, Struct, UnsetType

from hubbub.protocol import errors
from hubbub.protocol.enums import AuditLogAction
from hubbub.protocol.ids import ChannelId, GuildId, Timestamp
from hubbub.protocol.intents import Intents
from hubbub.protocol.operation import Event, Operation
from hubbub.protocol.permissions import Permissions
from hubbub.protocol.resources import messages
from hubbub.protocol.resources.messages import Message

PINS_MAX: Final = 250
"""In one channel."""
OLD_ROUTE_PINS_MAX: Final = 50
"""How many the old route shows."""

# What people said, or an app said for them: 0 default, 19 reply, 20 and 23 command responses.
PINNABLE_TYPES: Final = frozenset({0, 19, 20, 23})


class PinnedMessage(Struct, kw_only=True):
    """A message and when it was pinned."""

    pinned_at: Timestamp
    message: Message


class PinnedMessages(Struct, kw_only=True):
    """Pins, the newest first."""

    items: list[PinnedMessage]
    has_more: bool


class ListPins(Struct, kw_only=True):
    """Which pins to return."""

    before: datetime | UnsetType = UNSET
    """Pinned before this moment."""
    limit: Annotated[int, Meta(ge=1, le=50)] = 50


class ChannelPinsUpdate(Struct, kw_only=True):
    """That a message of a channel was pinned or unpinned."""

    channel_id: ChannelId
    guild_id: GuildId | UnsetType = UNSET
    last_pin_timestamp: Timestamp | None


CHANNEL_PINS_UPDATE = Event(
    "CHANNEL_PINS_UPDATE", ChannelPinsUpdate, intents=Intents.GUILDS, dm_intents=Intents.DIRECT_MESSAGES
)

_LIST_REFUSALS: Final = (
    errors.UNKNOWN_CHANNEL,
    errors.MISSING_ACCESS,
    errors.MISSING_PERMISSIONS,
)
_WRITE_REFUSALS: Final = (
    errors.UNKNOWN_CHANNEL,
    errors.UNKNOWN_MESSAGE,
    errors.MISSING_ACCESS,
    errors.MISSING_PERMISSIONS,
    errors.TWO_FACTOR_REQUIRED,
    errors.THREAD_ARCHIVED,
    errors.THREAD_LOCKED,
)
# PIN_MESSAGES, or before 2026-02-23 MANAGE_MESSAGES (dated-changes.md, permission_splits), is a rule of the slice.
_CREATE_NEEDS: Final = Permissions.VIEW_CHANNEL | Permissions.READ_MESSAGE_HISTORY
_CREATE_EMITS: Final = (CHANNEL_PINS_UPDATE, messages.MESSAGE_UPDATE, messages.MESSAGE_CREATE)
_DELETE_EMITS: Final = (CHANNEL_PINS_UPDATE, messages.MESSAGE_UPDATE)

LIST_PINS = Operation(
    "GET",
    "/channels/{channel_id}/messages/pins",
    result=PinnedMessages,
    query=ListPins,
    needs=Permissions.VIEW_CHANNEL,
    raises=_LIST_REFUSALS,
)

CREATE_PIN = Operation(
    "PUT",
    "/channels/{channel_id}/messages/pins/{message_id}",
    needs=_CREATE_NEEDS,
    raises=(*_WRITE_REFUSALS, errors.CANNOT_EXECUTE_ON_SYSTEM_MESSAGE, errors.MAX_PINS),
    emits=_CREATE_EMITS,
    audits=(AuditLogAction.MESSAGE_PIN,),
)

DELETE_PIN = Operation(
    "DELETE",
    "/channels/{channel_id}/messages/pins/{message_id}",
    needs=Permissions.VIEW_CHANNEL,
    raises=_WRITE_REFUSALS,
    emits=_DELETE_EMITS,
    audits=(AuditLogAction.MESSAGE_UNPIN,),
)

DEPRECATED_LIST_PINS = Operation(
    "GET",
    "/channels/{channel_id}/pins",
    result=list[Message],
    needs=Permissions.VIEW_CHANNEL,
    raises=_LIST_REFUSALS,
)

DEPRECATED_CREATE_PIN = Operation(
    "PUT",
    "/channels/{channel_id}/pins/{message_id}",
    needs=_CREATE_NEEDS,
    raises=(*_WRITE_REFUSALS, errors.CANNOT_EXECUTE_ON_SYSTEM_MESSAGE, errors.MAX_PINS),
    emits=_CREATE_EMITS,
    audits=(AuditLogAction.MESSAGE_PIN,),
)

DEPRECATED_DELETE_PIN = Operation(
    "DELETE",
    "/channels/{channel_id}/pins/{message_id}",
    needs=Permissions.VIEW_CHANNEL,
    raises=_WRITE_REFUSALS,
    emits=_DELETE_EMITS,
    audits=(AuditLogAction.MESSAGE_UNPIN,),
)
