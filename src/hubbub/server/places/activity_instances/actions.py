"""Start, join, leave and end activities, and publish the changes."""

from hubbub.protocol.flags import ApplicationFlags
from hubbub.protocol.ids import ActivityInstanceId
from hubbub.protocol.resources import activity_instances as wire
from hubbub.server.core.call import Call
from hubbub.server.core.event_dispatch import Audience, GuildAudience, UserAudience
from hubbub.server.identity import applications
from hubbub.server.identity.applications.signals import ActivitiesToggled, ApplicationDeleting
from hubbub.server.places.activity_instances import rules, store, views
from hubbub.server.places.activity_instances.store import InstanceRow, ParticipantRow
from hubbub.server.places.channels.signals import ChannelsDeleting
from hubbub.server.places.members.signals import MemberRemoved


def launch(
    call: Call, application_id: int, user_id: int, channel_id: int, guild_id: int | None, *, session_id: str = ""
) -> InstanceRow:
    """Add a user to an application's activity in a channel, starting the activity if none is running.

    Raise if the activity is full. The session leaves any other activity that it takes part in. The caller must have
    checked the permissions (spec/activities.md#2 and 3). `session_id` is a value of `store.public_session_id`; if it is
    empty, the user participates until their last session ends."""
    row = store.find_in_channel(call.tx, application_id, channel_id)
    application = applications.find(call.tx, application_id)
    if row is not None and application is not None:
        rules.require_capacity(call, application, row, user_id)
    for other_row, joined_session_id in store.list_user_instances(call.tx, user_id):
        # A session takes part in one activity at a time, so it leaves any other activity.
        if joined_session_id == session_id and (row is None or other_row.id != row.id):
            leave(call, other_row, user_id, session_id=session_id)
    if row is None:
        instance_id = call.new_id(ActivityInstanceId)
        row = InstanceRow(instance_id, application_id, channel_id, guild_id, call.new_id(ActivityInstanceId))
        store.insert(call.tx, row)
    if store.insert_participant(call.tx, ParticipantRow(row.id, user_id, session_id, call.now_ms)):
        _publish_update(call, row)
    return row


def leave(call: Call, row: InstanceRow, user_id: int, *, session_id: str | None = None) -> bool:
    """Remove a user from an activity, and end the activity if no participant remains.

    `session_id` is a value of `store.public_session_id`; None removes all sessions of the user. Return False if the
    user did not take part with this session, or with any session if it is None."""
    if not store.delete_participant(call.tx, row.id, user_id, session_id):
        return False
    if not store.find_participants(call.tx, [row.id]):
        store.delete(call.tx, row.id)
    _publish_update(call, row)
    return True


def on_session_ended(call: Call, user_id: int, session_id: str) -> None:
    """Remove the user from the activities joined by an ended gateway session.

    If it was the last session of the user, also remove the user from the activities joined without a session."""
    public_id = store.public_session_id(session_id)
    is_last_session = not call.presences.is_connected(user_id, excluding=session_id)
    for row, joined_session_id in store.list_user_instances(call.tx, user_id):
        if joined_session_id == public_id or (is_last_session and not joined_session_id):
            leave(call, row, user_id, session_id=joined_session_id)


def on_member_removed(call: Call, signal: MemberRemoved) -> None:
    """Remove a user from the activities of a guild they left."""
    for row in dict.fromkeys(row for row, _ in store.list_user_instances(call.tx, signal.user_id)):
        if row.guild_id == signal.guild_id:
            leave(call, row, signal.user_id)


def on_channels_deleting(call: Call, signal: ChannelsDeleting) -> None:
    """End the activities in deleted channels."""
    for row in store.list_channel_instances(call.tx, signal.channel_ids):
        store.delete(call.tx, row.id)
        _publish_update(call, row)


def on_activities_toggled(call: Call, signal: ActivitiesToggled) -> None:
    """End the running activities of an application that disabled activities."""
    if not signal.row.flags & ApplicationFlags.EMBEDDED:
        _end_application_instances(call, signal.row.id)


def on_application_deleting(call: Call, signal: ApplicationDeleting) -> None:
    """End the running activities of an application that is being deleted."""
    _end_application_instances(call, signal.row.id)


def _end_application_instances(call: Call, application_id: int) -> None:
    for row in store.list_application_instances(call.tx, application_id):
        store.delete(call.tx, row.id)
        _publish_update(call, row)


def delete_all(call: Call) -> None:
    """Delete all instances when a single-process server starts or a snapshot is restored.

    Nothing is published, because no session exists at that time."""
    store.delete_all(call.tx)


def _publish_update(call: Call, row: InstanceRow) -> None:
    activity = views.load_embedded_activity(call.tx, row)
    if row.guild_id is None:
        audience: Audience = UserAudience.of(*store.list_recipient_ids(call.tx, row.channel_id))
    else:
        audience = GuildAudience(row.guild_id, row.channel_id)
    call.tx.emit(wire.EMBEDDED_ACTIVITY_UPDATE_V2, activity, audience)
