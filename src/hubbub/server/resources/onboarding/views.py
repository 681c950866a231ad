"""Onboarding on the wire."""

from hubbub.protocol.ids import GuildId
from hubbub.protocol.resources import onboarding as wire
from hubbub.server.core.store import Tx
from hubbub.server.resources import channels, roles
from hubbub.server.resources.onboarding.store import OnboardingRow


def onboarding(tx: Tx, row: OnboardingRow) -> wire.Onboarding:
    """A guild's onboarding, without what is gone meanwhile."""
    kept = channels.find_many(tx, [*row.channels, *(each for prompt in row.questions for each in _channels(prompt))])
    worn = {role.id for role in roles.list_of_guild(tx, row.guild_id)}
    prompts = row.questions
    for prompt in prompts:
        for option in prompt.options:
            option.role_ids = [each for each in option.role_ids if each in worn]
            option.channel_ids = [each for each in option.channel_ids if each in kept]
    return wire.Onboarding(
        guild_id=GuildId(row.guild_id),
        prompts=prompts,
        default_channel_ids=[each for each in row.channels if each in kept],
        enabled=bool(row.enabled),
        mode=row.mode,
    )


def _channels(prompt: wire.OnboardingPrompt) -> list[int]:
    return [each for option in prompt.options for each in option.channel_ids]
