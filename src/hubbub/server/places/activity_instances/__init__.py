"""Activity instances: embedded applications that run in a channel, and their participants."""

from hubbub.server.core.slices import Slice
from hubbub.server.identity.applications.signals import ActivitiesToggled, ApplicationDeleting
from hubbub.server.places.activity_instances import actions, routes, views
from hubbub.server.places.activity_instances.actions import delete_all, launch, leave
from hubbub.server.places.activity_instances.rules import (
    LaunchRejected,
    find_instance,
    require_instance,
    require_launchable,
)
from hubbub.server.places.activity_instances.store import (
    InstanceRow,
    find_last_joined,
    is_participant,
    public_session_id,
)
from hubbub.server.places.channels.signals import ChannelsDeleting
from hubbub.server.places.members.signals import MemberRemoved

SLICE = Slice(
    name="activity_instances",
    modules=(routes,),
    listeners={
        ActivitiesToggled: actions.on_activities_toggled,
        ApplicationDeleting: actions.on_application_deleting,
        ChannelsDeleting: actions.on_channels_deleting,
        MemberRemoved: actions.on_member_removed,
    },
    guild=views.guild_create_fields,
    session_ended=actions.on_session_ended,
)

__all__ = [
    "SLICE",
    "InstanceRow",
    "LaunchRejected",
    "delete_all",
    "find_instance",
    "find_last_joined",
    "is_participant",
    "launch",
    "leave",
    "public_session_id",
    "require_instance",
    "require_launchable",
]
