"""After a rule about names changed: whom it no longer concerns is let go."""

from typing import Final

from hubbub.server.core.call import Call
from hubbub.server.core.jobs import Job
from hubbub.server.resources.auto_moderation import actions, listeners, store

BATCH: Final = 200


def review(call: Call, job: Job) -> None:
    """Look again at everybody in a guild who is quarantined for their name."""
    guild_id = job.decode(actions.Review).guild_id
    after = 0
    while some := store.quarantined(call.tx, guild_id, after, BATCH):
        for user_id in some:
            listeners.look(call, guild_id, user_id)
        after = some[-1]
