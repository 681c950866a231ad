"""Build the wire models of onboarding, and the responses of a data export."""

from typing import Any

from hubbub.protocol.flags import MemberFlags
from hubbub.protocol.ids import GuildId, UserId
from hubbub.protocol.resources import onboarding as wire
from hubbub.server.core.call import Call
from hubbub.server.core.store import Tx
from hubbub.server.places import channels, roles
from hubbub.server.places.members import MemberRow
from hubbub.server.places.onboarding import store
from hubbub.server.places.onboarding.store import OnboardingRow


def onboarding(tx: Tx, row: OnboardingRow) -> wire.Onboarding:
    """Return a guild's onboarding without deleted roles and channels."""
    channels_by_id = channels.find_many(
        tx,
        [
            *row.decoded_default_channel_ids,
            *(channel_id for prompt in row.decoded_prompts for channel_id in _prompt_channel_ids(prompt)),
        ],
    )
    existing_role_ids = {role.id for role in roles.list_guild_roles(tx, row.guild_id)}
    prompts = row.decoded_prompts
    for prompt in prompts:
        for option in prompt.options:
            option.role_ids = [role_id for role_id in option.role_ids if role_id in existing_role_ids]
            option.channel_ids = [channel_id for channel_id in option.channel_ids if channel_id in channels_by_id]
    return wire.Onboarding(
        guild_id=GuildId(row.guild_id),
        prompts=prompts,
        default_channel_ids=[
            channel_id for channel_id in row.decoded_default_channel_ids if channel_id in channels_by_id
        ],
        enabled=bool(row.enabled),
        mode=row.mode,
    )


def responses(tx: Tx, row: OnboardingRow, member: MemberRow) -> wire.OnboardingResponses:
    """Return a member's responses without deleted options, roles and channels."""
    view = onboarding(tx, row)
    chosen_option_ids = set(store.find_responses(tx, row.guild_id, member.user_id))
    chosen_options = [option for prompt in view.prompts for option in prompt.options if option.id in chosen_option_ids]
    option_channel_ids = [channel_id for option in chosen_options for channel_id in option.channel_ids]
    return wire.OnboardingResponses(
        guild_id=view.guild_id,
        user_id=UserId(member.user_id),
        onboarding_responses=[option.id for option in chosen_options],
        channel_ids=list(dict.fromkeys([*view.default_channel_ids, *option_channel_ids])),
        completed=bool(member.flags & MemberFlags.COMPLETED_ONBOARDING),
    )


def export_data(call: Call, user_id: int) -> dict[str, Any]:
    """Return a user's onboarding responses for the export of their data."""
    response_records = [
        {"guild_id": str(guild_id), "responses": [str(int(option_id)) for option_id in option_ids]}
        for guild_id, option_ids in store.list_responses(call.tx, user_id)
    ]
    return {"onboarding_responses": response_records}


def _prompt_channel_ids(prompt: wire.OnboardingPrompt) -> list[int]:
    return [channel_id for option in prompt.options for channel_id in option.channel_ids]
