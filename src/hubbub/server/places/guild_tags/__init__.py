"""Guild tags, which members display beside their name."""

from hubbub.server.core.slices import Slice
from hubbub.server.places.guild_tags import actions, routes
from hubbub.server.places.guild_tags.archive import ARCHIVE
from hubbub.server.places.guild_tags.jobs import JOBS
from hubbub.server.places.guilds import GuildDeleting
from hubbub.server.places.members.signals import MemberRemoved

SLICE = Slice(
    name="guild_tags",
    archive=ARCHIVE,
    modules=(routes,),
    jobs=JOBS,
    listeners={GuildDeleting: actions.on_guild_deleting, MemberRemoved: actions.on_member_removed},
)

__all__ = ["SLICE"]
