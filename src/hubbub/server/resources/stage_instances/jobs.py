"""Jobs that end stages without speakers."""

from hubbub.server.core.call import Call
from hubbub.server.core.jobs import Job
from hubbub.server.resources import voice_states
from hubbub.server.resources.stage_instances import actions, store
from hubbub.server.resources.stage_instances.actions import Silence


def close(call: Call, job: Job) -> None:
    """End a stage that is still without speakers."""
    payload = job.decode(Silence)
    row = store.find(call.tx, payload.channel_id)
    if row is not None and row.id == payload.id and not voice_states.speakers(call.tx, row.channel_id):
        actions.close(call, row)


JOBS = {actions.CLOSE: close}
