"""What stages do by themselves: they close when nobody has spoken for a while."""

from hubbub.server.core.call import Call
from hubbub.server.core.jobs import Job
from hubbub.server.resources import voice_states
from hubbub.server.resources.stage_instances import actions, store
from hubbub.server.resources.stage_instances.actions import Silence


def close(call: Call, job: Job) -> None:
    """Close a stage that is still without speakers."""
    silence = job.decode(Silence)
    row = store.find(call.tx, silence.channel_id)
    if row is not None and row.id == silence.id and not voice_states.speakers(call.tx, row.channel_id):
        actions.close(call, row)


JOBS = {actions.CLOSE: close}
