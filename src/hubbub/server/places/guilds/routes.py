"""HTTP handlers for guilds."""

from typing import Any

from msgspec import UNSET, UnsetType

from hubbub.protocol import codec, errors
from hubbub.protocol.enums import AfkTimeout, GuildFeature, MfaLevel
from hubbub.protocol.flags import SystemChannelFlags
from hubbub.protocol.ids import GuildId
from hubbub.protocol.images import ImageData
from hubbub.protocol.resources import guilds as wire
from hubbub.server.core.call import Call
from hubbub.server.core.slices import handles
from hubbub.server.identity import users
from hubbub.server.places import roles
from hubbub.server.places.guilds import actions, ports, rules, store, views
from hubbub.server.places.guilds.contents import initial_contents
from hubbub.server.places.guilds.store import GuildRow
from hubbub.server.places.standing import GuildAccess, access

_NUMERIC_DEFAULTS = {
    "verification_level": 0,
    "default_message_notifications": 0,
    "explicit_content_filter": 0,
    "afk_timeout": int(AfkTimeout.FIVE_MINUTES),
    "system_channel_flags": 0,
    "premium_progress_bar_enabled": 0,
}
"""Columns of the numeric settings, with the value that null resets each to."""

_CHANNEL_FIELDS = (
    "afk_channel_id",
    "system_channel_id",
    "rules_channel_id",
    "public_updates_channel_id",
    "safety_alerts_channel_id",
)
_IMAGE_FIELDS = ("icon", "splash", "discovery_splash", "banner")


@handles(wire.CREATE_GUILD)
def create_guild(call: Call, body: wire.CreateGuild) -> wire.Guild:
    """Create a guild."""
    rules.require_can_create(call)
    name = rules.clean_name(body.name)
    guild_id = call.new_id(GuildId)
    contents = initial_contents.requested_contents(call, guild_id, body)
    settings = _numeric_settings(body)
    if body.icon:
        rules.require_image_features("icon", body.icon, ())
        settings["icon"] = body.icon.hash
    if call.actor.is_bot:
        settings["application_id"] = call.actor.application_id
    row = actions.create(call, owner_id=call.user_id, name=name, guild_id=guild_id, contents=contents, **settings)
    return views.guild(call.tx, row, roles.list_guild_roles(call.tx, row.id), now_ms=call.now_ms)


@handles(wire.GET_GUILD)
def get_guild(call: Call, guild_id: GuildId, query: wire.GetGuild) -> wire.Guild:
    """Get a guild.

    The caller must be a member."""
    access.get_guild_standing(call, guild_id)
    row = _require_guild(call, guild_id)
    online_count = _count_online_members(call, [row])[guild_id] if query.with_counts else None
    return views.guild(call.tx, row, roles.list_guild_roles(call.tx, guild_id), online_count, now_ms=call.now_ms)


@handles(wire.GET_GUILD_PREVIEW)
def get_guild_preview(call: Call, guild_id: GuildId) -> wire.GuildPreview:
    """Get a guild preview.

    The caller must be a member, or the guild must be discoverable."""
    row = _require_guild(call, guild_id)
    if GuildFeature.DISCOVERABLE not in row.feature_names and not store.is_member(call.tx, guild_id, call.user_id):
        raise errors.UNKNOWN_GUILD()
    access.require_unsuspended(call, row.id, row.suspension_reason)
    return views.preview(call.tx, row, _count_online_members(call, [row])[guild_id])


@handles(wire.UPDATE_GUILD)
def update_guild(call: Call, guild_id: GuildId, body: wire.UpdateGuild) -> wire.Guild:
    """Update a guild."""
    standing = access.get_guild_standing(call, guild_id)
    before = _require_guild(call, guild_id)
    after = _with_owner(call, standing, before, body)
    after = _with_channels(call, after, body)
    if body.features is not UNSET:
        features = rules.updated_features(standing, before.feature_names, body.features or ())
        after = after._replace(features=codec.encode(features).decode())
    after = _with_images(after, body)
    if body.name is not UNSET:
        after = after._replace(name=rules.clean_name(body.name))
    if body.description is not UNSET:
        after = after._replace(description=body.description or None)
    if body.preferred_locale is not UNSET:
        after = after._replace(preferred_locale=rules.require_locale(body.preferred_locale or "en-US"))
    after = after._replace(**_numeric_settings(body))
    rules.require_community_channels(before, after)
    return actions.update(call, before, after)


@handles(wire.SET_GUILD_MFA_LEVEL)
def set_guild_mfa_level(call: Call, guild_id: GuildId, body: wire.GuildMfaLevel) -> wire.GuildMfaLevel:
    """Set the MFA level of a guild.

    Only the owner may set it, and only if the owner uses two-factor authentication."""
    rules.require_owner(access.get_guild_standing(call, guild_id))
    if body.level not in (MfaLevel.NONE, MfaLevel.ELEVATED):
        raise errors.INVALID_MFA_LEVEL()
    owner = users.find(call.tx, call.user_id)
    if owner is None or not owner.mfa_enabled:
        raise errors.TWO_FACTOR_REQUIRED()
    before = _require_guild(call, guild_id)
    actions.update(call, before, before._replace(mfa_level=body.level))
    return body


@handles(wire.DELETE_GUILD)
def delete_guild(call: Call, guild_id: GuildId) -> None:
    """Delete a guild.

    Only the owner may delete it."""
    rules.require_owner(access.get_guild_standing(call, guild_id))
    actions.delete(call, _require_guild(call, guild_id))


@handles(wire.LIST_MY_GUILDS)
def list_my_guilds(call: Call, query: wire.ListMyGuilds) -> list[wire.MyGuild]:
    """List the guilds of the current user."""
    rows = store.list_user_guilds(
        call.tx,
        call.user_id,
        before=None if query.before is UNSET else query.before,
        after=None if query.after is UNSET else query.after,
        limit=query.limit,
    )
    permissions_by_guild = roles.find_permissions(call.tx, call.user_id, [(row.id, row.owner_id) for row in rows])
    online_counts = _count_online_members(call, rows) if query.with_counts else {}
    return [
        views.my_guild(row, call.user_id, permissions_by_guild[row.id], online_counts.get(row.id), call.now_ms)
        for row in rows
    ]


@handles(wire.LEAVE_GUILD)
def leave_guild(call: Call, guild_id: GuildId) -> None:
    """Leave a guild.

    The owner cannot leave."""
    row = store.find(call.tx, guild_id)
    if row is None or not store.is_member(call.tx, guild_id, call.user_id):
        raise errors.UNKNOWN_GUILD()
    if row.owner_id == call.user_id:
        raise errors.INVALID_GUILD()
    ports.remove_member(call, guild_id, call.user_id)


def _require_guild(call: Call, guild_id: GuildId) -> GuildRow:
    row = store.find(call.tx, guild_id)
    if row is None:
        raise errors.UNKNOWN_GUILD()
    return row


def _count_online_members(call: Call, rows: list[GuildRow]) -> dict[int, int]:
    """Return the number of online members of each guild, by guild ID."""
    return store.count_online(call.tx, rows, {presence.user_id for presence in call.presences})


def _numeric_settings(body: wire.CreateGuild | wire.UpdateGuild) -> dict[str, Any]:
    """Return the columns of the numeric settings that a request body contains."""
    columns: dict[str, Any] = {}
    for field, default in _NUMERIC_DEFAULTS.items():
        value = getattr(body, field, UNSET)
        if value is not UNSET:
            columns[field] = default if value is None else int(value)
    if "system_channel_flags" in columns:
        columns["system_channel_flags"] &= SystemChannelFlags.ALL
    return columns


def _with_owner(call: Call, standing: GuildAccess, row: GuildRow, body: wire.UpdateGuild) -> GuildRow:
    if body.owner_id is UNSET or body.owner_id == row.owner_id:
        return row
    rules.require_new_owner(call, standing, body.owner_id)
    return row._replace(owner_id=body.owner_id)


def _with_channels(call: Call, row: GuildRow, body: wire.UpdateGuild) -> GuildRow:
    for field in _CHANNEL_FIELDS:
        channel_id = getattr(body, field)
        if channel_id is UNSET:
            continue
        if channel_id is not None:
            rules.require_channel(call, row.id, field, channel_id)
            if channel_id != getattr(row, field):
                access.get_channel_standing(call, channel_id)
        row = row._replace(**{field: channel_id})
    return row


def _with_images(row: GuildRow, body: wire.UpdateGuild) -> GuildRow:
    if body.home_header:
        # The platform has no feature that allows a home header (decisions/0010).
        raise errors.MORE_BOOSTS_NEEDED()
    for field in _IMAGE_FIELDS:
        image: ImageData | UnsetType | None = getattr(body, field)
        if image is UNSET:
            continue
        if image is not None:
            rules.require_image_features(field, image, row.feature_names)
        image_column: dict[str, Any] = {field: None if image is None else image.hash}
        row = row._replace(**image_column)
    return row
