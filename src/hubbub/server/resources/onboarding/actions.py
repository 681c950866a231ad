"""What newcomers are asked, and what they answer: write, audit, and what comes of it."""

from collections.abc import Iterable, Sequence
from typing import Final

from hubbub.protocol.enums import AuditLogAction, GuildFeature
from hubbub.protocol.flags import MemberFlags
from hubbub.protocol.ids import GuildId, Snowflake
from hubbub.protocol.resources import onboarding as wire
from hubbub.server.core import audit
from hubbub.server.core.call import Call
from hubbub.server.resources import guilds, members, roles
from hubbub.server.resources.members import MemberRemoved, Membership
from hubbub.server.resources.onboarding import store
from hubbub.server.resources.onboarding.store import OnboardingRow

_AUDITED: Final = ("enabled", "mode", "default_channel_ids")


def change(call: Call, before: OnboardingRow | None, after: OnboardingRow) -> None:
    """Keep what newcomers are asked, and write each changed question down."""
    if after == before:
        return
    store.put(call.tx, after)
    old = None if before is None else _shown(before)
    new = _shown(after)
    changes = audit.differences(old, new, _AUDITED)
    if before is None:
        audit.record(call, after.guild_id, AuditLogAction.ONBOARDING_CREATE, target_id=after.guild_id, changes=changes)
    elif changes:
        audit.record(call, after.guild_id, AuditLogAction.ONBOARDING_UPDATE, target_id=after.guild_id, changes=changes)
    _record_prompts(call, after.guild_id, [] if old is None else old.prompts, new.prompts)
    guild = guilds.find(call.tx, after.guild_id)
    if guild is not None:
        guilds.change(call, guild, guilds.with_feature(guild, GuildFeature.GUILD_ONBOARDING, bool(after.enabled)))


def answer(call: Call, row: OnboardingRow, member: Membership, chosen: Sequence[Snowflake]) -> Membership:
    """Keep a member's answers, and let them have the roles of these and no longer those of earlier ones."""
    earlier = store.find_answers(call.tx, row.guild_id, member.row.user_id)
    store.put_answers(call.tx, row.guild_id, member.row.user_id, chosen)
    # Managed roles are never given by hand (http.md 2.3), nor is @everyone, whatever became of them since they were offered.
    givable = {
        role.id for role in roles.list_of_guild(call.tx, row.guild_id) if not role.managed and not role.is_everyone
    }
    lost, gained = (_roles(row, options) & givable for options in (earlier, chosen))
    flags = member.row.flags | MemberFlags.STARTED_ONBOARDING | MemberFlags.COMPLETED_ONBOARDING
    # They did it themselves: like the answers to the form, it is not for the audit log.
    return members.change(
        call, member, member.row._replace(flags=flags), set(member.roles) - lost | gained, logged=False
    )


def _roles(row: OnboardingRow, chosen: Iterable[Snowflake]) -> set[int]:
    wanted = set(chosen)
    return {
        int(role_id)
        for prompt in row.questions
        for option in prompt.options
        if option.id in wanted
        for role_id in option.role_ids
    }


def forget_member(call: Call, fact: MemberRemoved) -> None:
    """Who left answers anew when they come back."""
    store.delete_answers(call.tx, fact.guild_id, fact.user_id)


def forget_guild(call: Call, fact: guilds.GuildDeleted) -> None:
    """A guild is gone, and all its questions and answers with it."""
    store.delete_of_guild(call.tx, fact.guild_id)


def _record_prompts(
    call: Call, guild_id: int, before: list[wire.OnboardingPrompt], after: list[wire.OnboardingPrompt]
) -> None:
    known = {prompt.id: prompt for prompt in before}
    for prompt in after:
        old = known.pop(prompt.id, None)
        changes = audit.differences(old, prompt)
        if changes:
            action = AuditLogAction.ONBOARDING_PROMPT_CREATE if old is None else AuditLogAction.ONBOARDING_PROMPT_UPDATE
            audit.record(call, guild_id, action, target_id=prompt.id, changes=changes)
    for gone in known.values():
        changes = audit.differences(gone, None)
        audit.record(call, guild_id, AuditLogAction.ONBOARDING_PROMPT_DELETE, target_id=gone.id, changes=changes)


def _shown(row: OnboardingRow) -> wire.Onboarding:
    return wire.Onboarding(
        guild_id=GuildId(row.guild_id),
        prompts=row.questions,
        default_channel_ids=row.channels,
        enabled=bool(row.enabled),
        mode=row.mode,
    )
