"""Rules for banning users."""

from collections.abc import Iterable

from hubbub.protocol.permissions import can_act_on
from hubbub.server.core.store import Tx
from hubbub.server.places import members
from hubbub.server.places.standing import GuildAccess


def filter_bannable(tx: Tx, standing: GuildAccess, user_ids: Iterable[int]) -> list[int]:
    """Return the IDs of the users that the role hierarchy lets the caller ban.

    `standing` is the standing of the caller. Non-members rank below every member (spec/http.md#2.3)."""
    candidate_ids = list(dict.fromkeys(user_ids))
    ranks_by_user = members.membership.find_ranks(tx, standing.guild_id, candidate_ids)
    return [
        user_id
        for user_id in candidate_ids
        if user_id != standing.user_id
        and user_id != standing.owner_id
        and (
            user_id not in ranks_by_user
            or can_act_on(standing.top_role, ranks_by_user[user_id], is_actor_owner=standing.is_owner)
        )
    ]
