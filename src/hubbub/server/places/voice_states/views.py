"""Build the wire models of voice states."""

from msgspec import UNSET

from hubbub.protocol import codec
from hubbub.protocol.ids import ChannelId, GuildId, UserId
from hubbub.protocol.resources import voice_states as wire
from hubbub.protocol.resources.members import Member
from hubbub.server.places.voice_states.store import VoiceStateRow


def voice_state(
    row: VoiceStateRow, member: Member | None, *, has_left: bool = False, with_guild: bool = True
) -> wire.VoiceState:
    """Return a voice state; with `has_left` it has no channel, and without `with_guild` no guild ID.

    If `member` is None, `mute` and `deaf` are false."""
    return wire.VoiceState(
        guild_id=GuildId(row.guild_id) if with_guild else UNSET,
        channel_id=None if has_left else ChannelId(row.channel_id),
        user_id=UserId(row.user_id),
        session_id=row.session_id,
        deaf=member is not None and member.deaf,
        mute=member is not None and member.mute,
        self_deaf=bool(row.self_deaf),
        self_mute=bool(row.self_mute),
        self_video=bool(row.self_video),
        self_stream=bool(row.self_stream),
        suppress=bool(row.suppress),
        request_to_speak_timestamp=None
        if row.request_to_speak_ms is None
        else codec.timestamp(row.request_to_speak_ms),
        member=UNSET if member is None else member,
    )
