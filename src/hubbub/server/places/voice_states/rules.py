"""Permission checks for voice channels and stages, and the join delay after rejected connections."""

from typing import Final

from hubbub.protocol import changes, errors
from hubbub.protocol.enums import ChannelType
from hubbub.protocol.permissions import Permissions
from hubbub.protocol.resources.features import Feature
from hubbub.protocol.resources.stage_instances import STAGE_MODERATOR_PERMISSIONS
from hubbub.protocol.resources.voice_states import UpdateVoiceState
from hubbub.server.core.call import Call
from hubbub.server.identity import features
from hubbub.server.places.standing import ChannelAccess, access
from hubbub.server.places.voice_states import store
from hubbub.server.places.voice_states.store import VoiceStateRow

FAILURES_BEFORE_DELAY: Final = 2
"""Number of consecutive rejected voice connections after which joins are delayed."""
JOIN_DELAY_MIN_MS: Final = 1_000
"""Initial join delay in milliseconds. The delay doubles with each later rejection, up to `JOIN_DELAY_MAX_MS`."""
JOIN_DELAY_MAX_MS: Final = 8_000
FAILURES_EXPIRE_MS: Final = 60_000
"""Time in milliseconds after which rejections are no longer counted."""


def compute_join_delay_ms(call: Call, failure_count: int, last_failure_ms: int) -> int:
    """Return the delay of a join in milliseconds after rejected voice connections (spec/voice.md#1).

    `failure_count` is the number of rejections, `last_failure_ms` the time of the last rejection in Unix milliseconds. The
    delay limits the rate of client libraries that retry immediately and without end."""
    elapsed_ms = call.now_ms - last_failure_ms
    if (
        failure_count < FAILURES_BEFORE_DELAY
        or call.config.rate_limits == "off"
        or not 0 <= elapsed_ms < FAILURES_EXPIRE_MS
    ):
        return 0
    wait_ms = min(JOIN_DELAY_MIN_MS << min(failure_count - FAILURES_BEFORE_DELAY, 10), JOIN_DELAY_MAX_MS)
    return max(0, wait_ms - elapsed_ms)


def require_reads_released(now_ms: int) -> None:
    """Raise NOT_FOUND before voice states became readable over HTTP (spec/dated-changes.md#3)."""
    if not changes.VOICE_STATE_READS.is_active(now_ms):
        raise errors.NOT_FOUND()


def require_statuses_released(now_ms: int) -> None:
    """Raise NOT_FOUND before voice channels had a status (spec/dated-changes.md#3)."""
    if not changes.VOICE_STATUS.is_active(now_ms):
        raise errors.NOT_FOUND()


def find_voice_channel_standing(call: Call, guild_id: int, channel_id: int, user_id: int) -> ChannelAccess | None:
    """Return a member's standing in a voice channel, or None if there is no such member or channel."""
    standing = access.find_guild_standing(call.tx, call.now_ms, guild_id, user_id)
    channel = access.find_channel(call.tx, channel_id)
    if standing is None or channel is None or channel.guild_id != guild_id or not channel.is_voice:
        return None
    return access.build_channel_standing(
        call.tx, standing, channel, access.permissions_in(call.tx, standing, channel.id)
    )


def can_connect(call: Call, channel_access: ChannelAccess, *, is_joining: bool) -> bool:
    """Return whether a member may connect (spec/gateway.md#7).

    They must see the channel and have CONNECT. If `is_joining`, the feature VOICE must be enabled, and the user limit
    applies, except to members with MOVE_MEMBERS."""
    if not channel_access.can(Permissions.VIEW_CHANNEL | Permissions.CONNECT):
        return False
    if is_joining and not features.is_enabled(call, Feature.VOICE):
        return False
    user_limit = store.read_user_limit(call.tx, channel_access.channel.id) if is_joining else 0
    return (
        not user_limit
        or channel_access.can(Permissions.MOVE_MEMBERS)
        or store.count_connected(call.tx, channel_access.channel.id) < user_limit
    )


def is_suppressed(channel_access: ChannelAccess | None) -> bool:
    """Return whether a joining member is suppressed: in a stage's audience, or without SPEAK (decisions/0018).

    Return False if `channel_access` is None."""
    if channel_access is None:
        return False
    if channel_access.channel.type == ChannelType.GUILD_STAGE_VOICE:
        return not channel_access.can(STAGE_MODERATOR_PERMISSIONS)
    return not channel_access.can(Permissions.SPEAK)


def can_send_video(channel_access: ChannelAccess | None) -> bool:
    """Return whether a member may send their camera or screen in a voice channel (decisions/0185).

    Return False if `channel_access` is None."""
    return channel_access is not None and channel_access.can(Permissions.STREAM)


def require_on_stage(
    call: Call, row: VoiceStateRow | None, body: UpdateVoiceState
) -> tuple[VoiceStateRow, ChannelAccess]:
    """Return the voice state and the caller's standing in its channel (spec/http.md#3.9).

    Raise if `row` is None or in another channel than the body's, or if the channel is not a stage."""
    if row is None or (body.channel_id and body.channel_id != row.channel_id):
        raise errors.UNKNOWN_VOICE_STATE()
    channel_access = access.get_channel_standing(call, row.channel_id)
    if channel_access.channel.type != ChannelType.GUILD_STAGE_VOICE:
        raise errors.WRONG_CHANNEL_TYPE()
    return row, channel_access
