"""Rules for banning users."""

from collections.abc import Iterable

from hubbub.protocol.permissions import can_act_on
from hubbub.server.core.store import Tx
from hubbub.server.places import members
from hubbub.server.places.standing import GuildAccess


def bannable(tx: Tx, standing: GuildAccess, user_ids: Iterable[int]) -> list[int]:
    """Return the users that the role hierarchy lets the caller ban.

    Non-members rank below every member (spec/http.md#2.3)."""
    wanted = list(dict.fromkeys(user_ids))
    ranks = members.ranks(tx, standing.guild_id, wanted)
    return [
        user_id
        for user_id in wanted
        if user_id != standing.user_id
        and user_id != standing.owner_id
        and (user_id not in ranks or can_act_on(standing.top_role, ranks[user_id], is_actor_owner=standing.is_owner))
    ]
