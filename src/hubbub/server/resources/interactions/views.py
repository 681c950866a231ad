"""An interaction as the app hears it."""

from hubbub.protocol import wire as json
from hubbub.protocol.enums import InteractionContextType
from hubbub.protocol.ids import ApplicationId, ChannelId, GuildId, InteractionId, Snowflake
from hubbub.protocol.resources import interactions as wire
from hubbub.protocol.resources.messages import Message, MessageApplication
from hubbub.server.core import access
from hubbub.server.core.access import ChannelAccess, GuildAccess
from hubbub.server.core.call import Call
from hubbub.server.resources import channels, guilds, members, messages, users
from hubbub.server.resources.applications import ApplicationRow
from hubbub.server.resources.interactions import rules
from hubbub.server.resources.messages import MessageRow


def interaction(
    call: Call,
    interaction_id: InteractionId,
    kind: int,
    token: str,
    application: ApplicationRow,
    here: ChannelAccess,
    place: InteractionContextType,
    found: dict[str, Snowflake],
    bot: GuildAccess | None,
    data: wire.InteractionData,
) -> wire.Interaction:
    """What the caller asks of an application, in a channel."""
    channel = here.channel
    person = messages.find_author(call.tx, channel.guild_id, call.user_id)
    row = channels.find(call.tx, channel.id)
    assert person is not None
    assert row is not None
    bot_here = None
    if bot is not None:
        bits = access.permissions_in(call.tx, bot, channel.ruling_id)
        bot_here = access.stand_in(call.tx, bot, channel, bits)
    basics = 0
    if bot is None and channel.guild_id is not None:
        basics = access.permissions_in(call.tx, rules.everyone(call, channel.guild_id), channel.ruling_id)
    others = [] if channel.guild_id is not None else [users.user(person.user)]
    shown = wire.Interaction(
        id=interaction_id,
        application_id=ApplicationId(application.id),
        type=kind,
        token=token,
        data=data,
        channel_id=ChannelId(channel.id),
        channel=channels.any_channel(row, recipients=others),
        locale=person.user.locale,
        app_permissions=rules.app_permissions(here, place, bot_here, basics, found),
        authorizing_integration_owners=found,
        context=int(place),
        # http.md 1.11: the larger of the person's and the guild's limit.
        attachment_size_limit=messages.file_bytes_max(call, person._replace(webhook_id=application.id)),
    )
    if channel.guild_id is None:
        shown.user = users.user(person.user)
        return shown
    guild = guilds.find(call.tx, channel.guild_id)
    membership = members.find(call.tx, channel.guild_id, call.user_id)
    assert guild is not None
    assert membership is not None
    shown.guild_id = GuildId(guild.id)
    shown.guild = wire.InteractionGuild(
        id=GuildId(guild.id), features=json.decode(guild.features, list[str]), locale=guild.preferred_locale
    )
    shown.guild_locale = guild.preferred_locale
    shown.member = members.member(membership, here.permissions)
    return shown


def message(call: Call, row: MessageRow, viewer_id: int) -> Message:
    """A message as somebody may read it who is concerned with it."""
    around = messages.views.Around(call)
    around.load((row,), viewer_id)
    return messages.views.show(Message, around, row)


def application(row: ApplicationRow) -> MessageApplication:
    """The little of an application that a person is shown beside its modal."""
    return MessageApplication(
        id=ApplicationId(row.id), name=row.name, icon=row.icon, description=row.description, type=None
    )
