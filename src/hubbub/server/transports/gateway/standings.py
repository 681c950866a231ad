"""Standings: permissions and visible channels of members, computed once for all members with the same roles."""

from typing import Final
from weakref import WeakValueDictionary

from hubbub.protocol.enums import ChannelType
from hubbub.protocol.permissions import Permissions, timed_out_permissions
from hubbub.server.core import gateway_queries
from hubbub.server.core.gateway_queries import GuildState, MemberState

VIEW_CHANNEL = Permissions.VIEW_CHANNEL

THREAD_PARENT_TYPES: Final = frozenset(
    {ChannelType.GUILD_TEXT, ChannelType.GUILD_ANNOUNCEMENT, ChannelType.GUILD_FORUM, ChannelType.GUILD_MEDIA}
)
"""Types of channels that can contain threads."""
VOICE_CHANNEL_TYPES: Final = frozenset({ChannelType.GUILD_VOICE, ChannelType.GUILD_STAGE_VOICE})
"""Types of channels that users can connect to by voice."""


class MemberStanding:
    """Permissions and visible channels of members with the same roles; see `Standings` for the members that share it."""

    __slots__ = (
        "__weakref__",
        "_permissions_by_channel",
        "_guild",
        "_member",
        "_moderated",
        "_is_restricted",
        "guild_permissions",
        "visible",
    )

    def __init__(self, guild: GuildState, member: MemberState, is_restricted: bool, is_bot: bool) -> None:
        """Compute the standing; `is_restricted` reduces it to the permissions of a timed-out member."""
        self._guild = guild
        self._member = member
        self._is_restricted = is_restricted
        guild_bits = gateway_queries.member_permissions(guild, member)
        self.guild_permissions = timed_out_permissions(guild_bits) if is_restricted else guild_bits
        """Permissions in the guild, without the overwrites of a channel."""
        self._permissions_by_channel: dict[int, int] = {}
        self._moderated: frozenset[int] | None = None
        self.visible = self._find_visible(guild_bits, with_parents=not is_bot)
        """IDs of the visible channels; for users, a category is visible if a channel in it is (spec/gateway.md#9)."""

    def _find_visible(self, guild_bits: int, *, with_parents: bool) -> frozenset[int]:
        """Return the IDs of the visible channels; `guild_bits` are the permissions in the guild.

        `with_parents` adds categories that contain a visible channel.
        """
        channels = self._guild.channels.values()
        visible_ids = {
            channel.id
            for channel in channels
            if gateway_queries.member_channel_permissions(self._guild, self._member, channel, guild_bits) & VIEW_CHANNEL
        }
        if not with_parents:
            return frozenset(visible_ids)
        parent_ids = {
            channel.parent_id for channel in channels if channel.id in visible_ids and channel.parent_id is not None
        }
        visible_ids |= {
            channel.id
            for channel in channels
            if channel.type == ChannelType.GUILD_CATEGORY and channel.id in parent_ids
        }
        return frozenset(visible_ids)

    @property
    def moderated(self) -> frozenset[int]:
        """IDs of the visible channels in which the member has MANAGE_THREADS, so that all their private threads are visible."""
        if self._moderated is None:
            thread_parent_ids = [
                channel_id
                for channel_id in self.visible
                if self._guild.channels[channel_id].type in THREAD_PARENT_TYPES
            ]
            self._moderated = frozenset(
                channel_id
                for channel_id in thread_parent_ids
                if self.permissions(channel_id) & Permissions.MANAGE_THREADS
            )
        return self._moderated

    def permissions(self, channel_id: int) -> int:
        """Return the permissions in a channel, or 0 if the channel does not exist."""
        bits = self._permissions_by_channel.get(channel_id)
        if bits is None:
            channel = self._guild.channels.get(channel_id)
            bits = (
                0 if channel is None else gateway_queries.member_channel_permissions(self._guild, self._member, channel)
            )
            if self._is_restricted:
                bits = timed_out_permissions(bits)
            self._permissions_by_channel[channel_id] = bits
        return bits


class Standings:
    """The standings of the members of one guild state.

    Members share a standing if they have the same roles, restriction and kind (bot or user). The owner and members with
    own channel overwrites do not share one.
    """

    __slots__ = ("_guild", "_individual_ids", "_shared_standings")

    def __init__(self, guild: GuildState) -> None:
        self._guild = guild
        # IDs of the owner and of the members with channel overwrites of their own, who do not share a standing.
        self._individual_ids = {guild.owner_id}.union(*(channel.overwrites for channel in guild.channels.values()))
        # Weak references: a hub may exist for months while its members pass through many combinations of roles.
        self._shared_standings: WeakValueDictionary[tuple[int, tuple[int, ...], bool, bool], MemberStanding] = (
            WeakValueDictionary()
        )

    def __len__(self) -> int:
        return len(self._shared_standings)

    def standing_of(self, member: MemberState, now_ms: int, *, is_bot: bool = False) -> MemberStanding:
        """Return a member's standing at a time in Unix milliseconds; `is_bot` is whether the member is a bot."""
        is_restricted = member.is_restricted or member.timed_out_until_ms > now_ms
        key = (member.user_id if member.user_id in self._individual_ids else 0, member.roles, is_restricted, is_bot)
        standing = self._shared_standings.get(key)
        if standing is None:
            standing = self._shared_standings[key] = MemberStanding(self._guild, member, is_restricted, is_bot)
        return standing


def may_receive(standing: MemberStanding | None, channel_id: int | None, permission: int) -> bool:
    """Return whether a member can view the channel, if any, and has one of the permission bits, if any."""
    if standing is None:
        return False
    if channel_id is None:
        return not permission or bool(standing.guild_permissions & permission)
    if channel_id not in standing.visible:
        return False
    return not permission or bool(standing.permissions(channel_id) & permission)
