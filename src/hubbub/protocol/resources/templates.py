"""Guild templates: the shape of a guild, from which others can be made."""

from typing import Annotated, Final

from msgspec import UNSET, Meta, Struct, UnsetType

from hubbub.protocol import errors
from hubbub.protocol.ids import ChannelId, EmojiId, GuildId, Snowflake, Timestamp, UserId
from hubbub.protocol.images import ImageData
from hubbub.protocol.operation import Auth, Operation
from hubbub.protocol.permissions import Permissions
from hubbub.protocol.resources import guilds
from hubbub.protocol.resources.channels import DefaultReaction, Overwrite
from hubbub.protocol.resources.guilds import Guild, GuildName
from hubbub.protocol.resources.roles import RoleColors
from hubbub.protocol.resources.users import User

TEMPLATE_NAME_MAX: Final = 100
TEMPLATE_DESCRIPTION_MAX: Final = 120

TemplateName = Annotated[str, Meta(min_length=1, max_length=TEMPLATE_NAME_MAX)]
TemplateDescription = Annotated[str, Meta(max_length=TEMPLATE_DESCRIPTION_MAX)]


class TemplateRole(Struct, kw_only=True):
    """A role of the source guild; its id is only a number within the template, 0 is @everyone."""

    id: int
    name: str
    permissions: Permissions
    color: int
    colors: RoleColors | None | UnsetType = UNSET
    """From role_gradients on."""
    hoist: bool
    mentionable: bool
    icon: str | None
    unicode_emoji: str | None


class TemplateTag(Struct, kw_only=True):
    """A tag of a forum of the source guild."""

    id: int | None
    name: str
    emoji_id: EmojiId | None
    emoji_name: str | None
    moderated: bool | None


class TemplateChannel(Struct, kw_only=True):
    """A channel of the source guild; its id is only a number within the template."""

    id: int | None
    type: int
    """0 text, 2 voice, 4 category or 15 forum."""
    name: str | None
    position: int | None
    topic: str | None
    bitrate: int
    user_limit: int
    nsfw: bool
    rate_limit_per_user: int
    parent_id: Snowflake | None
    default_auto_archive_duration: int | None
    permission_overwrites: list[Overwrite]
    available_tags: list[TemplateTag] | None
    template: str
    default_reaction_emoji: DefaultReaction | None
    default_thread_rate_limit_per_user: int | None
    default_sort_order: int | None
    default_forum_layout: int | None
    default_tag_setting: str | None
    theme_color: int | None


class TemplateGuild(Struct, kw_only=True):
    """The source guild as a template keeps it. Stored as JSON: add fields with a default, never rename."""

    name: str
    description: str | None
    region: str | None
    verification_level: int
    default_message_notifications: int
    explicit_content_filter: int
    preferred_locale: str
    afk_channel_id: ChannelId | None
    afk_timeout: int
    system_channel_id: ChannelId | None
    system_channel_flags: int
    roles: list[TemplateRole]
    channels: list[TemplateChannel]


class Template(Struct, kw_only=True):
    """A template; who has its code may look at it and use it."""

    code: str
    name: str
    description: str | None
    usage_count: int
    creator_id: UserId
    creator: User | None
    created_at: Timestamp
    updated_at: Timestamp
    source_guild_id: GuildId
    serialized_source_guild: TemplateGuild
    is_dirty: bool | None
    """True when the source guild is different by now."""


class CreateTemplate(Struct, kw_only=True):
    """A new template of a guild."""

    name: TemplateName
    description: TemplateDescription | None | UnsetType = UNSET


class UpdateTemplate(Struct, kw_only=True):
    """What may change about a template, besides syncing it."""

    name: TemplateName | UnsetType = UNSET
    description: TemplateDescription | None | UnsetType = UNSET


class CreateGuildFromTemplate(Struct, kw_only=True):
    """A new guild of a template's shape."""

    name: GuildName
    icon: ImageData | None | UnsetType = UNSET


_MANAGED: Final = (errors.UNKNOWN_GUILD, errors.MISSING_ACCESS, errors.MISSING_PERMISSIONS, errors.TWO_FACTOR_REQUIRED)
_ONE: Final = (*_MANAGED, errors.UNKNOWN_GUILD_TEMPLATE)

GET_GUILD_TEMPLATE = Operation(
    "GET",
    "/guilds/templates/{code}",
    result=Template,
    auth=Auth.BOT | Auth.USER | Auth.ANYONE,
    raises=(errors.UNKNOWN_GUILD_TEMPLATE,),
)

# As POST /guilds: people only from 2025-07-15 (dated change).
CREATE_GUILD_FROM_TEMPLATE = Operation(
    "POST",
    "/guilds/templates/{code}",
    body=CreateGuildFromTemplate,
    result=Guild,
    status=201,
    raises=(
        errors.UNKNOWN_GUILD_TEMPLATE,
        errors.MAX_GUILDS,
        errors.BOTS_CANNOT_USE_ENDPOINT,
        errors.MORE_BOOSTS_NEEDED,
    ),
    emits=(guilds.GUILD_CREATE,),
)

LIST_GUILD_TEMPLATES = Operation(
    "GET",
    "/guilds/{guild_id}/templates",
    result=list[Template],
    needs=Permissions.MANAGE_GUILD,
    raises=_MANAGED,
)

CREATE_GUILD_TEMPLATE = Operation(
    "POST",
    "/guilds/{guild_id}/templates",
    body=CreateTemplate,
    result=Template,
    needs=Permissions.MANAGE_GUILD,
    raises=(*_MANAGED, errors.GUILD_ALREADY_HAS_TEMPLATE),
)

SYNC_GUILD_TEMPLATE = Operation(
    "PUT",
    "/guilds/{guild_id}/templates/{code}",
    result=Template,
    needs=Permissions.MANAGE_GUILD,
    raises=_ONE,
)

UPDATE_GUILD_TEMPLATE = Operation(
    "PATCH",
    "/guilds/{guild_id}/templates/{code}",
    body=UpdateTemplate,
    result=Template,
    needs=Permissions.MANAGE_GUILD,
    raises=_ONE,
)

DELETE_GUILD_TEMPLATE = Operation(
    "DELETE",
    "/guilds/{guild_id}/templates/{code}",
    result=Template,
    needs=Permissions.MANAGE_GUILD,
    raises=_ONE,
)
