"""Launch activities in response to interactions, at the application's request or by the platform itself."""

from typing import Final

from hubbub.protocol import errors
from hubbub.protocol.enums import LaunchFailureReason
from hubbub.protocol.resources.interaction_callbacks import CallbackMessage
from hubbub.protocol.resources.messages import AllowedMentions
from hubbub.server.core.call import Call
from hubbub.server.places import activity_instances
from hubbub.server.places.standing import ChannelAccess, access
from hubbub.server.play.interactions.store import InteractionApplication, InteractionRow, ResponseState

FAILURE_REASONS: Final = {
    errors.UNKNOWN_APPLICATION: LaunchFailureReason.UNKNOWN_APPLICATION,
    errors.UNKNOWN_CHANNEL: LaunchFailureReason.UNKNOWN_CHANNEL,
    errors.WRONG_CHANNEL_TYPE: LaunchFailureReason.CHANNEL_TYPE,
    errors.MISSING_PERMISSIONS: LaunchFailureReason.MISSING_PERMISSIONS,
    errors.MISSING_ACCESS: LaunchFailureReason.NO_ACCESS,
}
"""Failure reason by error (spec/activities.md#2); other errors map to FAILED."""


def launch(call: Call, row: InteractionRow, state: ResponseState, application: InteractionApplication) -> str:
    """Add the invoking user to the app's activity in the channel of the interaction; return the instance ID."""
    activity_instances.require_launchable(call, application.id, _invoker_access(call, row))
    # The user leaves the activity when the session of the interaction ends. If the session is unknown or not connected,
    # the user leaves when their last session ends.
    is_connected = bool(state.session_id) and call.presences.has(row.user_id, state.session_id)
    session_id = activity_instances.public_session_id(state.session_id) if is_connected else ""
    instance = activity_instances.launch(
        call, application.id, row.user_id, row.channel_id, row.guild_id, session_id=session_id
    )
    return instance.composite_id


def _invoker_access(call: Call, row: InteractionRow) -> ChannelAccess:
    """Return the invoking user's current access to the channel; raise UNKNOWN_CHANNEL or MISSING_ACCESS."""
    channel_and_standing = access.find_channel_standing(call.tx, call.now_ms, row.channel_id, row.user_id)
    if channel_and_standing is None:
        raise errors.UNKNOWN_CHANNEL()
    channel, standing = channel_and_standing
    if channel.guild_id is None:
        return ChannelAccess(channel=channel, guild=None, permissions=0, allowed=0)
    if standing is None:
        raise errors.MISSING_ACCESS()
    return standing


def failure_reason(error: errors.ApiError) -> int:
    """Return the LaunchFailureReason to publish for an error."""
    if isinstance(error, activity_instances.LaunchRejected):
        return error.reason
    return FAILURE_REASONS.get(error.kind, LaunchFailureReason.FAILED)


def announcement(row: InteractionRow, application: InteractionApplication) -> CallbackMessage:
    """Return the message that announces a launched activity (spec/webhooks-and-interactions.md#5.1, decisions/0036)."""
    return CallbackMessage(
        content=f"<@{int(row.user_id)}> launched {application.name}", allowed_mentions=AllowedMentions(parse=[])
    )
