"""Store onboarding settings and responses, record audit log entries and assign the chosen roles."""

from collections.abc import Iterable, Sequence
from typing import Final

from hubbub.protocol.enums import AuditLogAction, GuildFeature
from hubbub.protocol.flags import MemberFlags
from hubbub.protocol.ids import GuildId, Snowflake
from hubbub.protocol.resources import onboarding as wire
from hubbub.server.core.call import Call
from hubbub.server.places import guilds, members, roles
from hubbub.server.places.audit_log import audit
from hubbub.server.places.members import Membership
from hubbub.server.places.members.signals import MemberRemoved
from hubbub.server.places.onboarding import store
from hubbub.server.places.onboarding.store import OnboardingRow

_AUDITED_FIELDS: Final = ("enabled", "mode", "default_channel_ids")


def update(call: Call, before: OnboardingRow | None, after: OnboardingRow) -> None:
    """Store a guild's onboarding, with audit log entries for the settings and for each changed prompt.

    `before` is None if onboarding was never set. The guild's feature GUILD_ONBOARDING follows `after.enabled`."""
    if after == before:
        return
    store.put(call.tx, after)
    previous_view = None if before is None else _onboarding_view(before)
    new_view = _onboarding_view(after)
    changes = audit.differences(previous_view, new_view, _AUDITED_FIELDS)
    if before is None:
        audit.record(call, after.guild_id, AuditLogAction.ONBOARDING_CREATE, target_id=after.guild_id, changes=changes)
    elif changes:
        audit.record(call, after.guild_id, AuditLogAction.ONBOARDING_UPDATE, target_id=after.guild_id, changes=changes)
    _record_prompts(call, after.guild_id, [] if previous_view is None else previous_view.prompts, new_view.prompts)
    guild = guilds.find(call.tx, after.guild_id)
    if guild is not None:
        guilds.update(
            call, guild, guilds.maintenance.with_feature(guild, GuildFeature.GUILD_ONBOARDING, bool(after.enabled))
        )


def set_responses(call: Call, row: OnboardingRow, member: Membership, option_ids: Sequence[Snowflake]) -> Membership:
    """Store a member's responses, and replace the roles of the earlier responses with the roles of the new responses.

    `option_ids` are the IDs of the chosen options. Return the updated member."""
    previous_option_ids = store.find_responses(call.tx, row.guild_id, member.row.user_id)
    store.put_responses(call.tx, row.guild_id, member.row.user_id, option_ids)
    # Managed roles and @everyone cannot be assigned (spec/http.md#2.3). An option may still list a role that became managed
    # after the option was stored.
    assignable_role_ids = {
        role.id for role in roles.list_guild_roles(call.tx, row.guild_id) if not role.managed and not role.is_everyone
    }
    removed_role_ids = _option_role_ids(row, previous_option_ids) & assignable_role_ids
    added_role_ids = _option_role_ids(row, option_ids) & assignable_role_ids
    flags = member.row.flags | MemberFlags.STARTED_ONBOARDING | MemberFlags.COMPLETED_ONBOARDING
    # Members choose the roles of onboarding themselves, so there is no audit log entry.
    return members.membership.update(
        call,
        member,
        member.row._replace(flags=flags),
        set(member.role_ids) - removed_role_ids | added_role_ids,
        is_audited=False,
    )


def _option_role_ids(row: OnboardingRow, option_ids: Iterable[Snowflake]) -> set[int]:
    """Return the IDs of the roles that the options `option_ids` assign."""
    distinct_ids = set(option_ids)
    return {
        int(role_id)
        for prompt in row.decoded_prompts
        for option in prompt.options
        if option.id in distinct_ids
        for role_id in option.role_ids
    }


def on_member_removed(call: Call, signal: MemberRemoved) -> None:
    """Delete the responses of a removed member, who responds again after rejoining."""
    store.delete_responses(call.tx, signal.guild_id, signal.user_id)


def on_guild_deleting(call: Call, signal: guilds.GuildDeleting) -> None:
    """Delete the onboarding and the responses of a deleted guild."""
    store.delete_guild_onboarding(call.tx, signal.guild_id)


def _record_prompts(
    call: Call, guild_id: int, old_prompts: list[wire.OnboardingPrompt], new_prompts: list[wire.OnboardingPrompt]
) -> None:
    old_prompts_by_id = {prompt.id: prompt for prompt in old_prompts}
    for prompt in new_prompts:
        previous_prompt = old_prompts_by_id.pop(prompt.id, None)
        changes = audit.differences(previous_prompt, prompt)
        if changes:
            action = (
                AuditLogAction.ONBOARDING_PROMPT_CREATE
                if previous_prompt is None
                else AuditLogAction.ONBOARDING_PROMPT_UPDATE
            )
            audit.record(call, guild_id, action, target_id=prompt.id, changes=changes)
    for removed_prompt in old_prompts_by_id.values():
        changes = audit.differences(removed_prompt, None)
        audit.record(
            call, guild_id, AuditLogAction.ONBOARDING_PROMPT_DELETE, target_id=removed_prompt.id, changes=changes
        )


def _onboarding_view(row: OnboardingRow) -> wire.Onboarding:
    """Return the stored onboarding for the audit log, including deleted roles and channels."""
    return wire.Onboarding(
        guild_id=GuildId(row.guild_id),
        prompts=row.decoded_prompts,
        default_channel_ids=row.decoded_default_channel_ids,
        enabled=bool(row.enabled),
        mode=row.mode,
    )
