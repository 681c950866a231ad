"""Activities that begin, are joined, and end: write, publish."""

from hubbub.protocol.flags import ApplicationFlags
from hubbub.protocol.ids import ActivityInstanceId
from hubbub.protocol.resources import activity_instances as wire
from hubbub.server.core.call import Call
from hubbub.server.core.dispatches import Audience
from hubbub.server.resources import applications
from hubbub.server.resources.activity_instances import rules, store, views
from hubbub.server.resources.activity_instances.store import InstanceRow, ParticipantRow
from hubbub.server.resources.applications import ActivitiesSwitched, ApplicationDeleting
from hubbub.server.resources.channels import ChannelsDeleted
from hubbub.server.resources.members import MemberRemoved


def launch(
    call: Call, application_id: int, user_id: int, channel_id: int, guild_id: int | None, *, session_id: str = ""
) -> InstanceRow:
    """Somebody takes part in an application's activity in a channel; the first one begins it (activities.md 2 and 3).

    Whether they may was asked before. `session_id` is as `store.shown_session_id` makes it; without one they take part until
    their last session ends."""
    row = store.find_in(call.tx, application_id, channel_id)
    application = applications.find(call.tx, application_id)
    if row is not None and application is not None:
        rules.require_room(call, application, row, user_id)
    for other, by in store.list_of_user(call.tx, user_id):
        # One activity for each session: starting another leaves the first.
        if by == session_id and (row is None or other.id != row.id):
            leave(call, other, user_id, session_id=session_id)
    if row is None:
        number = call.new_id(ActivityInstanceId)
        row = InstanceRow(number, application_id, channel_id, guild_id, call.new_id(ActivityInstanceId))
        store.insert(call.tx, row)
    if store.join(call.tx, ParticipantRow(row.id, user_id, session_id, call.now)):
        _tell(call, row)
    return row


def leave(call: Call, row: InstanceRow, user_id: int, *, session_id: str | None = None) -> bool:
    """Somebody no longer takes part, by one session or at all; with the last one the activity ends. False when they did not."""
    if not store.leave(call.tx, row.id, user_id, session_id):
        return False
    if not store.participants(call.tx, [row.id]):
        store.delete(call.tx, row.id)
    _tell(call, row)
    return True


def session_ended(call: Call, user_id: int, session_id: str) -> None:
    """A gateway session is gone for good, and whoever took part by it."""
    gone = store.shown_session_id(session_id)
    last = not call.presences.connected(user_id, besides=session_id)
    for row, by in store.list_of_user(call.tx, user_id):
        if by == gone or (last and not by):
            leave(call, row, user_id, session_id=by)


def member_removed(call: Call, fact: MemberRemoved) -> None:
    """Who leaves a guild leaves what is played there."""
    for row in dict.fromkeys(row for row, _ in store.list_of_user(call.tx, fact.user_id)):
        if row.guild_id == fact.guild_id:
            leave(call, row, fact.user_id)


def channels_deleted(call: Call, fact: ChannelsDeleted) -> None:
    """Channels are going, and what is played in them ends."""
    for row in store.list_of_channels(call.tx, fact.channel_ids):
        store.delete(call.tx, row.id)
        _tell(call, row)


def activities_switched(call: Call, fact: ActivitiesSwitched) -> None:
    """An application has no activities any more, and what runs of it ends."""
    if not fact.row.flags & ApplicationFlags.EMBEDDED:
        _end_all(call, fact.row.id)


def application_deleting(call: Call, fact: ApplicationDeleting) -> None:
    """An application goes with what runs of it."""
    _end_all(call, fact.row.id)


def _end_all(call: Call, application_id: int) -> None:
    for row in store.list_of_application(call.tx, application_id):
        store.delete(call.tx, row.id)
        _tell(call, row)


def reset(call: Call) -> None:
    """A platform of one process starts with nothing running; it is not told to sessions, for there are none."""
    store.clear(call.tx)


def _tell(call: Call, row: InstanceRow) -> None:
    shown = views.shown(call.tx, row)
    if row.guild_id is None:
        audience = Audience.of_users(*store.recipients(call.tx, row.channel_id))
    else:
        audience = Audience.viewers(row.guild_id, row.channel_id)
    call.tx.emit(wire.EMBEDDED_ACTIVITY_UPDATE_V2, shown, audience)
