"""Pins: pinned messages of a channel, on the current and the deprecated routes."""

from datetime import datetime
from typing import Annotated, Final

from msgspec import UNSET, Meta, Struct, UnsetType

from hubbub.protocol import errors
from hubbub.protocol.enums import USER_MESSAGE_TYPES, AuditLogAction
from hubbub.protocol.ids import ChannelId, GuildId, Timestamp
from hubbub.protocol.intents import Intents
from hubbub.protocol.operation import Event, Operation
from hubbub.protocol.permissions import Permissions
from hubbub.protocol.resources import messages
from hubbub.protocol.resources.messages import Message

PINS_MAX: Final = 250
"""Maximum number of pinned messages per channel."""
PINS_PAGE_MAX: Final = 50
"""Maximum number of pinned messages on a page."""
DEPRECATED_ROUTE_PINS_MAX: Final = 50
"""Maximum number of messages returned by the deprecated route."""

PINNABLE_TYPES: Final = USER_MESSAGE_TYPES
"""Types of messages that can be pinned."""


class PinnedMessage(Struct, kw_only=True):
    """A message in the list of pins, with the time at which it was pinned."""

    pinned_at: Timestamp
    """Time at which the message was pinned."""
    message: Message
    """Message with its current content."""


class PinnedMessages(Struct, kw_only=True):
    """A page of pinned messages, newest pin first."""

    items: list[PinnedMessage]
    """Pinned messages on the page."""
    has_more: bool
    """Whether there are older pins."""


class ListPins(Struct, kw_only=True):
    """Page selection for pins."""

    before: datetime | UnsetType = UNSET
    """Return messages pinned before this time."""
    limit: Annotated[int, Meta(ge=1, le=PINS_PAGE_MAX)] = PINS_PAGE_MAX
    """Maximum number of pins to return."""


class ChannelPinsUpdate(Struct, kw_only=True):
    """A channel whose pins changed."""

    channel_id: ChannelId
    """ID of the channel."""
    guild_id: GuildId | UnsetType = UNSET
    """ID of the guild; absent outside guilds."""
    last_pin_timestamp: Timestamp | None
    """Time at which the newest pinned message was pinned; null if there is none."""


CHANNEL_PINS_UPDATE = Event(
    "CHANNEL_PINS_UPDATE",
    ChannelPinsUpdate,
    "Sent when a message is pinned or unpinned; not sent when a pinned message is deleted.",
    intents=Intents.GUILDS,
    dm_intents=Intents.DIRECT_MESSAGES,
)

_LIST_ERRORS: Final = (
    errors.UNKNOWN_CHANNEL,
    errors.MISSING_ACCESS,
    errors.MISSING_PERMISSIONS,
)
_WRITE_ERRORS: Final = (
    errors.UNKNOWN_CHANNEL,
    errors.UNKNOWN_MESSAGE,
    errors.MISSING_ACCESS,
    errors.MISSING_PERMISSIONS,
    errors.TWO_FACTOR_REQUIRED,
    errors.THREAD_ARCHIVED,
    errors.THREAD_LOCKED,
)
# The slice also checks PIN_MESSAGES; before changes.PERMISSION_SPLITS, MANAGE_MESSAGES is also sufficient.
_CREATE_NEEDS: Final = Permissions.VIEW_CHANNEL | Permissions.READ_MESSAGE_HISTORY
_CREATE_EMITS: Final = (CHANNEL_PINS_UPDATE, messages.MESSAGE_UPDATE, messages.MESSAGE_CREATE)
_DELETE_EMITS: Final = (CHANNEL_PINS_UPDATE, messages.MESSAGE_UPDATE)

LIST_PINS = Operation(
    "GET",
    "/channels/{channel_id}/messages/pins",
    result=PinnedMessages,
    query=ListPins,
    needs=Permissions.VIEW_CHANNEL,
    raises=_LIST_ERRORS,
)

CREATE_PIN = Operation(
    "PUT",
    "/channels/{channel_id}/messages/pins/{message_id}",
    needs=_CREATE_NEEDS,
    raises=(*_WRITE_ERRORS, errors.CANNOT_EXECUTE_ON_SYSTEM_MESSAGE, errors.MAX_PINS),
    emits=_CREATE_EMITS,
    audits=(AuditLogAction.MESSAGE_PIN,),
)

DELETE_PIN = Operation(
    "DELETE",
    "/channels/{channel_id}/messages/pins/{message_id}",
    needs=Permissions.VIEW_CHANNEL,
    raises=_WRITE_ERRORS,
    emits=_DELETE_EMITS,
    audits=(AuditLogAction.MESSAGE_UNPIN,),
)

DEPRECATED_LIST_PINS = Operation(
    "GET",
    "/channels/{channel_id}/pins",
    result=list[Message],
    needs=Permissions.VIEW_CHANNEL,
    raises=_LIST_ERRORS,
    replaced_by="`list_pins`",
)

DEPRECATED_CREATE_PIN = Operation(
    "PUT",
    "/channels/{channel_id}/pins/{message_id}",
    needs=_CREATE_NEEDS,
    raises=(*_WRITE_ERRORS, errors.CANNOT_EXECUTE_ON_SYSTEM_MESSAGE, errors.MAX_PINS),
    emits=_CREATE_EMITS,
    audits=(AuditLogAction.MESSAGE_PIN,),
    replaced_by="`create_pin`",
)

DEPRECATED_DELETE_PIN = Operation(
    "DELETE",
    "/channels/{channel_id}/pins/{message_id}",
    needs=Permissions.VIEW_CHANNEL,
    raises=_WRITE_ERRORS,
    emits=_DELETE_EMITS,
    audits=(AuditLogAction.MESSAGE_UNPIN,),
    replaced_by="`delete_pin`",
)
