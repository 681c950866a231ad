"""Build the wire models of auto moderation rules."""

from hubbub.protocol.ids import AutoModerationRuleId, GuildId, UserId
from hubbub.protocol.resources import auto_moderation as wire
from hubbub.server.talk.auto_moderation.store import RuleRow


def rule(row: RuleRow) -> wire.AutoModerationRule:
    return wire.AutoModerationRule(
        id=AutoModerationRuleId(row.id),
        guild_id=GuildId(row.guild_id),
        name=row.name,
        creator_id=UserId(row.creator_id),
        event_type=row.event_type,
        trigger_type=row.trigger_type,
        trigger_metadata=row.metadata,
        actions=row.action_list,
        enabled=bool(row.enabled),
        exempt_roles=row.exempt_role_ids,
        exempt_channels=row.exempt_channel_ids,
    )
