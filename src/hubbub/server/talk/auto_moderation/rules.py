"""Validation of auto moderation rules: triggers, actions and exemptions (spec/http.md#3.10)."""

from collections.abc import Iterable, Sequence
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
from hubbub.server.talk.auto_moderation import keyword_matcher, store
from hubbub.server.talk.auto_moderation.store import RuleRow

S = TypeVar("S", bound=Snowflake)

_KEYWORD: Final = AutoModerationTriggerType.KEYWORD
_PRESET: Final = AutoModerationTriggerType.KEYWORD_PRESET
_MENTIONS: Final = AutoModerationTriggerType.MENTION_SPAM
_PROFILE: Final = AutoModerationTriggerType.MEMBER_PROFILE

_BLOCK: Final = AutoModerationActionType.BLOCK_MESSAGE
_ALERT: Final = AutoModerationActionType.SEND_ALERT_MESSAGE
_TIMEOUT: Final = AutoModerationActionType.TIMEOUT
_QUARANTINE: Final = AutoModerationActionType.BLOCK_MEMBER_INTERACTION

ACTIONS_BY_TRIGGER: Final = {
    _KEYWORD: (_BLOCK, _ALERT, _TIMEOUT),
    AutoModerationTriggerType.SPAM: (_BLOCK, _ALERT),
    _PRESET: (_BLOCK, _ALERT),
    _MENTIONS: (_BLOCK, _ALERT, _TIMEOUT),
    _PROFILE: (_ALERT, _QUARANTINE),
}
"""Actions allowed for each trigger type."""

ALERT_CHANNEL_TYPES: Final = frozenset(
    {
        ChannelType.GUILD_TEXT,
        ChannelType.GUILD_VOICE,
        ChannelType.GUILD_ANNOUNCEMENT,
        ChannelType.GUILD_STAGE_VOICE,
    }
)
"""Channel types that can receive alerts."""


def require_timeouts(
    call: Call, guild_id: int, body: wire.CreateAutoModerationRule | wire.UpdateAutoModerationRule
) -> None:
    """Require MODERATE_MEMBERS of a caller who adds a timeout action to a rule."""
    if any(action.type == _TIMEOUT for action in body.actions or ()):
        access.require_guild(call, guild_id, Permissions.MODERATE_MEMBERS)


def build_rule(call: Call, row: RuleRow, body: wire.CreateAutoModerationRule) -> RuleRow:
    """Build a new rule from a request body, or raise every error in it."""
    form = FormErrors()
    known = [each for each in AutoModerationTriggerType if each != _PROFILE or _profile_rules_active(call)]
    if body.trigger_type not in known:
        form.add(("trigger_type",), *errors.choices([int(each) for each in known]))
        form.raise_if_any()
    if store.count(call.tx, row.guild_id, body.trigger_type) >= wire.RULES_MAX_BY_TRIGGER[body.trigger_type]:
        limit = wire.RULES_MAX_BY_TRIGGER[body.trigger_type]
        text = f"Maximum number of rules of this trigger type reached ({limit})"
        form.add(("trigger_type",), "AUTO_MODERATION_MAX_RULES_OF_TYPE_EXCEEDED", text)
    if not body.trigger_metadata and body.trigger_type in (_PRESET, _PROFILE):
        form.add(("trigger_metadata",), *errors.required())
    metadata = _metadata(body.trigger_type, body.trigger_metadata or wire.TriggerMetadataRequest(), form)
    default = _QUARANTINE if body.trigger_type == _PROFILE else _BLOCK
    wanted = body.actions or [wire.ActionRequest(type=default)]
    row = row._replace(
        name=body.name,
        event_type=_event_type(body.trigger_type, body.event_type, form),
        trigger_metadata=_text(metadata),
        actions=_text(_actions(call, row, wanted, form)),
        enabled=int(bool(body.enabled)),
        exempt_roles=_text(_exempt_roles(call, row, body.exempt_roles or [], form)),
        exempt_channels=_text(_exempt_channels(call, row, body.exempt_channels or [], form)),
    )
    form.raise_if_any()
    return row


def apply_update(call: Call, row: RuleRow, body: wire.UpdateAutoModerationRule) -> RuleRow:
    """Apply a request body to a rule, or raise every error in it."""
    form = FormErrors()
    trigger = AutoModerationTriggerType(row.trigger_type)
    if body.trigger_type is not UNSET and body.trigger_type != trigger:
        form.add(("trigger_type",), *errors.choices([int(trigger)]))
    if body.name is not UNSET:
        row = row._replace(name=body.name)
    if body.event_type is not UNSET:
        row = row._replace(event_type=_event_type(trigger, body.event_type, form))
    if body.trigger_metadata is not UNSET:
        if body.trigger_metadata is None and trigger in (_PRESET, _PROFILE):
            form.add(("trigger_metadata",), *errors.required())
        metadata = _metadata(trigger, body.trigger_metadata or wire.TriggerMetadataRequest(), form)
        row = row._replace(trigger_metadata=_text(metadata))
    if body.actions:
        row = row._replace(actions=_text(_actions(call, row, body.actions, form)))
    if body.enabled is not UNSET:
        row = row._replace(enabled=int(bool(body.enabled)))
    if body.exempt_roles is not UNSET:
        row = row._replace(exempt_roles=_text(_exempt_roles(call, row, body.exempt_roles or [], form)))
    if body.exempt_channels is not UNSET:
        row = row._replace(exempt_channels=_text(_exempt_channels(call, row, body.exempt_channels or [], form)))
    form.raise_if_any()
    return row


def _profile_rules_active(call: Call) -> bool:
    return changes.MEMBER_PROFILE_RULES.is_active(call.now)


def _text(value: object) -> str:
    return codec.encode(value).decode()


def _event_type(trigger: AutoModerationTriggerType, requested: AutoModerationEventType, form: FormErrors) -> int:
    """Return the event type, which the trigger determines, and report a different one as an error."""
    expected = AutoModerationEventType.MEMBER_UPDATE if trigger == _PROFILE else AutoModerationEventType.MESSAGE_SEND
    if requested != expected:
        form.add(("event_type",), *errors.choices([int(expected)]))
    return int(expected)


def _metadata(
    trigger: AutoModerationTriggerType, wanted: wire.TriggerMetadataRequest, form: FormErrors
) -> wire.TriggerMetadata:
    if trigger in (_KEYWORD, _PROFILE):
        return wire.TriggerMetadata(
            keyword_filter=_keywords("keyword_filter", wanted.keyword_filter or [], wire.KEYWORDS_MAX, form),
            regex_patterns=_patterns(wanted.regex_patterns or [], form),
            allow_list=_keywords("allow_list", wanted.allow_list or [], wire.ALLOW_LIST_MAX, form),
        )
    if trigger == _PRESET:
        presets = [int(each) for each in wanted.presets or ()]
        _reject_duplicates("presets", presets, form, "trigger_metadata")
        return wire.TriggerMetadata(
            presets=presets,
            allow_list=_keywords("allow_list", wanted.allow_list or [], wire.PRESET_ALLOW_LIST_MAX, form),
        )
    if trigger == _MENTIONS:
        limit = wanted.mention_total_limit
        return wire.TriggerMetadata(
            mention_total_limit=limit if isinstance(limit, int) else wire.MENTION_TOTAL_LIMIT_DEFAULT,
            mention_raid_protection_enabled=bool(wanted.mention_raid_protection_enabled),
        )
    return wire.TriggerMetadata()


def _keywords(name: str, written: list[str], limit: int, form: FormErrors) -> list[str]:
    if len(written) > limit:
        form.add(("trigger_metadata", name), *errors.bad_length(0, limit))
    for index, word in enumerate(written):
        # Stars alone would match every text.
        if not keyword_matcher.parse_keyword(word).needle.strip("*"):
            form.add(("trigger_metadata", name, index), *errors.bad_length(1, wire.KEYWORD_MAX))
    return written


def _patterns(written: list[str], form: FormErrors) -> list[str]:
    for index, pattern in enumerate(written):
        try:
            keyword_matcher.compile_pattern(pattern)
        except keyword_matcher.BadPattern as problem:
            text = f"Regular expression cannot be used: {problem}"[:300]
            form.add(("trigger_metadata", "regex_patterns", index), "AUTO_MODERATION_INVALID_REGEX", text)
    return written


def _actions(call: Call, row: RuleRow, wanted: list[wire.ActionRequest], form: FormErrors) -> list[wire.Action]:
    allowed = [
        each
        for each in ACTIONS_BY_TRIGGER[AutoModerationTriggerType(row.trigger_type)]
        if each != _QUARANTINE or _profile_rules_active(call)
    ]
    _reject_duplicates("actions", [action.type for action in wanted], form)
    validated = []
    for index, action in enumerate(wanted):
        if action.type not in allowed:
            form.add(("actions", index, "type"), *errors.choices([int(each) for each in allowed]))
            continue
        requested = action.metadata or wire.ActionMetadataRequest()
        metadata = wire.ActionMetadata()
        if action.type == _BLOCK and requested.custom_message:
            metadata.custom_message = requested.custom_message
        elif action.type == _ALERT:
            if requested.channel_id:
                metadata.channel_id = requested.channel_id
            _require_alertable(call, row, requested.channel_id or None, index, form)
        elif action.type == _TIMEOUT:
            if isinstance(requested.duration_seconds, int):
                metadata.duration_seconds = requested.duration_seconds
            else:
                form.add(("actions", index, "metadata", "duration_seconds"), *errors.required())
        validated.append(wire.Action(type=int(action.type), metadata=metadata))
    return validated


def _require_alertable(call: Call, row: RuleRow, channel_id: int | None, index: int, form: FormErrors) -> None:
    path = ("actions", index, "metadata", "channel_id")
    if channel_id is None:
        form.add(path, *errors.required())
        return
    found = access.find_channel(call.tx, channel_id)
    if found is None or found.guild_id != row.guild_id or found.type not in ALERT_CHANNEL_TYPES:
        form.add(path, "AUTO_MODERATION_INVALID_ALERT_CHANNEL", "Alerts cannot be sent to this channel")


# Deleted roles and channels are dropped instead of rejected, so that a client can send back a rule as it read it.


def _exempt_roles(call: Call, row: RuleRow, wanted: Sequence[RoleId], form: FormErrors) -> list[RoleId]:
    _reject_duplicates("exempt_roles", wanted, form)
    known = roles.find_many(call.tx, row.guild_id, wanted)
    return [each for each in wanted if each in known]


def _exempt_channels(call: Call, row: RuleRow, wanted: Sequence[ChannelId], form: FormErrors) -> list[ChannelId]:
    _reject_duplicates("exempt_channels", wanted, form)
    known = channels.find_many(call.tx, wanted)
    return [each for each in wanted if each in known and known[each].guild_id == row.guild_id]


def _reject_duplicates(name: str, values: Iterable[int], form: FormErrors, *parents: str) -> None:
    seen: set[int] = set()
    for index, value in enumerate(values):
        if value in seen:
            form.add((*parents, name, index), *errors.duplicate())
        seen.add(value)
