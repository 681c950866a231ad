"""Job that ends a stage without speakers."""

from hubbub.server.core.call import Call
from hubbub.server.core.jobs import Job
from hubbub.server.places import voice_states
from hubbub.server.places.stage_instances import actions, store
from hubbub.server.places.stage_instances.actions import CloseJobPayload


def close(call: Call, job: Job) -> None:
    """End the stage instance of the job if it still exists and has no speakers."""
    payload = job.decode(CloseJobPayload)
    row = store.find(call.tx, payload.channel_id)
    if row is not None and row.id == payload.id and not voice_states.count_speakers(call.tx, row.channel_id):
        actions.close(call, row)


JOBS = {actions.CLOSE_JOB: close}
