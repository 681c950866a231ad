"""Guild templates: snapshots of a guild from which new guilds are created."""

from typing import Annotated, Final

from msgspec import UNSET, Meta, Struct, UnsetType

from hubbub.protocol import errors
from hubbub.protocol.ids import ChannelId, EmojiId, GuildId, Snowflake, Timestamp, UserId
from hubbub.protocol.images import ImageData
from hubbub.protocol.operation import Auth, Operation
from hubbub.protocol.permissions import Permissions
from hubbub.protocol.resources import guilds
from hubbub.protocol.resources.channel_overwrites import Overwrite
from hubbub.protocol.resources.forum_settings import DefaultReaction
from hubbub.protocol.resources.guilds import Guild, GuildName
from hubbub.protocol.resources.roles import RoleColors
from hubbub.protocol.resources.users import User

TEMPLATE_NAME_MAX: Final = 100
TEMPLATE_DESCRIPTION_MAX: Final = 120

TemplateName = Annotated[str, Meta(min_length=1, max_length=TEMPLATE_NAME_MAX)]
TemplateDescription = Annotated[str, Meta(max_length=TEMPLATE_DESCRIPTION_MAX)]


class TemplateRole(Struct, kw_only=True):
    """A role of the source guild."""

    id: int
    """Number of the role within the template; 0 is @everyone."""
    name: str
    """Name of the role."""
    permissions: Permissions
    """Permissions granted by the role."""
    color: int
    """Deprecated in favor of `colors`: primary color as an RGB number, 0 if there is none."""
    colors: RoleColors | None | UnsetType = UNSET
    """Colors of the role; absent before 2 July 2025 (changes.ROLE_GRADIENTS)."""
    hoist: bool
    """Whether members with the role are listed separately."""
    mentionable: bool
    """Whether every member can mention the role."""
    icon: str | None
    """Always null; icons are not part of templates."""
    unicode_emoji: str | None
    """Unicode emoji shown as the icon; null if there is none."""


class TemplateTag(Struct, kw_only=True):
    """A tag of a forum of the source guild."""

    id: int | None
    """Number of the tag within the channel."""
    name: str
    """Name of the tag."""
    emoji_id: EmojiId | None
    """Always null; custom emoji are not part of templates."""
    emoji_name: str | None
    """Unicode emoji of the tag; null if there is none."""
    moderated: bool | None
    """Whether only holders of MANAGE_THREADS can apply or remove the tag."""


class TemplateChannel(Struct, kw_only=True):
    """A channel of the source guild."""

    id: int | None
    """Number of the channel within the template."""
    type: int
    """Type of the channel: 0 text, 2 voice, 4 category, 15 forum. Other types are stored as the most similar of these."""
    name: str | None
    """Name of the channel."""
    position: int | None
    """Position of the channel."""
    topic: str | None
    """Topic of the channel; null if there is none."""
    bitrate: int
    """Bitrate of a voice channel in bits per second."""
    user_limit: int
    """Maximum number of users in a voice channel; 0 if unlimited."""
    nsfw: bool
    """Whether the channel is age-restricted."""
    rate_limit_per_user: int
    """Slowmode in seconds; 0 if it is off."""
    parent_id: Snowflake | None
    """Number of the category within the template; null if there is none."""
    default_auto_archive_duration: int | None | UnsetType = UNSET
    """Default auto-archive duration of new threads in minutes; absent if it is not set."""
    permission_overwrites: list[Overwrite]
    """Permission overwrites for roles, whose IDs are the numbers of the roles within the template."""
    available_tags: list[TemplateTag] | None
    """Tags of a forum; null for other channels."""
    template: str
    """Always empty."""
    default_reaction_emoji: DefaultReaction | None | UnsetType = UNSET
    """Emoji offered on new posts of a forum; absent if it is not set."""
    default_thread_rate_limit_per_user: int | None | UnsetType = UNSET
    """Slowmode of new threads in seconds; absent if it is not set."""
    default_sort_order: int | None | UnsetType = UNSET
    """Sort order of forum posts: 0 latest activity, 1 creation date; absent if it is not set."""
    default_forum_layout: int | None | UnsetType = UNSET
    """Layout of forum posts: 0 not set, 1 list, 2 grid; absent if it is not set."""
    default_tag_setting: str | None | UnsetType = UNSET
    """Matching of forum tags in searches: `match_all` or `match_some`; absent if it is not set."""
    theme_color: int | None
    """Always null."""


class TemplateGuild(Struct, kw_only=True):
    """A snapshot of the source guild."""

    # The snapshot is stored as JSON: add fields with a default only, and never rename a field.

    name: str
    """Name of the guild."""
    description: str | None
    """Description of the guild; null if there is none."""
    icon_hash: None | UnsetType = UNSET
    """Always null; sent because hikari reads the key, but not stored."""
    region: str | None
    """Always null."""
    verification_level: int
    """Verification level of the guild."""
    default_message_notifications: int
    """Default notifications: 0 all messages, 1 mentions only."""
    explicit_content_filter: int
    """Scanning of media: 0 off, 1 members without roles, 2 all members."""
    preferred_locale: str
    """Preferred locale of the guild."""
    afk_channel_id: ChannelId | None
    """Number of the AFK channel within the template; null if there is none."""
    afk_timeout: int
    """Seconds after which idle members are moved to the AFK channel."""
    system_channel_id: ChannelId | None
    """Number of the system channel within the template; null if there is none."""
    system_channel_flags: int
    """System messages that are suppressed; a `SystemChannelFlags` bit set."""
    roles: list[TemplateRole]
    """Roles of the guild, without managed roles."""
    channels: list[TemplateChannel]
    """Channels of the guild, categories first."""


class Template(Struct, kw_only=True):
    """A guild template, which every user with its code can view and use."""

    code: str
    """Code of the template."""
    name: str
    """Name of the template."""
    description: str | None
    """Description of the template; null if there is none."""
    usage_count: int
    """Number of guilds created from the template."""
    creator_id: UserId
    """ID of the user who created the template."""
    creator: User | None
    """User who created the template; null if the account was deleted."""
    created_at: Timestamp
    """Time at which the template was created."""
    updated_at: Timestamp
    """Time at which the template was last synced with the source guild."""
    source_guild_id: GuildId
    """ID of the source guild."""
    serialized_source_guild: TemplateGuild
    """Snapshot of the source guild."""
    is_dirty: bool | None
    """Whether the source guild changed since the last sync; null if it did not."""


class CreateTemplate(Struct, kw_only=True):
    """A new template of a guild."""

    name: TemplateName
    """Name of the template."""
    description: TemplateDescription | None | UnsetType = UNSET
    """Description of the template; null or absent for none."""


class UpdateTemplate(Struct, kw_only=True):
    """Changes to the name or description of a template; absent fields keep their value."""

    name: TemplateName | UnsetType = UNSET
    """Name of the template."""
    description: TemplateDescription | None | UnsetType = UNSET
    """Description of the template; null removes it."""


class CreateGuildFromTemplate(Struct, kw_only=True):
    """A new guild to create from a template."""

    name: GuildName
    """Name of the guild."""
    icon: ImageData | None | UnsetType = UNSET
    """Icon of the guild as a data URI; null or absent for none."""


_MANAGE_ERRORS: Final = (
    errors.UNKNOWN_GUILD,
    errors.MISSING_ACCESS,
    errors.MISSING_PERMISSIONS,
    errors.TWO_FACTOR_REQUIRED,
)
_TEMPLATE_ERRORS: Final = (*_MANAGE_ERRORS, errors.UNKNOWN_GUILD_TEMPLATE)

GET_GUILD_TEMPLATE = Operation(
    "GET",
    "/guilds/templates/{code}",
    result=Template,
    auth=Auth.BOT | Auth.USER | Auth.ANONYMOUS,
    raises=(errors.UNKNOWN_GUILD_TEMPLATE,),
)

# From changes.GUILD_CREATE_REMOVED_FOR_APPS on, only users can call this operation, as with POST /guilds.
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
        errors.FEATURE_DISABLED,
        errors.MORE_BOOSTS_NEEDED,
    ),
    emits=(guilds.GUILD_CREATE,),
)

LIST_GUILD_TEMPLATES = Operation(
    "GET",
    "/guilds/{guild_id}/templates",
    result=list[Template],
    needs=Permissions.MANAGE_GUILD,
    raises=_MANAGE_ERRORS,
)

CREATE_GUILD_TEMPLATE = Operation(
    "POST",
    "/guilds/{guild_id}/templates",
    body=CreateTemplate,
    result=Template,
    needs=Permissions.MANAGE_GUILD,
    raises=(*_MANAGE_ERRORS, errors.GUILD_ALREADY_HAS_TEMPLATE),
)

SYNC_GUILD_TEMPLATE = Operation(
    "PUT",
    "/guilds/{guild_id}/templates/{code}",
    result=Template,
    needs=Permissions.MANAGE_GUILD,
    raises=_TEMPLATE_ERRORS,
)

UPDATE_GUILD_TEMPLATE = Operation(
    "PATCH",
    "/guilds/{guild_id}/templates/{code}",
    body=UpdateTemplate,
    result=Template,
    needs=Permissions.MANAGE_GUILD,
    raises=_TEMPLATE_ERRORS,
)

DELETE_GUILD_TEMPLATE = Operation(
    "DELETE",
    "/guilds/{guild_id}/templates/{code}",
    result=Template,
    needs=Permissions.MANAGE_GUILD,
    raises=_TEMPLATE_ERRORS,
)
