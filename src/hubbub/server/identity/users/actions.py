"""Update and delete users, publish their profiles to their own sessions, and send signals."""

from hubbub.protocol import codec
from hubbub.protocol.enums import PremiumType
from hubbub.protocol.ids import UserId
from hubbub.protocol.resources import users as wire
from hubbub.server.core import auth, quotas
from hubbub.server.core.call import Actor, Call
from hubbub.server.core.event_dispatch import UserAudience
from hubbub.server.identity.users import store, views
from hubbub.server.identity.users.signals import UserChanged, UserDeleting
from hubbub.server.identity.users.store import UserRow


def update_profile(call: Call, row: UserRow) -> wire.MyUser:
    """Update a user's profile, publish it to the user's sessions and send the signal `UserChanged`."""
    store.update(call.tx, row)
    publish_user(call, row)
    call.notify(UserChanged(row))
    return views.my_user(row, call.actor, call.now_ms)


def publish_user(call: Call, row: UserRow) -> None:
    """Publish a user's profile to the user's own sessions.

    OAuth2 sessions receive the profile as for a token without scopes."""
    own_actor = Actor(user_id=row.id, kind="bot" if row.bot else "user")
    oauth2_actor = Actor(user_id=row.id, kind="bearer")
    audience = UserAudience.of(row.id)
    user_payload, oauth2_payload = (views.my_user(row, actor, call.now_ms) for actor in (own_actor, oauth2_actor))
    # Key 0 is the payload for the OAuth2 sessions of all applications.
    call.tx.emit(wire.USER_UPDATE, user_payload, audience, oauth2_payloads={0: oauth2_payload})


def set_premium(call: Call, row: UserRow, premium_type: PremiumType) -> None:
    """Set a user's premium type and publish it to the user's own sessions."""
    if row.premium_type != premium_type:
        store.set_premium(call.tx, row.id, int(premium_type))
        publish_user(call, row._replace(premium_type=int(premium_type)))


def set_email(call: Call, row: UserRow, email: str, *, is_verified: bool) -> UserRow:
    """Set a user's email address and publish it to the user's own sessions. Return the changed row."""
    row = row._replace(email=email, verified=int(is_verified))
    store.set_email(call.tx, row.id, email, is_verified)
    publish_user(call, row)
    return row


def set_primary_guild(call: Call, row: UserRow, primary_guild: wire.PrimaryGuild | None) -> UserRow:
    """Store the primary guild whose tag a user displays, or None, publish the user and send the signal `UserChanged`.

    Return the changed row."""
    row = row._replace(primary_guild=None if primary_guild is None else codec.encode(primary_guild).decode())
    # The store finds the users who display the tag of a guild by the ID, so a guild without a tag is stored without it.
    has_tag = primary_guild is not None and primary_guild.tag is not None
    store.set_primary_guild(
        call.tx, row.id, primary_guild.identity_guild_id if primary_guild and has_tag else None, row.primary_guild
    )
    publish_user(call, row)
    call.notify(UserChanged(row, is_tag_only=True))
    return row


def delete(call: Call, user_id: int) -> None:
    """Delete a user: the tokens and quotas, then the data of other slices, which listen to `UserDeleting`, then the row."""
    auth.revoke(call.tx, user_id)
    quotas.delete_quotas(call.tx, user_id)
    call.notify(UserDeleting(UserId(user_id)))
    store.delete(call.tx, user_id)
