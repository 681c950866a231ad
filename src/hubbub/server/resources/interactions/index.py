"""Which commands there are for a person in a place."""

from typing import Final

from hubbub.protocol.enums import ApplicationIntegrationType
from hubbub.protocol.ids import Snowflake
from hubbub.protocol.resources import interactions as wire
from hubbub.server.core.access import ChannelAccess
from hubbub.server.core.call import Call
from hubbub.server.resources import applications, commands, oauth2
from hubbub.server.resources.commands import CommandRow
from hubbub.server.resources.interactions import rules, showing
from hubbub.server.resources.interactions.store import App

APPLICATIONS_MAX: Final = 200
"""Of so many bots of a guild at most."""


def of_channel(call: Call, here: ChannelAccess) -> wire.CommandIndex:
    """The commands that the caller may use in a channel, by the rules that running one goes by."""
    installed = _installed(call, here)
    known = {each: App.of(row) for each, row in applications.find_many(call.tx, installed).items()}
    present = rules.recipients(call, here.channel)
    nsfw = rules.is_nsfw(call, here.channel)
    guild = here.guild
    said_there = {} if guild is None else commands.permissions_in(call.tx, guild.guild_id)
    usable: list[CommandRow] = []
    for row in commands.list_offered(call.tx, list(known), here.channel.guild_id):
        application = known[row.application_id]
        place = rules.context(application, here.channel, present)
        let_in = rules.owners(installed[row.application_id], here.channel.guild_id, call.user_id, place)
        said = commands.definition(row)
        if not rules.can_hear(application) or not rules.works_for(row, said, here, place, let_in, nsfw=nsfw):
            continue
        if guild is None or rules.may_use(call, row, said, here, guild, said_there):
            usable.append(row)
    offering = dict.fromkeys(row.application_id for row in usable)
    return wire.CommandIndex(
        applications=[showing.application(known[each]) for each in offering],
        application_commands=commands.commands(call, usable, localized=False),
        version=Snowflake(max((row.version for row in usable), default=0)),
    )


def _installed(call: Call, here: ChannelAccess) -> dict[int, set[int]]:
    """The applications that are here, each with how it is installed."""
    found: dict[int, set[int]] = {}
    guild_id = here.channel.guild_id
    if guild_id is not None:
        for application_id in applications.ids_of_guild(call.tx, guild_id, APPLICATIONS_MAX):
            found.setdefault(application_id, set()).add(ApplicationIntegrationType.GUILD_INSTALL)
        for row in oauth2.list_installations(call.tx, guild_id):
            found.setdefault(row.application_id, set()).add(row.integration_type)
    else:
        for user_id in rules.recipients(call, here.channel):
            bot = applications.find_by_bot(call.tx, user_id)
            if bot is not None:
                found.setdefault(bot.id, set())
    for row in oauth2.list_installations(call.tx, call.user_id):
        found.setdefault(row.application_id, set()).add(row.integration_type)
    return found
