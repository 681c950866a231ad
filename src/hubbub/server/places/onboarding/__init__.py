"""Onboarding: the prompts that a guild shows to new members, and the members' responses."""

from hubbub.server.core.slices import Slice
from hubbub.server.places.guilds import GuildDeleting
from hubbub.server.places.members.signals import MemberRemoved
from hubbub.server.places.onboarding import actions, routes
from hubbub.server.places.onboarding.archive import ARCHIVE
from hubbub.server.places.onboarding.views import export_data

SLICE = Slice(
    name="onboarding",
    archive=ARCHIVE,
    modules=(routes,),
    listeners={
        GuildDeleting: actions.on_guild_deleting,
        MemberRemoved: actions.on_member_removed,
    },
)

__all__ = ["SLICE", "export_data"]
