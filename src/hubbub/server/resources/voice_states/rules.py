"""Who may connect to a voice channel, who is heard there at once, and who lets whom speak on a stage."""

from typing import Final

from hubbub.protocol import changes, errors
from hubbub.protocol.enums import ChannelType
from hubbub.protocol.permissions import Permissions
from hubbub.protocol.resources.stage_instances import STAGE_MODERATOR
from hubbub.protocol.resources.voice_states import UpdateVoiceState
from hubbub.server.core import access
from hubbub.server.core.access import ChannelAccess
from hubbub.server.core.call import Call
from hubbub.server.resources.voice_states import store
from hubbub.server.resources.voice_states.store import VoiceStateRow

FAILURES_FREE: Final = 2
"""Refused voice connections in a row after which joining begins to wait,"""
FIRST_WAIT_MS: Final = 1_000
LONGEST_WAIT_MS: Final = 8_000
"""at first so long, then twice as long each time, and never longer;"""
FORGIVEN_MS: Final = 60_000
"""and when they no longer count."""


def waits_ms(call: Call, failures: int, failed_ms: int) -> int:
    """How long a join waits after refused voice connections (voice.md 1): there is a library that tries again at once, for ever."""
    passed = call.now - failed_ms
    if failures < FAILURES_FREE or call.config.rate_limits == "off" or not 0 <= passed < FORGIVEN_MS:
        return 0
    wait = min(FIRST_WAIT_MS << min(failures - FAILURES_FREE, 10), LONGEST_WAIT_MS)
    return max(0, wait - passed)


def require_reads(now: int) -> None:
    """Raise before the day from which voice states can be read over HTTP (dated-changes.md 3)."""
    if not changes.VOICE_STATE_READS.active(now):
        raise errors.NOT_FOUND()


def require_statuses(now: int) -> None:
    """Raise before the day from which voice channels have a status (dated-changes.md 3)."""
    if not changes.VOICE_STATUS.active(now):
        raise errors.NOT_FOUND()


def find_standing(call: Call, guild_id: int, channel_id: int, user_id: int) -> ChannelAccess | None:
    """A member's standing in a voice channel of a guild; None when there is no such member or channel."""
    member = access.find_member(call.tx, call.now, guild_id, user_id)
    ref = access.find_channel(call.tx, channel_id)
    if member is None or ref is None or ref.guild_id != guild_id or not ref.is_voice:
        return None
    return access.stand_in(call.tx, member, ref, access.permissions_in(call.tx, member, ref.id))


def can_connect(call: Call, here: ChannelAccess, *, enters: bool) -> bool:
    """gateway.md 7: who sees the channel and may connect, while there is room; who moves members needs none."""
    if not here.can(Permissions.VIEW_CHANNEL | Permissions.CONNECT):
        return False
    limit = store.user_limit(call.tx, here.channel.id) if enters else 0
    return not limit or here.can(Permissions.MOVE_MEMBERS) or store.connected(call.tx, here.channel.id) < limit


def suppressed(here: ChannelAccess | None) -> bool:
    """Whether who enters is not heard: the audience of a stage, and in a voice channel who may not speak (decisions/0018)."""
    if here is None:
        return False
    if here.channel.type == ChannelType.GUILD_STAGE_VOICE:
        return not here.can(STAGE_MODERATOR)
    return not here.can(Permissions.SPEAK)


def require_on_stage(
    call: Call, row: VoiceStateRow | None, body: UpdateVoiceState
) -> tuple[VoiceStateRow, ChannelAccess]:
    """The state of somebody who is on the stage that the body means, and the caller's standing there (http.md 3.9)."""
    if row is None or (body.channel_id and body.channel_id != row.channel_id):
        raise errors.UNKNOWN_VOICE_STATE()
    here = access.channel(call, row.channel_id)
    if here.channel.type != ChannelType.GUILD_STAGE_VOICE:
        raise errors.WRONG_CHANNEL_TYPE()
    return row, here
