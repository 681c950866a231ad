"""Values of permission checks: a member's standing in a guild and a user's standing in a channel."""

from collections.abc import Sequence
from typing import NamedTuple

import msgspec

from hubbub.protocol import errors
from hubbub.protocol.enums import THREAD_TYPES, VOICE_TYPES, ChannelType
from hubbub.protocol.ids import ChannelId, GuildId, RoleId, UserId
from hubbub.protocol.permissions import Permissions, Rank, can_act_on, highest_role
from hubbub.server.core.denials import Denial, PermissionDenied


class GuildAccess(msgspec.Struct, kw_only=True):
    """A member's standing in a guild."""

    guild_id: GuildId
    user_id: UserId
    owner_id: UserId
    mfa_level: int
    permissions_by_role: dict[int, int]
    """Permission bits of the member's roles, by role ID; @everyone has the ID of the guild."""
    ranks: Sequence[Rank]
    """Position and ID of each of the member's roles."""
    permissions: int
    """The member's permission bits in the guild, ignoring a timeout."""
    is_restricted: bool
    """Whether the member is timed out, pending or quarantined. They may only read, unless they are administrators."""

    @property
    def top_role(self) -> Rank:
        """Position and ID of the member's highest role."""
        return highest_role(self.ranks)

    @property
    def role_ids(self) -> list[RoleId]:
        """The IDs of the member's roles without @everyone, lowest ID first."""
        return sorted(RoleId(role_id) for role_id in self.permissions_by_role if role_id != self.guild_id)

    @property
    def is_owner(self) -> bool:
        """Whether the member owns the guild."""
        return self.owner_id == self.user_id

    @property
    def is_read_only(self) -> bool:
        """Whether a restriction applies; administrators are exempt (spec/http.md#2.2)."""
        return self.is_restricted and not self.permissions & Permissions.ADMINISTRATOR

    @property
    def allowed(self) -> int:
        """The member's effective permission bits in the guild, with restrictions applied."""
        return self.permissions & Permissions.TIMED_OUT if self.is_read_only else self.permissions

    def can(self, bits: int) -> bool:
        """Return whether the member has all permissions in `bits` in the guild."""
        return not bits & ~self.allowed

    def require(self, bits: int) -> None:
        """Raise MISSING_PERMISSIONS unless the member has all permissions in `bits` in the guild."""
        if bits & ~self.allowed:
            raise PermissionDenied(
                Denial(
                    caller_id=self.user_id,
                    guild_id=self.guild_id,
                    missing_permissions=(bits & ~self.allowed,),
                    is_restricted=self.is_read_only,
                )
            )

    def outranks(self, other_standing: "GuildAccess") -> bool:
        """Return whether the role hierarchy allows the member to act on another member."""
        return can_act_on(
            self.top_role,
            other_standing.top_role,
            is_actor_owner=self.is_owner,
            is_target_owner=other_standing.is_owner,
        )

    def outranks_role(self, role_rank: Rank) -> bool:
        """Return whether a role of this rank is below the member's highest role."""
        return self.is_owner or can_act_on(self.top_role, role_rank)


class ChannelRef(NamedTuple):
    """The columns of a channel that permission checks need; the channels slice has the whole row."""

    id: ChannelId
    guild_id: GuildId | None
    """ID of the guild; None for a private channel."""
    type: int
    parent_id: ChannelId | None
    """ID of the category of a channel, or of the channel of a thread; None if there is none."""
    owner_id: UserId | None
    """ID of the creator of a thread, or of the owner of a group; None for other channels."""
    name: str | None
    """The name; None for direct messages and unnamed groups."""
    nsfw: int
    rate_limit_per_user: int
    flags: int
    archived: int
    locked: int
    invitable: int | None
    """1 if members of a private thread may add other members, 0 if not; None for other channels."""
    linked_lobby: str | None = None
    """The lobby linked to the channel, as JSON; None if there is none."""

    @property
    def is_thread(self) -> bool:
        """Whether the channel is a thread of any type."""
        return self.type in THREAD_TYPES

    @property
    def is_private_thread(self) -> bool:
        """Whether the channel is a private thread, which only its members and moderators can see."""
        return self.type == ChannelType.PRIVATE_THREAD

    @property
    def is_voice(self) -> bool:
        """Whether the channel is a voice or stage channel."""
        return self.type in VOICE_TYPES

    @property
    def overwrites_channel_id(self) -> ChannelId:
        """ID of the channel whose overwrites apply: a thread's parent, otherwise the channel itself."""
        return self.parent_id if self.parent_id is not None and self.type in THREAD_TYPES else self.id


class ChannelAccess(msgspec.Struct, kw_only=True):
    """A user's standing in a channel."""

    channel: ChannelRef
    guild: GuildAccess | None
    """The member's standing in the guild; None in direct and group messages."""
    permissions: int
    """The computed permission bits, as shown in `app_permissions`."""
    allowed: int
    """The bits to check against: the computed bits without the bits that a timeout or an implied denial removes."""

    @property
    def guild_id(self) -> GuildId:
        """Return the ID of the channel's guild; raise CANNOT_EXECUTE_ON_DM if there is none."""
        if self.guild is None:
            raise errors.CANNOT_EXECUTE_ON_DM()
        return self.guild.guild_id

    def can(self, bits: int) -> bool:
        """Return whether the user has all permissions in `bits` in the channel."""
        return not bits & ~self.allowed

    def require(self, bits: int) -> None:
        """Raise MISSING_PERMISSIONS unless the user has all permissions in `bits` in the channel."""
        if bits & ~self.allowed:
            raise PermissionDenied(self.build_denial(bits))

    def build_denial(self, needed_bits: int) -> Denial:
        """Return why the user may not act in the channel: they lack some of the permissions in `needed_bits`."""
        missing_bits = needed_bits & ~self.allowed
        if self.channel.is_thread and missing_bits & Permissions.SEND_MESSAGES:
            missing_bits ^= Permissions.SEND_MESSAGES | Permissions.SEND_MESSAGES_IN_THREADS
        return Denial(
            caller_id=None if self.guild is None else self.guild.user_id,
            guild_id=self.channel.guild_id,
            channel_id=self.channel.id,
            missing_permissions=(missing_bits,),
            is_restricted=self.guild is not None and self.guild.is_read_only,
        )
