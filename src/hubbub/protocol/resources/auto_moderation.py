"""Auto moderation: a guild's rules about what may be said and how members may be called, and what follows when one is hit."""

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
"""How many rules of each kind a guild may have."""
KEYWORDS_MAX: Final = 1000
KEYWORD_MAX: Final = 60
REGEX_PATTERNS_MAX: Final = 10
REGEX_PATTERN_MAX: Final = 260
ALLOW_LIST_MAX: Final = 100
PRESET_ALLOW_LIST_MAX: Final = 1000
MENTION_TOTAL_LIMIT_MAX: Final = 50
MENTION_TOTAL_LIMIT_DEFAULT: Final = 20
"""Open in the specification: what a rule without the number means (decisions/0024)."""
ACTIONS_MAX: Final = 5
CUSTOM_MESSAGE_MAX: Final = 150
TIMEOUT_SECONDS_MAX: Final = 2_419_200
"""Four weeks."""
EXEMPT_ROLES_MAX: Final = 20
EXEMPT_CHANNELS_MAX: Final = 50

Keyword = Annotated[str, Meta(min_length=1, max_length=KEYWORD_MAX)]
Pattern = Annotated[str, Meta(min_length=1, max_length=REGEX_PATTERN_MAX)]


class TriggerMetadata(Struct, kw_only=True):
    """What a rule looks for; which keys are there depends on its trigger type."""

    keyword_filter: list[str] | UnsetType = UNSET
    regex_patterns: list[str] | UnsetType = UNSET
    presets: list[int] | UnsetType = UNSET
    allow_list: list[str] | UnsetType = UNSET
    mention_total_limit: int | UnsetType = UNSET
    mention_raid_protection_enabled: bool | UnsetType = UNSET


class ActionMetadata(Struct, kw_only=True):
    """How a rule does it; which keys are there depends on the action's type."""

    channel_id: ChannelId | UnsetType = UNSET
    """Where the alert is sent."""
    duration_seconds: int | UnsetType = UNSET
    """How long the timeout lasts."""
    custom_message: str | UnsetType = UNSET
    """What a member reads whose message was blocked."""


class Action(Struct, kw_only=True):
    """What a rule does."""

    type: int
    metadata: ActionMetadata


class AutoModerationRule(Struct, kw_only=True):
    """A rule of a guild."""

    id: AutoModerationRuleId
    guild_id: GuildId
    name: str
    creator_id: UserId
    event_type: int
    trigger_type: int
    trigger_metadata: TriggerMetadata
    actions: list[Action]
    enabled: bool
    exempt_roles: list[RoleId]
    exempt_channels: list[ChannelId]


class TriggerMetadataRequest(Struct, kw_only=True):
    """What a rule shall look for; keys that its trigger type has no use for are ignored."""

    keyword_filter: Annotated[list[Keyword], Meta(max_length=KEYWORDS_MAX)] | None | UnsetType = UNSET
    """Words and phrases in any case: `word` whole, `word*` at a beginning, `*word` at an end, `*word*` anywhere."""
    regex_patterns: Annotated[list[Pattern], Meta(max_length=REGEX_PATTERNS_MAX)] | None | UnsetType = UNSET
    """Regular expressions of the kind that is matched in linear time: no lookaround, no backreferences."""
    presets: list[AutoModerationKeywordPresetType] | None | UnsetType = UNSET
    # Keyword rules take fewer; the rule that knows the trigger says so.
    allow_list: Annotated[list[Keyword], Meta(max_length=PRESET_ALLOW_LIST_MAX)] | None | UnsetType = UNSET
    """What is fine although it contains something that is not."""
    mention_total_limit: Annotated[int, Meta(ge=0, le=MENTION_TOTAL_LIMIT_MAX)] | None | UnsetType = UNSET
    """How many different users and roles one message may mention."""
    mention_raid_protection_enabled: bool | None | UnsetType = UNSET


class ActionMetadataRequest(Struct, kw_only=True):
    """How a rule shall do it."""

    channel_id: ChannelId | None | UnsetType = UNSET
    duration_seconds: Annotated[int, Meta(ge=0, le=TIMEOUT_SECONDS_MAX)] | None | UnsetType = UNSET
    custom_message: Annotated[str, Meta(max_length=CUSTOM_MESSAGE_MAX)] | None | UnsetType = UNSET


class ActionRequest(Struct, kw_only=True):
    """What a rule shall do."""

    type: AutoModerationActionType
    metadata: ActionMetadataRequest | None | UnsetType = UNSET


Actions = Annotated[list[ActionRequest], Meta(min_length=1, max_length=ACTIONS_MAX)]
ExemptRoles = Annotated[list[RoleId], Meta(max_length=EXEMPT_ROLES_MAX)]
ExemptChannels = Annotated[list[ChannelId], Meta(max_length=EXEMPT_CHANNELS_MAX)]


class CreateAutoModerationRule(Struct, kw_only=True):
    """A rule to make."""

    name: Annotated[str, Meta(min_length=1, max_length=RULE_NAME_MAX)]
    event_type: AutoModerationEventType
    trigger_type: AutoModerationTriggerType
    trigger_metadata: TriggerMetadataRequest | None | UnsetType = UNSET
    actions: Actions | None | UnsetType = UNSET
    enabled: bool | None | UnsetType = UNSET
    """False unless said otherwise."""
    exempt_roles: ExemptRoles | None | UnsetType = UNSET
    exempt_channels: ExemptChannels | None | UnsetType = UNSET


class UpdateAutoModerationRule(Struct, kw_only=True):
    """What to change of a rule; its trigger type stays."""

    name: Annotated[str, Meta(min_length=1, max_length=RULE_NAME_MAX)] | UnsetType = UNSET
    event_type: AutoModerationEventType | UnsetType = UNSET
    trigger_type: AutoModerationTriggerType | UnsetType = UNSET
    trigger_metadata: TriggerMetadataRequest | None | UnsetType = UNSET
    """Replaces the old one whole."""
    actions: Actions | None | UnsetType = UNSET
    enabled: bool | None | UnsetType = UNSET
    exempt_roles: ExemptRoles | None | UnsetType = UNSET
    exempt_channels: ExemptChannels | None | UnsetType = UNSET


class ActionExecution(Struct, kw_only=True):
    """One action that a rule took."""

    guild_id: GuildId
    action: Action
    rule_id: AutoModerationRuleId
    rule_trigger_type: int
    user_id: UserId
    """Who hit the rule."""
    content: str
    """What they wrote; empty for sessions without the message content intent."""
    matched_keyword: str | None
    """The word or pattern of the rule."""
    matched_content: str | None
    """The part of the content that it matched; null for sessions without the message content intent."""
    channel_id: ChannelId | UnsetType = UNSET
    message_id: MessageId | UnsetType = UNSET
    """Absent when the message was blocked."""
    alert_system_message_id: MessageId | UnsetType = UNSET


AUTO_MODERATION_RULE_CREATE = Event(
    "AUTO_MODERATION_RULE_CREATE", AutoModerationRule, intents=Intents.AUTO_MODERATION_CONFIGURATION
)
AUTO_MODERATION_RULE_UPDATE = Event(
    "AUTO_MODERATION_RULE_UPDATE", AutoModerationRule, intents=Intents.AUTO_MODERATION_CONFIGURATION
)
AUTO_MODERATION_RULE_DELETE = Event(
    "AUTO_MODERATION_RULE_DELETE", AutoModerationRule, intents=Intents.AUTO_MODERATION_CONFIGURATION
)
AUTO_MODERATION_ACTION_EXECUTION = Event(
    "AUTO_MODERATION_ACTION_EXECUTION", ActionExecution, intents=Intents.AUTO_MODERATION_EXECUTION
)

_RAISES: Final = (errors.UNKNOWN_GUILD, errors.MISSING_ACCESS, errors.MISSING_PERMISSIONS)

LIST_AUTO_MODERATION_RULES = Operation(
    "GET",
    "/guilds/{guild_id}/auto-moderation/rules",
    result=list[AutoModerationRule],
    needs=Permissions.MANAGE_GUILD,
    raises=_RAISES,
)

# http.md 3.10: a rule that times out also needs MODERATE_MEMBERS.
CREATE_AUTO_MODERATION_RULE = Operation(
    "POST",
    "/guilds/{guild_id}/auto-moderation/rules",
    body=CreateAutoModerationRule,
    result=AutoModerationRule,
    needs=Permissions.MANAGE_GUILD,
    raises=(*_RAISES, errors.INVALID_FORM_BODY),
    emits=(AUTO_MODERATION_RULE_CREATE,),
    audits=(AuditLogAction.AUTO_MODERATION_RULE_CREATE,),
)

# The table of codes has none for a rule that is not there (decisions/0024).
GET_AUTO_MODERATION_RULE = Operation(
    "GET",
    "/guilds/{guild_id}/auto-moderation/rules/{rule_id}",
    result=AutoModerationRule,
    needs=Permissions.MANAGE_GUILD,
    raises=(*_RAISES, errors.NOT_FOUND),
)

UPDATE_AUTO_MODERATION_RULE = Operation(
    "PATCH",
    "/guilds/{guild_id}/auto-moderation/rules/{rule_id}",
    body=UpdateAutoModerationRule,
    result=AutoModerationRule,
    needs=Permissions.MANAGE_GUILD,
    raises=(*_RAISES, errors.NOT_FOUND, errors.INVALID_FORM_BODY),
    emits=(AUTO_MODERATION_RULE_UPDATE,),
    audits=(AuditLogAction.AUTO_MODERATION_RULE_UPDATE,),
)

DELETE_AUTO_MODERATION_RULE = Operation(
    "DELETE",
    "/guilds/{guild_id}/auto-moderation/rules/{rule_id}",
    needs=Permissions.MANAGE_GUILD,
    raises=(*_RAISES, errors.NOT_FOUND),
    emits=(AUTO_MODERATION_RULE_DELETE,),
    audits=(AuditLogAction.AUTO_MODERATION_RULE_DELETE,),
)
