"""Listeners and port implementations of auto moderation.

They check messages, titles, names, and the profiles of new and changed members, delete the rules of deleted guilds, and
find the rules that audit log entries refer to."""

from collections.abc import Sequence
from functools import cache, partial

from hubbub.protocol import changes, errors
from hubbub.protocol.enums import AuditLogAction, AutoModerationActionType
from hubbub.protocol.errors import ErrorCode
from hubbub.protocol.ids import GuildId
from hubbub.protocol.resources.audit_log import AuditLogEntry
from hubbub.server.core.call import Call
from hubbub.server.core.rejections import RejectedWithSideEffects
from hubbub.server.identity import users
from hubbub.server.places import guilds, members
from hubbub.server.places.audit_log import ReferencedObjects
from hubbub.server.places.standing import ChannelAccess
from hubbub.server.talk import messages
from hubbub.server.talk.auto_moderation import actions, store, views
from hubbub.server.talk.auto_moderation.actions import Incident
from hubbub.server.talk.auto_moderation.triggers import checks
from hubbub.server.talk.auto_moderation.triggers.checks import RuleMatch
from hubbub.server.talk.auto_moderation.triggers.keyword_matcher import Matcher

_RULE_AUDIT_LOG_ACTIONS = frozenset(
    {
        AuditLogAction.AUTO_MODERATION_RULE_CREATE,
        AuditLogAction.AUTO_MODERATION_RULE_UPDATE,
        AuditLogAction.AUTO_MODERATION_RULE_DELETE,
    }
)


def check_names(call: Call, names: Sequence[str]) -> None:
    """Reject names and descriptions of guilds, channels and stages that contain words banned by the operator.

    Names set by the platform are not checked."""
    banned_words = call.config.auto_moderation.forbidden_in_names
    if not banned_words or call.actor_or_none is None:
        return
    for text in names:
        # Channel names have hyphens instead of spaces.
        if _banned_words_matcher(banned_words).find(text) or _banned_words_matcher(banned_words).find(
            text.replace("-", " ")
        ):
            raise errors.BANNED_WORDS()


@cache
def _banned_words_matcher(banned_words: tuple[str, ...]) -> Matcher:
    return Matcher(banned_words, (), ())


def check_message(call: Call, draft: messages.ports.MessageDraft) -> None:
    """Check a new or edited message, block it if a matched rule has the action BLOCK_MESSAGE, and execute the actions."""
    channel_access = draft.channel_access
    matches, mention_count = checks.match_message(call, channel_access, draft.message_id, draft.text)
    if not matches and not mention_count:
        return
    # Before `AUTO_MODERATION_OF_EDITS`, edits were not blocked, but the other actions were executed
    # (spec/dated-changes.md#3).
    can_block = not draft.is_edited or changes.AUTO_MODERATION_OF_EDITS.is_active(call.now_ms)
    is_blocked = can_block and _has_block_action(matches)
    incident = Incident(
        guild_id=channel_access.guild_id,
        user_id=call.user_id,
        text=draft.text,
        channel_id=channel_access.channel.id,
        message_id=None if is_blocked else draft.message_id,
        is_blocked=is_blocked,
        mention_count=mention_count,
        mentions_message_id=draft.message_id,
    )
    _execute_or_reject(call, incident, matches, errors.AUTO_MODERATION_BLOCKED_MESSAGE)


def check_title(call: Call, channel_access: ChannelAccess, title: str) -> None:
    """Check the name of a thread or post, block it if a matched rule has the action BLOCK_MESSAGE, and execute the actions."""
    matches = checks.match_title(call, channel_access, title)
    if matches:
        incident = Incident(
            guild_id=channel_access.guild_id,
            user_id=call.user_id,
            text=title,
            channel_id=channel_access.channel.id,
            is_blocked=_has_block_action(matches),
        )
        _execute_or_reject(call, incident, matches, errors.AUTO_MODERATION_BLOCKED_TITLE)


def _has_block_action(matches: Sequence[RuleMatch]) -> bool:
    return any(action.type == AutoModerationActionType.BLOCK_MESSAGE for rule, _ in matches for action in rule.actions)


def _execute_or_reject(call: Call, incident: Incident, matches: Sequence[RuleMatch], error: ErrorCode) -> None:
    """Reject a blocked text and execute the actions after the rollback, or execute them now if it is not blocked."""
    if not incident.is_blocked:
        actions.execute(call, incident, matches)
        return
    overrides = {"message": text} if (text := _custom_message(matches)) else {}
    raise RejectedWithSideEffects(error, partial(actions.execute, incident=incident, matches=matches), **overrides)


def _custom_message(matches: Sequence[RuleMatch]) -> str | None:
    for rule, _ in matches:
        for action in rule.actions:
            if action.type == AutoModerationActionType.BLOCK_MESSAGE and action.metadata.custom_message:
                return action.metadata.custom_message
    return None


def on_member_added(call: Call, signal: members.signals.MemberAdded) -> None:
    """Check the profile of a new member."""
    apply_profile_rules_if_any(call, signal.guild_id, signal.user_id)


def on_member_renamed(call: Call, signal: members.signals.MemberRenamed) -> None:
    """Check the profile of a member whose nickname changed."""
    apply_profile_rules_if_any(call, signal.guild_id, signal.user_id)


def on_user_changed(call: Call, signal: users.signals.UserChanged) -> None:
    """Check the profile of a changed user in each of their guilds with profile rules. Bots are not checked."""
    if not signal.row.bot:
        for guild_id in store.list_guild_ids_with_profile_rules(call.tx, signal.row.id):
            apply_profile_rules_if_any(call, guild_id, signal.row.id)


def apply_profile_rules_if_any(call: Call, guild_id: int, user_id: int) -> None:
    """Check a member's profile if the guild has profile rules or the member is quarantined.

    Do nothing before the date of `MEMBER_PROFILE_RULES`."""
    if not changes.MEMBER_PROFILE_RULES.is_active(call.now_ms):
        return
    if store.has_rules_for(call.tx, guild_id, store.CHECKS_MEMBERS) or store.is_quarantined(call.tx, guild_id, user_id):
        actions.apply_profile_rules(call, guild_id, user_id)


def on_guild_deleting(call: Call, signal: guilds.GuildDeleting) -> None:
    """Delete the rules of a deleted guild."""
    store.delete_guild_rules(call.tx, signal.guild_id)


def list_referenced(call: Call, guild_id: GuildId, entries: Sequence[AuditLogEntry]) -> ReferencedObjects:
    """Return the existing rules that audit log entries refer to."""
    rule_ids = {entry.target_id for entry in entries if entry.action_type in _RULE_AUDIT_LOG_ACTIONS}
    rows = store.find_many(call.tx, guild_id, sorted(rule_id for rule_id in rule_ids if rule_id is not None))
    return ReferencedObjects(auto_moderation_rules=[views.rule(row) for row in rows])
