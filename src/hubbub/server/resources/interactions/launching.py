"""Interactions that are answered with an activity: the app says so, or the platform does it in its place."""

from typing import Final

from hubbub.protocol import errors
from hubbub.protocol.enums import LaunchFailureReason
from hubbub.protocol.resources.interactions import CallbackMessage
from hubbub.protocol.resources.messages import AllowedMentions
from hubbub.server.core import access
from hubbub.server.core.access import ChannelAccess
from hubbub.server.core.call import Call
from hubbub.server.resources import activity_instances
from hubbub.server.resources.interactions.store import App, Asked, InteractionRow

REASONS: Final = {
    errors.UNKNOWN_APPLICATION: LaunchFailureReason.UNKNOWN_APPLICATION,
    errors.UNKNOWN_CHANNEL: LaunchFailureReason.UNKNOWN_CHANNEL,
    errors.WRONG_CHANNEL_TYPE: LaunchFailureReason.CHANNEL_TYPE,
    errors.MISSING_PERMISSIONS: LaunchFailureReason.MISSING_PERMISSIONS,
    errors.MISSING_ACCESS: LaunchFailureReason.NO_ACCESS,
}
"""Why nothing is launched, as the person is told (activities.md 2); other refusals only say that it failed."""


def launch(call: Call, row: InteractionRow, asked: Asked, application: App) -> str:
    """Have the person who asked take part in the app's activity where they are; the id that apps know it by."""
    activity_instances.require_playable(call, application.id, _here(call, row))
    # Who named the session leaves with it; who did not, with their last one.
    known = bool(asked.session_id) and call.presences.has(row.user_id, asked.session_id)
    session_id = activity_instances.shown_session_id(asked.session_id) if known else ""
    instance = activity_instances.launch(
        call, application.id, row.user_id, row.channel_id, row.guild_id, session_id=session_id
    )
    return instance.composite_id


def _here(call: Call, row: InteractionRow) -> ChannelAccess:
    """Where the person is, as they may act there now."""
    found = access.find_standing(call.tx, call.now, row.channel_id, row.user_id)
    if found is None:
        raise errors.UNKNOWN_CHANNEL()
    channel, standing = found
    if channel.guild_id is None:
        return ChannelAccess(channel=channel, guild=None, permissions=0, allowed=0)
    if standing is None:
        raise errors.MISSING_ACCESS()
    return standing


def reason(error: errors.ApiError) -> int:
    """Why nothing was launched, in the number that the person is told."""
    if isinstance(error, activity_instances.NotPlayable):
        return error.reason
    return REASONS.get(error.kind, LaunchFailureReason.FAILED)


def announcement(row: InteractionRow, application: App) -> CallbackMessage:
    """What the platform says in the app's place once its activity runs (webhooks-and-interactions.md 5.1, decisions/0036)."""
    return CallbackMessage(
        content=f"<@{int(row.user_id)}> launched {application.name}", allowed_mentions=AllowedMentions(parse=[])
    )
