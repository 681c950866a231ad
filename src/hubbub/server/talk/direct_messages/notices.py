"""Messages of the system user, in direct message channels and guild channels."""

from hubbub.protocol.enums import MessageType
from hubbub.server.core.call import Actor, Call
from hubbub.server.identity import users
from hubbub.server.places.standing import access
from hubbub.server.talk import messages
from hubbub.server.talk.direct_messages import actions


def send_notice(call: Call, user_id: int, content: str) -> None:
    """Send a direct message of the system user to a user. Do nothing if the user does not exist or is a bot."""
    recipient = users.find(call.tx, user_id)
    if recipient is None or recipient.bot:
        return
    system_user = users.profiles.find_or_create_system_user(call)
    system_call = call.acting_as(Actor(user_id=system_user.id, kind="bot"))
    channel_id = actions.open_direct_channel(system_call, recipient).id
    channel = access.find_channel(call.tx, channel_id)
    assert channel is not None
    messages.system_messages.create_system_message(
        system_call, channel, MessageType.DEFAULT, system_user.id, content=content
    )


def send_channel_notice(call: Call, channel_id: int, content: str) -> None:
    """Send a message of the system user to a channel of a guild. Do nothing if the channel does not exist."""
    channel = access.find_channel(call.tx, channel_id)
    if channel is None:
        return
    system_user = users.profiles.find_or_create_system_user(call)
    messages.system_messages.create_system_message(
        call.acting_as(Actor(user_id=system_user.id, kind="bot")),
        channel,
        MessageType.DEFAULT,
        system_user.id,
        content=content,
    )
