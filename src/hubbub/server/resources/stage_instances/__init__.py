"""Stage instances: stages that are live."""

from typing import Any

from hubbub.server.core.call import Call
from hubbub.server.core.realtime import GuildView
from hubbub.server.core.slices import Slice
from hubbub.server.resources.channels import ChannelsDeleted
from hubbub.server.resources.stage_instances import actions, routes, store, views
from hubbub.server.resources.stage_instances.actions import close, create
from hubbub.server.resources.stage_instances.facts import StageInstanceClosed, StageInstanceOpened, StageSaid
from hubbub.server.resources.stage_instances.jobs import JOBS
from hubbub.server.resources.stage_instances.store import StageInstanceRow, find
from hubbub.server.resources.voice_states import SpeakerCame, VoiceChannelChanged


def _guild(call: Call, view: GuildView) -> dict[str, Any]:
    rows = store.list_of_guild(call.tx, view.guild.id)
    return {"stage_instances": [views.stage_instance(row) for row in rows if row.channel_id in view.visible]}


SLICE = Slice(
    name="stage_instances",
    modules=(routes,),
    jobs=JOBS,
    hears={
        ChannelsDeleted: actions.close_with_channels,
        VoiceChannelChanged: actions.watch_speakers,
        SpeakerCame: actions.hear_speaker,
    },
    guild=_guild,
)

__all__ = [
    "SLICE",
    "StageInstanceClosed",
    "StageInstanceOpened",
    "StageInstanceRow",
    "StageSaid",
    "close",
    "create",
    "find",
]
