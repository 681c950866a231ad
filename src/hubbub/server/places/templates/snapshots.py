"""Take a snapshot of a guild's structure, and create a guild from a snapshot."""

from typing import Any, Final

from msgspec import UNSET

from hubbub.protocol import codec, errors
from hubbub.protocol.enums import FORUM_TYPES, ChannelType, OverwriteType
from hubbub.protocol.ids import ChannelId, EmojiId, GuildId, RoleId, Snowflake, TagId
from hubbub.protocol.permissions import Permissions
from hubbub.protocol.resources import templates as wire
from hubbub.protocol.resources.channel_overwrites import Overwrite
from hubbub.protocol.resources.channels import BITRATE_DEFAULT
from hubbub.protocol.resources.forum_settings import DefaultReaction, ForumTag
from hubbub.protocol.resources.roles import RoleColors
from hubbub.server.core.call import Call
from hubbub.server.core.store import Tx
from hubbub.server.places import channels, guilds, roles

_TEMPLATE_CHANNEL_TYPES: Final = {
    ChannelType.GUILD_TEXT: ChannelType.GUILD_TEXT,
    ChannelType.GUILD_ANNOUNCEMENT: ChannelType.GUILD_TEXT,
    ChannelType.GUILD_VOICE: ChannelType.GUILD_VOICE,
    ChannelType.GUILD_STAGE_VOICE: ChannelType.GUILD_VOICE,
    ChannelType.GUILD_CATEGORY: ChannelType.GUILD_CATEGORY,
    ChannelType.GUILD_FORUM: ChannelType.GUILD_FORUM,
    ChannelType.GUILD_MEDIA: ChannelType.GUILD_FORUM,
}
"""Channel type in a template, by type of the channel. The published format has only four types."""

_CHANNEL_SETTINGS: Final = (
    "default_auto_archive_duration",
    "default_thread_rate_limit_per_user",
    "default_sort_order",
    "default_forum_layout",
    "default_tag_setting",
)
"""Settings of a channel that have the same name and value in a template and in a channel row."""


def take_snapshot(tx: Tx, guild_id: int) -> wire.TemplateGuild:
    """Return the structure of a guild: its settings, its roles without managed roles, and its channels.

    Roles and channels have small numbers in place of their IDs; @everyone is role 0, and channels start at 1."""
    guild = guilds.find(tx, guild_id)
    if guild is None:
        raise errors.UNKNOWN_GUILD()
    role_rows = [row for row in roles.list_guild_roles(tx, guild_id) if not row.managed]
    role_numbers = {row.id: number for number, row in enumerate(role_rows)}
    overwrites_by_channel = channels.overwrites.find_overwrites_of_guild(tx, guild_id)
    channel_rows = channels.list_guild_channels(tx, guild_id)
    # Categories come first, so that a parent is numbered before its channels.
    channel_rows.sort(key=lambda row: (row.type != ChannelType.GUILD_CATEGORY, row.position, row.id))
    channel_numbers = {row.id: number for number, row in enumerate(channel_rows, start=1)}

    def channel_number(channel_id: int | None) -> ChannelId | None:
        return ChannelId(channel_numbers[channel_id]) if channel_id in channel_numbers else None

    return wire.TemplateGuild(
        name=guild.name,
        description=guild.description,
        region=None,
        verification_level=guild.verification_level,
        default_message_notifications=guild.default_message_notifications,
        explicit_content_filter=guild.explicit_content_filter,
        preferred_locale=guild.preferred_locale,
        afk_channel_id=channel_number(guild.afk_channel_id),
        afk_timeout=guild.afk_timeout,
        system_channel_id=channel_number(guild.system_channel_id),
        system_channel_flags=guild.system_channel_flags,
        roles=[_template_role(role_numbers[row.id], row) for row in role_rows],
        channels=[
            _template_channel(
                channel_numbers[row.id],
                row,
                channel_number(row.parent_id),
                overwrites_by_channel.get(row.id, []),
                role_numbers,
            )
            for row in channel_rows
            if row.type in _TEMPLATE_CHANNEL_TYPES
        ],
    )


def _template_role(template_id: int, row: roles.RoleRow) -> wire.TemplateRole:
    return wire.TemplateRole(
        id=template_id,
        name=row.name,
        permissions=Permissions(row.permissions),
        color=row.color,
        colors=RoleColors(
            primary_color=row.color, secondary_color=row.secondary_color, tertiary_color=row.tertiary_color
        ),
        hoist=bool(row.hoist),
        mentionable=bool(row.mentionable),
        icon=None,
        unicode_emoji=row.unicode_emoji,
    )


def _template_channel(
    template_id: int,
    row: channels.ChannelRow,
    parent_id: ChannelId | None,
    overwrites: list[channels.overwrites.OverwriteRow],
    role_numbers: dict[int, int],
) -> wire.TemplateChannel:
    """Return a channel of a template, whose ID there is `template_id`.

    `role_numbers` maps role IDs to the template's role IDs."""
    is_forum = row.type in FORUM_TYPES
    reaction_json = row.default_reaction_emoji
    return wire.TemplateChannel(
        id=template_id,
        type=int(_TEMPLATE_CHANNEL_TYPES[ChannelType(row.type)]),
        name=row.name,
        position=row.position,
        topic=row.topic,
        bitrate=BITRATE_DEFAULT if row.bitrate is None else row.bitrate,
        user_limit=row.user_limit or 0,
        nsfw=bool(row.nsfw),
        rate_limit_per_user=row.rate_limit_per_user,
        parent_id=None if parent_id is None else Snowflake(parent_id),
        default_auto_archive_duration=row.default_auto_archive_duration,
        # Members are not part of a snapshot, so only role overwrites are included.
        permission_overwrites=[
            Overwrite(
                id=Snowflake(role_numbers[overwrite.target_id]),
                type=overwrite.type,
                allow=Permissions(overwrite.allow),
                deny=Permissions(overwrite.deny),
            )
            for overwrite in overwrites
            if overwrite.target_id in role_numbers
        ],
        available_tags=[_template_tag(index, tag) for index, tag in enumerate(channels.views.tags(row))]
        if is_forum
        else None,
        template="",
        default_reaction_emoji=None
        if reaction_json is None
        else _without_custom_emoji(codec.decode(reaction_json, DefaultReaction)),
        default_thread_rate_limit_per_user=row.default_thread_rate_limit_per_user,
        default_sort_order=row.default_sort_order,
        default_forum_layout=row.default_forum_layout if is_forum else None,
        default_tag_setting=row.default_tag_setting,
        theme_color=None,
    )


def _template_tag(template_id: int, tag: ForumTag) -> wire.TemplateTag:
    # A custom emoji belongs to the source guild, so the template has only Unicode emojis.
    return wire.TemplateTag(
        id=template_id, name=tag.name, emoji_id=None, emoji_name=tag.emoji_name, moderated=tag.moderated
    )


def _without_custom_emoji(reaction: DefaultReaction) -> DefaultReaction | None:
    return None if reaction.emoji_id is not None else reaction


# Creating guilds


def create_guild(
    call: Call, template_guild: wire.TemplateGuild, name: str, settings: dict[str, Any]
) -> guilds.GuildRow:
    """Create a guild from a snapshot, with the name `name`. `settings` are columns of the guild that the snapshot lacks."""
    guild_id = call.new_id(GuildId)
    role_ids_by_number: dict[int, int] = {
        role.id: guild_id if role.id == 0 else call.new_id(RoleId) for role in template_guild.roles
    }
    channel_ids_by_number: dict[int, int] = {
        channel.id: call.new_id(ChannelId) for channel in template_guild.channels if channel.id is not None
    }
    contents = guilds.creation.InitialContents(
        everyone_permissions=next(
            (int(role.permissions) for role in template_guild.roles if role.id == 0), Permissions.DEFAULT_EVERYONE
        ),
        roles=[_new_role(role_ids_by_number[role.id], guild_id, role) for role in template_guild.roles if role.id],
        channels=[
            guilds.creation.NewChannel(
                id=channel_ids_by_number[channel.id],
                name=channel.name or "channel",
                type=channel.type,
                position=channel.position or 0,
                parent_id=channel_ids_by_number.get(channel.parent_id or 0),
                topic=channel.topic,
                nsfw=int(channel.nsfw),
                rate_limit_per_user=channel.rate_limit_per_user,
                bitrate=channel.bitrate if channel.type == ChannelType.GUILD_VOICE else None,
                user_limit=channel.user_limit if channel.type == ChannelType.GUILD_VOICE else None,
            )
            for channel in template_guild.channels
            if channel.id is not None
        ],
        overwrites=[
            guilds.creation.NewOverwrite(
                channel_ids_by_number[channel.id],
                role_ids_by_number[overwrite.id],
                OverwriteType.ROLE,
                int(overwrite.allow),
                int(overwrite.deny),
            )
            for channel in template_guild.channels
            if channel.id is not None
            for overwrite in channel.permission_overwrites
            if overwrite.id in role_ids_by_number
        ],
        system_channel_id=channel_ids_by_number.get(template_guild.system_channel_id or 0),
        afk_channel_id=channel_ids_by_number.get(template_guild.afk_channel_id or 0),
    )
    row = guilds.creation.create(
        call,
        owner_id=call.user_id,
        name=name,
        guild_id=guild_id,
        contents=contents,
        verification_level=template_guild.verification_level,
        default_message_notifications=template_guild.default_message_notifications,
        explicit_content_filter=template_guild.explicit_content_filter,
        preferred_locale=template_guild.preferred_locale,
        afk_timeout=template_guild.afk_timeout,
        system_channel_flags=template_guild.system_channel_flags,
        description=template_guild.description,
        **settings,
    )
    _apply_channel_settings(call, template_guild, channel_ids_by_number)
    return row


def _new_role(role_id: int, guild_id: int, role: wire.TemplateRole) -> roles.RoleRow:
    return roles.RoleRow(
        role_id,
        guild_id,
        role.name,
        int(role.permissions),
        role.id,
        color=role.color,
        hoist=int(role.hoist),
        mentionable=int(role.mentionable),
    )


def _apply_channel_settings(
    call: Call, template_guild: wire.TemplateGuild, channel_ids_by_number: dict[int, int]
) -> None:
    """Apply the channel settings that `guilds.creation.NewChannel` does not have.

    `channel_ids_by_number` maps the numbers of channels in the template to the IDs of the new channels."""
    rows_by_id = channels.find_many(call.tx, channel_ids_by_number.values())
    for channel in template_guild.channels:
        before = rows_by_id.get(channel_ids_by_number.get(channel.id or 0, 0))
        if before is None:
            continue
        settings: dict[str, Any] = {name: getattr(channel, name) for name in _CHANNEL_SETTINGS}
        settings = {name: None if value is UNSET else value for name, value in settings.items()}
        after = before._replace(**settings)
        if channel.default_reaction_emoji:
            after = after._replace(default_reaction_emoji=codec.encode(channel.default_reaction_emoji).decode())
        if channel.available_tags:
            tags = [
                ForumTag(
                    id=call.new_id(TagId),
                    name=tag.name,
                    moderated=bool(tag.moderated),
                    emoji_id=None if tag.emoji_id is None else EmojiId(tag.emoji_id),
                    emoji_name=tag.emoji_name,
                )
                for tag in channel.available_tags
            ]
            after = after._replace(available_tags=codec.encode(tags).decode())
        channels.update(call.tx, before, after)
