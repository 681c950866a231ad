"""HTTP handlers for placeholder accounts."""

from hubbub.protocol.ids import GuildId, UserId
from hubbub.protocol.resources import placeholders as wire
from hubbub.server.core.call import Call
from hubbub.server.core.slices import handles
from hubbub.server.identity.imports import claims


@handles(wire.CLAIM_PLACEHOLDER)
def claim_placeholder(call: Call, body: wire.ClaimPlaceholder) -> wire.ClaimedPlaceholder:
    """Claim a placeholder account of an imported guild.

    The caller gets the membership and the roles of the account at once. The messages of the account become those of the
    caller in the background."""
    row = claims.claim(call, body.code)
    return wire.ClaimedPlaceholder(user_id=UserId(row.user_id), guild_id=GuildId(row.guild_id), username=row.username)
