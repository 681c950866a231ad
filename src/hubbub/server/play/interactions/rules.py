"""Rules that requests, responses and follow-ups of interactions share."""

from typing import Final

from hubbub.protocol import changes, errors
from hubbub.protocol.enums import (
    ApplicationIntegrationType,
)
from hubbub.protocol.ids import Snowflake
from hubbub.protocol.permissions import Permissions
from hubbub.protocol.resources import interactions as wire
from hubbub.server.core.call import Call
from hubbub.server.places import guilds
from hubbub.server.places.standing import ChannelAccess
from hubbub.server.talk import messages
from hubbub.server.talk.messages import MessageRow

GUILD_INSTALL: Final = str(int(ApplicationIntegrationType.GUILD_INSTALL))
"""Key of guild installations in a map of installation owners."""

USER_INSTALL: Final = str(int(ApplicationIntegrationType.USER_INSTALL))
"""Key of user installations in a map of installation owners."""

RESPONSE_PERMISSIONS: Final = wire.PRIVATE_CHANNEL_PERMISSIONS | Permissions.USE_EXTERNAL_EMOJIS
"""Permissions that responses may use where the app itself is not a member (spec/webhooks-and-interactions.md#2.1)."""

_PUBLIC_RESPONSE_MEMBERS_MAX: Final = 25
"""Number of members of a guild above which responses of user-installed apps were ephemeral before `changes.EXTERNAL_APPS`."""


def is_ephemeral_only(call: Call, channel_access: ChannelAccess, owners: dict[str, Snowflake]) -> bool:
    """Return whether a user-installed app may respond only ephemerally (spec/webhooks-and-interactions.md#3).

    `owners` are the installation owners by type."""
    if GUILD_INSTALL in owners:
        return False
    if channel_access.guild is not None:
        if changes.EXTERNAL_APPS.is_active(call.now_ms):
            if not channel_access.can(Permissions.USE_EXTERNAL_APPS):
                return True
        else:
            # spec/dated-changes.md#3: before the permission USE_EXTERNAL_APPS existed, the guild's size decided.
            guild = guilds.find(call.tx, channel_access.guild.guild_id)
            if guild is not None and guild.member_count > _PUBLIC_RESPONSE_MEMBERS_MAX:
                return True
    try:
        messages.history.require_can_send(call, channel_access)
    except errors.ApiError:
        # A user who may not send messages in the channel may not send them through an app either.
        return True
    return False


def require_message(call: Call, channel_id: int, message_id: int) -> MessageRow:
    """Return a message of a channel, including an ephemeral one; raise UNKNOWN_MESSAGE if there is none."""
    row = messages.history.find(call.tx, channel_id, message_id)
    if row is None:
        row = messages.history.find_ephemeral(call.tx, channel_id, message_id, call.now_ms)
    if row is None:
        raise errors.UNKNOWN_MESSAGE()
    return row
