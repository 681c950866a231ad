"""Players as games and their servers see them."""

from collections.abc import Iterable

from hubbub.protocol import wire as json
from hubbub.protocol.ids import ApplicationId, UserId
from hubbub.protocol.resources import identities as wire
from hubbub.server.core.store import Tx
from hubbub.server.resources.identities import store
from hubbub.server.resources.identities.store import IdentityRow


def external_id(row: IdentityRow) -> wire.ExternalId:
    """Who somebody is elsewhere."""
    return wire.ExternalId(
        provider_type=row.provider_type,
        provider_id=row.provider_id or None,
        provider_issued_user_id=row.provider_user_id,
    )


def identity_profile(row: IdentityRow) -> wire.IdentityProfile:
    """A profile for the application's own server."""
    return wire.IdentityProfile(
        username=row.username, metadata=json.decode(row.metadata, dict[str, str]), external_id=external_id(row)
    )


def profile_change(tx: Tx, family_id: int, user_id: int) -> wire.UserApplicationProfiles:
    """What a game's players hear when one of them is known otherwise."""
    return wire.UserApplicationProfiles(
        user_id=UserId(user_id),
        application_id=ApplicationId(family_id),
        user_application_profiles=profiles(tx, family_id, [user_id]).get(str(int(user_id)), []),
    )


def profiles(tx: Tx, family_id: int, user_ids: Iterable[int]) -> dict[str, list[wire.UserApplicationProfile]]:
    """The profiles of these users in one family of applications, by the user's id; at most one each."""
    found: dict[str, list[wire.UserApplicationProfile]] = {}
    for row in store.list_identities(tx, family_id, user_ids):
        found.setdefault(
            str(int(row.user_id)),
            [
                wire.UserApplicationProfile(
                    username=row.username, avatar_hash="", metadata=row.metadata, external_id=external_id(row)
                )
            ],
        )
    return found
