"""Which rules does this hit? Loads a guild's rules and holds a message, a title, a member's names or their tag against them."""

from functools import lru_cache
from typing import Final, NamedTuple

from hubbub.protocol import wire as json
from hubbub.protocol.enums import AutoModerationEventType, AutoModerationTriggerType
from hubbub.protocol.flags import MemberFlags
from hubbub.protocol.ids import MessageId
from hubbub.protocol.permissions import Permissions
from hubbub.protocol.resources.auto_moderation import Action, TriggerMetadata
from hubbub.protocol.resources.users import PrimaryGuild
from hubbub.server.core import access as core_access
from hubbub.server.core.access import ChannelAccess, ChannelRef, GuildAccess
from hubbub.server.core.call import Call
from hubbub.server.core.config import AutoModerationConfig
from hubbub.server.resources import members
from hubbub.server.resources.auto_moderation import matching, presets, store
from hubbub.server.resources.auto_moderation.matching import Hit, Matcher
from hubbub.server.resources.auto_moderation.store import RuleRow

EXEMPT: Final = Permissions.MANAGE_GUILD | Permissions.ADMINISTRATOR
"""Who holds one of these is never looked at (http.md 3.10)."""

# Open in the specification: what spam is, and what a raid. These are simple on purpose, and written down in decisions/0024.
SPAM_WINDOW_MS: Final = 30_000
SPAM_REPEATS: Final = 4
"""Saying the same so many times within the window is spam,"""
SPAM_LINKED: Final = 5
"""so are so many messages with links within it,"""
SPAM_LINKS: Final = 10
"""and so many links in one message."""
SPAM_LOOKED_AT: Final = 50
RAID_WINDOW_MS: Final = 30_000
RAID_MEMBERS: Final = 5
RAID_MENTIONS: Final = 20
"""So many members mentioning so many users and roles between them within the window are a raid."""

_WORDS: Final = frozenset({AutoModerationTriggerType.KEYWORD, AutoModerationTriggerType.KEYWORD_PRESET})


class Rule(NamedTuple):
    """A rule made ready to look."""

    id: int
    name: str
    trigger_type: int
    metadata: TriggerMetadata
    actions: tuple[Action, ...]
    exempt_roles: frozenset[int]
    exempt_channels: frozenset[int]
    matcher: Matcher


class Caught(NamedTuple):
    """A rule that was hit, and by what."""

    rule: Rule
    hit: Hit


class Shown(NamedTuple):
    """A part of a member's profile, and what it hits."""

    flag: int
    """The trait of a member who is quarantined for it."""
    text: str
    caught: list[Caught]


@lru_cache(maxsize=256)
def ready(row: RuleRow, more: AutoModerationConfig) -> Rule:
    """A rule made ready to look. It is made of the row and the operator's words and nothing else, so that a rule that changed is
    never found here as it was, nor the one of another App in the process."""
    metadata = row.metadata
    words = presets.words(metadata.presets, more) if metadata.presets else metadata.keyword_filter or ()
    return Rule(
        id=row.id,
        name=row.name,
        trigger_type=row.trigger_type,
        metadata=metadata,
        actions=tuple(row.action_list),
        exempt_roles=frozenset(row.exempt_role_ids),
        exempt_channels=frozenset(row.exempt_channel_ids),
        matcher=Matcher(words, metadata.regex_patterns or (), metadata.allow_list or ()),
    )


def of_message(call: Call, here: ChannelAccess, message_id: MessageId, text: str) -> tuple[list[Caught], int]:
    """The rules that a message would hit, and how many mentions of it are to be counted for raids."""
    found = []
    counted = 0
    for rule in _looking(call, here):
        hit = _hit(call, rule, here, message_id, text)
        if hit is not None:
            found.append(Caught(rule, hit))
        if rule.metadata.mention_raid_protection_enabled is True:
            counted = matching.mentions(text)
    return found, counted


def of_title(call: Call, here: ChannelAccess, title: str) -> list[Caught]:
    """The rules that the name of a thread or a post would hit: those about words."""
    if call.actor.is_bot or here.guild is None or not store.looks_at(call.tx, here.guild.guild_id, store.MESSAGES):
        return []
    looking = (rule for rule in _looking(call, here) if rule.trigger_type in _WORDS)
    return [Caught(rule, hit) for rule in looking if (hit := rule.matcher.find(title)) is not None]


def of_profile(call: Call, member: members.Membership) -> list[Shown]:
    """What a member shows of themselves, each part with the rules it hits."""
    row = member.row
    standing = core_access.find_member(call.tx, call.now, row.guild_id, row.user_id)
    looking: list[Rule] = []
    if standing is not None and not member.user.bot and not standing.permissions & EXEMPT:
        rows = store.list_enabled(call.tx, row.guild_id, AutoModerationEventType.MEMBER_UPDATE)
        rules = (ready(each, call.config.auto_moderation) for each in rows)
        looking = [rule for rule in rules if rule.exempt_roles.isdisjoint(standing.roles)]
    return [
        Shown(flag, text, [Caught(rule, hit) for rule in looking if (hit := rule.matcher.find(text)) is not None])
        for flag, text in (
            (MemberFlags.AUTOMOD_QUARANTINED_USERNAME, _names(member)),
            (MemberFlags.AUTOMOD_QUARANTINED_GUILD_TAG, _tag(member)),
        )
    ]


def _names(member: members.Membership) -> str:
    """What a member is called, a name to a line."""
    user = member.user
    return "\n".join(name for name in (user.username, user.global_name, member.row.nick) if name)


def _tag(member: members.Membership) -> str:
    """The tag that a member wears, of this guild or another."""
    worn = member.user.primary_guild
    return "" if worn is None else json.decode(worn, PrimaryGuild).tag or ""


def _looking(call: Call, here: ChannelAccess) -> list[Rule]:
    """The rules about messages that hold for the caller here."""
    standing = here.guild
    if standing is None or standing.permissions & EXEMPT:
        return []
    rows = store.list_enabled(call.tx, standing.guild_id, AutoModerationEventType.MESSAGE_SEND)
    places: set[int] | None = None
    looking = []
    for row in rows:
        rule = ready(row, call.config.auto_moderation)
        if _wears(standing, rule):
            continue
        if rule.exempt_channels:
            places = places or _places(call, here.channel)
            if not rule.exempt_channels.isdisjoint(places):
                continue
        looking.append(rule)
    return looking


def _wears(standing: GuildAccess, rule: Rule) -> bool:
    return not rule.exempt_roles.isdisjoint(standing.roles)


def _places(call: Call, channel: ChannelRef) -> set[int]:
    """A channel and what it is in: a thread's channel, and the category of either."""
    found = {int(channel.id), int(channel.parent_id or 0)}
    if channel.is_thread and channel.parent_id is not None:
        parent = core_access.find_channel(call.tx, channel.parent_id)
        if parent is not None:
            found.add(int(parent.parent_id or 0))
    return found


def _hit(call: Call, rule: Rule, here: ChannelAccess, message_id: MessageId, text: str) -> Hit | None:
    if rule.trigger_type in _WORDS:
        return rule.matcher.find(text)
    if rule.trigger_type == AutoModerationTriggerType.SPAM:
        return Hit(None, text) if _is_spam(call, here, message_id, text) else None
    if rule.trigger_type == AutoModerationTriggerType.MENTION_SPAM:
        mentions = matching.mentions(text)
        if mentions > (rule.metadata.mention_total_limit or 0):
            return Hit(None, None)
        if mentions and rule.metadata.mention_raid_protection_enabled is True and _is_raid(call, here, mentions):
            return Hit(None, None)
    return None


def _is_spam(call: Call, here: ChannelAccess, message_id: MessageId, text: str) -> bool:
    links = matching.links(text)
    if links >= SPAM_LINKS:
        return True
    since_ms = call.now - SPAM_WINDOW_MS
    said = store.said_since(call.tx, here.guild_id, call.user_id, since_ms, SPAM_LOOKED_AT)
    # An edit is held against the others, not against what it was.
    lately = [each.content for each in said if each.id != message_id]
    folded = matching.fold(text)
    if folded and sum(matching.fold(each) == folded for each in lately) + 1 >= SPAM_REPEATS:
        return True
    return bool(links) and sum(1 for each in lately if matching.links(each)) + 1 >= SPAM_LINKED


def _is_raid(call: Call, here: ChannelAccess, mentions: int) -> bool:
    lately = dict(store.mentioned_since(call.tx, here.guild_id, call.now - RAID_WINDOW_MS))
    lately[call.user_id] = lately.get(call.user_id, 0) + mentions
    return len(lately) >= RAID_MEMBERS and sum(lately.values()) >= RAID_MENTIONS
