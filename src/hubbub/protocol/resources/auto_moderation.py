"""Auto moderation: a guild's rules for messages and member profiles, and the actions that they trigger."""

from typing import Annotated, Final

from msgspec import UNSET, Meta, Struct, UnsetType

from hubbub.protocol import errors
from hubbub.protocol.enums import (
    AuditLogAction,
    AutoModerationActionType,
    AutoModerationEventType,
    AutoModerationKeywordPresetType,
    AutoModerationTriggerType,
)
from hubbub.protocol.ids import AutoModerationRuleId, ChannelId, GuildId, MessageId, RoleId, UserId
from hubbub.protocol.intents import Intents
from hubbub.protocol.operation import Event, Operation
from hubbub.protocol.permissions import Permissions

RULE_NAME_MAX: Final = 100
RULES_MAX_BY_TRIGGER: Final = {
    AutoModerationTriggerType.KEYWORD: 6,
    AutoModerationTriggerType.SPAM: 1,
    AutoModerationTriggerType.KEYWORD_PRESET: 1,
    AutoModerationTriggerType.MENTION_SPAM: 1,
    AutoModerationTriggerType.MEMBER_PROFILE: 1,
}
"""Maximum number of rules per guild, by trigger type."""
ACTIONS_BY_TRIGGER: Final = {
    AutoModerationTriggerType.KEYWORD: (
        AutoModerationActionType.BLOCK_MESSAGE,
        AutoModerationActionType.SEND_ALERT_MESSAGE,
        AutoModerationActionType.TIMEOUT,
    ),
    AutoModerationTriggerType.SPAM: (
        AutoModerationActionType.BLOCK_MESSAGE,
        AutoModerationActionType.SEND_ALERT_MESSAGE,
    ),
    AutoModerationTriggerType.KEYWORD_PRESET: (
        AutoModerationActionType.BLOCK_MESSAGE,
        AutoModerationActionType.SEND_ALERT_MESSAGE,
    ),
    AutoModerationTriggerType.MENTION_SPAM: (
        AutoModerationActionType.BLOCK_MESSAGE,
        AutoModerationActionType.SEND_ALERT_MESSAGE,
        AutoModerationActionType.TIMEOUT,
    ),
    AutoModerationTriggerType.MEMBER_PROFILE: (
        AutoModerationActionType.SEND_ALERT_MESSAGE,
        AutoModerationActionType.BLOCK_MEMBER_INTERACTION,
    ),
}
"""Actions that a rule can perform, by trigger type."""
KEYWORDS_MAX: Final = 1000
"""Maximum number of keywords of a rule."""
KEYWORD_LENGTH_MAX: Final = 60
REGEX_PATTERNS_MAX: Final = 10
"""Maximum number of regular expressions of a rule."""
REGEX_PATTERN_LENGTH_MAX: Final = 260
ALLOW_LIST_MAX: Final = 100
"""Maximum number of allowed keywords of a KEYWORD or MEMBER_PROFILE rule."""
PRESET_ALLOW_LIST_MAX: Final = 1000
"""Maximum number of allowed keywords of a KEYWORD_PRESET rule."""
MENTION_TOTAL_LIMIT_MAX: Final = 50
"""Highest value of `mention_total_limit`."""
MENTION_TOTAL_LIMIT_DEFAULT: Final = 20
"""Limit of a mention spam rule that sets none. The specification gives no value (decisions/0024)."""
ACTIONS_MAX: Final = 5
"""Maximum number of actions of a rule."""
CUSTOM_MESSAGE_MAX: Final = 150
"""Maximum length of the text shown to the member whose message was blocked, in characters."""
TIMEOUT_SECONDS_MAX: Final = 2_419_200
"""Maximum duration of a timeout in seconds: four weeks."""
EXEMPT_ROLES_MAX: Final = 20
EXEMPT_CHANNELS_MAX: Final = 50

Keyword = Annotated[str, Meta(min_length=1, max_length=KEYWORD_LENGTH_MAX)]
Pattern = Annotated[str, Meta(min_length=1, max_length=REGEX_PATTERN_LENGTH_MAX)]


class TriggerMetadata(Struct, kw_only=True):
    """Content that triggers a rule; the fields present depend on the trigger type."""

    keyword_filter: list[str] | UnsetType = UNSET
    """Keywords and phrases to match; KEYWORD and MEMBER_PROFILE rules."""
    regex_patterns: list[str] | UnsetType = UNSET
    """Regular expressions to match; KEYWORD and MEMBER_PROFILE rules."""
    presets: list[int] | UnsetType = UNSET
    """Keyword lists of the platform to match, `AutoModerationKeywordPresetType` values; KEYWORD_PRESET rules."""
    allow_list: list[str] | UnsetType = UNSET
    """Keywords that do not trigger the rule; KEYWORD, KEYWORD_PRESET and MEMBER_PROFILE rules."""
    mention_total_limit: int | UnsetType = UNSET
    """Number of distinct user and role mentions allowed per message; MENTION_SPAM rules."""
    mention_raid_protection_enabled: bool | UnsetType = UNSET
    """Whether mention raids are detected automatically; MENTION_SPAM rules."""


class ActionMetadata(Struct, kw_only=True):
    """Settings of an action; the fields present depend on the action type."""

    channel_id: ChannelId | UnsetType = UNSET
    """ID of the channel that the alert is sent to; SEND_ALERT_MESSAGE only."""
    duration_seconds: int | UnsetType = UNSET
    """Duration of the timeout in seconds, at most four weeks; TIMEOUT only."""
    custom_message: str | UnsetType = UNSET
    """Text shown to the member whose message was blocked, at most 150 characters; BLOCK_MESSAGE only."""


class Action(Struct, kw_only=True):
    """An action that a rule performs when it is triggered."""

    type: int
    """Type of the action; an `AutoModerationActionType`."""
    metadata: ActionMetadata
    """Settings of the action."""


class AutoModerationRule(Struct, kw_only=True):
    """An auto moderation rule of a guild."""

    id: AutoModerationRuleId
    """ID of the rule."""
    guild_id: GuildId
    """ID of the guild."""
    name: str
    """Name of the rule."""
    creator_id: UserId
    """ID of the user who created the rule."""
    event_type: int
    """Event on which the rule is checked: 1 message sent, 2 member profile updated."""
    trigger_type: int
    """Type of content that triggers the rule; an `AutoModerationTriggerType`."""
    trigger_metadata: TriggerMetadata
    """Content that triggers the rule."""
    actions: list[Action]
    """Actions to perform when the rule is triggered."""
    enabled: bool
    """Whether the rule is enabled."""
    exempt_roles: list[RoleId]
    """IDs of the roles to which the rule does not apply, at most 20."""
    exempt_channels: list[ChannelId]
    """IDs of the channels in which the rule does not apply, at most 50."""


class TriggerMetadataRequest(Struct, kw_only=True):
    """Content that triggers a rule, in a request; null is equivalent to an absent field.

    Fields that the trigger type does not use are ignored."""

    keyword_filter: Annotated[list[Keyword], Meta(max_length=KEYWORDS_MAX)] | None | UnsetType = UNSET
    """Case-insensitive keywords, at most 1000: `word` whole word, `word*` prefix, `*word` suffix, `*word*` anywhere."""
    regex_patterns: Annotated[list[Pattern], Meta(max_length=REGEX_PATTERNS_MAX)] | None | UnsetType = UNSET
    """Regular expressions, at most 10, matched in linear time: lookaround and backreferences are not supported."""
    presets: list[AutoModerationKeywordPresetType] | None | UnsetType = UNSET
    """Keyword lists of the platform to match; KEYWORD_PRESET rules."""
    # The limit depends on the trigger type of the rule: the handler checks ALLOW_LIST_MAX.
    allow_list: Annotated[list[Keyword], Meta(max_length=PRESET_ALLOW_LIST_MAX)] | None | UnsetType = UNSET
    """Keywords that do not trigger the rule; at most 100, or 1000 for KEYWORD_PRESET rules."""
    mention_total_limit: Annotated[int, Meta(ge=0, le=MENTION_TOTAL_LIMIT_MAX)] | None | UnsetType = UNSET
    """Number of distinct user and role mentions allowed per message, at most 50; 20 if absent or null."""
    mention_raid_protection_enabled: bool | None | UnsetType = UNSET
    """Whether to detect mention raids automatically; false if absent or null."""


class ActionMetadataRequest(Struct, kw_only=True):
    """Settings of an action, in a request; null is equivalent to an absent field."""

    channel_id: ChannelId | None | UnsetType = UNSET
    """ID of the channel to send the alert to; SEND_ALERT_MESSAGE only."""
    duration_seconds: Annotated[int, Meta(ge=0, le=TIMEOUT_SECONDS_MAX)] | None | UnsetType = UNSET
    """Duration of the timeout in seconds, at most four weeks; TIMEOUT only."""
    custom_message: Annotated[str, Meta(max_length=CUSTOM_MESSAGE_MAX)] | None | UnsetType = UNSET
    """Text shown to the member whose message was blocked, at most 150 characters; BLOCK_MESSAGE only."""


class ActionRequest(Struct, kw_only=True):
    """An action for a rule to perform."""

    type: AutoModerationActionType
    """Type of the action."""
    metadata: ActionMetadataRequest | None | UnsetType = UNSET
    """Settings of the action; required by SEND_ALERT_MESSAGE and TIMEOUT."""


Actions = Annotated[list[ActionRequest], Meta(min_length=1, max_length=ACTIONS_MAX)]
ExemptRoles = Annotated[list[RoleId], Meta(max_length=EXEMPT_ROLES_MAX)]
ExemptChannels = Annotated[list[ChannelId], Meta(max_length=EXEMPT_CHANNELS_MAX)]


class CreateAutoModerationRule(Struct, kw_only=True):
    """Request body for creating an auto moderation rule."""

    name: Annotated[str, Meta(min_length=1, max_length=RULE_NAME_MAX)]
    """Name of the rule, 1 to 100 characters."""
    event_type: AutoModerationEventType
    """Event on which the rule is checked: MEMBER_UPDATE for MEMBER_PROFILE rules, otherwise MESSAGE_SEND."""
    trigger_type: AutoModerationTriggerType
    """Type of content that triggers the rule."""
    trigger_metadata: TriggerMetadataRequest | None | UnsetType = UNSET
    """Content that triggers the rule; required by KEYWORD_PRESET and MEMBER_PROFILE rules."""
    actions: Actions | None | UnsetType = UNSET
    """Actions to perform, 1 to 5; if absent or null, BLOCK_MESSAGE, or BLOCK_MEMBER_INTERACTION for MEMBER_PROFILE rules."""
    enabled: bool | None | UnsetType = UNSET
    """Whether the rule is enabled; false if absent or null."""
    exempt_roles: ExemptRoles | None | UnsetType = UNSET
    """IDs of the roles to which the rule does not apply, at most 20; none if absent or null."""
    exempt_channels: ExemptChannels | None | UnsetType = UNSET
    """IDs of the channels in which the rule does not apply, at most 50; none if absent or null."""


class UpdateAutoModerationRule(Struct, kw_only=True):
    """Request body for updating an auto moderation rule; absent fields keep their value."""

    name: Annotated[str, Meta(min_length=1, max_length=RULE_NAME_MAX)] | UnsetType = UNSET
    """New name, 1 to 100 characters."""
    event_type: AutoModerationEventType | UnsetType = UNSET
    """Event on which the rule is checked; any value other than the one for the trigger type is rejected."""
    trigger_type: AutoModerationTriggerType | UnsetType = UNSET
    """Trigger type of the rule, which cannot change: any value other than the current one is rejected."""
    trigger_metadata: TriggerMetadataRequest | None | UnsetType = UNSET
    """New content that triggers the rule, which replaces all previous content.

    Null resets it to the defaults; KEYWORD_PRESET and MEMBER_PROFILE rules reject null."""
    actions: Actions | None | UnsetType = UNSET
    """New actions, 1 to 5, which replace the previous ones; null keeps them."""
    enabled: bool | None | UnsetType = UNSET
    """Whether the rule is enabled; null disables it."""
    exempt_roles: ExemptRoles | None | UnsetType = UNSET
    """New IDs of the roles to which the rule does not apply, at most 20; null removes all."""
    exempt_channels: ExemptChannels | None | UnsetType = UNSET
    """New IDs of the channels in which the rule does not apply, at most 50; null removes all."""


class ActionExecution(Struct, kw_only=True):
    """An action that a rule performed."""

    guild_id: GuildId
    """ID of the guild."""
    action: Action
    """Action that the rule performed."""
    rule_id: AutoModerationRuleId
    """ID of the rule."""
    rule_trigger_type: int
    """Trigger type of the rule; an `AutoModerationTriggerType`."""
    user_id: UserId
    """ID of the user who triggered the rule."""
    content: str
    """Content that triggered the rule; empty without the MESSAGE_CONTENT intent."""
    matched_keyword: str | None
    """Keyword or pattern of the rule that matched; null if the rule matches other content."""
    matched_content: str | None
    """Part of the content that matched; null without the MESSAGE_CONTENT intent, and for MENTION_SPAM rules."""
    channel_id: ChannelId | UnsetType = UNSET
    """ID of the channel of the message; absent for a member profile."""
    message_id: MessageId | UnsetType = UNSET
    """ID of the message; absent if it was blocked, and for a member profile."""
    alert_system_message_id: MessageId | UnsetType = UNSET
    """ID of the alert message; absent if no alert was sent."""


AUTO_MODERATION_RULE_CREATE = Event(
    "AUTO_MODERATION_RULE_CREATE",
    AutoModerationRule,
    "Sent when an auto moderation rule is created, to members with MANAGE_GUILD.",
    intents=Intents.AUTO_MODERATION_CONFIGURATION,
)
AUTO_MODERATION_RULE_UPDATE = Event(
    "AUTO_MODERATION_RULE_UPDATE",
    AutoModerationRule,
    "Sent when an auto moderation rule is updated, to members with MANAGE_GUILD.",
    intents=Intents.AUTO_MODERATION_CONFIGURATION,
)
AUTO_MODERATION_RULE_DELETE = Event(
    "AUTO_MODERATION_RULE_DELETE",
    AutoModerationRule,
    "Sent when an auto moderation rule is deleted, to members with MANAGE_GUILD.",
    intents=Intents.AUTO_MODERATION_CONFIGURATION,
)
AUTO_MODERATION_ACTION_EXECUTION = Event(
    "AUTO_MODERATION_ACTION_EXECUTION",
    ActionExecution,
    "Sent when an auto moderation rule is triggered and performs an action, once per action.",
    intents=Intents.AUTO_MODERATION_EXECUTION,
)

_GUILD_ERRORS: Final = (errors.UNKNOWN_GUILD, errors.MISSING_ACCESS, errors.MISSING_PERMISSIONS)

LIST_AUTO_MODERATION_RULES = Operation(
    "GET",
    "/guilds/{guild_id}/auto-moderation/rules",
    result=list[AutoModerationRule],
    needs=Permissions.MANAGE_GUILD,
    raises=_GUILD_ERRORS,
)

# A rule with a timeout action also requires MODERATE_MEMBERS (spec/http.md#3.10).
CREATE_AUTO_MODERATION_RULE = Operation(
    "POST",
    "/guilds/{guild_id}/auto-moderation/rules",
    body=CreateAutoModerationRule,
    result=AutoModerationRule,
    needs=Permissions.MANAGE_GUILD,
    raises=(*_GUILD_ERRORS, errors.INVALID_FORM_BODY),
    emits=(AUTO_MODERATION_RULE_CREATE,),
    audits=(AuditLogAction.AUTO_MODERATION_RULE_CREATE,),
)

# The public error table has no code for an unknown rule (decisions/0024).
GET_AUTO_MODERATION_RULE = Operation(
    "GET",
    "/guilds/{guild_id}/auto-moderation/rules/{rule_id}",
    result=AutoModerationRule,
    needs=Permissions.MANAGE_GUILD,
    raises=(*_GUILD_ERRORS, errors.NOT_FOUND),
)

UPDATE_AUTO_MODERATION_RULE = Operation(
    "PATCH",
    "/guilds/{guild_id}/auto-moderation/rules/{rule_id}",
    body=UpdateAutoModerationRule,
    result=AutoModerationRule,
    needs=Permissions.MANAGE_GUILD,
    raises=(*_GUILD_ERRORS, errors.NOT_FOUND, errors.INVALID_FORM_BODY),
    emits=(AUTO_MODERATION_RULE_UPDATE,),
    audits=(AuditLogAction.AUTO_MODERATION_RULE_UPDATE,),
)

DELETE_AUTO_MODERATION_RULE = Operation(
    "DELETE",
    "/guilds/{guild_id}/auto-moderation/rules/{rule_id}",
    needs=Permissions.MANAGE_GUILD,
    raises=(*_GUILD_ERRORS, errors.NOT_FOUND),
    emits=(AUTO_MODERATION_RULE_DELETE,),
    audits=(AuditLogAction.AUTO_MODERATION_RULE_DELETE,),
)
