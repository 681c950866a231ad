"""Voice states: the connections of users to voice channels and to calls outside guilds, and their tickets."""

from typing import Any

from hubbub.protocol.ids import ChannelId
from hubbub.protocol.intents import Intents
from hubbub.server.core.call import Call
from hubbub.server.core.gateway_queries import GuildView
from hubbub.server.core.slices import Slice
from hubbub.server.places import members
from hubbub.server.places.channels.signals import ChannelsDeleting
from hubbub.server.places.guilds import GuildDeleting
from hubbub.server.places.guilds.interface.administration import GuildSuspended
from hubbub.server.places.members.signals import MemberRemoved, VoiceModerated
from hubbub.server.places.voice_states import actions, ports, routes, signals, store, tickets, views
from hubbub.server.places.voice_states.actions import leave_guild_channels
from hubbub.server.places.voice_states.connections import calls, commands, voice_server
from hubbub.server.places.voice_states.connections.commands import on_session_ended
from hubbub.server.places.voice_states.store import (
    are_together,
    count_connected,
    count_speakers,
    find,
    list_guild_states,
)


def _guild_create_fields(call: Call, view: GuildView) -> dict[str, Any]:
    """Return the voice states of GUILD_CREATE that one viewer can see."""
    if not view.intents & Intents.GUILD_VOICE_STATES:
        return {"voice_states": []}
    rows = [row for row in store.list_guild_states(call.tx, view.guild.id) if row.channel_id in view.visible]
    members_by_id = members.views.find_views(call.tx, view.guild.id, [row.user_id for row in rows])
    state_views = []
    for row in rows:
        if (member := members_by_id.get(row.user_id)) is not None:
            state_views.append(views.voice_state(row, member, with_guild=False))
    return {"voice_states": state_views}


def _on_member_removed(call: Call, signal: MemberRemoved) -> None:
    if (row := store.find(call.tx, signal.guild_id, signal.user_id)) is not None:
        actions.leave(call, [row])


def _on_channels_deleting(call: Call, signal: ChannelsDeleting) -> None:
    actions.leave(call, store.list_channel_states(call.tx, signal.channel_ids), is_channel_deleted=True)


def _on_guild_deleting(call: Call, signal: GuildDeleting) -> None:
    actions.delete_guild_states(call, signal.guild_id)


def _on_guild_suspended(call: Call, signal: GuildSuspended) -> None:
    actions.delete_guild_states(call, signal.guild_id)


def move_member(call: Call, guild_id: int, user_id: int, channel_id: ChannelId | None) -> None:
    """Move a connected member to a voice channel, or disconnect them if `channel_id` is None."""
    row = store.find(call.tx, guild_id, user_id)
    if row is None:
        return
    if channel_id is None:
        actions.leave(call, [row])
    else:
        actions.move(call, row, channel_id)


def _on_voice_moderated(call: Call, signal: VoiceModerated) -> None:
    if (row := store.find(call.tx, signal.guild_id, signal.user_id)) is not None:
        actions.publish_again(call, row)


def reset(call: Call) -> None:
    """Delete all voice connections when a single-process server starts or a snapshot is restored."""
    actions.reset(call)


SLICE = Slice(
    name="voice_states",
    modules=(routes, commands, ports),
    jobs={actions.MOVE_TO_AFK_JOB: actions.move_to_afk, commands.JOIN_JOB: commands.join_after_delay},
    listeners={
        ChannelsDeleting: _on_channels_deleting,
        GuildDeleting: _on_guild_deleting,
        GuildSuspended: _on_guild_suspended,
        MemberRemoved: _on_member_removed,
        VoiceModerated: _on_voice_moderated,
    },
    guild=_guild_create_fields,
    session_ended=on_session_ended,
)

__all__ = [
    "SLICE",
    "are_together",
    "calls",
    "count_connected",
    "count_speakers",
    "find",
    "leave_guild_channels",
    "list_guild_states",
    "move_member",
    "ports",
    "reset",
    "signals",
    "tickets",
    "voice_server",
]
