"""HTTP handlers for the onboarding of a guild and the responses of members."""

from msgspec import UNSET

from hubbub.protocol import codec, errors
from hubbub.protocol.enums import OnboardingMode
from hubbub.protocol.errors import FormErrors
from hubbub.protocol.ids import GuildId
from hubbub.protocol.resources import onboarding as wire
from hubbub.server.core.call import Call
from hubbub.server.core.slices import handles
from hubbub.server.places import members
from hubbub.server.places.members import Membership
from hubbub.server.places.onboarding import actions, rules, store, views
from hubbub.server.places.onboarding.store import OnboardingRow
from hubbub.server.places.standing import access


@handles(wire.GET_GUILDS_ONBOARDING)
def get_guilds_onboarding(call: Call, guild_id: GuildId) -> wire.Onboarding:
    """Get a guild's onboarding."""
    access.get_guild_standing(call, guild_id)
    return views.onboarding(call.tx, store.find(call.tx, guild_id) or OnboardingRow(guild_id))


@handles(wire.PUT_GUILDS_ONBOARDING)
def put_guilds_onboarding(call: Call, guild_id: GuildId, body: wire.SetOnboarding) -> wire.Onboarding:
    """Update a guild's onboarding.

    While onboarding is enabled, the guild needs enough default channels. Fields that are absent from the body stay
    unchanged."""
    contents = rules.GuildContents(call, access.get_guild_standing(call, guild_id))
    stored_row = store.find(call.tx, guild_id)
    before = stored_row or OnboardingRow(guild_id)
    after = before
    form = FormErrors()
    if body.prompts is not UNSET:
        prompts = rules.build_prompts(contents, body.prompts or [], before.decoded_prompts, form)
        after = after._replace(prompts=codec.encode(prompts).decode())
    if body.default_channel_ids is not UNSET:
        channel_ids = body.default_channel_ids or []
        rules.check_channels(contents, channel_ids, ("default_channel_ids",), form)
        after = after._replace(default_channel_ids=codec.encode(channel_ids).decode())
    form.raise_if_any()
    if isinstance(body.enabled, bool):
        after = after._replace(enabled=int(body.enabled))
    if body.mode is not UNSET:
        after = after._replace(mode=int(body.mode or OnboardingMode.DEFAULT))
    rules.require_enough_channels(call, contents, before, after)
    actions.update(call, stored_row, after)
    return views.onboarding(call.tx, after)


@handles(wire.GET_GUILD_ONBOARDING_RESPONSES)
def get_guild_onboarding_responses(call: Call, guild_id: GuildId) -> wire.OnboardingResponses:
    """Get the current user's onboarding responses in a guild."""
    access.get_guild_standing(call, guild_id)
    row = store.find(call.tx, guild_id) or OnboardingRow(guild_id)
    return views.responses(call.tx, row, _require_own_membership(call, guild_id).row)


@handles(wire.SET_GUILD_ONBOARDING_RESPONSES)
def set_guild_onboarding_responses(
    call: Call, guild_id: GuildId, body: wire.SetOnboardingResponses
) -> wire.OnboardingResponses:
    """Set the current user's onboarding responses in a guild.

    The responses replace earlier ones: the member receives the roles of the chosen options and loses those of options no longer
    chosen."""
    row = rules.require_enabled(access.get_guild_standing(call, guild_id), store.find(call.tx, guild_id))
    rules.require_valid_responses(row.decoded_prompts, body.onboarding_responses)
    membership = actions.set_responses(call, row, _require_own_membership(call, guild_id), body.onboarding_responses)
    return views.responses(call.tx, row, membership.row)


def _require_own_membership(call: Call, guild_id: GuildId) -> Membership:
    membership = members.find(call.tx, guild_id, call.user_id)
    if membership is None:
        raise errors.MISSING_ACCESS()
    return membership
