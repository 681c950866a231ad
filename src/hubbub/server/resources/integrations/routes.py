"""Integrations over HTTP."""

from hubbub.protocol import errors
from hubbub.protocol.ids import GuildId, IntegrationId
from hubbub.protocol.resources import integrations as wire
from hubbub.server.core.call import Call
from hubbub.server.core.slices import handles
from hubbub.server.resources import applications, guilds, users
from hubbub.server.resources.integrations import actions, store, views


@handles(wire.LIST_GUILD_INTEGRATIONS)
def list_guild_integrations(call: Call, guild_id: GuildId) -> list[wire.Integration]:
    """The applications whose bots are in a guild."""
    order = store.applications_of_guild(call.tx, guild_id, wire.INTEGRATIONS_MAX)
    rows = applications.find_many(call.tx, order)
    bots = users.find_many(call.tx, [row.bot_id for row in rows.values() if row.bot_id is not None])
    return [views.integration(rows[each], bots[rows[each].bot_id or 0]) for each in order]


@handles(wire.DELETE_GUILD_INTEGRATION)
def delete_guild_integration(call: Call, guild_id: GuildId, integration_id: IntegrationId) -> None:
    """Send an application away."""
    row = applications.find(call.tx, integration_id)
    if row is None or row.bot_id is None or not guilds.is_member(call.tx, guild_id, row.bot_id):
        raise errors.UNKNOWN_INTEGRATION()
    actions.delete(call, guild_id, row)
