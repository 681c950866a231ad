"""Read states: the last message that each user has read in each channel, and the mentions after it."""

from typing import Any

from hubbub.protocol.resources import read_states as wire
from hubbub.server.core.call import Call
from hubbub.server.core.slices import Slice
from hubbub.server.identity import users
from hubbub.server.places import channels, guilds
from hubbub.server.talk.messages.signals import MessageCreated, MessagesDeleted, MessagesImported
from hubbub.server.talk.read_states import actions, mentions, routes
from hubbub.server.talk.read_states.actions import export_data, reassign_mentions
from hubbub.server.talk.read_states.store import find_many


def _ready_fields(call: Call) -> dict[str, Any]:
    """Return the read states for READY; only users have them."""
    if call.actor.kind != "user":
        return {}
    return {"read_state": wire.ReadStates(entries=mentions.list_read_states(call))}


SLICE = Slice(
    name="read_states",
    modules=(routes,),
    listeners={
        MessageCreated: mentions.on_message_created,
        MessagesImported: actions.on_messages_imported,
        guilds.creation.GuildImported: actions.on_guild_imported,
        MessagesDeleted: mentions.on_messages_deleted,
        channels.signals.ChannelsDeleting: actions.on_channels_deleting,
        users.signals.UserDeleting: actions.on_user_deleting,
    },
    ready=_ready_fields,
)

__all__ = ["SLICE", "reassign_mentions", "export_data", "find_many"]
