"""Job that updates the members who display a changed guild tag."""

from hubbub.server.core.call import Call
from hubbub.server.core.jobs import Job
from hubbub.server.resources.guild_tags import actions
from hubbub.server.resources.guild_tags.actions import Retell


def retell(call: Call, job: Job) -> None:
    """Update the next batch of members."""
    actions.retell(call, job.decode(Retell))


JOBS = {actions.RETELL: retell}
