"""Validation of auto moderation rules: permissions, triggers, actions and exemptions (spec/http.md#3.10)."""

from collections.abc import Container, Iterable, Sequence
from typing import Final, TypeVar

from msgspec import UNSET

from hubbub.protocol import changes, codec, errors
from hubbub.protocol.enums import (
    AutoModerationActionType,
    AutoModerationEventType,
    AutoModerationTriggerType,
    ChannelType,
)
from hubbub.protocol.errors import FormErrors
from hubbub.protocol.ids import ChannelId, RoleId, Snowflake
from hubbub.protocol.permissions import Permissions
from hubbub.protocol.resources import auto_moderation as wire
from hubbub.server.core.call import Call
from hubbub.server.places import channels, roles
from hubbub.server.places.standing import access
from hubbub.server.talk.auto_moderation import store
from hubbub.server.talk.auto_moderation.store import RuleRow
from hubbub.server.talk.auto_moderation.triggers import keyword_matcher

SnowflakeT = TypeVar("SnowflakeT", bound=Snowflake)

_KEYWORD: Final = AutoModerationTriggerType.KEYWORD
_KEYWORD_PRESET: Final = AutoModerationTriggerType.KEYWORD_PRESET
_MENTION_SPAM: Final = AutoModerationTriggerType.MENTION_SPAM
_MEMBER_PROFILE: Final = AutoModerationTriggerType.MEMBER_PROFILE

_BLOCK: Final = AutoModerationActionType.BLOCK_MESSAGE
_ALERT: Final = AutoModerationActionType.SEND_ALERT_MESSAGE
_TIMEOUT: Final = AutoModerationActionType.TIMEOUT
_QUARANTINE: Final = AutoModerationActionType.BLOCK_MEMBER_INTERACTION

ALERT_CHANNEL_TYPES: Final = frozenset(
    {
        ChannelType.GUILD_TEXT,
        ChannelType.GUILD_VOICE,
        ChannelType.GUILD_ANNOUNCEMENT,
        ChannelType.GUILD_STAGE_VOICE,
    }
)
"""Channel types that can receive alerts."""

_ALERT_PERMISSIONS: Final = Permissions.VIEW_CHANNEL | Permissions.SEND_MESSAGES
"""Permissions that a caller needs in a channel to which they direct alerts."""

_PATTERN_ERROR_LENGTH_MAX: Final = 300
"""Maximum length of the error message about a pattern, in characters; longer messages are cut off."""


def require_can_use_timeouts(
    call: Call, guild_id: int, body: wire.CreateAutoModerationRule | wire.UpdateAutoModerationRule
) -> None:
    """Require MODERATE_MEMBERS of a caller whose request contains a timeout action."""
    if any(action.type == _TIMEOUT for action in body.actions or ()):
        access.require_guild(call, guild_id, Permissions.MODERATE_MEMBERS)


def require_can_change_timeouts(call: Call, before: RuleRow, after: RuleRow) -> None:
    """Require MODERATE_MEMBERS of a caller who changes a rule with a timeout action.

    Renaming or disabling a rule, and removing its timeout action, do not need the permission."""
    if not any(action.type == _TIMEOUT for action in codec.decode(after.actions, list[wire.Action])):
        return
    is_rename_or_disabling = before._replace(name=after.name, enabled=min(before.enabled, after.enabled)) == after
    if not is_rename_or_disabling:
        access.require_guild(call, after.guild_id, Permissions.MODERATE_MEMBERS)


def build_rule(call: Call, row: RuleRow, body: wire.CreateAutoModerationRule) -> RuleRow:
    """Return `row` completed from the body of a request for a new rule; raise one error with all problems of the body.

    An unavailable trigger type is reported alone."""
    form = FormErrors()
    trigger_types = [
        trigger_type
        for trigger_type in AutoModerationTriggerType
        if trigger_type != _MEMBER_PROFILE or _has_profile_rules(call)
    ]
    if body.trigger_type not in trigger_types:
        form.add(("trigger_type",), *errors.choices([int(trigger_type) for trigger_type in trigger_types]))
        form.raise_if_any()
    if store.count_by_trigger(call.tx, row.guild_id, body.trigger_type) >= wire.RULES_MAX_BY_TRIGGER[body.trigger_type]:
        limit = wire.RULES_MAX_BY_TRIGGER[body.trigger_type]
        message = f"Maximum number of rules of this trigger type reached ({limit})"
        form.add(("trigger_type",), "AUTO_MODERATION_MAX_RULES_OF_TYPE_EXCEEDED", message)
    if not body.trigger_metadata and body.trigger_type in (_KEYWORD_PRESET, _MEMBER_PROFILE):
        form.add(("trigger_metadata",), *errors.required())
    metadata = _build_metadata(body.trigger_type, body.trigger_metadata or wire.TriggerMetadataRequest(), form)
    default_action = _QUARANTINE if body.trigger_type == _MEMBER_PROFILE else _BLOCK
    action_requests = body.actions or [wire.ActionRequest(type=default_action)]
    row = row._replace(
        name=body.name,
        event_type=_check_event_type(body.trigger_type, body.event_type, form),
        trigger_metadata=_to_json(metadata),
        actions=_to_json(_build_actions(call, row, action_requests, form)),
        enabled=int(bool(body.enabled)),
        exempt_roles=_to_json(_filter_existing_roles(call, row, body.exempt_roles or [], form)),
        exempt_channels=_to_json(_filter_existing_channels(call, row, body.exempt_channels or [], form)),
    )
    form.raise_if_any()
    return row


def apply_update(call: Call, row: RuleRow, body: wire.UpdateAutoModerationRule) -> RuleRow:
    """Return a rule with the changes of a request body; raise one error with all problems of the body."""
    form = FormErrors()
    trigger_type = AutoModerationTriggerType(row.trigger_type)
    if body.trigger_type is not UNSET and body.trigger_type != trigger_type:
        form.add(("trigger_type",), *errors.choices([int(trigger_type)]))
    if body.name is not UNSET:
        row = row._replace(name=body.name)
    if body.event_type is not UNSET:
        row = row._replace(event_type=_check_event_type(trigger_type, body.event_type, form))
    if body.trigger_metadata is not UNSET:
        if body.trigger_metadata is None and trigger_type in (_KEYWORD_PRESET, _MEMBER_PROFILE):
            form.add(("trigger_metadata",), *errors.required())
        metadata = _build_metadata(trigger_type, body.trigger_metadata or wire.TriggerMetadataRequest(), form)
        row = row._replace(trigger_metadata=_to_json(metadata))
    if body.actions:
        row = row._replace(actions=_to_json(_build_actions(call, row, body.actions, form)))
    if body.enabled is not UNSET:
        row = row._replace(enabled=int(bool(body.enabled)))
    if body.exempt_roles is not UNSET:
        row = row._replace(exempt_roles=_to_json(_filter_existing_roles(call, row, body.exempt_roles or [], form)))
    if body.exempt_channels is not UNSET:
        row = row._replace(
            exempt_channels=_to_json(_filter_existing_channels(call, row, body.exempt_channels or [], form))
        )
    form.raise_if_any()
    return row


def _has_profile_rules(call: Call) -> bool:
    return changes.MEMBER_PROFILE_RULES.is_active(call.now_ms)


def _to_json(value: object) -> str:
    return codec.encode(value).decode()


def _check_event_type(
    trigger_type: AutoModerationTriggerType, requested_type: AutoModerationEventType, form: FormErrors
) -> int:
    """Return the event type, which the trigger type determines, and report a different one as an error."""
    expected_type = (
        AutoModerationEventType.MEMBER_UPDATE
        if trigger_type == _MEMBER_PROFILE
        else AutoModerationEventType.MESSAGE_SEND
    )
    if requested_type != expected_type:
        form.add(("event_type",), *errors.choices([int(expected_type)]))
    return int(expected_type)


def _build_metadata(
    trigger_type: AutoModerationTriggerType, request: wire.TriggerMetadataRequest, form: FormErrors
) -> wire.TriggerMetadata:
    """Return the metadata that the trigger type uses, and report invalid values as errors."""
    if trigger_type in (_KEYWORD, _MEMBER_PROFILE):
        return wire.TriggerMetadata(
            keyword_filter=_check_keywords("keyword_filter", request.keyword_filter or [], wire.KEYWORDS_MAX, form),
            regex_patterns=_check_patterns(request.regex_patterns or [], form),
            allow_list=_check_keywords("allow_list", request.allow_list or [], wire.ALLOW_LIST_MAX, form),
        )
    if trigger_type == _KEYWORD_PRESET:
        presets = [int(preset) for preset in request.presets or ()]
        _reject_duplicates("presets", presets, form, "trigger_metadata")
        return wire.TriggerMetadata(
            presets=presets,
            allow_list=_check_keywords("allow_list", request.allow_list or [], wire.PRESET_ALLOW_LIST_MAX, form),
        )
    if trigger_type == _MENTION_SPAM:
        limit = request.mention_total_limit
        return wire.TriggerMetadata(
            mention_total_limit=limit if isinstance(limit, int) else wire.MENTION_TOTAL_LIMIT_DEFAULT,
            mention_raid_protection_enabled=bool(request.mention_raid_protection_enabled),
        )
    return wire.TriggerMetadata()


def _check_keywords(field: str, keywords: list[str], limit: int, form: FormErrors) -> list[str]:
    if len(keywords) > limit:
        form.add(("trigger_metadata", field), *errors.bad_length(0, limit))
    for index, keyword in enumerate(keywords):
        # A keyword of stars alone has no text to search for.
        if not keyword_matcher.parse_keyword(keyword).needle.strip("*"):
            form.add(("trigger_metadata", field, index), *errors.bad_length(1, wire.KEYWORD_LENGTH_MAX))
    return keywords


def _check_patterns(patterns: list[str], form: FormErrors) -> list[str]:
    for index, pattern in enumerate(patterns):
        try:
            keyword_matcher.compile_pattern(pattern)
        except keyword_matcher.InvalidPattern as problem:
            message = f"Regular expression cannot be used: {problem}"[:_PATTERN_ERROR_LENGTH_MAX]
            form.add(("trigger_metadata", "regex_patterns", index), "AUTO_MODERATION_INVALID_REGEX", message)
    return patterns


def _build_actions(
    call: Call, row: RuleRow, action_requests: list[wire.ActionRequest], form: FormErrors
) -> list[wire.Action]:
    allowed_types = [
        action_type
        for action_type in wire.ACTIONS_BY_TRIGGER[AutoModerationTriggerType(row.trigger_type)]
        if action_type != _QUARANTINE or _has_profile_rules(call)
    ]
    _reject_duplicates("actions", [action.type for action in action_requests], form)
    alert_channel_ids = {action.metadata.channel_id for action in codec.decode(row.actions, list[wire.Action])}
    actions = []
    for index, action in enumerate(action_requests):
        if action.type not in allowed_types:
            form.add(("actions", index, "type"), *errors.choices([int(action_type) for action_type in allowed_types]))
            continue
        metadata_request = action.metadata or wire.ActionMetadataRequest()
        metadata = wire.ActionMetadata()
        if action.type == _BLOCK and metadata_request.custom_message:
            metadata.custom_message = metadata_request.custom_message
        elif action.type == _ALERT:
            if metadata_request.channel_id:
                metadata.channel_id = metadata_request.channel_id
            _check_alert_channel(
                call, row, metadata_request.channel_id or None, alert_channel_ids, ("actions", index), form
            )
        elif action.type == _TIMEOUT:
            if isinstance(metadata_request.duration_seconds, int):
                metadata.duration_seconds = metadata_request.duration_seconds
            else:
                form.add(("actions", index, "metadata", "duration_seconds"), *errors.required())
        actions.append(wire.Action(type=int(action.type), metadata=metadata))
    return actions


def _check_alert_channel(
    call: Call,
    row: RuleRow,
    channel_id: int | None,
    current_channel_ids: Container[object],
    action_path: tuple[str | int, ...],
    form: FormErrors,
) -> None:
    """Report an alert channel that cannot receive alerts, or in which the caller cannot send messages.

    The alert channels that the rule has already, `current_channel_ids`, need no permission."""
    path = (*action_path, "metadata", "channel_id")
    if channel_id is None:
        form.add(path, *errors.required())
        return
    channel = access.find_channel(call.tx, channel_id)
    is_valid = channel is not None and channel.guild_id == row.guild_id and channel.type in ALERT_CHANNEL_TYPES
    if is_valid and channel_id not in current_channel_ids:
        standing = access.get_guild_standing(call, row.guild_id)
        permissions = access.permissions_in(call.tx, standing, channel_id)
        is_valid = not _ALERT_PERMISSIONS & ~permissions
    if not is_valid:
        form.add(path, "AUTO_MODERATION_INVALID_ALERT_CHANNEL", "Alerts cannot be sent to this channel")


# Deleted roles and channels are dropped instead of rejected, so that a client can send back a rule as it read it.


def _filter_existing_roles(call: Call, row: RuleRow, role_ids: Sequence[RoleId], form: FormErrors) -> list[RoleId]:
    _reject_duplicates("exempt_roles", role_ids, form)
    roles_by_id = roles.find_many(call.tx, row.guild_id, role_ids)
    return [role_id for role_id in role_ids if role_id in roles_by_id]


def _filter_existing_channels(
    call: Call, row: RuleRow, channel_ids: Sequence[ChannelId], form: FormErrors
) -> list[ChannelId]:
    _reject_duplicates("exempt_channels", channel_ids, form)
    channels_by_id = channels.find_many(call.tx, channel_ids)
    return [
        channel_id
        for channel_id in channel_ids
        if channel_id in channels_by_id and channels_by_id[channel_id].guild_id == row.guild_id
    ]


def _reject_duplicates(field: str, values: Iterable[int], form: FormErrors, *parents: str) -> None:
    earlier_values: set[int] = set()
    for index, value in enumerate(values):
        if value in earlier_values:
            form.add((*parents, field, index), *errors.duplicate())
        earlier_values.add(value)
