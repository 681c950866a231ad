"""Types of IDs, other 64-bit integers and timestamps.

IDs are strings on the wire and integers in code, with a distinct type per resource.
"""

from typing import Final, NewType, Self, TypeVar

EPOCH_MS: Final = 1_420_070_400_000
"""Unix milliseconds of 2015-01-01T00:00:00Z, the epoch of the timestamp in bits 22 and up of a snowflake."""

LATEST_MS: Final = 3_597_523_200_000
"""Unix milliseconds of 2084-01-01T00:00:00Z; some months later, IDs no longer fit in 63 bits."""

WIDE_MAX: Final = (1 << 63) - 1
"""Highest accepted value of a wide integer, so that databases can store it as a signed 64-bit integer."""

Timestamp = NewType("Timestamp", str)
"""ISO 8601 timestamp with microseconds and offset, as responses contain it."""


class WideInt(int):
    """An integer that may exceed 53 bits and is therefore a decimal string in JSON."""

    __slots__ = ()

    to_wire = int.__repr__
    """Return the integer as a decimal string; called by `codec.encode_hook`."""


class Snowflake(WideInt):
    """A time-ordered 64-bit ID."""

    __slots__ = ()

    @property
    def created_ms(self) -> int:
        """Time at which the ID was created, as Unix milliseconds."""
        return (self >> 22) + EPOCH_MS

    @classmethod
    def at(cls, ms: int) -> Self:
        """Return the smallest ID of a time in Unix milliseconds, for use as a pagination bound."""
        return cls(max(0, ms - EPOCH_MS) << 22)


class UserId(Snowflake):
    __slots__ = ()


class ApplicationId(Snowflake):
    __slots__ = ()


class GuildId(Snowflake):
    __slots__ = ()


class ChannelId(Snowflake):
    __slots__ = ()


class RoleId(Snowflake):
    __slots__ = ()


class MessageId(Snowflake):
    __slots__ = ()


class AttachmentId(Snowflake):
    __slots__ = ()


class EmojiId(Snowflake):
    __slots__ = ()


class StickerId(Snowflake):
    __slots__ = ()


class WebhookId(Snowflake):
    __slots__ = ()


class IntegrationId(Snowflake):
    __slots__ = ()


class AuditLogEntryId(Snowflake):
    __slots__ = ()


class CommandId(Snowflake):
    __slots__ = ()


class InteractionId(Snowflake):
    __slots__ = ()


class AutoModerationRuleId(Snowflake):
    __slots__ = ()


class StageInstanceId(Snowflake):
    __slots__ = ()


class ScheduledEventId(Snowflake):
    __slots__ = ()


class JoinRequestId(Snowflake):
    __slots__ = ()


class TagId(Snowflake):
    __slots__ = ()


class SoundId(Snowflake):
    __slots__ = ()


class TeamId(Snowflake):
    __slots__ = ()


class LobbyId(Snowflake):
    __slots__ = ()


class ActivityInstanceId(Snowflake):
    __slots__ = ()


class ActivityLinkId(Snowflake):
    __slots__ = ()


class SkuId(Snowflake):
    __slots__ = ()


class EntitlementId(Snowflake):
    __slots__ = ()


class PushSubscriptionId(Snowflake):
    __slots__ = ()


class SubscriptionId(Snowflake):
    __slots__ = ()


class AssetId(Snowflake):
    __slots__ = ()


WideIntT = TypeVar("WideIntT", bound=WideInt)


def parse_wide(integer_type: type[WideIntT], value: object) -> WideIntT:
    """Parse a wide integer from a string or number; raise ValueError if it is not an integer from 0 to WIDE_MAX."""
    if (
        type(value) is str
        and len(value) < 20
        and value.isdecimal()
        and value.isascii()
        and (parsed_value := integer_type(value)) <= WIDE_MAX
    ):
        # Fast path: nearly all values are decimal strings in range.
        return parsed_value
    if isinstance(value, str):
        if not (value.isascii() and value.isdigit()) or len(value) > 20:
            raise ValueError(f'Value "{value[:64]}" is not snowflake.')
        number = int(value)
    elif isinstance(value, int) and not isinstance(value, bool):
        number = int(value)
    else:
        raise ValueError(f'Value "{str(value)[:64]}" is not snowflake.')
    if not 0 <= number <= WIDE_MAX:
        raise ValueError(f'Value "{str(value)[:64]}" is not snowflake.')
    return integer_type(number)
