"""Standings: permissions and visible channels of members, computed once for all members with the same roles."""

from typing import Final
from weakref import WeakValueDictionary

from hubbub.protocol.enums import ChannelType
from hubbub.protocol.permissions import Permissions, timed_out_permissions
from hubbub.server.core import gateway_queries
from hubbub.server.core.gateway_queries import GuildState, MemberState

VIEW = Permissions.VIEW_CHANNEL

THREAD_PARENT_TYPES: Final = frozenset(
    {ChannelType.GUILD_TEXT, ChannelType.GUILD_ANNOUNCEMENT, ChannelType.GUILD_FORUM, ChannelType.GUILD_MEDIA}
)
"""Types of channels that can contain threads."""
VOICE_CHANNEL_TYPES: Final = frozenset({ChannelType.GUILD_VOICE, ChannelType.GUILD_STAGE_VOICE})
"""Types of channels that users can connect to by voice."""


class MemberStanding:
    """The permissions of all members with the same roles; a member with own channel overwrites has a separate one."""

    __slots__ = ("__weakref__", "_bits", "_guild", "_member", "_moderated", "_restricted", "base", "visible")

    def __init__(self, guild: GuildState, member: MemberState, restricted: bool) -> None:
        self._guild = guild
        self._member = member
        self._restricted = restricted
        base = gateway_queries.member_permissions(guild, member)
        self.base = timed_out_permissions(base) if restricted else base
        """Guild-level permissions."""
        self._bits: dict[int, int] = {}
        self._moderated: frozenset[int] | None = None
        self.visible = self._visible(base)
        """Ids of the visible channels; a category is visible if a channel in it is (spec/gateway.md#9)."""

    def _visible(self, base: int) -> frozenset[int]:
        channels = self._guild.channels.values()
        seen = {
            c.id
            for c in channels
            if gateway_queries.member_channel_permissions(self._guild, self._member, c, base) & VIEW
        }
        parents = {c.parent_id for c in channels if c.id in seen and c.parent_id is not None}
        seen |= {c.id for c in channels if c.type == ChannelType.GUILD_CATEGORY and c.id in parents}
        return frozenset(seen)

    @property
    def moderated(self) -> frozenset[int]:
        """Ids of the channels whose private threads are all visible."""
        if self._moderated is None:
            threaded = [
                channel for channel in self.visible if self._guild.channels[channel].type in THREAD_PARENT_TYPES
            ]
            self._moderated = frozenset(
                channel for channel in threaded if self.permissions(channel) & Permissions.MANAGE_THREADS
            )
        return self._moderated

    def permissions(self, channel_id: int) -> int:
        """Return the permissions in a channel, or 0 if the channel does not exist."""
        bits = self._bits.get(channel_id)
        if bits is None:
            channel = self._guild.channels.get(channel_id)
            bits = (
                0 if channel is None else gateway_queries.member_channel_permissions(self._guild, self._member, channel)
            )
            if self._restricted:
                bits = timed_out_permissions(bits)
            self._bits[channel_id] = bits
        return bits


class Standings:
    """The standings of the members of one guild state."""

    __slots__ = ("_guild", "_individual_ids", "_known")

    def __init__(self, guild: GuildState) -> None:
        self._guild = guild
        # Members with channel overwrites of their own, and the owner, do not share a standing.
        self._individual_ids = {guild.owner_id}.union(*(channel.overwrites for channel in guild.channels.values()))
        # Weak references: a hub may exist for months while its members pass through many combinations of roles.
        self._known: WeakValueDictionary[tuple[int, tuple[int, ...], bool], MemberStanding] = WeakValueDictionary()

    def __len__(self) -> int:
        return len(self._known)

    def standing_of(self, member: MemberState, now_ms: int) -> MemberStanding:
        """Return a member's standing at the given time."""
        restricted = member.restricted or member.timed_out_until_ms > now_ms
        key = (member.user_id if member.user_id in self._individual_ids else 0, member.roles, restricted)
        standing = self._known.get(key)
        if standing is None:
            standing = self._known[key] = MemberStanding(self._guild, member, restricted)
        return standing
