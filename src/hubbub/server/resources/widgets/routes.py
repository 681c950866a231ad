"""Widgets over HTTP: the settings for those who manage a guild, the rest for everybody."""

from collections.abc import Iterator
from typing import Any, Final

from msgspec import UNSET

from hubbub.protocol import errors
from hubbub.protocol.enums import ChannelType
from hubbub.protocol.ids import ChannelId, GuildId
from hubbub.protocol.permissions import Permissions, channel_permissions
from hubbub.protocol.resources import widgets as wire
from hubbub.server.core import access
from hubbub.server.core.call import Call
from hubbub.server.core.slices import handles
from hubbub.server.resources import channels, guilds, invites, members, roles, voice_states
from hubbub.server.resources.guilds import GuildRow
from hubbub.server.resources.invites import InviteRow
from hubbub.server.resources.widgets import picture, store

AVATARS: Final = 6
"""There are so many default avatars, and members of a widget show no other."""
BATCH: Final = 500


@handles(wire.GET_GUILD_WIDGET_SETTINGS)
def get_guild_widget_settings(call: Call, guild_id: GuildId) -> wire.WidgetSettings:
    """Whether a guild has a widget."""
    return _settings(_guild(call, guild_id))


@handles(wire.UPDATE_GUILD_WIDGET_SETTINGS)
def update_guild_widget_settings(call: Call, guild_id: GuildId, body: wire.UpdateWidgetSettings) -> wire.WidgetSettings:
    """Switch the widget on or off, and say where its invite leads."""
    before = _guild(call, guild_id)
    after = before
    if isinstance(body.enabled, bool):
        after = after._replace(widget_enabled=int(body.enabled))
    if body.channel_id is not UNSET:
        if body.channel_id is not None:
            channel = access.find_channel(call.tx, body.channel_id)
            if channel is None or channel.guild_id != guild_id:
                raise errors.UNKNOWN_CHANNEL()
            if channel.is_thread or channel.type == ChannelType.GUILD_CATEGORY:
                raise errors.WRONG_CHANNEL_TYPE()
            if body.channel_id != before.widget_channel_id:
                # The widget lets everybody in there, so who chooses it must see it.
                access.channel(call, body.channel_id)
        after = after._replace(widget_channel_id=body.channel_id)
    guilds.change(call, before, after)
    return _settings(after)


# It writes where the widget shows an invite that is not there yet.
@handles(wire.GET_GUILD_WIDGET, writes=True)
def get_guild_widget(call: Call, guild_id: GuildId) -> wire.Widget:
    """A guild for a stranger's page: who is online without who they are, and the way in."""
    guild = _enabled(call, guild_id)
    shown = _channels(call, guild_id)
    return wire.Widget(
        id=guild_id,
        name=guild.name,
        instant_invite=_invite(call, guild),
        channels=[
            wire.WidgetChannel(id=ChannelId(row.id), name=row.name or "", position=row.position) for row in shown
        ],
        members=_members(call, guild, {row.id for row in shown}),
        presence_count=_online(call, guild),
    )


@handles(wire.GET_GUILD_WIDGET_PNG)
def get_guild_widget_png(call: Call, guild_id: GuildId, query: wire.GetWidgetPicture) -> bytes:
    """The same as a picture."""
    guild = _enabled(call, guild_id)
    return picture.draw(guild.name, _online(call, guild), query.style)


def _guild(call: Call, guild_id: int) -> GuildRow:
    row = guilds.find(call.tx, guild_id)
    if row is None:
        raise errors.UNKNOWN_GUILD()
    return row


def _enabled(call: Call, guild_id: int) -> GuildRow:
    row = _guild(call, guild_id)
    if not row.widget_enabled:
        raise errors.WIDGET_DISABLED()
    return row


def _settings(row: GuildRow) -> wire.WidgetSettings:
    channel_id = row.widget_channel_id
    return wire.WidgetSettings(
        enabled=bool(row.widget_enabled), channel_id=None if channel_id is None else ChannelId(channel_id)
    )


def _online(call: Call, guild: GuildRow) -> int:
    return guilds.count_present(call.tx, [guild], {presence.user_id for presence in call.presences})[guild.id]


def _channels(call: Call, guild_id: int) -> list[channels.ChannelRow]:
    """The voice channels that everybody may see and enter."""
    everyone = roles.find(call.tx, guild_id, guild_id)
    bits = 0 if everyone is None else everyone.permissions
    overwrites = channels.overwrites_of_guild(call.tx, guild_id)
    needed = Permissions.VIEW_CHANNEL | Permissions.CONNECT
    found = []
    for row in channels.list_of_guild(call.tx, guild_id):
        own = {each.target_id: (each.allow, each.deny) for each in overwrites.get(row.id, [])}
        allowed = channel_permissions(bits, own.get(guild_id), [], None)
        if row.type == ChannelType.GUILD_VOICE and not needed & ~allowed:
            found.append(row)
    return found


def _members(call: Call, guild: GuildRow, shown: set[int]) -> list[wire.WidgetMember]:
    """Some of those who are online, under numbers instead of their ids (http.md 3.5)."""
    present = {presence.user_id: presence for presence in call.presences}
    states = {row.user_id: row for row in voice_states.list_of_guild(call.tx, guild.id) if row.channel_id in shown}
    found: list[wire.WidgetMember] = []
    for member in _present(call, guild, list(present)):
        number = len(found)
        presence = present[member.row.user_id]
        one = wire.WidgetMember(
            id=str(number),
            username=member.row.nick or member.user.global_name or member.user.username,
            status=presence.status,
            avatar_url=f"{call.config.cdn_url}/embed/avatars/{number % AVATARS}.png",
        )
        doing = next((name for each in presence.activities if (name := _name(each))), None)
        if doing is not None:
            one.activity = wire.WidgetActivity(name=doing)
        if (state := states.get(member.row.user_id)) is not None:
            one.channel_id = ChannelId(state.channel_id)
            one.deaf, one.mute = bool(member.row.deaf), bool(member.row.mute)
            one.self_deaf, one.self_mute = bool(state.self_deaf), bool(state.self_mute)
            one.suppress = bool(state.suppress)
        found.append(one)
        if len(found) == wire.WIDGET_MEMBERS_MAX:
            break
    return found


def _present(call: Call, guild: GuildRow, online: list[int]) -> Iterator[members.Membership]:
    """Those of these who are in the guild; the smaller side is gone through."""
    if guild.member_count < len(online):
        there = set(online)
        online = [user_id for user_id in guilds.member_ids(call.tx, guild.id) if user_id in there]
    for start in range(0, len(online), BATCH):
        yield from members.find_many(call.tx, guild.id, online[start : start + BATCH]).values()


def _name(activity: Any) -> str | None:
    name = activity.get("name") if isinstance(activity, dict) else getattr(activity, "name", None)
    return name if isinstance(name, str) and name else None


def _invite(call: Call, guild: GuildRow) -> str | None:
    """The way in, made where it is not there yet; none without a channel to lead to."""
    if guild.widget_channel_id is None:
        return None
    code = store.find_invite(call.tx, guild.id)
    row = None if code is None else invites.find(call.tx, code)
    if row is None or row.channel_id != guild.widget_channel_id:
        wanted = InviteRow(
            code="",
            guild_id=guild.id,
            channel_id=guild.widget_channel_id,
            inviter_id=None,
            created_ms=call.now,
            expires_ms=None,
            max_age=0,
            max_uses=0,
        )
        try:
            row = invites.create(call, wanted, logged=False)
        except errors.ApiError as refusal:
            if refusal.kind is not errors.MAX_INVITES:
                raise
            return None
        store.put_invite(call.tx, guild.id, row.code)
    return f"{(call.config.public_url or '').rstrip('/')}/invite/{row.code}"
