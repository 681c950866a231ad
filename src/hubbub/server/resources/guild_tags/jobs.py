"""What follows the change of a tag, in portions."""

from hubbub.server.core.call import Call
from hubbub.server.core.jobs import Job
from hubbub.server.resources.guild_tags import actions
from hubbub.server.resources.guild_tags.actions import Retell


def retell(call: Call, job: Job) -> None:
    """Some more wearers hear of a tag that changed."""
    actions.retell(call, job.decode(Retell))


JOBS = {actions.RETELL: retell}
