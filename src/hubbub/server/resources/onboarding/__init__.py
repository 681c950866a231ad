"""Onboarding: the prompts that a guild shows to new members, and their answers."""

from hubbub.server.core.slices import Slice
from hubbub.server.resources.guilds import GuildDeleted
from hubbub.server.resources.members import MemberRemoved
from hubbub.server.resources.onboarding import actions, routes, views
from hubbub.server.resources.users import DataExportRequested

SLICE = Slice(
    name="onboarding",
    modules=(routes,),
    listeners={
        GuildDeleted: actions.forget_guild,
        MemberRemoved: actions.forget_member,
        DataExportRequested: views.export_data,
    },
)

__all__ = ["SLICE"]
