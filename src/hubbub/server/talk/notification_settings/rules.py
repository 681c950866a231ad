"""Rows and rules of notification settings: which messages count as mentions, and which notify (decisions/0104)."""

from collections.abc import Mapping
from typing import Final, NamedTuple

from hubbub.protocol.enums import NotificationLevel

DIRECT_MENTION: Final = 1
"""Bit of a message that mentions the user or replies to them."""
ROLE_MENTION: Final = 2
"""Bit of a message that mentions a role of the user."""
EVERYONE_MENTION: Final = 4
"""Bit of a message that mentions @everyone or @here."""
PRIVATE_MESSAGE: Final = 8
"""Bit of a message in a private channel."""

PRIVATE_CHANNELS_GUILD_ID: Final = 0
"""Guild ID under which the settings for private channels are stored."""


class GuildSettingsRow(NamedTuple):
    """The settings of a user for a guild, or for private channels."""

    user_id: int
    guild_id: int
    level: int = NotificationLevel.INHERIT
    suppress_everyone: int = 0
    suppress_roles: int = 0
    mobile_push: int = 1
    muted: int = 0
    mute_end_ms: int | None = None
    mute_seconds: int = -1
    """Chosen length of the mute in seconds; -1 for a mute without an end."""
    version: int = 0
    """Number of changes of these settings and of those of the guild's channels."""


class ChannelSettingsRow(NamedTuple):
    """The settings of a user for a channel, category or thread."""

    user_id: int
    guild_id: int
    channel_id: int
    level: int = NotificationLevel.INHERIT
    muted: int = 0
    mute_end_ms: int | None = None
    mute_seconds: int = -1
    """Chosen length of the mute in seconds; -1 for a mute without an end."""
    collapsed: int = 0
    """1 if the user collapsed the category in the channel list."""


class ChannelPath(NamedTuple):
    """A channel with the channels that it inherits settings from, nearest first."""

    guild_id: int
    """ID of the guild; `PRIVATE_CHANNELS_GUILD_ID` for private channels."""
    channel_ids: tuple[int, ...]
    """IDs of the channel, of the channel that a thread belongs to, and of the category, as far as they exist."""


def is_muted_at(row: GuildSettingsRow | ChannelSettingsRow, now_ms: int) -> bool:
    """Return whether a mute is active at `now_ms` (Unix milliseconds); a mute with an end ends by itself."""
    return bool(row.muted) and (row.mute_end_ms is None or row.mute_end_ms > now_ms)


class NotificationRules:
    """The notification settings of one user at one time."""

    def __init__(
        self,
        guild_rows: Mapping[int, GuildSettingsRow],
        channel_rows: Mapping[int, ChannelSettingsRow],
        now_ms: int,
    ) -> None:
        """Create the rules from the settings of guilds by guild ID, and of channels by channel ID."""
        self._guild_rows = guild_rows
        self._channel_rows = channel_rows
        self._now_ms = now_ms

    def is_muted(self, path: ChannelPath) -> bool:
        """Return whether a channel, one of its parents or its guild is muted."""
        guild_row = self._guild_rows.get(path.guild_id)
        rows = (self._channel_rows.get(channel_id) for channel_id in path.channel_ids)
        return (guild_row is not None and is_muted_at(guild_row, self._now_ms)) or any(
            row is not None and is_muted_at(row, self._now_ms) for row in rows
        )

    def level(self, path: ChannelPath, default_level: int = NotificationLevel.ALL_MESSAGES) -> int:
        """Return the level that the user set for a channel, otherwise for its nearest parent, otherwise for the guild.

        `default_level` is the default level of the guild, which applies if none of these is set."""
        for channel_id in path.channel_ids:
            row = self._channel_rows.get(channel_id)
            if row is not None and row.level != NotificationLevel.INHERIT:
                return row.level
        guild_row = self._guild_rows.get(path.guild_id)
        return default_level if guild_row is None or guild_row.level == NotificationLevel.INHERIT else guild_row.level

    def counts_as_mention(self, path: ChannelPath, mention_bits: int) -> bool:
        """Return whether a message counts as a mention; `mention_bits` are its bits, such as `DIRECT_MENTION`.

        A message in a private channel counts like a mention. In a muted channel only direct mentions count, and in a channel
        with the level NOTHING no message counts."""
        if self.level(path) == NotificationLevel.NOTHING:
            return False
        if self.is_muted(path):
            return bool(mention_bits & DIRECT_MENTION)
        guild_row = self._guild_rows.get(path.guild_id)
        if guild_row is not None and guild_row.suppress_roles:
            mention_bits &= ~ROLE_MENTION
        if guild_row is not None and guild_row.suppress_everyone:
            mention_bits &= ~EVERYONE_MENTION
        return mention_bits != 0

    def notifies(self, path: ChannelPath, mention_bits: int, *, default_level: int) -> bool:
        """Return whether a message notifies the user; `default_level` is the default level of the guild."""
        if self.is_muted(path):
            return False
        return (
            self.counts_as_mention(path, mention_bits)
            or self.level(path, default_level) == NotificationLevel.ALL_MESSAGES
        )

    def allows_push(self, path: ChannelPath) -> bool:
        """Return whether messages of the guild are sent as push notifications."""
        guild_row = self._guild_rows.get(path.guild_id)
        return guild_row is None or bool(guild_row.mobile_push)
