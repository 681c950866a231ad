"""Welcome screens and new member guides of guilds."""

from typing import Annotated, Final

from msgspec import UNSET, Meta, Struct, UnsetType

from hubbub.protocol import errors
from hubbub.protocol.enums import AuditLogAction, NewMemberActionType
from hubbub.protocol.ids import ChannelId, EmojiId, GuildId, UserId
from hubbub.protocol.operation import Auth, Operation
from hubbub.protocol.permissions import Permissions
from hubbub.protocol.resources import guilds

WELCOME_CHANNELS_MAX: Final = 5
"""Maximum number of channels of a welcome screen."""
WELCOME_DESCRIPTION_MAX: Final = 140
"""Maximum length of the description of a welcome screen, in characters."""
WELCOME_CHANNEL_DESCRIPTION_MAX: Final = 50
"""Maximum length of the description of a channel on a welcome screen, in characters."""
WELCOME_MESSAGE_MAX: Final = 300
"""Maximum length of the greeting of a new member guide, in characters."""
NEW_MEMBER_ACTIONS_MAX: Final = 5
"""Maximum number of actions of a new member guide."""
RESOURCE_CHANNELS_MAX: Final = 7
"""Maximum number of resource channels of a new member guide."""
GUIDE_AUTHORS_MAX: Final = 10
"""Maximum number of authors of the greeting of a new member guide."""
GUIDE_TITLE_MAX: Final = 60
"""Maximum length of the title of an action or resource of a new member guide, in characters."""
GUIDE_DESCRIPTION_MAX: Final = 200
"""Maximum length of the description of an action or resource of a new member guide, in characters."""

EmojiName = Annotated[str, Meta(max_length=100)]
GuideTitle = Annotated[str, Meta(min_length=1, max_length=GUIDE_TITLE_MAX)]
GuideDescription = Annotated[str, Meta(max_length=GUIDE_DESCRIPTION_MAX)]


class WelcomeChannel(Struct, kw_only=True):
    """A channel on the welcome screen."""

    channel_id: ChannelId
    """ID of the channel."""
    description: str
    """Description of the channel."""
    emoji_id: EmojiId | None
    """ID of a custom emoji; null if there is none."""
    emoji_name: str | None
    """Unicode emoji, or name of the custom emoji; null if there is none."""


class WelcomeScreen(Struct, kw_only=True):
    """The welcome screen of a guild."""

    description: str | None
    """Description of the guild; null if there is none."""
    welcome_channels: list[WelcomeChannel]
    """Channels on the welcome screen."""


class SetWelcomeChannel(Struct, kw_only=True):
    """A channel to show on the welcome screen."""

    channel_id: ChannelId
    """ID of the channel."""
    description: Annotated[str, Meta(min_length=1, max_length=WELCOME_CHANNEL_DESCRIPTION_MAX)]
    """Description of the channel."""
    emoji_id: EmojiId | None | UnsetType = UNSET
    """ID of a custom emoji of the guild; null or absent for none."""
    emoji_name: EmojiName | None | UnsetType = UNSET
    """Unicode emoji; null or absent for none."""


class UpdateWelcomeScreen(Struct, kw_only=True):
    """Changes to the welcome screen; absent fields keep their value."""

    description: Annotated[str, Meta(max_length=WELCOME_DESCRIPTION_MAX)] | None | UnsetType = UNSET
    """Description of the guild; null removes it."""
    welcome_channels: Annotated[list[SetWelcomeChannel], Meta(max_length=WELCOME_CHANNELS_MAX)] | None | UnsetType = (
        UNSET
    )
    """New channels of the welcome screen, which replace all existing channels; null removes all channels."""
    enabled: bool | None | UnsetType = UNSET
    """Whether the welcome screen is enabled; null keeps the value."""


class GuideEmoji(Struct, kw_only=True):
    """The emoji of an action or resource of a new member guide."""

    id: EmojiId | None = None
    """ID of a custom emoji; null for a Unicode emoji."""
    name: EmojiName | None = None
    """Unicode emoji, or name of the custom emoji."""
    animated: bool = False
    """Whether the custom emoji is animated."""


class WelcomeMessage(Struct, kw_only=True):
    """The greeting of a new member guide."""

    author_ids: Annotated[list[UserId], Meta(max_length=GUIDE_AUTHORS_MAX)]
    """IDs of the users who sign the greeting."""
    message: Annotated[str, Meta(max_length=WELCOME_MESSAGE_MAX)]
    """Text of the greeting."""


class NewMemberAction(Struct, kw_only=True):
    """An action suggested to new members."""

    channel_id: ChannelId
    """ID of the channel in which to perform the action."""
    action_type: NewMemberActionType
    """Type of the action: 0 view the channel, 1 send a message in it."""
    title: GuideTitle
    """Title of the action."""
    description: GuideDescription = ""
    """Description of the action."""
    emoji: GuideEmoji | UnsetType = UNSET
    """Emoji of the action; absent if there is none."""


class ResourceChannel(Struct, kw_only=True):
    """A channel suggested to new members as a resource."""

    channel_id: ChannelId
    """ID of the channel."""
    title: GuideTitle
    """Title of the resource."""
    description: GuideDescription = ""
    """Description of the resource."""
    emoji: GuideEmoji | UnsetType = UNSET
    """Emoji of the resource; absent if there is none."""


class SetNewMemberWelcome(Struct, kw_only=True):
    """The new member guide of a guild, as stored and as sent in requests."""

    # The guide is stored as JSON: add fields with a default only, and never rename a field.

    enabled: bool = False
    """Whether the new member guide is enabled."""
    welcome_message: WelcomeMessage | UnsetType = UNSET
    """Greeting of the new member guide; absent if there is none."""
    new_member_actions: Annotated[list[NewMemberAction], Meta(max_length=NEW_MEMBER_ACTIONS_MAX)] = []
    """Actions suggested to new members."""
    resource_channels: Annotated[list[ResourceChannel], Meta(max_length=RESOURCE_CHANNELS_MAX)] = []
    """Channels suggested to new members as resources."""


class NewMemberWelcome(SetNewMemberWelcome, kw_only=True):
    """The new member guide of a guild."""

    guild_id: GuildId
    """ID of the guild."""


# Every user can call this operation while the welcome screen is enabled, otherwise only members with MANAGE_GUILD can.
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

# The status is 204 instead of 200 if the guild has no new member guide.
GET_GUILD_NEW_MEMBER_WELCOME = Operation(
    "GET",
    "/guilds/{guild_id}/new-member-welcome",
    result=NewMemberWelcome,
    raises=(errors.UNKNOWN_GUILD, errors.MISSING_ACCESS),
    other_statuses=(204,),
)

# First-party: the published API only reads the new member guide (decisions/0021).
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
