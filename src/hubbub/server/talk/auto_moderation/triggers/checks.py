"""Find the rules that a message, a title or a member's profile matches."""

from functools import lru_cache
from typing import Final, NamedTuple

from hubbub.protocol import codec
from hubbub.protocol.enums import AutoModerationEventType, AutoModerationTriggerType
from hubbub.protocol.flags import MemberFlags
from hubbub.protocol.ids import MessageId
from hubbub.protocol.permissions import Permissions
from hubbub.protocol.resources.auto_moderation import Action, TriggerMetadata
from hubbub.protocol.resources.users import PrimaryGuild
from hubbub.server.core.call import Call
from hubbub.server.core.config_sections import AutoModerationConfig
from hubbub.server.places import members
from hubbub.server.places.standing import ChannelAccess, ChannelRef, GuildAccess, access
from hubbub.server.talk.auto_moderation import store
from hubbub.server.talk.auto_moderation.store import RuleRow
from hubbub.server.talk.auto_moderation.triggers import keyword_matcher, presets
from hubbub.server.talk.auto_moderation.triggers.keyword_matcher import MatchedText, Matcher

EXEMPT_PERMISSIONS: Final = Permissions.MANAGE_GUILD | Permissions.ADMINISTRATOR
"""Permissions that exempt a member from all rules (spec/http.md#3.10)."""

# The specification does not define spam and raids. These definitions are deliberately simple (decisions/0024).
SPAM_WINDOW_MS: Final = 30_000
"""Time in milliseconds within which a user's messages are compared for spam."""
SPAM_REPEATS_MIN: Final = 4
"""Number of equal messages within `SPAM_WINDOW_MS` that count as spam."""
SPAM_LINK_MESSAGES_MIN: Final = 5
"""Number of messages with links within `SPAM_WINDOW_MS` that count as spam."""
SPAM_LINKS_MIN: Final = 10
"""Number of links in one message that count as spam."""
SPAM_MESSAGES_READ_MAX: Final = 50
"""Maximum number of earlier messages that a spam check reads."""
RAID_WINDOW_MS: Final = 30_000
"""Time in milliseconds within which the mentions of all members are counted for a raid."""
RAID_MEMBERS_MIN: Final = 5
"""Minimum number of members whose mentions can form a raid."""
RAID_MENTIONS_MIN: Final = 20
"""Total mentions by at least `RAID_MEMBERS_MIN` members within `RAID_WINDOW_MS` that count as a raid."""

_KEYWORD_TRIGGERS: Final = frozenset({AutoModerationTriggerType.KEYWORD, AutoModerationTriggerType.KEYWORD_PRESET})


class PreparedRule(NamedTuple):
    """An auto moderation rule, decoded from its row, with compiled keywords and patterns."""

    id: int
    name: str
    trigger_type: int
    metadata: TriggerMetadata
    actions: tuple[Action, ...]
    exempt_roles: frozenset[int]
    exempt_channels: frozenset[int]
    matcher: Matcher


class RuleMatch(NamedTuple):
    """A rule that matched a text, and the text that it matched."""

    rule: PreparedRule
    matched_text: MatchedText


class ProfileMatch(NamedTuple):
    """A part of a member's profile and the rules it matches."""

    flag: int
    """The member flag that a quarantine for the part sets."""
    text: str
    matches: list[RuleMatch]


@lru_cache(maxsize=256)
def prepare_rule(row: RuleRow, config: AutoModerationConfig) -> PreparedRule:
    """Decode a rule and compile its keywords and patterns. `config` has the keywords that the operator adds to presets.

    The cache key is the row and the configuration, so the cache never returns an outdated rule or, with several Apps in
    the process, a rule with the keywords of another App."""
    metadata = row.metadata
    keywords = presets.list_keywords(metadata.presets, config) if metadata.presets else metadata.keyword_filter or ()
    return PreparedRule(
        id=row.id,
        name=row.name,
        trigger_type=row.trigger_type,
        metadata=metadata,
        actions=tuple(row.action_list),
        exempt_roles=frozenset(row.exempt_role_ids),
        exempt_channels=frozenset(row.exempt_channel_ids),
        matcher=Matcher(keywords, metadata.regex_patterns or (), metadata.allow_list or ()),
    )


def match_message(
    call: Call, channel_access: ChannelAccess, message_id: MessageId, text: str
) -> tuple[list[RuleMatch], int]:
    """Return the rules that a message matches, and its number of mentions.

    The number is 0 if no rule that applies to the caller detects mention raids."""
    matches = []
    mention_count = 0
    for rule in _applicable_rules(call, channel_access):
        matched_text = _find_matched_text(call, rule, channel_access, message_id, text)
        if matched_text is not None:
            matches.append(RuleMatch(rule, matched_text))
        if rule.metadata.mention_raid_protection_enabled is True:
            mention_count = keyword_matcher.count_mentions(text)
    return matches, mention_count


def match_title(call: Call, channel_access: ChannelAccess, title: str) -> list[RuleMatch]:
    """Return the keyword rules that the name of a thread or post matches. Titles of bots match no rules."""
    if (
        call.actor.is_bot
        or channel_access.guild is None
        or not store.has_rules_for(call.tx, channel_access.guild.guild_id, store.CHECKS_MESSAGES)
    ):
        return []
    applicable_rules = (
        rule for rule in _applicable_rules(call, channel_access) if rule.trigger_type in _KEYWORD_TRIGGERS
    )
    return [
        RuleMatch(rule, matched_text)
        for rule in applicable_rules
        if (matched_text := rule.matcher.find(title)) is not None
    ]


def match_profile(call: Call, member: members.Membership) -> list[ProfileMatch]:
    """Return the member's names and guild tag, each with the profile rules it matches."""
    row = member.row
    standing = access.find_guild_standing(call.tx, call.now_ms, row.guild_id, row.user_id)
    applicable_rules: list[PreparedRule] = []
    if standing is not None and not member.user.bot and not standing.permissions & EXEMPT_PERMISSIONS:
        rows = store.list_enabled(call.tx, row.guild_id, AutoModerationEventType.MEMBER_UPDATE)
        rules = (prepare_rule(rule_row, call.config.auto_moderation) for rule_row in rows)
        applicable_rules = [rule for rule in rules if not _has_exempt_role(standing, rule)]
    return [
        ProfileMatch(
            flag,
            text,
            [
                RuleMatch(rule, matched_text)
                for rule in applicable_rules
                if (matched_text := rule.matcher.find(text)) is not None
            ],
        )
        for flag, text in (
            (MemberFlags.AUTOMOD_QUARANTINED_USERNAME, _joined_names(member)),
            (MemberFlags.AUTOMOD_QUARANTINED_GUILD_TAG, _displayed_tag(member)),
        )
    ]


def _joined_names(member: members.Membership) -> str:
    """Return the names of a member, one per line."""
    user = member.user
    return "\n".join(name for name in (user.username, user.global_name, member.row.nick) if name)


def _displayed_tag(member: members.Membership) -> str:
    """Return the guild tag that a member displays, of any guild, or an empty string."""
    primary_guild = member.user.primary_guild
    return "" if primary_guild is None else codec.decode(primary_guild, PrimaryGuild).tag or ""


def _applicable_rules(call: Call, channel_access: ChannelAccess) -> list[PreparedRule]:
    """Return the message rules that apply to the caller in the channel."""
    standing = channel_access.guild
    if standing is None or standing.permissions & EXEMPT_PERMISSIONS:
        return []
    rows = store.list_enabled(call.tx, standing.guild_id, AutoModerationEventType.MESSAGE_SEND)
    channel_ids: set[int] | None = None
    applicable_rules = []
    for row in rows:
        rule = prepare_rule(row, call.config.auto_moderation)
        if _has_exempt_role(standing, rule):
            continue
        if rule.exempt_channels:
            channel_ids = channel_ids or _channel_and_parents(call, channel_access.channel)
            if not rule.exempt_channels.isdisjoint(channel_ids):
                continue
        applicable_rules.append(rule)
    return applicable_rules


def _has_exempt_role(standing: GuildAccess, rule: PreparedRule) -> bool:
    return not rule.exempt_roles.isdisjoint(standing.permissions_by_role)


def _channel_and_parents(call: Call, channel: ChannelRef) -> set[int]:
    """Return the IDs of a channel and its parents: the channel of a thread, and the category."""
    channel_ids = {int(channel.id), int(channel.parent_id or 0)}
    if channel.is_thread and channel.parent_id is not None:
        parent = access.find_channel(call.tx, channel.parent_id)
        if parent is not None:
            channel_ids.add(int(parent.parent_id or 0))
    return channel_ids


def _find_matched_text(
    call: Call, rule: PreparedRule, channel_access: ChannelAccess, message_id: MessageId, text: str
) -> MatchedText | None:
    if rule.trigger_type in _KEYWORD_TRIGGERS:
        return rule.matcher.find(text)
    if rule.trigger_type == AutoModerationTriggerType.SPAM:
        return MatchedText(None, text) if _is_spam(call, channel_access, message_id, text) else None
    if rule.trigger_type == AutoModerationTriggerType.MENTION_SPAM:
        mention_count = keyword_matcher.count_mentions(text)
        if mention_count > (rule.metadata.mention_total_limit or 0):
            return MatchedText(None, None)
        if (
            mention_count
            and rule.metadata.mention_raid_protection_enabled is True
            and _is_raid(call, channel_access, mention_count)
        ):
            return MatchedText(None, None)
    return None


def _is_spam(call: Call, channel_access: ChannelAccess, message_id: MessageId, text: str) -> bool:
    link_count = keyword_matcher.count_links(text)
    if link_count >= SPAM_LINKS_MIN:
        return True
    since_ms = call.now_ms - SPAM_WINDOW_MS
    recent_messages = store.list_messages_since(
        call.tx, channel_access.guild_id, call.user_id, since_ms, SPAM_MESSAGES_READ_MAX
    )
    # Compare an edited message with the other messages, not with its old content.
    other_contents = [message.content for message in recent_messages if message.id != message_id]
    folded_text = keyword_matcher.fold(text)
    if (
        folded_text
        and sum(keyword_matcher.fold(content) == folded_text for content in other_contents) + 1 >= SPAM_REPEATS_MIN
    ):
        return True
    return (
        bool(link_count)
        and sum(1 for content in other_contents if keyword_matcher.count_links(content)) + 1 >= SPAM_LINK_MESSAGES_MIN
    )


def _is_raid(call: Call, channel_access: ChannelAccess, mention_count: int) -> bool:
    mentions_by_user = dict(
        store.list_mention_sums_since(call.tx, channel_access.guild_id, call.now_ms - RAID_WINDOW_MS)
    )
    mentions_by_user[call.user_id] = mentions_by_user.get(call.user_id, 0) + mention_count
    return len(mentions_by_user) >= RAID_MEMBERS_MIN and sum(mentions_by_user.values()) >= RAID_MENTIONS_MIN
