"""Read states: the last message that each user has read in each channel."""

from typing import Any

from hubbub.protocol.resources import read_states as wire
from hubbub.server.core.call import Call
from hubbub.server.core.slices import Slice
from hubbub.server.identity import users
from hubbub.server.places import channels
from hubbub.server.talk.read_states import actions, routes, store
from hubbub.server.talk.read_states.actions import export_data


def _ready_fields(call: Call) -> dict[str, Any]:
    """Return the read states for READY; only users have them."""
    if call.actor.kind != "user":
        return {}
    return {"read_state": wire.ReadStates(entries=store.list_all(call.tx, call.user_id))}


SLICE = Slice(
    name="read_states",
    modules=(routes,),
    listeners={
        channels.signals.ChannelsDeleted: actions.on_channels_deleted,
        users.signals.UserDeleted: actions.on_user_deleted,
    },
    ready=_ready_fields,
)

__all__ = ["SLICE", "export_data"]
