"""HTTP handlers for the administration of guilds."""

from hubbub.protocol import errors
from hubbub.protocol.ids import GuildId
from hubbub.protocol.resources import guild_administration as wire
from hubbub.protocol.resources.administration import AdministrativeAction
from hubbub.server.core.call import Call
from hubbub.server.core.slices import handles
from hubbub.server.places import guilds
from hubbub.server.places.guild_administration import actions, views
from hubbub.server.places.guilds import GuildRow


@handles(wire.SEARCH_GUILDS)
def search_guilds(call: Call, query: wire.SearchGuilds) -> list[wire.AdministeredGuild]:
    """Search the guilds of the server."""
    return views.guild_list(call, search(call, query))


def search(call: Call, query: wire.SearchGuilds) -> list[GuildRow]:
    """Return a page of the guilds that match a query, by ascending ID."""
    return guilds.administration.search(
        call.tx,
        query.query.strip(),
        only_suspended=query.state == wire.GuildState.SUSPENDED,
        only_deleting=query.state == wire.GuildState.DELETING,
        after_id=query.after or 0,
        limit=query.limit,
    )


@handles(wire.GET_ADMINISTERED_GUILD, long=True)
def get_administered_guild(call: Call, guild_id: GuildId) -> wire.AdministeredGuildDetails:
    """Get a guild with the amount of its data."""
    return views.guild_details(call, _require_guild(call, guild_id))


@handles(wire.SUSPEND_GUILD)
def suspend_guild(call: Call, guild_id: GuildId, body: wire.SuspendGuild) -> wire.AdministeredGuild:
    """Suspend a guild.

    The guild becomes unavailable: no member, bot or webhook can read or write in it. Requests of members fail with
    the reason.
    """
    actions.suspend(call, _require_guild(call, guild_id), reason=body.reason)
    return _guild_view(call, guild_id)


@handles(wire.UNSUSPEND_GUILD)
def unsuspend_guild(call: Call, guild_id: GuildId, body: AdministrativeAction) -> wire.AdministeredGuild:
    """End the suspension of a guild."""
    actions.unsuspend(call, _require_guild(call, guild_id), reason=body.reason)
    return _guild_view(call, guild_id)


@handles(wire.ADMINISTRATIVELY_DELETE_GUILD)
def administratively_delete_guild(
    call: Call, guild_id: GuildId, body: wire.AdministrativeGuildDeletion
) -> wire.AdministeredGuild:
    """Delete a guild and its messages, after a grace period.

    The guild is suspended immediately. When the grace period ends, the guild and all its messages are deleted.
    """
    actions.schedule_deletion(call, _require_guild(call, guild_id), reason=body.reason, grace_days=body.grace_days)
    return _guild_view(call, guild_id)


@handles(wire.RESTORE_GUILD)
def restore_guild(call: Call, guild_id: GuildId, body: AdministrativeAction) -> wire.AdministeredGuild:
    """Cancel the deletion of a guild.

    A suspension that the deletion caused is lifted.
    """
    if not actions.restore(call, _require_guild(call, guild_id), reason=body.reason):
        raise errors.FORBIDDEN(message="No deletion of this guild can be canceled.")
    return _guild_view(call, guild_id)


@handles(wire.TRANSFER_GUILD)
def transfer_guild(call: Call, guild_id: GuildId, body: wire.TransferGuild) -> wire.AdministeredGuild:
    """Transfer the ownership of a guild to another member."""
    actions.transfer(call, _require_guild(call, guild_id), body.owner_id, reason=body.reason)
    return _guild_view(call, guild_id)


def _require_guild(call: Call, guild_id: GuildId) -> GuildRow:
    row = guilds.find(call.tx, guild_id)
    if row is None:
        raise errors.UNKNOWN_GUILD()
    return row


def _guild_view(call: Call, guild_id: GuildId) -> wire.AdministeredGuild:
    return views.guild(call, _require_guild(call, guild_id))
