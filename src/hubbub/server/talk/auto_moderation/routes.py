"""HTTP handlers for auto moderation rules."""

from hubbub.protocol import errors
from hubbub.protocol.ids import AutoModerationRuleId, GuildId
from hubbub.protocol.resources import auto_moderation as wire
from hubbub.server.core.call import Call
from hubbub.server.core.slices import handles
from hubbub.server.talk.auto_moderation import actions, rules, store, views
from hubbub.server.talk.auto_moderation.store import RuleRow


@handles(wire.LIST_AUTO_MODERATION_RULES)
def list_auto_moderation_rules(call: Call, guild_id: GuildId) -> list[wire.AutoModerationRule]:
    """List auto moderation rules of a guild."""
    return [views.rule(row) for row in store.list_guild_rules(call.tx, guild_id)]


@handles(wire.GET_AUTO_MODERATION_RULE)
def get_auto_moderation_rule(call: Call, guild_id: GuildId, rule_id: AutoModerationRuleId) -> wire.AutoModerationRule:
    """Get an auto moderation rule."""
    return views.rule(_get_rule(call, guild_id, rule_id))


@handles(wire.CREATE_AUTO_MODERATION_RULE)
def create_auto_moderation_rule(
    call: Call, guild_id: GuildId, body: wire.CreateAutoModerationRule
) -> wire.AutoModerationRule:
    """Create an auto moderation rule.

    A rule with a timeout action requires MODERATE_MEMBERS."""
    rules.require_can_use_timeouts(call, guild_id, body)
    row = RuleRow(
        guild_id=guild_id,
        id=call.new_id(AutoModerationRuleId),
        name=body.name,
        creator_id=call.user_id,
        event_type=int(body.event_type),
        trigger_type=int(body.trigger_type),
        trigger_metadata="{}",
        actions="[]",
        enabled=0,
    )
    return actions.create(call, rules.build_rule(call, row, body))


@handles(wire.UPDATE_AUTO_MODERATION_RULE)
def update_auto_moderation_rule(
    call: Call, guild_id: GuildId, rule_id: AutoModerationRuleId, body: wire.UpdateAutoModerationRule
) -> wire.AutoModerationRule:
    """Update an auto moderation rule.

    A request with a timeout action requires MODERATE_MEMBERS, as does a change of a rule that keeps its timeout action,
    unless the change only renames or disables the rule."""
    before = _get_rule(call, guild_id, rule_id)
    rules.require_can_use_timeouts(call, guild_id, body)
    after = rules.apply_update(call, before, body)
    rules.require_can_change_timeouts(call, before, after)
    return actions.update(call, before, after)


@handles(wire.DELETE_AUTO_MODERATION_RULE)
def delete_auto_moderation_rule(call: Call, guild_id: GuildId, rule_id: AutoModerationRuleId) -> None:
    """Delete an auto moderation rule."""
    actions.delete(call, _get_rule(call, guild_id, rule_id))


def _get_rule(call: Call, guild_id: int, rule_id: int) -> RuleRow:
    row = store.find(call.tx, guild_id, rule_id)
    if row is None:
        raise errors.NOT_FOUND()
    return row
