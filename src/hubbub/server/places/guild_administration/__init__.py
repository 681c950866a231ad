"""Administration of guilds by operators: search, suspension, deletion and transfer."""

from hubbub.server.core.call import Call
from hubbub.server.core.jobs import Job
from hubbub.server.core.slices import Slice
from hubbub.server.places.guild_administration import actions, ports, routes
from hubbub.server.places.guild_administration.actions import (
    restore,
    schedule_deletion,
    suspend,
    transfer,
    unsuspend,
    unsuspend_by_id,
)
from hubbub.server.places.guild_administration.ports import GuildUsage
from hubbub.server.places.guild_administration.routes import search
from hubbub.server.places.guild_administration.views import guild_details


def _delete_guild(call: Call, job: Job) -> None:
    actions.delete_if_due(call, job.decode(int))


SLICE = Slice(
    name="guild_administration",
    modules=(routes, ports),
    tags={routes: "administration"},
    jobs={actions.DELETE_GUILD_JOB: _delete_guild},
)

__all__ = [
    "GuildUsage",
    "SLICE",
    "guild_details",
    "ports",
    "restore",
    "schedule_deletion",
    "search",
    "suspend",
    "transfer",
    "unsuspend",
    "unsuspend_by_id",
]
