"""Onboarding: the questions a guild asks newcomers, and the channels they begin with."""

from typing import Annotated, Final

from msgspec import UNSET, Meta, Struct, UnsetType

from hubbub.protocol import errors
from hubbub.protocol.enums import AuditLogAction, OnboardingMode, OnboardingPromptType
from hubbub.protocol.ids import ChannelId, EmojiId, GuildId, RoleId, Snowflake, UserId
from hubbub.protocol.operation import Auth, Operation
from hubbub.protocol.permissions import Permissions
from hubbub.protocol.resources import guilds, members

PROMPTS_MAX: Final = 15
OPTIONS_MAX: Final = 50
PROMPT_TITLE_MAX: Final = 100
OPTION_TITLE_MAX: Final = 50
OPTION_DESCRIPTION_MAX: Final = 100
OPTION_ROLES_MAX: Final = 50
OPTION_CHANNELS_MAX: Final = 50
DEFAULT_CHANNELS_MAX: Final = 500
DEFAULT_CHANNELS_LEAST: Final = 7
"""Onboarding needs so many default channels,"""
WRITABLE_CHANNELS_LEAST: Final = 5
"""of which so many let everybody write."""


class OnboardingEmoji(Struct, kw_only=True):
    """The emoji of an answer."""

    id: EmojiId | None
    name: str | None
    animated: bool


class OnboardingOption(Struct, kw_only=True):
    """A possible answer, and what it gives."""

    id: Snowflake
    title: str
    description: str
    emoji: OnboardingEmoji
    role_ids: list[RoleId]
    channel_ids: list[ChannelId]


class OnboardingPrompt(Struct, kw_only=True):
    """A question."""

    id: Snowflake
    title: str
    options: list[OnboardingOption]
    single_select: bool
    required: bool
    in_onboarding: bool
    """Asked when one comes; otherwise only to be found among the channels and roles."""
    type: int


class Onboarding(Struct, kw_only=True):
    """What newcomers are asked."""

    guild_id: GuildId
    prompts: list[OnboardingPrompt]
    default_channel_ids: list[ChannelId]
    enabled: bool
    mode: int


class SetOnboardingOption(Struct, kw_only=True):
    """A possible answer."""

    title: Annotated[str, Meta(min_length=1, max_length=OPTION_TITLE_MAX)]
    id: Snowflake | None | UnsetType = UNSET
    """Of an answer that exists; any other becomes a new one."""
    description: Annotated[str, Meta(max_length=OPTION_DESCRIPTION_MAX)] | None | UnsetType = UNSET
    emoji_id: EmojiId | None | UnsetType = UNSET
    emoji_name: Annotated[str, Meta(max_length=100)] | None | UnsetType = UNSET
    emoji_animated: bool | None | UnsetType = UNSET
    role_ids: Annotated[list[RoleId], Meta(max_length=OPTION_ROLES_MAX)] | None | UnsetType = UNSET
    channel_ids: Annotated[list[ChannelId], Meta(max_length=OPTION_CHANNELS_MAX)] | None | UnsetType = UNSET


class SetOnboardingPrompt(Struct, kw_only=True):
    """A question."""

    id: Snowflake
    """Of a question that exists; any other becomes a new one."""
    title: Annotated[str, Meta(min_length=1, max_length=PROMPT_TITLE_MAX)]
    options: Annotated[list[SetOnboardingOption], Meta(min_length=1, max_length=OPTIONS_MAX)]
    single_select: bool | None | UnsetType = UNSET
    required: bool | None | UnsetType = UNSET
    in_onboarding: bool | None | UnsetType = UNSET
    type: OnboardingPromptType | None | UnsetType = UNSET


class SetOnboarding(Struct, kw_only=True):
    """What newcomers are to be asked; what is absent stays."""

    prompts: Annotated[list[SetOnboardingPrompt], Meta(max_length=PROMPTS_MAX)] | None | UnsetType = UNSET
    default_channel_ids: Annotated[list[ChannelId], Meta(max_length=DEFAULT_CHANNELS_MAX)] | None | UnsetType = UNSET
    enabled: bool | None | UnsetType = UNSET
    mode: OnboardingMode | None | UnsetType = UNSET


class OnboardingAnswers(Struct, kw_only=True):
    """What a person answered, and what they have of it."""

    guild_id: GuildId
    user_id: UserId
    onboarding_responses: list[Snowflake]
    """The answers they chose."""
    channel_ids: list[ChannelId]
    """The channels that everybody begins with, and those of the answers: what a client lists for them first."""
    completed: bool
    """Whether they went through onboarding."""


class SetOnboardingAnswers(Struct, kw_only=True):
    """All answers that a person chooses; those they chose before and do not repeat no longer hold."""

    onboarding_responses: Annotated[list[Snowflake], Meta(max_length=PROMPTS_MAX * OPTIONS_MAX)]


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

# Below: what a person's own client does (decisions/0021).

GET_GUILD_ONBOARDING_RESPONSES = Operation(
    "GET",
    "/guilds/{guild_id}/onboarding-responses",
    result=OnboardingAnswers,
    auth=Auth.USER,
    raises=(errors.UNKNOWN_GUILD, errors.MISSING_ACCESS),
)

SET_GUILD_ONBOARDING_RESPONSES = Operation(
    "POST",
    "/guilds/{guild_id}/onboarding-responses",
    body=SetOnboardingAnswers,
    result=OnboardingAnswers,
    auth=Auth.USER,
    raises=(errors.UNKNOWN_GUILD, errors.MISSING_ACCESS, errors.MISSING_PERMISSIONS, errors.FEATURE_DISABLED),
    emits=(members.GUILD_MEMBER_UPDATE,),
)
