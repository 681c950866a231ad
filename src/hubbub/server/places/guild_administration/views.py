"""Wire models of guilds for operators."""

from collections.abc import Sequence

from hubbub.protocol import codec
from hubbub.protocol.ids import GuildId, Snowflake, UserId
from hubbub.protocol.resources import guild_administration as wire
from hubbub.protocol.resources.administration import ScheduledDeletion
from hubbub.server.core.call import Call
from hubbub.server.identity import users
from hubbub.server.places import channels, guilds
from hubbub.server.places.guild_administration import ports
from hubbub.server.places.guilds import GuildRow


def guild(call: Call, row: GuildRow) -> wire.AdministeredGuild:
    return guild_list(call, [row])[0]


def guild_list(call: Call, rows: Sequence[GuildRow]) -> list[wire.AdministeredGuild]:
    """Build the wire models of a page of guilds."""
    owners_by_id = users.find_many(call.tx, [row.owner_id for row in rows])
    return [_guild(call, row, owners_by_id.get(row.owner_id)) for row in rows]


def guild_details(call: Call, row: GuildRow) -> wire.AdministeredGuildDetails:
    """Build the wire model of a guild with the amount of its data."""
    guild_view = guild(call, row)
    fields = {name: getattr(guild_view, name) for name in guild_view.__struct_fields__}
    usage = ports.compute_usage(call, row.id)
    return wire.AdministeredGuildDetails(
        **fields,
        description=row.description,
        features=row.feature_names,
        channel_count=len(channels.list_guild_channels(call.tx, row.id)),
        thread_count=channels.thread_channels.count_guild_threads(call.tx, row.id),
        message_count=usage.message_count,
        storage_bytes=usage.storage_bytes,
    )


def _guild(call: Call, row: GuildRow, owner: users.UserRow | None) -> wire.AdministeredGuild:
    reason = row.suspension_reason
    suspension = None if reason is None else guilds.administration.find_suspension(call.tx, row.id)
    deletion = None
    if suspension is not None and suspension.due_ms is not None:
        deletion = ScheduledDeletion(
            reason=reason or "",
            created_at=codec.timestamp(suspension.created_ms),
            due_at=codec.timestamp(suspension.due_ms),
        )
    return wire.AdministeredGuild(
        id=GuildId(row.id),
        name=row.name,
        icon=row.icon,
        owner_id=UserId(row.owner_id),
        owner_name=None if owner is None else owner.username,
        member_count=row.member_count,
        created_at=codec.timestamp(Snowflake(row.id).created_ms),
        suspension=None
        if suspension is None
        else wire.GuildSuspension(reason=reason or "", created_at=codec.timestamp(suspension.created_ms)),
        deletion=deletion,
    )
