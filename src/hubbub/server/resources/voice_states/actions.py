"""Joining, moving and leaving: write, publish, and keep the channel's status and start time true."""

from hubbub.protocol.enums import AuditLogAction
from hubbub.protocol.ids import ChannelId, GuildId
from hubbub.protocol.resources import voice_states as wire
from hubbub.server.core import audit
from hubbub.server.core.call import Call
from hubbub.server.core.dispatches import Audience
from hubbub.server.resources import members
from hubbub.server.resources.voice_states import store, views
from hubbub.server.resources.voice_states.store import VoiceChannelRow, VoiceStateRow


def put(call: Call, row: VoiceStateRow) -> None:
    """A user joins, moves, or changes how they are connected."""
    before = store.find(call.tx, row.guild_id, row.user_id)
    store.put(call.tx, row)
    _tell(call, row)
    if before is not None and before.channel_id != row.channel_id:
        _tell(call, before, left=True, blind_to=row.channel_id)
    if before is None or before.channel_id != row.channel_id:
        _opened(call, row)
        if before is not None:
            _emptied(call, before.guild_id, before.channel_id)


def leave(call: Call, row: VoiceStateRow) -> None:
    """A user is no longer connected."""
    store.delete(call.tx, row.guild_id, row.user_id)
    _tell(call, row, left=True)
    _emptied(call, row.guild_id, row.channel_id)


def refresh(call: Call, row: VoiceStateRow) -> None:
    """Show a voice state again, since the guild's mute or deafen changed."""
    _tell(call, row)


def set_status(call: Call, guild_id: GuildId, channel_id: ChannelId, status: str | None) -> None:
    """A new status line, or none."""
    known = store.find_channel(call.tx, channel_id) or VoiceChannelRow(channel_id, guild_id, None, None)
    if known.status == status:
        return
    store.put_channel(call.tx, known._replace(status=status))
    _status(call, guild_id, channel_id, status)
    # Spec, Audit log: 192 carries the new status, clearing is 193.
    if status is not None:
        audit.record(
            call,
            guild_id,
            AuditLogAction.VOICE_CHANNEL_STATUS_UPDATE,
            target_id=channel_id,
            options={"channel_id": int(channel_id), "status": status},
        )
    else:
        audit.record(
            call,
            guild_id,
            AuditLogAction.VOICE_CHANNEL_STATUS_DELETE,
            target_id=channel_id,
            options={"channel_id": int(channel_id)},
        )


def _tell(call: Call, row: VoiceStateRow, *, left: bool = False, blind_to: int | None = None) -> None:
    member = members.find_views(call.tx, row.guild_id, [row.user_id]).get(row.user_id)
    state = views.voice_state(row, store.moderation(call.tx, row.guild_id, row.user_id), left=left)
    if member is not None:
        state.member = member
    # gateway.md 5: one's own state comes without the intent too, voice libraries wait for it.
    call.tx.emit(
        wire.VOICE_STATE_UPDATE,
        state,
        Audience.viewers(
            row.guild_id, row.channel_id, blind_to=blind_to, always=None if blind_to is not None else int(row.user_id)
        ),
    )


def _opened(call: Call, row: VoiceStateRow) -> None:
    known = store.find_channel(call.tx, row.channel_id) or VoiceChannelRow(row.channel_id, row.guild_id, None, None)
    if known.started_ms is None:
        store.put_channel(call.tx, known._replace(started_ms=call.now))
        _start_time(call, row.guild_id, row.channel_id, call.now // 1000)


def _emptied(call: Call, guild_id: GuildId, channel_id: ChannelId) -> None:
    known = store.find_channel(call.tx, channel_id)
    if known is None or store.connected(call.tx, channel_id):
        return
    store.delete_channel(call.tx, channel_id)
    if known.started_ms is not None:
        _start_time(call, guild_id, channel_id, None)
    if known.status is not None:
        _status(call, guild_id, channel_id, None)


def _status(call: Call, guild_id: GuildId, channel_id: ChannelId, status: str | None) -> None:
    call.tx.emit(
        wire.VOICE_CHANNEL_STATUS_UPDATE,
        wire.VoiceChannelStatus(id=ChannelId(channel_id), guild_id=GuildId(guild_id), status=status),
        Audience.viewers(guild_id, channel_id),
    )


def _start_time(call: Call, guild_id: GuildId, channel_id: ChannelId, seconds: int | None) -> None:
    call.tx.emit(
        wire.VOICE_CHANNEL_START_TIME_UPDATE,
        wire.VoiceChannelStartTime(id=ChannelId(channel_id), guild_id=GuildId(guild_id), voice_start_time=seconds),
        Audience.viewers(guild_id, channel_id),
    )
