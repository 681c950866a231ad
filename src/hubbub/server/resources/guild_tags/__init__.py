"""Guild tags, which members display beside their name."""

from hubbub.server.core.slices import Slice
from hubbub.server.resources.guild_tags import actions, routes
from hubbub.server.resources.guild_tags.jobs import JOBS
from hubbub.server.resources.guilds import GuildDeleted
from hubbub.server.resources.members import MemberRemoved

SLICE = Slice(
    name="guild_tags",
    modules=(routes,),
    jobs=JOBS,
    listeners={GuildDeleted: actions.guild_deleted, MemberRemoved: actions.member_removed},
)

__all__ = ["SLICE"]
