"""The index of commands that a user may run in a channel."""

from typing import Final

from hubbub.protocol.enums import ApplicationIntegrationType
from hubbub.protocol.ids import Snowflake
from hubbub.protocol.resources import interactions as wire
from hubbub.server.core.call import Call
from hubbub.server.identity import applications, oauth2
from hubbub.server.places import members
from hubbub.server.places.standing import ChannelAccess
from hubbub.server.play import commands
from hubbub.server.play.commands import CommandRow
from hubbub.server.play.interactions import views
from hubbub.server.play.interactions.requests import invocation_rules
from hubbub.server.play.interactions.store import InteractionApplication

LISTED_GUILD_BOTS_MAX: Final = 200
"""Maximum number of a guild's bots whose commands are listed."""


def channel_command_index(call: Call, channel_access: ChannelAccess) -> wire.CommandIndex:
    """Return the commands that the caller may use in a channel, by the rules that apply to running a command."""
    types_by_application = _installation_types(call, channel_access)
    applications_by_id = {
        application_id: InteractionApplication.from_row(row)
        for application_id, row in applications.find_many(call.tx, types_by_application).items()
    }
    recipient_ids = invocation_rules.recipient_ids(call, channel_access.channel)
    is_nsfw = invocation_rules.is_nsfw(call, channel_access.channel)
    guild = channel_access.guild
    entries_by_target = {} if guild is None else commands.list_guild_permissions(call.tx, guild.guild_id)
    usable_rows: list[CommandRow] = []
    for row in commands.list_available(call.tx, list(applications_by_id), channel_access.channel.guild_id):
        application = applications_by_id[row.application_id]
        context_type = invocation_rules.resolve_context_type(application, channel_access.channel, recipient_ids)
        owners = invocation_rules.installation_owners(
            types_by_application[row.application_id], channel_access.channel.guild_id, call.user_id, context_type
        )
        definition = commands.decode_definition(row)
        if not invocation_rules.can_receive_interactions(application) or not invocation_rules.matching_owners(
            row, definition, channel_access, context_type, owners, is_nsfw_channel=is_nsfw
        ):
            continue
        if guild is None or invocation_rules.can_use_command(
            call, row, definition, channel_access, guild, entries_by_target
        ):
            usable_rows.append(row)
    application_ids = dict.fromkeys(row.application_id for row in usable_rows)
    return wire.CommandIndex(
        applications=[views.application(applications_by_id[application_id]) for application_id in application_ids],
        application_commands=commands.commands(call, usable_rows, with_all_localizations=False),
        version=Snowflake(max((row.version for row in usable_rows), default=0)),
    )


def _installation_types(call: Call, channel_access: ChannelAccess) -> dict[int, set[int]]:
    """Return the installation types of the applications available in the channel, by application ID.

    An application whose bot is a recipient of a private channel may have none."""
    types_by_application: dict[int, set[int]] = {}
    guild_id = channel_access.channel.guild_id
    if guild_id is not None:
        for application_id in members.shared_guilds.list_application_ids(call.tx, guild_id, LISTED_GUILD_BOTS_MAX):
            types_by_application.setdefault(application_id, set()).add(ApplicationIntegrationType.GUILD_INSTALL)
        for row in oauth2.installations.list_by_target(call.tx, guild_id):
            types_by_application.setdefault(row.application_id, set()).add(row.integration_type)
    else:
        for user_id in invocation_rules.recipient_ids(call, channel_access.channel):
            bot_application = applications.find_by_bot(call.tx, user_id)
            if bot_application is not None:
                types_by_application.setdefault(bot_application.id, set())
    for row in oauth2.installations.list_by_target(call.tx, call.user_id):
        types_by_application.setdefault(row.application_id, set()).add(row.integration_type)
    return types_by_application
