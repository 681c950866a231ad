"""The typing indicator."""

from typing import Final

from msgspec import UNSET, Struct, UnsetType

from hubbub.protocol import errors
from hubbub.protocol.ids import ChannelId, GuildId, UserId
from hubbub.protocol.intents import Intents
from hubbub.protocol.operation import Event, Operation
from hubbub.protocol.permissions import Permissions
from hubbub.protocol.resources.members import Member

TYPING_SECONDS: Final = 10
"""How long one indicator is shown."""


class TypingStarted(Struct, kw_only=True):
    """That somebody types."""

    channel_id: ChannelId
    user_id: UserId
    timestamp: int
    """Unix seconds."""
    guild_id: GuildId | UnsetType = UNSET
    member: Member | UnsetType = UNSET


TYPING_START = Event(
    "TYPING_START",
    TypingStarted,
    intents=Intents.GUILD_MESSAGE_TYPING,
    dm_intents=Intents.DIRECT_MESSAGE_TYPING,
)

# Whoever may not send a message here may not type one: the rule, and its refusals, are those of messages.
TRIGGER_TYPING_INDICATOR = Operation(
    "POST",
    "/channels/{channel_id}/typing",
    needs=Permissions.VIEW_CHANNEL,
    raises=(
        errors.UNKNOWN_CHANNEL,
        errors.MISSING_ACCESS,
        errors.MISSING_PERMISSIONS,
        errors.CANNOT_SEND_IN_CHANNEL,
        errors.CANNOT_SEND_IN_FORUM,
        errors.THREAD_LOCKED,
        errors.VERIFICATION_LEVEL_TOO_HIGH,
        errors.CANNOT_MESSAGE_USER,
        errors.NO_MUTUAL_GUILDS,
    ),
    emits=(TYPING_START,),
)
