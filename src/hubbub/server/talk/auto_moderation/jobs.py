"""Job that checks quarantined members again after a profile rule was changed or deleted."""

from typing import Final

from hubbub.server.core.call import Call
from hubbub.server.core.jobs import Job
from hubbub.server.talk.auto_moderation import actions, listeners, store

BATCH_SIZE: Final = 200
"""Number of quarantined members read at a time."""


def review_quarantined_members(call: Call, job: Job) -> None:
    """Check every quarantined member of a guild again."""
    guild_id = job.decode(actions.ReviewPayload).guild_id
    last_user_id = 0
    while user_ids := store.list_quarantined_ids(call.tx, guild_id, last_user_id, BATCH_SIZE):
        for user_id in user_ids:
            listeners.apply_profile_rules_if_any(call, guild_id, user_id)
        last_user_id = user_ids[-1]
