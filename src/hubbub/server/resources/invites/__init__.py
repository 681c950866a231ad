"""Invites: codes that admit users to a guild or a group DM."""

from hubbub.server.core.slices import Slice
from hubbub.server.resources.channels import ChannelsDeleted
from hubbub.server.resources.invites import actions, routes
from hubbub.server.resources.invites.actions import create
from hubbub.server.resources.invites.jobs import JOBS
from hubbub.server.resources.invites.signals import GroupInviteAccepted, InviteResolved
from hubbub.server.resources.invites.store import InviteRow, find
from hubbub.server.resources.invites.target_files import TargetList

SLICE = Slice(
    name="invites",
    modules=(routes,),
    jobs=JOBS,
    listeners={ChannelsDeleted: actions.delete_with_channels},
)

__all__ = ["SLICE", "GroupInviteAccepted", "InviteResolved", "InviteRow", "TargetList", "create", "find"]
