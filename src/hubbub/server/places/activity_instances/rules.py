"""Rules for launching and joining activities, and lookup of activities by composite ID."""

from typing import Final

from hubbub.protocol import changes, errors
from hubbub.protocol.enums import ApplicationIntegrationType, ChannelType, LaunchFailureReason
from hubbub.protocol.flags import ApplicationFlags
from hubbub.protocol.permissions import Permissions
from hubbub.server.core.call import Call
from hubbub.server.core.store import Tx
from hubbub.server.identity import applications, oauth2
from hubbub.server.identity.applications import ApplicationRow
from hubbub.server.places import guilds
from hubbub.server.places.activity_instances import store
from hubbub.server.places.activity_instances.store import InstanceRow
from hubbub.server.places.standing import ChannelAccess

LAUNCH_CHANNEL_TYPES: Final = frozenset(
    {
        ChannelType.GUILD_TEXT,
        ChannelType.DM,
        ChannelType.GUILD_VOICE,
        ChannelType.GROUP_DM,
        ChannelType.GUILD_ANNOUNCEMENT,
        ChannelType.GUILD_STAGE_VOICE,
        ChannelType.ANNOUNCEMENT_THREAD,
        ChannelType.PUBLIC_THREAD,
        ChannelType.PRIVATE_THREAD,
    }
)


class LaunchRejected(errors.ApiError):
    """An INVALID_ACTIVITY_ACTION error with the exact `reason`, which is shown to the user who launched the activity."""

    def __init__(self, reason: LaunchFailureReason) -> None:
        super().__init__(errors.INVALID_ACTIVITY_ACTION)
        self.reason = reason


def require_launchable(call: Call, application_id: int, channel_access: ChannelAccess) -> ApplicationRow:
    """Return the application, or raise if the caller may not launch its activity in the channel (spec/activities.md#2)."""
    application = applications.find(call.tx, application_id)
    if application is None:
        raise errors.UNKNOWN_APPLICATION()
    if channel_access.channel.type not in LAUNCH_CHANNEL_TYPES:
        raise errors.WRONG_CHANNEL_TYPE()
    guild_id = channel_access.channel.guild_id
    if guild_id is not None:
        channel_access.require(Permissions.USE_EMBEDDED_ACTIVITIES)
        if changes.EXTERNAL_APPS.is_active(call.now_ms) and not _is_installed(call, application, guild_id):
            channel_access.require(Permissions.USE_EXTERNAL_APPS)
        guild = guilds.find(call.tx, guild_id)
        if guild is not None and guild.afk_channel_id == channel_access.channel.id:
            raise LaunchRejected(LaunchFailureReason.AFK_CHANNEL)
    if not application.flags & ApplicationFlags.EMBEDDED:
        raise LaunchRejected(LaunchFailureReason.NOT_EMBEDDED)
    return application


def _is_installed(call: Call, application: ApplicationRow, guild_id: int) -> bool:
    """Return whether an application is installed in a guild, with or without its bot (decisions/0030)."""
    if application.bot_id is not None and guilds.membership.is_member(call.tx, guild_id, application.bot_id):
        return True
    return (
        oauth2.installations.find_installation(
            call.tx, application.id, ApplicationIntegrationType.GUILD_INSTALL, guild_id
        )
        is not None
    )


def require_capacity(call: Call, application: ApplicationRow, instance: InstanceRow, user_id: int) -> None:
    """Reject a new participant if the activity is full (spec/activities.md#3).

    A limit of -1 or null means no limit. A user counts once, regardless of the number of their sessions."""
    participants_max = applications.settings.decode_settings(application).max_participants
    if participants_max is None or participants_max < 0:
        return
    user_ids = {
        participant.user_id for participant in store.find_participants(call.tx, [instance.id]).get(instance.id, ())
    }
    if user_id not in user_ids and len(user_ids) >= participants_max:
        raise errors.INVALID_ACTIVITY_ACTION()


def require_session(call: Call, session_id: str) -> str:
    """Return the public ID of a connected gateway session of the caller, or raise a form error."""
    if not call.presences.has(call.user_id, session_id):
        raise errors.invalid("session_id", "SESSION_UNKNOWN", "You have no connected session with this id.")
    return store.public_session_id(session_id)


def require_instance(call: Call, application_id: int, composite_id: str) -> InstanceRow:
    """Return a running activity by its composite ID, or raise 404 (spec/activities.md#3)."""
    row = find_instance(call.tx, application_id, composite_id)
    if row is None:
        raise errors.NOT_FOUND()
    return row


def find_instance(tx: Tx, application_id: int, composite_id: str) -> InstanceRow | None:
    """Return a running activity of an application by its composite ID, or None."""
    # Composite IDs have the form i-{instance ID}-{location ID}.
    id_parts = composite_id.split("-")
    row = store.find(tx, int(id_parts[1])) if len(id_parts) > 2 and _is_snowflake(id_parts[1]) else None
    if row is None or row.application_id != application_id or row.composite_id != composite_id:
        return None
    return row


def _is_snowflake(text: str) -> bool:
    """Return whether a text is a decimal number that fits into a signed 64-bit column."""
    return text.isascii() and text.isdecimal() and len(text) < 20 and int(text) < 1 << 63
