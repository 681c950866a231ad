"""HTTP handlers for placeholder accounts."""

import itertools

from hubbub.protocol.ids import GuildId, UserId
from hubbub.protocol.resources import placeholders as wire
from hubbub.server.core.call import Call
from hubbub.server.core.slices import handles
from hubbub.server.identity.imports import claims


@handles(wire.CLAIM_PLACEHOLDER)
def claim_placeholder(call: Call, body: wire.ClaimPlaceholder) -> wire.ClaimedPlaceholder:
    """Claim a placeholder account of an imported guild.

    The caller gets the membership and the roles of the account immediately. The messages of the account become those of the
    caller in the background."""
    row = claims.claim(call, body.code)
    return wire.ClaimedPlaceholder(user_id=UserId(row.user_id), guild_id=GuildId(row.guild_id), username=row.username)


@handles(wire.LIST_PLACEHOLDERS)
def list_placeholders(call: Call, guild_id: GuildId, query: wire.ListPlaceholders) -> list[wire.UnclaimedPlaceholder]:
    """List the placeholder accounts of an imported guild that no user has claimed.

    The operation requires a permission because the user who claims an account gets its roles, which may include
    those of administrators.
    """
    open_claims = itertools.islice(claims.list_open(call.tx, guild_id, after_id=query.after or 0), query.limit)
    return [
        wire.UnclaimedPlaceholder(user_id=UserId(claim.user_id), username=claim.username, code=claim.code)
        for claim in open_claims
    ]
