"""HTTP handlers for activity instances."""

from hubbub.protocol import errors
from hubbub.protocol.ids import ApplicationId, ChannelId
from hubbub.protocol.resources import activity_instances as wire
from hubbub.server.core.call import Call
from hubbub.server.core.slices import handles
from hubbub.server.identity import applications
from hubbub.server.places.activity_instances import actions, rules, store, views
from hubbub.server.places.standing import access


@handles(wire.APPLICATIONS_GET_ACTIVITY_INSTANCE)
def applications_get_activity_instance(
    call: Call, application_id: ApplicationId, instance_id: str
) -> wire.ActivityInstance:
    """Get a running activity instance of an application."""
    applications.access.require_manager(call, application_id)
    row = rules.require_instance(call, application_id, instance_id)
    return views.instance(row, store.find_participants(call.tx, [row.id]).get(row.id, []))


@handles(wire.LAUNCH_ACTIVITY)
def launch_activity(
    call: Call, channel_id: ChannelId, application_id: ApplicationId, body: wire.ActivitySession
) -> None:
    """Start an activity in a channel, or join the running one.

    In a guild the caller needs USE_EMBEDDED_ACTIVITIES in the channel, and USE_EXTERNAL_APPS if the application is
    not installed in the guild.
    """
    channel_access = access.get_channel_standing(call, channel_id)
    rules.require_launchable(call, application_id, channel_access)
    session_id = rules.require_session(call, body.session_id)
    actions.launch(
        call, application_id, call.user_id, channel_id, channel_access.channel.guild_id, session_id=session_id
    )


@handles(wire.LIST_ACTIVITY_INSTANCES)
def list_activity_instances(
    call: Call, application_id: ApplicationId, channel_id: ChannelId
) -> wire.EmbeddedActivities:
    """List the running activities of an application in a channel.

    A channel has at most one activity of each application."""
    access.get_channel_standing(call, channel_id)
    if applications.find(call.tx, application_id) is None:
        raise errors.UNKNOWN_APPLICATION()
    row = store.find_in_channel(call.tx, application_id, channel_id)
    return wire.EmbeddedActivities(instances=[] if row is None else [views.load_embedded_activity(call.tx, row)])


@handles(wire.LEAVE_ACTIVITY)
def leave_activity(
    call: Call, application_id: ApplicationId, location_id: str, instance_id: str, body: wire.ActivitySession
) -> dict[str, str]:
    """Leave an activity.

    The response is an empty object.
    """
    row = rules.require_instance(call, application_id, f"i-{instance_id}-{location_id}")
    if not actions.leave(call, row, call.user_id, session_id=store.public_session_id(body.session_id)):
        raise errors.NOT_FOUND()
    return {}
