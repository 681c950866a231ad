"""Permission and validity checks for pins."""

from hubbub.protocol import changes, errors
from hubbub.protocol.permissions import Permissions
from hubbub.protocol.resources import pins as wire
from hubbub.server.core.call import Call
from hubbub.server.places.standing import ChannelAccess, access
from hubbub.server.talk.messages import MessageRow


def require_paginated_routes(now_ms: int) -> None:
    """Raise NOT_FOUND if `now_ms` is before the date of the paginated routes; the older routes always exist.

    The date is in spec/dated-changes.md#3."""
    if not changes.PAGINATED_PINS.is_active(now_ms):
        raise errors.NOT_FOUND()


def require_pin_permission(call: Call, channel_access: ChannelAccess) -> None:
    """Raise an error unless the caller may pin messages in the channel (spec/dated-changes.md#2.5).

    The permission is PIN_MESSAGES. Before 2026-02-23 MANAGE_MESSAGES was accepted too, and before PIN_MESSAGES existed it
    was the only one. In a private channel every recipient may pin."""
    if channel_access.guild is None:
        return
    required_permission = Permissions.PIN_MESSAGES
    if not changes.PIN_MESSAGES_INTRODUCED.is_active(call.now_ms) or (
        not changes.PERMISSION_SPLITS.is_active(call.now_ms) and not channel_access.can(Permissions.PIN_MESSAGES)
    ):
        required_permission = Permissions.MANAGE_MESSAGES
    access.require_channel(call, channel_access.channel.id, required_permission)


def require_open(channel_access: ChannelAccess) -> None:
    """Raise THREAD_ARCHIVED or THREAD_LOCKED if the caller may not post to a thread.

    Pinning posts a system message (spec/http.md#3.3)."""
    if channel_access.channel.archived:
        raise errors.THREAD_ARCHIVED()
    if channel_access.channel.locked and not channel_access.can(Permissions.MANAGE_THREADS):
        raise errors.THREAD_LOCKED()


def require_pinnable(message: MessageRow) -> None:
    """Raise CANNOT_EXECUTE_ON_SYSTEM_MESSAGE for system messages, which cannot be pinned."""
    if message.type not in wire.PINNABLE_TYPES:
        raise errors.CANNOT_EXECUTE_ON_SYSTEM_MESSAGE()


def can_read_pins(channel_access: ChannelAccess) -> bool:
    """Return whether the caller may read pins; without READ_MESSAGE_HISTORY the list is empty (spec/http.md#4.2)."""
    return channel_access.can(Permissions.READ_MESSAGE_HISTORY)
