"""What a guild shows those who come: the welcome screen, and the guide for new members."""

from typing import Annotated, Final

from msgspec import UNSET, Meta, Struct, UnsetType

from hubbub.protocol import errors
from hubbub.protocol.enums import AuditLogAction, NewMemberActionType
from hubbub.protocol.ids import ChannelId, EmojiId, GuildId, UserId
from hubbub.protocol.operation import Auth, Operation
from hubbub.protocol.permissions import Permissions
from hubbub.protocol.resources import guilds

WELCOME_CHANNELS_MAX: Final = 5
WELCOME_DESCRIPTION_MAX: Final = 140
WELCOME_CHANNEL_DESCRIPTION_MAX: Final = 50
WELCOME_MESSAGE_MAX: Final = 300
NEW_MEMBER_ACTIONS_MAX: Final = 5
RESOURCE_CHANNELS_MAX: Final = 7
GUIDE_TITLE_MAX: Final = 60
GUIDE_DESCRIPTION_MAX: Final = 200

EmojiName = Annotated[str, Meta(max_length=100)]
GuideTitle = Annotated[str, Meta(min_length=1, max_length=GUIDE_TITLE_MAX)]
GuideDescription = Annotated[str, Meta(max_length=GUIDE_DESCRIPTION_MAX)]


class WelcomeChannel(Struct, kw_only=True):
    """A channel that newcomers should see first."""

    channel_id: ChannelId
    description: str
    emoji_id: EmojiId | None
    emoji_name: str | None


class WelcomeScreen(Struct, kw_only=True):
    """What newcomers see first."""

    description: str | None
    welcome_channels: list[WelcomeChannel]


class SetWelcomeChannel(Struct, kw_only=True):
    """A channel to point newcomers to."""

    channel_id: ChannelId
    description: Annotated[str, Meta(min_length=1, max_length=WELCOME_CHANNEL_DESCRIPTION_MAX)]
    emoji_id: EmojiId | None | UnsetType = UNSET
    """A custom emoji of the guild,"""
    emoji_name: EmojiName | None | UnsetType = UNSET
    """or a Unicode one."""


class UpdateWelcomeScreen(Struct, kw_only=True):
    """What may change about the welcome screen."""

    description: Annotated[str, Meta(max_length=WELCOME_DESCRIPTION_MAX)] | None | UnsetType = UNSET
    welcome_channels: Annotated[list[SetWelcomeChannel], Meta(max_length=WELCOME_CHANNELS_MAX)] | None | UnsetType = (
        UNSET
    )
    enabled: bool | None | UnsetType = UNSET


class GuideEmoji(Struct, kw_only=True):
    """An emoji beside something of the guide."""

    id: EmojiId | None = None
    name: EmojiName | None = None
    animated: bool = False


class WelcomeMessage(Struct, kw_only=True):
    """A greeting, and who signs it."""

    author_ids: Annotated[list[UserId], Meta(max_length=10)]
    message: Annotated[str, Meta(max_length=WELCOME_MESSAGE_MAX)]


class NewMemberAction(Struct, kw_only=True):
    """Something that a new member should do."""

    channel_id: ChannelId
    action_type: NewMemberActionType
    title: GuideTitle
    description: GuideDescription = ""
    emoji: GuideEmoji | UnsetType = UNSET


class ResourceChannel(Struct, kw_only=True):
    """A channel that a new member should know."""

    channel_id: ChannelId
    title: GuideTitle
    description: GuideDescription = ""
    emoji: GuideEmoji | UnsetType = UNSET


class SetNewMemberWelcome(Struct, kw_only=True):
    """The guide for new members. Stored as JSON: add fields with a default, never rename."""

    enabled: bool = False
    welcome_message: WelcomeMessage | UnsetType = UNSET
    new_member_actions: Annotated[list[NewMemberAction], Meta(max_length=NEW_MEMBER_ACTIONS_MAX)] = []
    resource_channels: Annotated[list[ResourceChannel], Meta(max_length=RESOURCE_CHANNELS_MAX)] = []


class NewMemberWelcome(SetNewMemberWelcome, kw_only=True):
    """The guide for new members of a guild."""

    guild_id: GuildId


# Anybody may look while it is enabled; otherwise those who manage the guild.
GET_GUILD_WELCOME_SCREEN = Operation(
    "GET",
    "/guilds/{guild_id}/welcome-screen",
    result=WelcomeScreen,
    raises=(errors.UNKNOWN_GUILD, errors.UNKNOWN_WELCOME_SCREEN),
)

UPDATE_GUILD_WELCOME_SCREEN = Operation(
    "PATCH",
    "/guilds/{guild_id}/welcome-screen",
    body=UpdateWelcomeScreen,
    result=WelcomeScreen,
    needs=Permissions.MANAGE_GUILD,
    raises=(errors.UNKNOWN_GUILD, errors.MISSING_ACCESS, errors.MISSING_PERMISSIONS, errors.TWO_FACTOR_REQUIRED),
    emits=(guilds.GUILD_UPDATE,),
    audits=(AuditLogAction.GUILD_UPDATE,),
)

# 204 instead of 200 when the guild has none.
GET_GUILD_NEW_MEMBER_WELCOME = Operation(
    "GET",
    "/guilds/{guild_id}/new-member-welcome",
    result=NewMemberWelcome,
    raises=(errors.UNKNOWN_GUILD, errors.MISSING_ACCESS),
    also=(204,),
)

# The published description only reads it; people write it with this (decisions/0021).
SET_GUILD_NEW_MEMBER_WELCOME = Operation(
    "PUT",
    "/guilds/{guild_id}/new-member-welcome",
    body=SetNewMemberWelcome,
    result=NewMemberWelcome,
    auth=Auth.USER,
    needs=Permissions.MANAGE_GUILD,
    raises=(errors.UNKNOWN_GUILD, errors.MISSING_ACCESS, errors.MISSING_PERMISSIONS, errors.TWO_FACTOR_REQUIRED),
    audits=(AuditLogAction.HOME_SETTINGS_CREATE, AuditLogAction.HOME_SETTINGS_UPDATE),
)
