"""Snowflakes and other wide integers: strings on the wire, ints inside, a distinct type per resource."""

from typing import Final, NewType, Self, TypeVar

EPOCH_MS: Final = 1_420_070_400_000
"""2015-01-01T00:00:00Z: bit 22 and up of a snowflake count milliseconds from here."""

LATEST_MS: Final = 3_597_523_200_000
"""2084-01-01T00:00:00Z: ids of this moment still fit 63 bits, some months later they would not."""

MAX_WIDE: Final = (1 << 63) - 1

Timestamp = NewType("Timestamp", str)
"""ISO 8601 with microseconds and offset, as answers carry it."""


class WideInt(int):
    """An integer that may exceed 53 bits, so JSON carries it as a decimal string."""

    __slots__ = ()

    on_wire = int.__repr__
    """That string (`wire.encode_hook`)."""


class Snowflake(WideInt):
    """A time-ordered 64-bit id."""

    __slots__ = ()

    @property
    def created_ms(self) -> int:
        """Unix milliseconds of the moment the id was made."""
        return (self >> 22) + EPOCH_MS

    @classmethod
    def at(cls, ms: int) -> Self:
        """The smallest id of a moment, to build a pagination bound from a time."""
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


class SubscriptionId(Snowflake):
    __slots__ = ()


class AssetId(Snowflake):
    __slots__ = ()


W = TypeVar("W", bound=WideInt)


def parse_wide(kind: type[W], value: object) -> W:
    """Read a wide integer from its string or number form; ValueError says why not."""
    if (
        type(value) is str
        and len(value) < 20
        and value.isdecimal()
        and value.isascii()
        and (read := kind(value)) <= MAX_WIDE
    ):
        # Nearly always.
        return read
    if isinstance(value, str):
        if not (value.isascii() and value.isdigit()) or len(value) > 20:
            raise ValueError(f'Value "{value[:64]}" is not snowflake.')
        number = int(value)
    elif isinstance(value, int) and not isinstance(value, bool):
        number = int(value)
    else:
        raise ValueError(f'Value "{str(value)[:64]}" is not snowflake.')
    if not 0 <= number <= MAX_WIDE:
        raise ValueError(f'Value "{str(value)[:64]}" is not snowflake.')
    return kind(number)
