"""Member verification and join requests: the form for new members, and the review of their responses."""

from hubbub.server.core.slices import Slice
from hubbub.server.identity.users.signals import UserDeleting
from hubbub.server.places.guilds import GuildDeleting
from hubbub.server.places.join_requests import actions, routes
from hubbub.server.places.join_requests.actions import export_data
from hubbub.server.places.join_requests.archive import ARCHIVE
from hubbub.server.places.members.signals import MemberRemoved

SLICE = Slice(
    name="join_requests",
    archive=ARCHIVE,
    modules=(routes,),
    listeners={
        GuildDeleting: actions.on_guild_deleting,
        MemberRemoved: actions.on_member_removed,
        UserDeleting: actions.on_user_deleting,
    },
)

__all__ = ["SLICE", "export_data"]
