"""Onboarding on the wire."""

from hubbub.protocol.flags import MemberFlags
from hubbub.protocol.ids import GuildId, UserId
from hubbub.protocol.resources import onboarding as wire
from hubbub.server.core.call import Call
from hubbub.server.core.store import Tx
from hubbub.server.resources import channels, roles
from hubbub.server.resources.members import MemberRow
from hubbub.server.resources.onboarding import store
from hubbub.server.resources.onboarding.store import OnboardingRow
from hubbub.server.resources.users import DataAsked


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


def answers(tx: Tx, row: OnboardingRow, member: MemberRow) -> wire.OnboardingAnswers:
    """What a member answered, without what is gone meanwhile."""
    shown = onboarding(tx, row)
    chosen = set(store.find_answers(tx, row.guild_id, member.user_id))
    options = [option for prompt in shown.prompts for option in prompt.options if option.id in chosen]
    given = [channel_id for option in options for channel_id in option.channel_ids]
    return wire.OnboardingAnswers(
        guild_id=shown.guild_id,
        user_id=UserId(member.user_id),
        onboarding_responses=[option.id for option in options],
        channel_ids=list(dict.fromkeys([*shown.default_channel_ids, *given])),
        completed=bool(member.flags & MemberFlags.COMPLETED_ONBOARDING),
    )


def harvest(call: Call, asked: DataAsked) -> None:
    """What a person answered, for their copy of all that is kept of them."""
    asked.records["onboarding_responses"] = [
        {"guild_id": str(guild_id), "responses": [str(int(each)) for each in chosen]}
        for guild_id, chosen in store.list_answers(call.tx, asked.user_id)
    ]


def _channels(prompt: wire.OnboardingPrompt) -> list[int]:
    return [each for option in prompt.options for each in option.channel_ids]
