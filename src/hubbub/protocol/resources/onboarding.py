"""Onboarding: the prompts that a guild shows to new members, their responses, and the default channels."""

from typing import Annotated, Final

from msgspec import UNSET, Meta, Struct, UnsetType

from hubbub.protocol import errors
from hubbub.protocol.enums import AuditLogAction, OnboardingMode, OnboardingPromptType
from hubbub.protocol.ids import ChannelId, EmojiId, GuildId, RoleId, Snowflake, UserId
from hubbub.protocol.operation import Auth, Operation
from hubbub.protocol.permissions import Permissions
from hubbub.protocol.resources import guilds, members

PROMPTS_MAX: Final = 15
"""Maximum number of prompts of a guild."""
OPTIONS_MAX: Final = 50
"""Maximum number of options of a prompt."""
PROMPT_TITLE_MAX: Final = 100
OPTION_TITLE_MAX: Final = 50
OPTION_DESCRIPTION_MAX: Final = 100
OPTION_ROLES_MAX: Final = 50
OPTION_CHANNELS_MAX: Final = 50
DEFAULT_CHANNELS_MAX: Final = 500
"""Maximum number of default channels of a guild."""
DEFAULT_CHANNELS_MIN: Final = 7
"""Minimum number of default channels while onboarding is enabled."""
WRITABLE_CHANNELS_MIN: Final = 5
"""Minimum number of default channels in which @everyone can send messages."""


class OnboardingEmoji(Struct, kw_only=True):
    """The emoji of an onboarding option."""

    id: EmojiId | None
    """ID of the custom emoji; null for a Unicode emoji."""
    name: str | None
    """Name of the custom emoji, or the Unicode emoji itself; null if there is none."""
    animated: bool
    """Whether the emoji is animated."""


class OnboardingOption(Struct, kw_only=True):
    """An option of a prompt, with the roles and channels it grants."""

    id: Snowflake
    """ID of the option."""
    title: str
    """Title of the option."""
    description: str
    """Description of the option; empty if there is none."""
    emoji: OnboardingEmoji
    """Emoji of the option."""
    role_ids: list[RoleId]
    """IDs of the roles granted to members who choose the option."""
    channel_ids: list[ChannelId]
    """IDs of the channels shown to members who choose the option."""


class OnboardingPrompt(Struct, kw_only=True):
    """A question of the onboarding."""

    id: Snowflake
    """ID of the prompt."""
    title: str
    """Text of the question."""
    options: list[OnboardingOption]
    """Options to choose from."""
    single_select: bool
    """Whether only one option can be chosen."""
    required: bool
    """Whether the prompt must be answered to complete onboarding."""
    in_onboarding: bool
    """Whether the prompt is part of onboarding; otherwise it is shown only in Channels & Roles."""
    type: int
    """Presentation of the prompt: 0 multiple choice, 1 dropdown."""


class Onboarding(Struct, kw_only=True):
    """The onboarding of a guild."""

    guild_id: GuildId
    """ID of the guild."""
    prompts: list[OnboardingPrompt]
    """Prompts of the guild, in onboarding or only in Channels & Roles."""
    default_channel_ids: list[ChannelId]
    """IDs of the channels that every new member starts with."""
    enabled: bool
    """Whether onboarding is enabled."""
    mode: int
    """Channels that count toward the requirements: 0 default channels only, 1 also those of options."""


class SetOnboardingOption(Struct, kw_only=True):
    """An option of a prompt to store; null or absent fields are empty."""

    title: Annotated[str, Meta(min_length=1, max_length=OPTION_TITLE_MAX)]
    """Title of the option."""
    id: Snowflake | None | UnsetType = UNSET
    """ID of an existing option; any other value, null or absent creates an option."""
    description: Annotated[str, Meta(max_length=OPTION_DESCRIPTION_MAX)] | None | UnsetType = UNSET
    """Description of the option."""
    emoji_id: EmojiId | None | UnsetType = UNSET
    """ID of a custom emoji."""
    emoji_name: Annotated[str, Meta(max_length=100)] | None | UnsetType = UNSET
    """Unicode emoji, or name of the custom emoji."""
    emoji_animated: bool | None | UnsetType = UNSET
    """Whether the custom emoji is animated; accepted and ignored."""
    role_ids: Annotated[list[RoleId], Meta(max_length=OPTION_ROLES_MAX)] | None | UnsetType = UNSET
    """IDs of the roles granted to members who choose the option."""
    channel_ids: Annotated[list[ChannelId], Meta(max_length=OPTION_CHANNELS_MAX)] | None | UnsetType = UNSET
    """IDs of the channels shown to members who choose the option."""


class SetOnboardingPrompt(Struct, kw_only=True):
    """A prompt to store; flags that are null or absent are false."""

    id: Snowflake
    """ID of an existing prompt; any other value creates a prompt."""
    title: Annotated[str, Meta(min_length=1, max_length=PROMPT_TITLE_MAX)]
    """Text of the question."""
    options: Annotated[list[SetOnboardingOption], Meta(min_length=1, max_length=OPTIONS_MAX)]
    """Options to choose from."""
    single_select: bool | None | UnsetType = UNSET
    """Whether only one option can be chosen."""
    required: bool | None | UnsetType = UNSET
    """Whether the prompt must be answered to complete onboarding."""
    in_onboarding: bool | None | UnsetType = UNSET
    """Whether the prompt is part of onboarding; otherwise it is shown only in Channels & Roles."""
    type: OnboardingPromptType | None | UnsetType = UNSET
    """Presentation of the prompt: 0 multiple choice, 1 dropdown; default 0."""


class SetOnboarding(Struct, kw_only=True):
    """Changes to the onboarding of a guild; absent fields keep their value."""

    prompts: Annotated[list[SetOnboardingPrompt], Meta(max_length=PROMPTS_MAX)] | None | UnsetType = UNSET
    """New prompts, which replace all existing prompts; null removes all."""
    default_channel_ids: Annotated[list[ChannelId], Meta(max_length=DEFAULT_CHANNELS_MAX)] | None | UnsetType = UNSET
    """IDs of the channels that every new member starts with; null removes all."""
    enabled: bool | None | UnsetType = UNSET
    """Whether onboarding is enabled; null keeps the value."""
    mode: OnboardingMode | None | UnsetType = UNSET
    """Channels that count toward the requirements: 0 default channels only, 1 also those of options. Null resets it to 0."""


class OnboardingResponses(Struct, kw_only=True):
    """A member's responses to the onboarding."""

    guild_id: GuildId
    """ID of the guild."""
    user_id: UserId
    """ID of the member."""
    onboarding_responses: list[Snowflake]
    """IDs of the options that the member chose."""
    channel_ids: list[ChannelId]
    """IDs of the default channels and the channels of the chosen options, which clients list for the member."""
    completed: bool
    """Whether the member completed onboarding."""


class SetOnboardingResponses(Struct, kw_only=True):
    """A member's complete responses to the onboarding."""

    onboarding_responses: Annotated[list[Snowflake], Meta(max_length=PROMPTS_MAX * OPTIONS_MAX)]
    """IDs of all chosen options; options that are missing from the list are deselected."""


GET_GUILDS_ONBOARDING = Operation(
    "GET",
    "/guilds/{guild_id}/onboarding",
    result=Onboarding,
    raises=(errors.UNKNOWN_GUILD, errors.MISSING_ACCESS),
)

PUT_GUILDS_ONBOARDING = Operation(
    "PUT",
    "/guilds/{guild_id}/onboarding",
    body=SetOnboarding,
    result=Onboarding,
    needs=Permissions.MANAGE_GUILD | Permissions.MANAGE_ROLES,
    raises=(
        errors.UNKNOWN_GUILD,
        errors.MISSING_ACCESS,
        errors.MISSING_PERMISSIONS,
        errors.TWO_FACTOR_REQUIRED,
        errors.CANNOT_ENABLE_ONBOARDING,
        errors.CANNOT_UPDATE_ONBOARDING,
    ),
    emits=(guilds.GUILD_UPDATE,),
    audits=(
        AuditLogAction.ONBOARDING_PROMPT_CREATE,
        AuditLogAction.ONBOARDING_CREATE,
        AuditLogAction.ONBOARDING_UPDATE,
        AuditLogAction.ONBOARDING_PROMPT_UPDATE,
        AuditLogAction.ONBOARDING_PROMPT_DELETE,
        AuditLogAction.GUILD_UPDATE,
    ),
)

# First-party operations of the user's own client (decisions/0021).

GET_GUILD_ONBOARDING_RESPONSES = Operation(
    "GET",
    "/guilds/{guild_id}/onboarding-responses",
    result=OnboardingResponses,
    auth=Auth.USER,
    raises=(errors.UNKNOWN_GUILD, errors.MISSING_ACCESS),
)

SET_GUILD_ONBOARDING_RESPONSES = Operation(
    "POST",
    "/guilds/{guild_id}/onboarding-responses",
    body=SetOnboardingResponses,
    result=OnboardingResponses,
    auth=Auth.USER,
    raises=(errors.UNKNOWN_GUILD, errors.MISSING_ACCESS, errors.MISSING_PERMISSIONS, errors.FEATURE_DISABLED),
    emits=(members.GUILD_MEMBER_UPDATE,),
)
