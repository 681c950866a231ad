"""What auto moderation hears: drafts of messages and titles, members that come or get another name, guilds that go."""

from collections.abc import Sequence
from functools import cache, partial

from hubbub.protocol import changes, errors
from hubbub.protocol.enums import AuditLogAction, AutoModerationActionType
from hubbub.protocol.errors import ErrorCode
from hubbub.server.core.access import ChannelAccess
from hubbub.server.core.call import Call
from hubbub.server.core.refusals import Refusal
from hubbub.server.resources import audit_log, guilds, members, messages, threads, users
from hubbub.server.resources.auto_moderation import actions, checks, store, views
from hubbub.server.resources.auto_moderation.actions import Incident
from hubbub.server.resources.auto_moderation.checks import Caught
from hubbub.server.resources.auto_moderation.matching import Matcher

_RULES = frozenset(
    {
        AuditLogAction.AUTO_MODERATION_RULE_CREATE,
        AuditLogAction.AUTO_MODERATION_RULE_UPDATE,
        AuditLogAction.AUTO_MODERATION_RULE_DELETE,
    }
)


def hear_names(call: Call, fact: guilds.NamesDrafted) -> None:
    """Somebody is about to name a guild, a channel or a stage; what the platform does by itself is not looked at."""
    words = call.config.auto_moderation.names
    if not words or call.find_actor is None:
        return
    for text in fact.texts:
        # Channels have dashes where their names had spaces.
        if _banned(words).find(text) or _banned(words).find(text.replace("-", " ")):
            raise errors.BANNED_WORDS()


@cache
def _banned(words: tuple[str, ...]) -> Matcher:
    return Matcher(words, (), ())


def hear_message(call: Call, fact: messages.MessageDrafted) -> None:
    """Somebody is about to speak, or to change what they said."""
    here = fact.access
    caught, mentions = checks.of_message(call, here, fact.message_id, fact.text)
    if not caught and not mentions:
        return
    # dated-changes.md 3: an edit was not refused before the day; the rest of the rule held.
    refuses = not fact.edited or changes.EXTERNAL_APPS.active(call.now)
    blocked = refuses and _blocks(caught)
    incident = Incident(
        guild_id=here.guild_id,
        user_id=call.user_id,
        text=fact.text,
        channel_id=here.channel.id,
        message_id=None if blocked else fact.message_id,
        blocked=blocked,
        mentions=mentions,
        counted_id=fact.message_id,
    )
    _conclude(call, incident, caught, errors.AUTO_MODERATION_BLOCKED_MESSAGE)


def hear_title(call: Call, fact: threads.TitleDrafted) -> None:
    """Somebody is about to name a thread or a post."""
    here: ChannelAccess = fact.access
    caught = checks.of_title(call, here, fact.title)
    if caught:
        incident = Incident(
            guild_id=here.guild_id,
            user_id=call.user_id,
            text=fact.title,
            channel_id=here.channel.id,
            blocked=_blocks(caught),
        )
        _conclude(call, incident, caught, errors.AUTO_MODERATION_BLOCKED_TITLE)


def _blocks(caught: Sequence[Caught]) -> bool:
    return any(action.type == AutoModerationActionType.BLOCK_MESSAGE for rule, _ in caught for action in rule.actions)


def _conclude(call: Call, incident: Incident, caught: Sequence[Caught], refusal: ErrorCode) -> None:
    """Refuse, and let what follows be done once nothing of the message is left; or let it pass, and do it now."""
    if not incident.blocked:
        actions.execute(call, incident, caught)
        return
    said = {"message": text} if (text := _custom_message(caught)) else {}
    raise Refusal(refusal, partial(actions.execute, incident=incident, caught=caught), **said)


def _custom_message(caught: Sequence[Caught]) -> str | None:
    for rule, _ in caught:
        for action in rule.actions:
            if action.type == AutoModerationActionType.BLOCK_MESSAGE and action.metadata.custom_message:
                return action.metadata.custom_message
    return None


def hear_joined(call: Call, fact: members.MemberAdded) -> None:
    """Somebody came."""
    look(call, fact.guild_id, fact.user_id)


def hear_renamed(call: Call, fact: members.MemberRenamed) -> None:
    """Somebody has another nick."""
    look(call, fact.guild_id, fact.user_id)


def hear_user(call: Call, fact: users.UserChanged) -> None:
    """Somebody has another name or tag, perhaps: in all their guilds."""
    if not fact.row.bot:
        for guild_id in store.guilds_watching_members(call.tx, fact.row.id):
            look(call, guild_id, fact.row.id)


def look(call: Call, guild_id: int, user_id: int) -> None:
    """Hold a member's profile against the rules, where there are any; without one nobody is quarantined."""
    if not changes.MEMBER_PROFILE_RULES.active(call.now):
        return
    if store.looks_at(call.tx, guild_id, store.MEMBERS) or store.is_quarantined(call.tx, guild_id, user_id):
        actions.judge(call, guild_id, user_id)


def hear_guild_deleted(call: Call, fact: guilds.GuildDeleted) -> None:
    """A guild goes, and its rules with it."""
    store.delete_of_guild(call.tx, fact.guild_id)


def hear_audit_log(call: Call, fact: audit_log.AuditLogRead) -> None:
    """Show the rules that entries name and that are still there."""
    named = {entry.target_id for entry in fact.log.audit_log_entries if entry.action_type in _RULES}
    rows = store.find_many(call.tx, fact.guild_id, sorted(each for each in named if each is not None))
    fact.log.auto_moderation_rules.extend(views.rule(row) for row in rows)
