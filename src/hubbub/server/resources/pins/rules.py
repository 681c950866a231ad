"""Who may pin, what, and where."""

from hubbub.protocol import changes, errors
from hubbub.protocol.permissions import Permissions
from hubbub.protocol.resources import pins as wire
from hubbub.server.core import access
from hubbub.server.core.access import ChannelAccess
from hubbub.server.core.call import Call
from hubbub.server.resources.messages import MessageRow


def require_pages(now: int) -> None:
    """Raise before the day from which pins come by pages; the old routes were there always (dated-changes.md 3)."""
    if not changes.PAGINATED_PINS.active(now):
        raise errors.NOT_FOUND()


def require_pinner(call: Call, here: ChannelAccess) -> None:
    """dated-changes.md 2.5: PIN_MESSAGES; before 2026-02-23 MANAGE_MESSAGES did as well, and at first it alone.

    In a conversation everybody pins."""
    if here.guild is None:
        return
    needed = Permissions.PIN_MESSAGES
    if not changes.PIN_MESSAGES_INTRODUCED.active(call.now) or (
        not changes.PERMISSION_SPLITS.active(call.now) and not here.can(Permissions.PIN_MESSAGES)
    ):
        needed = Permissions.MANAGE_MESSAGES
    access.require_channel(call, here.channel.id, needed)


def require_open(here: ChannelAccess) -> None:
    """A pin speaks in the channel, so a thread must be open to it (http.md 3.3)."""
    if here.channel.archived:
        raise errors.THREAD_ARCHIVED()
    if here.channel.locked and not here.can(Permissions.MANAGE_THREADS):
        raise errors.THREAD_LOCKED()


def require_pinnable(message: MessageRow) -> None:
    """Only what people said is pinned, never the platform's own words."""
    if message.type not in wire.PINNABLE_TYPES:
        raise errors.CANNOT_EXECUTE_ON_SYSTEM_MESSAGE()


def can_read_pins(here: ChannelAccess) -> bool:
    """http.md 4.2: without READ_MESSAGE_HISTORY the list is empty."""
    return here.can(Permissions.READ_MESSAGE_HISTORY)
