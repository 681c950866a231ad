"""The index of commands that a user may run in a channel."""

from typing import Final

from hubbub.protocol.enums import ApplicationIntegrationType
from hubbub.protocol.ids import Snowflake
from hubbub.protocol.resources import interactions as wire
from hubbub.server.core.call import Call
from hubbub.server.identity import applications, oauth2
from hubbub.server.places.standing import ChannelAccess
from hubbub.server.play import commands
from hubbub.server.play.commands import CommandRow
from hubbub.server.play.interactions import related_views, rules
from hubbub.server.play.interactions.store import InteractionApplication

APPLICATIONS_MAX: Final = 200
"""Maximum number of a guild's bots whose commands are listed."""


def channel_command_index(call: Call, channel_access: ChannelAccess) -> wire.CommandIndex:
    """Return the commands that the caller may use in a channel, by the same rules as running them."""
    installed = _installed(call, channel_access)
    apps = {
        each: InteractionApplication.from_row(row) for each, row in applications.find_many(call.tx, installed).items()
    }
    present = rules.recipients(call, channel_access.channel)
    nsfw = rules.is_nsfw(call, channel_access.channel)
    guild = channel_access.guild
    permissions = {} if guild is None else commands.permissions_in(call.tx, guild.guild_id)
    usable: list[CommandRow] = []
    for row in commands.list_available(call.tx, list(apps), channel_access.channel.guild_id):
        application = apps[row.application_id]
        context_type = rules.resolve_context_type(application, channel_access.channel, present)
        owners = rules.installation_owners(
            installed[row.application_id], channel_access.channel.guild_id, call.user_id, context_type
        )
        definition = commands.definition(row)
        if not rules.can_receive_interactions(application) or not rules.matching_owners(
            row, definition, channel_access, context_type, owners, nsfw=nsfw
        ):
            continue
        if guild is None or rules.can_use_command(call, row, definition, channel_access, guild, permissions):
            usable.append(row)
    application_ids = dict.fromkeys(row.application_id for row in usable)
    return wire.CommandIndex(
        applications=[related_views.application(apps[each]) for each in application_ids],
        application_commands=commands.commands(call, usable, localized=False),
        version=Snowflake(max((row.version for row in usable), default=0)),
    )


def _installed(call: Call, channel_access: ChannelAccess) -> dict[int, set[int]]:
    """Return the applications available in the channel, each with its installation types."""
    types_by_id: dict[int, set[int]] = {}
    guild_id = channel_access.channel.guild_id
    if guild_id is not None:
        for application_id in applications.ids_of_guild(call.tx, guild_id, APPLICATIONS_MAX):
            types_by_id.setdefault(application_id, set()).add(ApplicationIntegrationType.GUILD_INSTALL)
        for row in oauth2.list_installations(call.tx, guild_id):
            types_by_id.setdefault(row.application_id, set()).add(row.integration_type)
    else:
        for user_id in rules.recipients(call, channel_access.channel):
            bot = applications.find_by_bot(call.tx, user_id)
            if bot is not None:
                types_by_id.setdefault(bot.id, set())
    for row in oauth2.list_installations(call.tx, call.user_id):
        types_by_id.setdefault(row.application_id, set()).add(row.integration_type)
    return types_by_id
