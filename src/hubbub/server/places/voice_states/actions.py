"""Change voice states in guilds: joins, moves, departures, the AFK channel and the loss of a voice server.

Changes are stored and published. The status and the start time of voice channels are maintained here as well."""

from collections.abc import Sequence
from typing import Final

import msgspec

from hubbub.protocol.enums import AuditLogAction, ChannelType
from hubbub.protocol.ids import ChannelId, GuildId, Snowflake, UserId
from hubbub.protocol.resources import voice_states as wire
from hubbub.protocol.resources.audit_log import AuditLogChange
from hubbub.protocol.resources.members import Member
from hubbub.server.core import jobs
from hubbub.server.core.call import Call
from hubbub.server.core.event_dispatch import NO_SESSIONS, Audience, GuildAudience, UserAudience
from hubbub.server.core.voice import VOICE_CHANGED, VoiceChanged
from hubbub.server.places import guilds, members
from hubbub.server.places.audit_log import audit
from hubbub.server.places.standing import access
from hubbub.server.places.voice_states import rules, store, tickets, views
from hubbub.server.places.voice_states.signals import ParticipantDisplaced, SpeakerAdded, VoiceChannelChanged
from hubbub.server.places.voice_states.store import VoiceChannelRow, VoiceStateRow

MOVE_TO_AFK_JOB: Final = "voice_states.move_to_afk"
"""Kind of the job that moves an inactive member to the AFK channel. Stored jobs contain it, so it must not change."""


class AfkJobPayload(msgspec.Struct, kw_only=True):
    """Payload of the job that moves an inactive member to the AFK channel."""

    guild_id: GuildId
    user_id: UserId


def put(call: Call, before: VoiceStateRow | None, row: VoiceStateRow, *, oauth2_session_id: str | None = None) -> None:
    """Store and publish a voice state after a user joined, moved or changed it.

    `before` is the earlier state, or None if the user was not connected. `oauth2_session_id` is the ID of the requesting
    gateway session if it is an OAuth2 session, otherwise None."""
    store.put(call.tx, row)
    member = _member_view(call, row)
    _publish_state(call, row, member)
    left_state = before if before is not None and before.channel_id != row.channel_id else None
    if left_state is not None:
        # spec/gateway.md#5.1: users who saw the member and cannot see the new channel see them leave.
        _publish_state(call, left_state, member, has_left=True, hidden_channel_id=row.channel_id)
    if before is None or left_state is not None:
        _set_start_time(call, row)
    if left_state is not None:
        _clear_if_empty(call, left_state.guild_id, left_state.channel_id)
    _signal_channel_changed(call, row.guild_id, row.channel_id)
    if left_state is not None:
        _signal_channel_changed(call, row.guild_id, left_state.channel_id)
    if not row.suppress and (before is None or left_state is not None or before.suppress):
        call.notify(SpeakerAdded(guild_id=row.guild_id, channel_id=row.channel_id, user_id=row.user_id))
    _schedule_afk(call, row)
    # A session that takes over from another session of the user needs its own connection. So does a user whose voice
    # server was lost.
    if (
        before is None
        or left_state is not None
        or before.session_id != row.session_id
        or tickets.needs_new_server(call, row.guild_id, row.user_id)
    ):
        # spec/voice.md#1: the state always precedes the server, since libraries connect when they receive the server.
        send_voice_server(call, row, oauth2_session_id)
    notify_voice_server(call, row.guild_id, row.user_id)


def send_voice_server(call: Call, row: VoiceStateRow, oauth2_session_id: str | None = None) -> None:
    """Issue a new voice server ticket and send it to the requesting session, or to the session that owns the state."""
    if oauth2_session_id is None:
        # An event to the guild's audience is delivered after the state update, in the order of the guild's events, and
        # reaches the session on its own shard.
        audience: Audience = GuildAudience(
            row.guild_id, users=frozenset({int(row.user_id)}), voice_session_id=row.session_id
        )
    else:
        audience = UserAudience.of(row.user_id, session_id=oauth2_session_id)
    token, endpoint = tickets.issue(call, row.guild_id, row.user_id, row.channel_id, row.session_id)
    voice_server = wire.VoiceServer(token=token, guild_id=GuildId(row.guild_id), endpoint=endpoint)
    call.tx.emit(wire.VOICE_SERVER_UPDATE, voice_server, audience)


def reallocate_users(call: Call, endpoint: str) -> None:
    """Move all users of a voice server that was lost or shuts down to another server.

    If no server is available, the new tickets have no endpoint, and the users wait for a server."""
    store.delete_server(call.tx, endpoint)
    for row in store.list_server_states(call.tx, endpoint):
        send_voice_server(call, row)
        notify_voice_server(call, row.guild_id, row.user_id)
    for participant in store.list_participants_of_server(call.tx, endpoint):
        call.notify(ParticipantDisplaced(row=participant))


def update(call: Call, before: VoiceStateRow, after: VoiceStateRow) -> None:
    """Store and publish a voice state if it changed."""
    if after != before:
        put(call, before, after)


def update_as_moderator(call: Call, before: VoiceStateRow, after: VoiceStateRow) -> None:
    """Make a member a speaker or move them to the audience of a stage on behalf of a moderator, with an audit log entry.

    `before` and `after` must differ in `suppress`."""
    update(call, before, after)
    suppress_change = AuditLogChange(key="suppress", old_value=bool(before.suppress), new_value=bool(after.suppress))
    audit.record(call, after.guild_id, AuditLogAction.MEMBER_UPDATE, target_id=after.user_id, changes=[suppress_change])


def move(call: Call, before: VoiceStateRow, channel_id: ChannelId) -> None:
    """Move a member to another channel."""
    if before.channel_id == channel_id:
        return
    channel_access = rules.find_voice_channel_standing(call, before.guild_id, channel_id, before.user_id)
    can_send_video = rules.can_send_video(channel_access)
    row = before._replace(
        channel_id=channel_id,
        self_video=int(before.self_video and can_send_video),
        self_stream=int(before.self_stream and can_send_video),
        suppress=int(rules.is_suppressed(channel_access)),
        request_to_speak_ms=None,
        joined_ms=call.now_ms,
    )
    put(call, before, row)


def _schedule_afk(call: Call, row: VoiceStateRow) -> None:
    """Schedule the move of an inactive member to the AFK channel (spec/gateway.md#7).

    A member who deafened themselves counts as inactive (decisions/0018). Any change of the voice state restarts the
    timeout."""
    key = _afk_job_key(row)
    jobs.cancel_jobs(call.tx, MOVE_TO_AFK_JOB, key)
    guild = guilds.find(call.tx, row.guild_id) if row.self_deaf else None
    if guild is not None:
        payload = AfkJobPayload(guild_id=row.guild_id, user_id=row.user_id)
        call.tx.enqueue(MOVE_TO_AFK_JOB, payload, due_ms=call.now_ms + guild.afk_timeout * 1000, key=key)


def move_to_afk(call: Call, job: jobs.Job) -> None:
    """Move a member who is still inactive to the guild's AFK channel. Do nothing in stage channels, or without an AFK channel."""
    payload = job.decode(AfkJobPayload)
    row = store.find(call.tx, payload.guild_id, payload.user_id)
    guild = guilds.find(call.tx, payload.guild_id)
    if row is None or not row.self_deaf or guild is None or guild.afk_channel_id is None:
        return
    channel = access.find_channel(call.tx, row.channel_id)
    if channel is not None and channel.type == ChannelType.GUILD_VOICE:
        move(call, row, ChannelId(guild.afk_channel_id))


def _afk_job_key(row: VoiceStateRow) -> str:
    return f"{MOVE_TO_AFK_JOB}:{row.guild_id}:{row.user_id}"


def leave(call: Call, rows: Sequence[VoiceStateRow], *, is_channel_deleted: bool = False) -> None:
    """Disconnect users, all of one guild. `is_channel_deleted` is True if their channels were deleted."""
    if not rows:
        return
    guild_id = rows[0].guild_id
    members_by_id = members.views.find_views(call.tx, guild_id, [row.user_id for row in rows])
    for row in rows:
        store.delete(call.tx, guild_id, row.user_id)
        store.delete_ticket(call.tx, guild_id, row.user_id)
        jobs.cancel_jobs(call.tx, MOVE_TO_AFK_JOB, _afk_job_key(row))
        _publish_state(call, row, members_by_id.get(row.user_id), has_left=True)
    for channel_id in dict.fromkeys(row.channel_id for row in rows):
        _clear_if_empty(call, guild_id, channel_id)
        _signal_channel_changed(call, guild_id, channel_id)
    for row in rows:
        notify_voice_server(call, guild_id, row.user_id, has_voice_call_ended=is_channel_deleted)


def leave_guild_channels(call: Call, user_id: int) -> None:
    """Disconnect a user from all guild channels."""
    for row in store.list_user_states(call.tx, user_id):
        leave(call, [row])


def delete_guild_states(call: Call, guild_id: GuildId) -> None:
    """Delete the voice states of a deleted or suspended guild. Only the voice server is notified."""
    rows = store.list_guild_states(call.tx, guild_id)
    store.delete_guild_states(call.tx, guild_id)
    for row in rows:
        jobs.cancel_jobs(call.tx, MOVE_TO_AFK_JOB, _afk_job_key(row))
        notify_voice_server(call, guild_id, row.user_id, has_voice_call_ended=True)


def reset(call: Call) -> None:
    """Delete all rows of this slice when a single-process server starts or a snapshot is restored.

    Voice states are deleted without events, since no session exists at that time."""
    channel_keys = dict.fromkeys((row.guild_id, row.channel_id) for row in store.list_all(call.tx))
    store.delete_all(call.tx)
    for guild_id, channel_id in channel_keys:
        _signal_channel_changed(call, guild_id, channel_id)


def publish_again(call: Call, row: VoiceStateRow) -> None:
    """Publish a voice state again after a moderator changed the mute or deafening of the member."""
    _publish_state(call, row, _member_view(call, row))
    notify_voice_server(call, row.guild_id, row.user_id)


def set_status(call: Call, guild_id: GuildId, channel_id: ChannelId, status: str | None) -> None:
    """Set or clear the status of a voice channel, with an audit log entry."""
    voice_channel = store.find_channel(call.tx, channel_id) or VoiceChannelRow(channel_id, guild_id, None, None)
    if voice_channel.status == status:
        return
    store.put_channel(call.tx, voice_channel._replace(status=status))
    _publish_status(call, guild_id, channel_id, status)
    # spec/http.md#3.11: action 192 contains the new status; clearing it is action 193.
    options: dict[str, object] = {"channel_id": int(channel_id)}
    if status is not None:
        options["status"] = status
        action = AuditLogAction.VOICE_CHANNEL_STATUS_UPDATE
    else:
        action = AuditLogAction.VOICE_CHANNEL_STATUS_DELETE
    audit.record(call, guild_id, action, target_id=channel_id, options=options)


def _signal_channel_changed(call: Call, guild_id: int, channel_id: int) -> None:
    call.notify(VoiceChannelChanged(guild_id=GuildId(guild_id), channel_id=ChannelId(channel_id)))


def notify_voice_server(call: Call, server_id: int, user_id: int, *, has_voice_call_ended: bool = False) -> None:
    """Publish VOICE_CHANGED, so that the voice servers reload a user's ticket.

    `server_id` is the ID of the guild, lobby or private channel. `has_voice_call_ended` is True if the voice call ended
    for all participants."""
    voice_changed = VoiceChanged(
        server_id=Snowflake(server_id), user_id=UserId(user_id), has_ended=has_voice_call_ended
    )
    call.tx.emit(VOICE_CHANGED, voice_changed, NO_SESSIONS)


def _member_view(call: Call, row: VoiceStateRow) -> Member | None:
    return members.views.find_views(call.tx, row.guild_id, [row.user_id]).get(row.user_id)


def _publish_state(
    call: Call,
    row: VoiceStateRow,
    member: Member | None,
    *,
    has_left: bool = False,
    hidden_channel_id: int | None = None,
) -> None:
    """Publish a voice state; with `has_left` the state has no channel.

    `hidden_channel_id` limits the audience to other members who cannot see the channel with this ID."""
    state = views.voice_state(row, member, has_left=has_left)
    if hidden_channel_id is None:
        # spec/gateway.md#5: a user receives their own state without the intent as well, since voice libraries wait for it.
        audience = GuildAudience(row.guild_id, row.channel_id, intent_exempt_user_id=int(row.user_id))
    else:
        audience = GuildAudience(
            row.guild_id, row.channel_id, hidden_channel_id=hidden_channel_id, excluded_user_id=int(row.user_id)
        )
    call.tx.emit(wire.VOICE_STATE_UPDATE, state, audience)


def _set_start_time(call: Call, row: VoiceStateRow) -> None:
    """Store and publish the start time of a voice channel when its first user joins."""
    voice_channel = store.find_channel(call.tx, row.channel_id) or VoiceChannelRow(
        row.channel_id, row.guild_id, None, None
    )
    if voice_channel.started_ms is None:
        store.put_channel(call.tx, voice_channel._replace(started_ms=call.now_ms))
        _publish_start_time(call, row.guild_id, row.channel_id, call.now_ms // 1000)


def _clear_if_empty(call: Call, guild_id: GuildId, channel_id: ChannelId) -> None:
    """Clear the start time and the status of a voice channel without users."""
    voice_channel = store.find_channel(call.tx, channel_id)
    if voice_channel is None or store.count_connected(call.tx, channel_id):
        return
    store.delete_channel(call.tx, channel_id)
    if voice_channel.started_ms is not None:
        _publish_start_time(call, guild_id, channel_id, None)
    if voice_channel.status is not None:
        _publish_status(call, guild_id, channel_id, None)


def _publish_status(call: Call, guild_id: GuildId, channel_id: ChannelId, status: str | None) -> None:
    call.tx.emit(
        wire.VOICE_CHANNEL_STATUS_UPDATE,
        wire.VoiceChannelStatus(id=ChannelId(channel_id), guild_id=GuildId(guild_id), status=status),
        GuildAudience(guild_id, channel_id),
    )


def _publish_start_time(call: Call, guild_id: GuildId, channel_id: ChannelId, start_seconds: int | None) -> None:
    call.tx.emit(
        wire.VOICE_CHANNEL_START_TIME_UPDATE,
        wire.VoiceChannelStartTime(
            id=ChannelId(channel_id), guild_id=GuildId(guild_id), voice_start_time=start_seconds
        ),
        GuildAudience(guild_id, channel_id),
    )
