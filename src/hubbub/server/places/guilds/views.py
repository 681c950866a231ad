"""Build the wire models of guilds."""

from collections.abc import Iterable

from msgspec import UNSET, UnsetType

from hubbub.protocol import changes, codec
from hubbub.protocol.enums import NsfwLevel
from hubbub.protocol.ids import ApplicationId, ChannelId, GuildId, UserId
from hubbub.protocol.permissions import Permissions
from hubbub.protocol.resources import guilds as wire
from hubbub.server.core.store import Tx
from hubbub.server.places import roles
from hubbub.server.places.expressions import emojis, stickers
from hubbub.server.places.guilds.store import GuildRow


def guild(
    tx: Tx, row: GuildRow, role_rows: Iterable[roles.RoleRow], online_count: int | None = None, *, now_ms: int | None
) -> wire.Guild:
    """Build a guild for its members. Roles have the fields that exist at `now_ms` (Unix milliseconds), or all fields if it is None.

    `online_count` is the number of online members; if it is None, both approximate counts are omitted."""
    return wire.Guild(
        id=GuildId(row.id),
        name=row.name,
        owner_id=UserId(row.owner_id),
        roles=[roles.role(role, now_ms) for role in role_rows],
        emojis=emojis.list_guild_emojis(tx, row.id),
        stickers=stickers.list_guild_stickers(tx, row.id),
        features=row.feature_names,
        icon=row.icon,
        description=row.description,
        splash=row.splash,
        discovery_splash=row.discovery_splash,
        banner=row.banner,
        application_id=None if row.application_id is None else ApplicationId(row.application_id),
        afk_channel_id=_channel_id(row.afk_channel_id),
        afk_timeout=row.afk_timeout,
        system_channel_id=_channel_id(row.system_channel_id),
        system_channel_flags=row.system_channel_flags,
        widget_enabled=bool(row.widget_enabled),
        widget_channel_id=_channel_id(row.widget_channel_id),
        verification_level=row.verification_level,
        default_message_notifications=row.default_message_notifications,
        mfa_level=row.mfa_level,
        explicit_content_filter=row.explicit_content_filter,
        vanity_url_code=row.vanity_url_code,
        premium_tier=row.premium_tier,
        premium_subscription_count=row.premium_subscription_count,
        preferred_locale=row.preferred_locale,
        rules_channel_id=_channel_id(row.rules_channel_id),
        safety_alerts_channel_id=_channel_id(row.safety_alerts_channel_id),
        public_updates_channel_id=_channel_id(row.public_updates_channel_id),
        premium_progress_bar_enabled=bool(row.premium_progress_bar_enabled),
        nsfw=row.nsfw_level in (NsfwLevel.EXPLICIT, NsfwLevel.AGE_RESTRICTED),
        nsfw_level=row.nsfw_level,
        incidents_data=None if row.incidents is None else codec.decode(row.incidents, wire.IncidentsData),
        approximate_member_count=UNSET if online_count is None else row.member_count,
        approximate_presence_count=UNSET if online_count is None else online_count,
    )


def preview(tx: Tx, row: GuildRow, online_count: int) -> wire.GuildPreview:
    """Build the preview of a guild for members and, if it is discoverable, for other users.

    `online_count` is the number of online members."""
    return wire.GuildPreview(
        id=GuildId(row.id),
        name=row.name,
        icon=row.icon,
        description=row.description,
        home_header=None,
        splash=row.splash,
        discovery_splash=row.discovery_splash,
        features=row.feature_names,
        approximate_member_count=row.member_count,
        approximate_presence_count=online_count,
        emojis=emojis.list_guild_emojis(tx, row.id),
        stickers=stickers.list_guild_stickers(tx, row.id),
    )


def my_guild(row: GuildRow, user_id: int, permissions: int, online_count: int | None, now_ms: int) -> wire.MyGuild:
    """Build a guild of a user's own guild list. `permissions` are the user's permissions in the guild.

    `online_count` is the number of online members; if it is None, both approximate counts are omitted."""
    member_count: int | UnsetType = UNSET if online_count is None else row.member_count
    return wire.MyGuild(
        id=GuildId(row.id),
        name=row.name,
        icon=row.icon,
        banner=row.banner if changes.GUILD_LIST_BANNER.is_active(now_ms) else UNSET,
        owner=row.owner_id == user_id,
        permissions=Permissions(permissions),
        features=row.feature_names,
        approximate_member_count=member_count,
        approximate_presence_count=UNSET if online_count is None else online_count,
    )


def _channel_id(channel_id: int | None) -> ChannelId | None:
    return None if channel_id is None else ChannelId(channel_id)
