"""What the gateway holds of a guild, and how it learns it: the meeting point of the gateway door and the slices.

A gateway node keeps one `GuildState` per guild that its sessions are in, and one `MemberState` per connected member. From them it
computes what each session may hear. When an event says that they changed (`Dispatch.refresh`), it reads them again.
"""

from collections.abc import Callable, Iterable
from typing import Any, Protocol

import msgspec

from hubbub.protocol.permissions import Permissions, base_permissions, channel_permissions
from hubbub.server.core.store import Snapshot, Tx

ALL = int(Permissions.ALL)


class ChannelState(msgspec.Struct, kw_only=True):
    """A guild channel: what decides who sees it, and its two encoded faces."""

    id: int
    type: int
    parent_id: int | None
    overwrites: dict[int, tuple[int, int]]
    """Role or user id to (allow, deny)."""
    full: bytes
    """The channel object, encoded."""
    hidden: bytes
    """The obfuscated channel object, encoded."""


class GuildState(msgspec.Struct, kw_only=True):
    """A guild as the gateway needs it for filtering and for GUILD_CREATE."""

    id: int
    owner_id: int
    roles: dict[int, int]
    """Role id to permission bits; the @everyone role has the guild's id."""
    channels: dict[int, ChannelState]
    member_count: int
    common: dict[str, Any]
    """The guild object and every part of GUILD_CREATE that is the same for all viewers, without `channels`."""
    snapshot: Any = None
    """A `Snapshot`: the moment this was read."""


class MemberState(msgspec.Struct, kw_only=True):
    """A connected member: what decides their permissions."""

    user_id: int
    roles: tuple[int, ...]
    timed_out_until_ms: int = 0
    restricted: bool = False
    """Pending or quarantined: until that ends they may do no more than somebody who is timed out."""
    joined_at: str = ""


def base(guild: GuildState, member: MemberState) -> int:
    """A member's permissions in the guild."""
    return base_permissions(
        guild.owner_id == member.user_id,
        guild.roles.get(guild.id, 0),
        [guild.roles.get(role, 0) for role in member.roles],
    )


def in_channel(guild: GuildState, member: MemberState, channel: ChannelState, base_bits: int | None = None) -> int:
    """A member's permissions in a channel."""
    bits = base(guild, member) if base_bits is None else base_bits
    if not channel.overwrites:
        return ALL if bits & Permissions.ADMINISTRATOR else bits
    overwrites = channel.overwrites
    return channel_permissions(
        bits,
        overwrites.get(guild.id),
        [overwrites[role] for role in member.roles if role in overwrites],
        overwrites.get(member.user_id),
    )


class GuildView(msgspec.Struct, kw_only=True):
    """One viewer's relation to a guild while GUILD_CREATE is put together for them."""

    guild: GuildState
    member: MemberState
    intents: int
    """The session's intents; people's sessions have all bits."""
    large_threshold: int
    visible: frozenset[int]
    """The channels the viewer may see."""
    permissions: Callable[[int], int]
    """The viewer's permissions in a channel of the guild."""


class Source(Protocol):
    """What the App gives the gateway to read the world with; all run inside a read transaction."""

    def guild_state(self, tx: Tx, guild_id: int) -> GuildState | None:
        """The guild, or None when it is gone."""
        ...

    def member_states(self, tx: Tx, guild_id: int, users: Iterable[int]) -> dict[int, MemberState]:
        """The named users' membership; those who are not members are left out."""
        ...

    def guild_ids(self, tx: Tx, user_id: int) -> list[int]:
        """The guilds a user is in."""
        ...

    def guild_count(self, tx: Tx, user_id: int) -> int:
        """How many guilds a user is in."""
        ...

    def guild_names(self, tx: Tx, guild_ids: Iterable[int]) -> dict[int, str]:
        """What guilds are called; those that are gone are left out."""
        ...

    def friends(self, tx: Tx, user_id: int) -> list[tuple[int, int]]:
        """A user's friends, each behind the family of games they are friends in; 0 is the platform."""
        ...

    def families(self, tx: Tx, user_id: int) -> set[int]:
        """The families of games that a user plays."""
        ...


__all__ = ["ChannelState", "GuildState", "GuildView", "MemberState", "Snapshot", "Source", "base", "in_channel"]
