"""Build the wire models of activities."""

from collections.abc import Sequence
from typing import Any

from msgspec import UNSET

from hubbub.protocol.ids import ActivityInstanceId, ApplicationId, ChannelId, GuildId, UserId
from hubbub.protocol.resources import activity_instances as wire
from hubbub.protocol.resources.members import Member
from hubbub.server.core.call import Call
from hubbub.server.core.gateway_queries import GuildView
from hubbub.server.core.store import Tx
from hubbub.server.places import members
from hubbub.server.places.activity_instances import store
from hubbub.server.places.activity_instances.store import InstanceRow, ParticipantRow


def location(row: InstanceRow) -> wire.ActivityLocation:
    return wire.ActivityLocation(
        id=row.location_id,
        kind="pc" if row.guild_id is None else "gc",
        channel_id=ChannelId(row.channel_id),
        guild_id=UNSET if row.guild_id is None else GuildId(row.guild_id),
    )


def instance(row: InstanceRow, participants: Sequence[ParticipantRow]) -> wire.ActivityInstance:
    """Build an activity for the application's server. A user with several sessions is listed once."""
    return wire.ActivityInstance(
        application_id=ApplicationId(row.application_id),
        instance_id=row.composite_id,
        launch_id=str(row.launch_id),
        location=location(row),
        users=[UserId(user_id) for user_id in dict.fromkeys(participant.user_id for participant in participants)],
    )


def embedded_activity(
    row: InstanceRow, participants: Sequence[ParticipantRow], members_by_id: dict[int, Member] | None = None
) -> wire.EmbeddedActivity:
    """Build an activity for clients that see its channel.

    `members_by_id` contains the members among the participants, by user ID. It is empty or None in a private channel."""
    member_views = members_by_id or {}
    return wire.EmbeddedActivity(
        application_id=ApplicationId(row.application_id),
        instance_id=ActivityInstanceId(row.id),
        composite_instance_id=row.composite_id,
        launch_id=ActivityInstanceId(row.launch_id),
        location=location(row),
        participants=[
            wire.ActivityParticipant(
                user_id=UserId(participant.user_id),
                session_id=participant.session_id,
                nonce=None,
                member=member_views.get(participant.user_id, UNSET),
            )
            for participant in participants
        ],
    )


def load_embedded_activity(tx: Tx, row: InstanceRow) -> wire.EmbeddedActivity:
    """Build an activity with its current participants."""
    participants = store.find_participants(tx, [row.id]).get(row.id, [])
    return embedded_activity(row, participants, participant_members(tx, row, participants))


def participant_members(tx: Tx, row: InstanceRow, participants: Sequence[ParticipantRow]) -> dict[int, Member]:
    """Return the members among the participants of an activity, by user ID; empty in private channels."""
    if row.guild_id is None or not participants:
        return {}
    return members.views.find_views(tx, row.guild_id, {participant.user_id for participant in participants})


def guild_create_fields(call: Call, view: GuildView) -> dict[str, Any]:
    """Return the GUILD_CREATE field with the activities in the channels that the member can see."""
    rows = [row for row in store.list_guild_instances(call.tx, view.guild.id) if row.channel_id in view.visible]
    participants_by_instance = store.find_participants(call.tx, [row.id for row in rows])
    members_by_id = members.views.find_views(
        call.tx,
        view.guild.id,
        {participant.user_id for participants in participants_by_instance.values() for participant in participants},
    )
    return {
        "activity_instances": [
            embedded_activity(row, participants_by_instance.get(row.id, ()), members_by_id) for row in rows
        ]
    }
