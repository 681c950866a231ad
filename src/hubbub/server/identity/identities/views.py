"""Build the wire models of identities and application profiles."""

from collections.abc import Iterable

from hubbub.protocol import codec
from hubbub.protocol.ids import ApplicationId, UserId
from hubbub.protocol.resources import identities as wire
from hubbub.server.core.store import Tx
from hubbub.server.identity.identities import store
from hubbub.server.identity.identities.store import IdentityRow


def external_id(row: IdentityRow) -> wire.ExternalId:
    return wire.ExternalId(
        provider_type=row.provider_type,
        provider_id=row.provider_id or None,
        provider_issued_user_id=row.provider_user_id,
    )


def identity_profile(row: IdentityRow) -> wire.IdentityProfile:
    """Build a profile for the application's server."""
    return wire.IdentityProfile(
        username=row.username, metadata=codec.decode(row.metadata, dict[str, str]), external_id=external_id(row)
    )


def profile_change(tx: Tx, family_id: int, user_id: int) -> wire.UserApplicationProfiles:
    """Build the event payload of a player's changed profile."""
    return wire.UserApplicationProfiles(
        user_id=UserId(user_id),
        application_id=ApplicationId(family_id),
        user_application_profiles=profiles(tx, family_id, [user_id]).get(str(int(user_id)), []),
    )


def profiles(tx: Tx, family_id: int, user_ids: Iterable[int]) -> dict[str, list[wire.UserApplicationProfile]]:
    """Return the profiles of users in one application family, by user ID.

    Each list contains one profile, the profile of the user's oldest identity. Users without an identity are left out."""
    profiles_by_user: dict[str, list[wire.UserApplicationProfile]] = {}
    for row in store.list_identities(tx, family_id, user_ids):
        profiles_by_user.setdefault(
            str(int(row.user_id)),
            [
                wire.UserApplicationProfile(
                    username=row.username, avatar_hash="", metadata=row.metadata, external_id=external_id(row)
                )
            ],
        )
    return profiles_by_user
