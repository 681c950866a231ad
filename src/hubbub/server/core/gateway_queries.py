"""The guild and member state of the gateway, and the queries that load it.

A gateway node holds one `GuildState` per guild of its sessions and one `MemberState` per connected member, and computes
from them which events each session receives. It reloads them when an event reports a change (`event_dispatch.Dispatch.refresh`).
"""

from collections.abc import Callable, Iterable
from typing import Any, Protocol

import msgspec

from hubbub.protocol.permissions import Permissions, base_permissions, channel_permissions
from hubbub.server.core.store import Snapshot, Tx

ALL_PERMISSIONS = int(Permissions.ALL)


class ChannelState(msgspec.Struct, kw_only=True):
    """A guild channel: its permission overwrites and its two encoded representations."""

    id: int
    type: int
    parent_id: int | None
    overwrites: dict[int, tuple[int, int]]
    """Role or user ID to (allow, deny) bits."""
    body: bytes
    """The encoded channel object."""
    obfuscated_body: bytes
    """The encoded channel object in its obfuscated form."""


class GuildState(msgspec.Struct, kw_only=True):
    """The state of a guild for event filtering and GUILD_CREATE."""

    id: int
    owner_id: int
    roles: dict[int, int]
    """Role ID to permission bits; the @everyone role has the guild's ID."""
    channels: dict[int, ChannelState]
    member_count: int
    shared_fields: dict[str, Any]
    """The guild object and every part of GUILD_CREATE that does not depend on the viewer, without `channels`."""
    snapshot: Any = None
    """The `Snapshot` of the transaction that loaded the state."""


class MemberState(msgspec.Struct, kw_only=True):
    """The state of a connected member that decides their permissions."""

    user_id: int
    roles: tuple[int, ...]
    timed_out_until_ms: int = 0
    """The end of the member's timeout in Unix milliseconds; 0 without a timeout."""
    is_restricted: bool = False
    """Whether the member is pending or quarantined; they then have the permissions of a timed-out member."""
    joined_at: str = ""


def member_permissions(guild: GuildState, member: MemberState) -> int:
    """Return a member's permissions in the guild."""
    return base_permissions(
        guild.owner_id == member.user_id,
        guild.roles.get(guild.id, 0),
        [guild.roles.get(role, 0) for role in member.roles],
    )


def member_channel_permissions(
    guild: GuildState, member: MemberState, channel: ChannelState, base_bits: int | None = None
) -> int:
    """Return a member's permissions in a channel.

    `base_bits` are the member's permissions in the guild if the caller has them already."""
    guild_bits = member_permissions(guild, member) if base_bits is None else base_bits
    if not channel.overwrites:
        return ALL_PERMISSIONS if guild_bits & Permissions.ADMINISTRATOR else guild_bits
    overwrites = channel.overwrites
    return channel_permissions(
        guild_bits,
        overwrites.get(guild.id),
        [overwrites[role] for role in member.roles if role in overwrites],
        overwrites.get(member.user_id),
    )


class GuildView(msgspec.Struct, kw_only=True):
    """One viewer's access to a guild, used to build GUILD_CREATE for them."""

    guild: GuildState
    member: MemberState
    intents: int
    """The session's intents; users' own sessions have all bits set."""
    large_threshold: int
    visible: frozenset[int]
    """IDs of the channels that the viewer can see."""
    channel_permissions: Callable[[int], int]
    """Function that returns the viewer's permissions in the channel of the guild with the given ID."""


class GuildReader(Protocol):
    """Queries that the App provides to the gateway; all run inside a read transaction."""

    def guild_state(self, tx: Tx, guild_id: int) -> GuildState | None:
        """Return the guild, or None if it was deleted."""
        ...

    def member_states(self, tx: Tx, guild_id: int, user_ids: Iterable[int]) -> dict[int, MemberState]:
        """Return the membership of the given users; users who are not members are left out."""
        ...

    def guild_ids(self, tx: Tx, user_id: int) -> list[int]:
        """Return the IDs of the guilds that a user is in."""
        ...

    def guild_count(self, tx: Tx, user_id: int) -> int:
        """Return the number of guilds that a user is in."""
        ...

    def guild_names(self, tx: Tx, guild_ids: Iterable[int]) -> dict[int, str]:
        """Return guild names by ID; deleted guilds are left out."""
        ...

    def friends(self, tx: Tx, user_id: int) -> list[tuple[int, int]]:
        """Return (family ID, friend's user ID) of a user's friends; family 0 is the platform itself."""
        ...

    def families(self, tx: Tx, user_id: int) -> set[int]:
        """Return the IDs of the application families whose games the user plays."""
        ...


__all__ = [
    "ChannelState",
    "GuildState",
    "GuildView",
    "MemberState",
    "Snapshot",
    "GuildReader",
    "member_permissions",
    "member_channel_permissions",
]
