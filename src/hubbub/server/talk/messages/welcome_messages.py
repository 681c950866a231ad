"""System messages that welcome new members."""

from hubbub.protocol.enums import MessageType
from hubbub.protocol.flags import SystemChannelFlags
from hubbub.server.core.call import Call
from hubbub.server.places import guilds
from hubbub.server.places.members import MemberAdded
from hubbub.server.places.standing import access
from hubbub.server.talk.messages import creation


def on_member_added(call: Call, signal: MemberAdded) -> None:
    """Welcome a member in the guild's system channel, unless the guild suppresses it."""
    guild = guilds.find(call.tx, signal.guild_id) if signal.is_announced else None
    if guild is None or guild.system_channel_id is None:
        return
    if guild.system_channel_flags & SystemChannelFlags.SUPPRESS_JOIN_NOTIFICATIONS:
        return
    channel = access.find_channel(call.tx, guild.system_channel_id)
    if channel is not None:
        creation.create_system_message(call, channel, MessageType.USER_JOIN, signal.user_id)
