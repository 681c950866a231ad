"""Invites: codes with which users join a guild or a group DM."""

from hubbub.server.core.slices import Slice
from hubbub.server.identity.users.signals import UserDeleting
from hubbub.server.places.channels.signals import ChannelsDeleting
from hubbub.server.places.invites import actions, ports, routes
from hubbub.server.places.invites.actions import create, delete_guild_invites, export_data
from hubbub.server.places.invites.formats.archive import ARCHIVE
from hubbub.server.places.invites.formats.target_files import TargetList
from hubbub.server.places.invites.jobs import JOBS
from hubbub.server.places.invites.store import InviteRow, find

SLICE = Slice(
    name="invites",
    archive=ARCHIVE,
    modules=(routes, ports),
    jobs=JOBS,
    listeners={ChannelsDeleting: actions.on_channels_deleting, UserDeleting: actions.on_user_deleting},
)

__all__ = [
    "SLICE",
    "InviteRow",
    "TargetList",
    "create",
    "export_data",
    "find",
    "ports",
    "delete_guild_invites",
]
