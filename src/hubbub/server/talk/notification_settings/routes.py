"""HTTP handlers for notification settings. Only users have them; bots and OAuth2 sessions do not."""

from hubbub.protocol.ids import GuildId
from hubbub.protocol.resources import notification_settings as wire
from hubbub.server.core.call import Call
from hubbub.server.core.slices import handles
from hubbub.server.places.standing import access
from hubbub.server.talk.notification_settings import actions


@handles(wire.UPDATE_USER_GUILD_SETTINGS)
def update_user_guild_settings(
    call: Call, guild_id: GuildId, body: wire.UpdateUserGuildSettings
) -> wire.UserGuildSettings:
    """Update the notification settings of the current user for a guild."""
    access.get_guild_standing(call, guild_id)
    return actions.update_guild(call, guild_id, body)


@handles(wire.UPDATE_PRIVATE_CHANNEL_SETTINGS)
def update_private_channel_settings(call: Call, body: wire.UpdatePrivateChannelSettings) -> wire.UserGuildSettings:
    """Update the notification settings of the current user for private channels."""
    return actions.update_private_channels(call, body)
