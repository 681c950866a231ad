"""External identities, the provisional accounts that represent them, and links with full accounts."""

from typing import Any

from hubbub.server.core.call import Call
from hubbub.server.core.slices import Slice
from hubbub.server.identity.identities import routes
from hubbub.server.identity.identities.actions import (
    delete_players,
    join_family,
    publish_profile,
    revoke_authorizations,
)
from hubbub.server.identity.identities.listeners import LISTENERS, export_data, link_account
from hubbub.server.identity.identities.rules import find_publisher_problem, is_restricted
from hubbub.server.identity.identities.signals import AccountsMerged, AccountUnmerged, FamilyJoined, ProfileChanged
from hubbub.server.identity.identities.store import list_user_families
from hubbub.server.identity.identities.views import profiles


def _ready_fields(call: Call) -> dict[str, Any]:
    # spec/sdk.md#5.4. Slices that add other users to READY add their profiles with `profiles`.
    if call.actor.kind != "bearer" or call.actor.family_id is None:
        return {}
    return {"user_application_profiles": profiles(call.tx, call.actor.family_id, [call.user_id])}


SLICE = Slice(name="identities", modules=(routes,), listeners=LISTENERS, ready=_ready_fields)

__all__ = [
    "AccountUnmerged",
    "AccountsMerged",
    "FamilyJoined",
    "ProfileChanged",
    "SLICE",
    "delete_players",
    "export_data",
    "find_publisher_problem",
    "is_restricted",
    "join_family",
    "link_account",
    "list_user_families",
    "profiles",
    "publish_profile",
    "revoke_authorizations",
]
