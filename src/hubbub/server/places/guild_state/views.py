"""Build the states of guilds and members that gateway nodes keep in memory."""

from collections.abc import Iterable

import msgspec
from msgspec import UNSET

from hubbub.protocol import codec
from hubbub.server.core.gateway_queries import ChannelState, GuildState, MemberState
from hubbub.server.core.store import Tx
from hubbub.server.identity import relationships
from hubbub.server.places import channels, guilds, members, roles
from hubbub.server.places.expressions import sounds
from hubbub.server.places.standing import access


def read_guild_state(tx: Tx, guild_id: int) -> GuildState | None:
    """Return the state of a guild for filtering events and building GUILD_CREATE.

    Return None if the guild does not exist or is suspended."""
    row = guilds.find(tx, guild_id)
    if row is None or row.suspension_reason is not None:
        return None
    role_rows = roles.list_guild_roles(tx, guild_id)
    overwrites_by_channel = channels.overwrites.find_overwrites_of_guild(tx, guild_id)
    guild_fields = msgspec.structs.asdict(guilds.guild(tx, row, role_rows, now_ms=None))
    return GuildState(
        id=guild_id,
        owner_id=row.owner_id,
        roles={role.id: role.permissions for role in role_rows},
        channels={
            channel.id: _channel_state(channel, overwrites_by_channel.get(channel.id, []))
            for channel in channels.list_guild_channels(tx, guild_id)
        },
        member_count=row.member_count,
        shared_fields={
            **{key: value for key, value in guild_fields.items() if value is not UNSET},
            "soundboard_sounds": sounds.list_guild_sounds(tx, guild_id),
        },
        snapshot=tx.snapshot,
    )


def _channel_state(row: channels.ChannelRow, overwrites: list[channels.overwrites.OverwriteRow]) -> ChannelState:
    return ChannelState(
        id=row.id,
        type=row.type,
        parent_id=row.parent_id,
        overwrites={overwrite.target_id: (overwrite.allow, overwrite.deny) for overwrite in overwrites},
        body=codec.encode(channels.views.channel(row, overwrites)),
        obfuscated_body=codec.encode(channels.views.obfuscated_channel(row)),
    )


def read_member_states(tx: Tx, guild_id: int, user_ids: Iterable[int]) -> dict[int, MemberState]:
    """Return the member states of the users among `user_ids` who are members, by user ID."""
    rows = members.find_rows(tx, guild_id, user_ids)
    role_ids_by_user = members.find_role_ids(tx, guild_id, rows)
    return {
        user_id: MemberState(
            user_id=user_id,
            roles=role_ids_by_user.get(user_id, ()),
            timed_out_until_ms=row.timed_out_until_ms,
            is_restricted=access.is_restricted(row.pending, row.flags),
            joined_at=codec.timestamp(row.joined_ms),
        )
        for user_id, row in rows.items()
    }


def list_guild_ids(tx: Tx, user_id: int) -> list[int]:
    return guilds.membership.list_user_guild_ids(tx, user_id)


class StoreGuildReader:
    """Reads guilds, members, friends and application families for the gateway from the slices."""

    def guild_state(self, tx: Tx, guild_id: int) -> GuildState | None:
        """Return the state of a guild, or None if the guild does not exist or is suspended."""
        return read_guild_state(tx, guild_id)

    def member_states(self, tx: Tx, guild_id: int, user_ids: Iterable[int]) -> dict[int, MemberState]:
        """Return the member states of the users among `user_ids` who are members, by user ID."""
        return read_member_states(tx, guild_id, user_ids)

    def guild_ids(self, tx: Tx, user_id: int) -> list[int]:
        return list_guild_ids(tx, user_id)

    def guild_count(self, tx: Tx, user_id: int) -> int:
        return guilds.membership.count_user_guilds(tx, user_id)

    def guild_names(self, tx: Tx, guild_ids: Iterable[int]) -> dict[int, str]:
        """Return the names of the existing guilds among `guild_ids`, by ID."""
        return {row.id: row.name for row in guilds.find_many(tx, list(guild_ids)).values()}

    def friends(self, tx: Tx, user_id: int) -> list[tuple[int, int]]:
        """Return (application family ID, user ID of the friend) for each friend of a user."""
        return relationships.list_friends(tx, user_id)

    def families(self, tx: Tx, user_id: int) -> set[int]:
        """Return the IDs of the application families whose games the user plays."""
        return relationships.PlayerDirectory(tx, [user_id]).find_family_ids(user_id)
