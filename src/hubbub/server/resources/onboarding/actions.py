"""Changing what newcomers are asked: write, audit, and the guild's feature."""

from typing import Final

from hubbub.protocol.enums import AuditLogAction, GuildFeature
from hubbub.protocol.ids import GuildId
from hubbub.protocol.resources import onboarding as wire
from hubbub.server.core import audit
from hubbub.server.core.call import Call
from hubbub.server.resources import guilds
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
