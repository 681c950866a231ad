"""Typing indicators: the operation that triggers one, and the event."""

from msgspec import UNSET, Struct, UnsetType

from hubbub.protocol import errors
from hubbub.protocol.ids import ChannelId, GuildId, UserId
from hubbub.protocol.intents import Intents
from hubbub.protocol.operation import Event, Operation
from hubbub.protocol.permissions import Permissions
from hubbub.protocol.resources.members import Member


class TypingStarted(Struct, kw_only=True):
    """A user who started typing."""

    channel_id: ChannelId
    """ID of the channel."""
    user_id: UserId
    """ID of the user."""
    timestamp: int
    """Time at which the user started typing, in Unix seconds."""
    guild_id: GuildId | UnsetType = UNSET
    """ID of the guild; absent outside guilds."""
    member: Member | UnsetType = UNSET
    """Member who is typing; absent outside guilds."""


TYPING_START = Event(
    "TYPING_START",
    TypingStarted,
    "Sent when a user starts typing in a channel.",
    intents=Intents.GUILD_MESSAGE_TYPING,
    dm_intents=Intents.DIRECT_MESSAGE_TYPING,
)

# The handler also requires the permissions in the channel that CREATE_MESSAGE requires.
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
