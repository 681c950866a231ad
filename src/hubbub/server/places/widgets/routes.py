"""HTTP handlers for widgets: settings for managers of a guild, and the public widget."""

from collections.abc import Iterator
from typing import Any

from msgspec import UNSET

from hubbub.protocol import errors
from hubbub.protocol.enums import ChannelType
from hubbub.protocol.ids import ChannelId, GuildId
from hubbub.protocol.images import DEFAULT_AVATAR_COUNT
from hubbub.protocol.permissions import Permissions, channel_permissions
from hubbub.protocol.resources import widgets as wire
from hubbub.server.core.batches import batches
from hubbub.server.core.call import Call
from hubbub.server.core.slices import handles
from hubbub.server.places import channels, guilds, invites, members, roles, voice_states
from hubbub.server.places.guilds import GuildRow
from hubbub.server.places.invites import InviteRow
from hubbub.server.places.standing import access
from hubbub.server.places.widgets import image, store


@handles(wire.GET_GUILD_WIDGET_SETTINGS)
def get_guild_widget_settings(call: Call, guild_id: GuildId) -> wire.WidgetSettings:
    """Get a guild's widget settings."""
    return _settings_view(_require_guild(call, guild_id))


@handles(wire.UPDATE_GUILD_WIDGET_SETTINGS)
def update_guild_widget_settings(call: Call, guild_id: GuildId, body: wire.UpdateWidgetSettings) -> wire.WidgetSettings:
    """Update a guild's widget settings.

    The settings enable or disable the widget and set the channel of its invite."""
    before = _require_guild(call, guild_id)
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
                # The widget invites anyone to this channel, so the caller must be able to see it.
                access.get_channel_standing(call, body.channel_id)
        after = after._replace(widget_channel_id=body.channel_id)
    guilds.update(call, before, after)
    return _settings_view(after)


# The handler writes if the widget's invite does not exist yet.
@handles(wire.GET_GUILD_WIDGET, writes=True)
def get_guild_widget(call: Call, guild_id: GuildId) -> wire.Widget:
    """Get a guild's widget.

    The widget is public. It lists online members without their IDs, and contains an invite."""
    guild = _require_guild_with_widget(call, guild_id)
    channel_rows = _public_voice_channels(call, guild_id)
    return wire.Widget(
        id=guild_id,
        name=guild.name,
        instant_invite=_invite_url(call, guild),
        channels=[
            wire.WidgetChannel(id=ChannelId(row.id), name=row.name or "", position=row.position) for row in channel_rows
        ],
        members=_widget_members(call, guild, {row.id for row in channel_rows}),
        presence_count=_count_online_members(call, guild),
    )


@handles(wire.GET_GUILD_WIDGET_PNG)
def get_guild_widget_png(call: Call, guild_id: GuildId, query: wire.GetWidgetImage) -> bytes:
    """Get a guild's widget as a PNG image."""
    guild = _require_guild_with_widget(call, guild_id)
    return image.draw_widget(guild.name, _count_online_members(call, guild), query.style)


def _require_guild(call: Call, guild_id: int) -> GuildRow:
    row = guilds.find(call.tx, guild_id)
    if row is None:
        raise errors.UNKNOWN_GUILD()
    return row


def _require_guild_with_widget(call: Call, guild_id: int) -> GuildRow:
    """Return the guild; raise if it is suspended or its widget is disabled."""
    row = _require_guild(call, guild_id)
    access.require_unsuspended(call, row.id, row.suspension_reason)
    if not row.widget_enabled:
        raise errors.WIDGET_DISABLED()
    return row


def _settings_view(row: GuildRow) -> wire.WidgetSettings:
    channel_id = row.widget_channel_id
    return wire.WidgetSettings(
        enabled=bool(row.widget_enabled), channel_id=None if channel_id is None else ChannelId(channel_id)
    )


def _count_online_members(call: Call, guild: GuildRow) -> int:
    return guilds.membership.count_online(call.tx, [guild], {presence.user_id for presence in call.presences})[guild.id]


def _public_voice_channels(call: Call, guild_id: int) -> list[channels.ChannelRow]:
    """Return the voice channels that @everyone can see and connect to."""
    everyone_role = roles.find(call.tx, guild_id, guild_id)
    everyone_permissions = 0 if everyone_role is None else everyone_role.permissions
    overwrites_by_channel = channels.overwrites.find_overwrites_of_guild(call.tx, guild_id)
    required_permissions = Permissions.VIEW_CHANNEL | Permissions.CONNECT
    public_rows = []
    for row in channels.list_guild_channels(call.tx, guild_id):
        permissions_by_target = {
            overwrite.target_id: (overwrite.allow, overwrite.deny)
            for overwrite in overwrites_by_channel.get(row.id, [])
        }
        permissions_in_channel = channel_permissions(
            everyone_permissions, permissions_by_target.get(guild_id), [], None
        )
        if row.type == ChannelType.GUILD_VOICE and not required_permissions & ~permissions_in_channel:
            public_rows.append(row)
    return public_rows


def _widget_members(call: Call, guild: GuildRow, channel_ids: set[int]) -> list[wire.WidgetMember]:
    """Return at most WIDGET_MEMBERS_MAX online members, with numbers in place of their IDs (spec/http.md#3.5).

    Voice states are included for the channels in `channel_ids`."""
    presences_by_user = {presence.user_id: presence for presence in call.presences}
    states_by_user = {
        row.user_id: row for row in voice_states.list_guild_states(call.tx, guild.id) if row.channel_id in channel_ids
    }
    widget_members: list[wire.WidgetMember] = []
    for member in _iterate_online_members(call, guild, list(presences_by_user)):
        member_number = len(widget_members)
        presence = presences_by_user[member.row.user_id]
        view = wire.WidgetMember(
            id=str(member_number),
            username=member.row.nick or member.user.global_name or member.user.username,
            status=presence.status,
            avatar_url=f"{call.config.cdn_url}/embed/avatars/{member_number % DEFAULT_AVATAR_COUNT}.png",
        )
        activity_name = next((name for activity in presence.activities if (name := _activity_name(activity))), None)
        if activity_name is not None:
            view.activity = wire.WidgetActivity(name=activity_name)
        if (state := states_by_user.get(member.row.user_id)) is not None:
            view.channel_id = ChannelId(state.channel_id)
            view.deaf, view.mute = bool(member.row.deaf), bool(member.row.mute)
            view.self_deaf, view.self_mute = bool(state.self_deaf), bool(state.self_mute)
            view.suppress = bool(state.suppress)
        widget_members.append(view)
        if len(widget_members) == wire.WIDGET_MEMBERS_MAX:
            break
    return widget_members


def _iterate_online_members(call: Call, guild: GuildRow, online_ids: list[int]) -> Iterator[members.Membership]:
    """Iterate over the online users who are members of the guild, starting from the smaller of both sets."""
    if guild.member_count < len(online_ids):
        online_id_set = set(online_ids)
        online_ids = [
            user_id for user_id in guilds.membership.list_member_ids(call.tx, guild.id) if user_id in online_id_set
        ]
    for batch in batches(online_ids):
        yield from members.find_many(call.tx, guild.id, batch).values()


def _activity_name(activity: Any) -> str | None:
    """Return the name of an activity, which is a dict or a struct, or None if it has none."""
    name = activity.get("name") if isinstance(activity, dict) else getattr(activity, "name", None)
    return name if isinstance(name, str) and name else None


def _invite_url(call: Call, guild: GuildRow) -> str | None:
    """Return the widget's invite URL. Create the invite if it does not exist.

    Return None if the widget has no channel, or if the guild has too many invites."""
    if guild.widget_channel_id is None:
        return None
    code = store.find_invite_code(call.tx, guild.id)
    row = None if code is None else invites.find(call.tx, code)
    if row is None or row.channel_id != guild.widget_channel_id:
        template = InviteRow(
            code="",
            guild_id=guild.id,
            channel_id=guild.widget_channel_id,
            inviter_id=None,
            created_ms=call.now_ms,
            expires_ms=None,
            max_age=0,
            max_uses=0,
        )
        try:
            row = invites.create(call, template, is_audited=False)
        except errors.ApiError as error:
            if error.kind is not errors.MAX_INVITES:
                raise
            return None
        store.put_invite_code(call.tx, guild.id, row.code)
    return f"{(call.config.public_url or '').rstrip('/')}/invite/{row.code}"
