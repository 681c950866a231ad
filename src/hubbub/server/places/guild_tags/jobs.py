"""Job that updates the members who display a changed guild tag."""

from hubbub.server.core.call import Call
from hubbub.server.core.jobs import Job
from hubbub.server.places.guild_tags import actions
from hubbub.server.places.guild_tags.actions import UpdateMembersPayload


def update_members(call: Call, job: Job) -> None:
    """Update the next batch of members who display the tag of a guild."""
    actions.update_members(call, job.decode(UpdateMembersPayload))


JOBS = {actions.UPDATE_MEMBERS_JOB: update_members}
