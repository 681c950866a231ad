"""Create, update and delete rules, execute the actions of matched rules, and apply profile rules to members."""

import copy
from collections.abc import Sequence
from typing import Final

import msgspec
from msgspec import UNSET

from hubbub.protocol.enums import (
    AuditLogAction,
    AutoModerationActionType,
    AutoModerationTriggerType,
    MessageType,
)
from hubbub.protocol.ids import AutoModerationRuleId, ChannelId, GuildId, MessageId, UserId
from hubbub.protocol.permissions import Permissions
from hubbub.protocol.resources import auto_moderation as wire
from hubbub.protocol.resources.embeds import EMBED_DESCRIPTION_MAX, EMBED_FIELD_VALUE_MAX, Embed, EmbedField
from hubbub.server.core.call import Call
from hubbub.server.core.event_dispatch import GuildAudience
from hubbub.server.places import members
from hubbub.server.places.audit_log import audit
from hubbub.server.places.standing import access
from hubbub.server.talk import messages
from hubbub.server.talk.auto_moderation import store, views
from hubbub.server.talk.auto_moderation.store import RuleRow
from hubbub.server.talk.auto_moderation.triggers import checks
from hubbub.server.talk.auto_moderation.triggers.checks import PreparedRule, RuleMatch

REVIEW_JOB: Final = "auto_moderation.review"
"""Kind of the job that checks the quarantined members of a guild again."""

ALERT_EMBED_TYPE: Final = "auto_moderation_message"
"""Type of the embed in an alert message."""

_AUDITED_FIELDS: Final = (
    "name",
    "event_type",
    "trigger_type",
    "trigger_metadata",
    "actions",
    "enabled",
    "exempt_roles",
    "exempt_channels",
)
_AUDIT_ACTIONS: Final = {
    AutoModerationActionType.BLOCK_MESSAGE: AuditLogAction.AUTO_MODERATION_BLOCK_MESSAGE,
    AutoModerationActionType.SEND_ALERT_MESSAGE: AuditLogAction.AUTO_MODERATION_FLAG_TO_CHANNEL,
    AutoModerationActionType.TIMEOUT: AuditLogAction.AUTO_MODERATION_USER_COMMUNICATION_DISABLED,
    AutoModerationActionType.BLOCK_MEMBER_INTERACTION: AuditLogAction.AUTO_MODERATION_QUARANTINE_USER,
}


class ReviewPayload(msgspec.Struct, frozen=True):
    """Payload of the job that checks the quarantined members of a guild again."""

    guild_id: GuildId


class Incident(msgspec.Struct, frozen=True, kw_only=True):
    """A message, title or profile text of a user that matched rules, or a message whose mentions are counted."""

    guild_id: GuildId
    user_id: UserId
    text: str
    """The whole text, not only the part that matched."""
    channel_id: ChannelId | None = None
    """ID of the channel; None if the text is neither a message nor a title."""
    message_id: MessageId | None = None
    """ID of the message; None if the text is not a message, or if the message was blocked."""
    is_blocked: bool = False
    """Whether the message or title was rejected."""
    member_flag: int = 0
    """The member flag that a quarantine action sets; 0 if the text is not part of a profile."""
    mention_count: int = 0
    """Number of mentions to count for raid detection; 0 if they are not counted."""
    mentions_message_id: MessageId | None = None
    """ID of the message under which `mention_count` is stored, also if it was blocked; None if the text is not a message."""


# Rules


def create(call: Call, row: RuleRow) -> wire.AutoModerationRule:
    """Create a rule, record it in the audit log and publish it."""
    store.insert(call.tx, row)
    rule = views.rule(row)
    audit.record(
        call,
        row.guild_id,
        AuditLogAction.AUTO_MODERATION_RULE_CREATE,
        target_id=row.id,
        changes=audit.differences(None, rule, _AUDITED_FIELDS),
    )
    call.tx.emit(wire.AUTO_MODERATION_RULE_CREATE, rule, _rule_managers_audience(row.guild_id))
    return rule


def update(call: Call, before: RuleRow, after: RuleRow) -> wire.AutoModerationRule:
    """Store a changed rule, and record and publish the change. If nothing changed, only return the rule."""
    rule = views.rule(after)
    if after == before:
        return rule
    store.update(call.tx, after)
    audit.record(
        call,
        after.guild_id,
        AuditLogAction.AUTO_MODERATION_RULE_UPDATE,
        target_id=after.id,
        changes=audit.differences(views.rule(before), rule, _AUDITED_FIELDS),
    )
    call.tx.emit(wire.AUTO_MODERATION_RULE_UPDATE, rule, _rule_managers_audience(after.guild_id))
    _schedule_review(call, after)
    return rule


def delete(call: Call, row: RuleRow) -> None:
    """Delete a rule, and record and publish the deletion."""
    store.delete(call.tx, row)
    rule = views.rule(row)
    audit.record(
        call,
        row.guild_id,
        AuditLogAction.AUTO_MODERATION_RULE_DELETE,
        target_id=row.id,
        changes=audit.differences(rule, None, _AUDITED_FIELDS),
    )
    call.tx.emit(wire.AUTO_MODERATION_RULE_DELETE, rule, _rule_managers_audience(row.guild_id))
    _schedule_review(call, row)


def _rule_managers_audience(guild_id: int) -> GuildAudience:
    return GuildAudience(guild_id, permission=Permissions.MANAGE_GUILD)


def _schedule_review(call: Call, row: RuleRow) -> None:
    """Schedule a review of the guild's quarantined members if the rule is a profile rule."""
    if row.trigger_type == AutoModerationTriggerType.MEMBER_PROFILE:
        call.tx.enqueue(REVIEW_JOB, ReviewPayload(GuildId(row.guild_id)), key=f"auto-moderation-{row.guild_id}")


# Execution


def execute(call: Call, incident: Incident, matches: Sequence[RuleMatch]) -> None:
    """Execute the actions of matched rules, then record and publish each. Store the mentions for raid detection.

    Skip an action that cannot be executed, such as an alert to a deleted channel."""
    if incident.mention_count and incident.mentions_message_id is not None:
        since_ms = call.now_ms - checks.RAID_WINDOW_MS
        store.record_mentions(
            call.tx, incident.guild_id, incident.mentions_message_id, incident.user_id, incident.mention_count, since_ms
        )
    for match in matches:
        for action in match.rule.actions:
            alert_id: MessageId | None = None
            if action.type == AutoModerationActionType.BLOCK_MESSAGE:
                was_executed = incident.is_blocked
            elif action.type == AutoModerationActionType.SEND_ALERT_MESSAGE:
                alert_id = _send_alert(call, incident, match, action)
                was_executed = alert_id is not None
            elif action.type == AutoModerationActionType.TIMEOUT:
                was_executed = _time_out(call, incident, action)
            else:
                was_executed = _quarantine(call, incident)
            if was_executed:
                _record_execution(call, incident, match, action, alert_id)


def _record_execution(
    call: Call, incident: Incident, match: RuleMatch, action: wire.Action, alert_id: MessageId | None
) -> None:
    rule, matched_text = match
    options: dict[str, object] = {
        "auto_moderation_rule_name": rule.name,
        "auto_moderation_rule_trigger_type": rule.trigger_type,
    }
    if incident.channel_id is not None:
        options["channel_id"] = int(incident.channel_id)
    audit.record(
        call,
        incident.guild_id,
        _AUDIT_ACTIONS[AutoModerationActionType(action.type)],
        target_id=incident.user_id,
        options=options,
        user_id=incident.user_id,
    )
    execution = wire.ActionExecution(
        guild_id=incident.guild_id,
        action=action,
        rule_id=AutoModerationRuleId(rule.id),
        rule_trigger_type=rule.trigger_type,
        user_id=incident.user_id,
        content=incident.text,
        matched_keyword=matched_text.keyword,
        matched_content=matched_text.content,
        channel_id=UNSET if incident.channel_id is None else incident.channel_id,
        message_id=UNSET if incident.message_id is None else incident.message_id,
        alert_system_message_id=UNSET if alert_id is None else alert_id,
    )
    # spec/gateway.md#5.2: without the MESSAGE_CONTENT intent the content fields are empty.
    redacted_execution = copy.copy(execution)
    redacted_execution.content, redacted_execution.matched_content = "", None
    call.tx.emit(
        wire.AUTO_MODERATION_ACTION_EXECUTION,
        execution,
        _rule_managers_audience(incident.guild_id),
        redacted=redacted_execution,
    )


def _send_alert(call: Call, incident: Incident, match: RuleMatch, action: wire.Action) -> MessageId | None:
    """Send an alert to the channel of an action and return the message ID, or None without such a channel in the guild."""
    channel = access.find_channel(call.tx, action.metadata.channel_id or 0)
    if channel is None or channel.guild_id != incident.guild_id:
        return None
    embed = Embed(
        type=ALERT_EMBED_TYPE,
        description=incident.text[:EMBED_DESCRIPTION_MAX],
        fields=[
            EmbedField(name=name, value=value[:EMBED_FIELD_VALUE_MAX], inline=False)
            for name, value in _alert_fields(incident, match)
        ],
    )
    message_type = MessageType.AUTO_MODERATION_ACTION
    return messages.system_messages.create_system_message(
        call, channel, message_type, incident.user_id, embeds=[embed]
    ).id


def _alert_fields(incident: Incident, match: RuleMatch) -> list[tuple[str, str]]:
    rule, matched_text = match
    fields = [("rule_name", rule.name), ("rule_id", str(int(rule.id)))]
    if incident.channel_id is not None:
        fields.append(("channel_id", str(int(incident.channel_id))))
    if incident.message_id is not None:
        fields.append(("flagged_message_id", str(int(incident.message_id))))
    if matched_text.keyword is not None:
        fields.append(("keyword", matched_text.keyword))
    if matched_text.content is not None:
        fields.append(("keyword_matched_content", matched_text.content))
    for action in rule.actions:
        if action.metadata.duration_seconds is not UNSET:
            fields.append(("timeout_duration", str(action.metadata.duration_seconds)))
    fields.append(("decision_outcome", "blocked" if incident.is_blocked else "flagged"))
    return fields


def _time_out(call: Call, incident: Incident, action: wire.Action) -> bool:
    """Time the member out unless a longer timeout is in effect.

    Return False if the user is no longer a member, and True in both other cases, in which the execution is recorded."""
    member = members.find(call.tx, incident.guild_id, incident.user_id)
    if member is None:
        return False
    until_ms = call.now_ms + (action.metadata.duration_seconds or 0) * 1000
    if until_ms > max(member.row.timed_out_until_ms, call.now_ms):
        members.membership.update(call, member, member.row._replace(timed_out_until_ms=until_ms), is_audited=False)
    return True


# Profiles


def apply_profile_rules(call: Call, guild_id: int, user_id: int) -> None:
    """Apply the profile rules to a member's names and guild tag.

    A quarantine starts when names or tag match a rule with a quarantine action, and ends when they no longer match one."""
    member = members.find(call.tx, guild_id, user_id)
    if member is None:
        return
    for flag, text, matches in checks.match_profile(call, member):
        if member.row.flags & flag:
            if any(_has_quarantine_action(rule) for rule, _ in matches):
                continue
            _set_member_flag(call, guild_id, user_id, flag, is_set=False)
        if matches:
            incident = Incident(guild_id=GuildId(guild_id), user_id=UserId(user_id), text=text, member_flag=flag)
            execute(call, incident, matches)


def _has_quarantine_action(rule: PreparedRule) -> bool:
    return any(action.type == AutoModerationActionType.BLOCK_MEMBER_INTERACTION for action in rule.actions)


def _quarantine(call: Call, incident: Incident) -> bool:
    """Set the flag of the incident, which is one of a profile rule: other rules have no quarantine action."""
    return _set_member_flag(call, incident.guild_id, incident.user_id, incident.member_flag, is_set=True)


def _set_member_flag(call: Call, guild_id: int, user_id: int, flag: int, *, is_set: bool) -> bool:
    """Set or clear a member flag. Return False if the user is no longer a member."""
    member = members.find(call.tx, guild_id, user_id)
    if member is None:
        return False
    flags = member.row.flags | flag if is_set else member.row.flags & ~flag
    members.membership.update(call, member, member.row._replace(flags=flags), is_audited=False)
    return True
