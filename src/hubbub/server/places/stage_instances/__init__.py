"""Stage instances: live stages in stage channels."""

from typing import Any

from hubbub.server.core.call import Call
from hubbub.server.core.gateway_queries import GuildView
from hubbub.server.core.slices import Slice
from hubbub.server.places.channels.signals import ChannelsDeleting
from hubbub.server.places.stage_instances import actions, ports, routes, store, views
from hubbub.server.places.stage_instances.actions import close, create
from hubbub.server.places.stage_instances.jobs import JOBS
from hubbub.server.places.stage_instances.signals import StageInstanceClosed
from hubbub.server.places.stage_instances.store import StageInstanceRow, find
from hubbub.server.places.voice_states.signals import SpeakerAdded, VoiceChannelChanged


def _guild_create_fields(call: Call, view: GuildView) -> dict[str, Any]:
    """Return the stage instances of GUILD_CREATE that one viewer can see."""
    rows = store.list_guild_instances(call.tx, view.guild.id)
    return {"stage_instances": [views.stage_instance(row) for row in rows if row.channel_id in view.visible]}


SLICE = Slice(
    name="stage_instances",
    modules=(routes, ports),
    jobs=JOBS,
    listeners={
        ChannelsDeleting: actions.on_channels_deleting,
        VoiceChannelChanged: actions.on_voice_channel_changed,
        SpeakerAdded: actions.on_speaker_added,
    },
    guild=_guild_create_fields,
)

__all__ = [
    "SLICE",
    "StageInstanceClosed",
    "StageInstanceRow",
    "close",
    "create",
    "find",
    "ports",
]
