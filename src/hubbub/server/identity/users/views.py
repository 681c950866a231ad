"""Build the wire models of users."""

from msgspec import UNSET

from hubbub.protocol import changes, codec
from hubbub.protocol.enums import PremiumType, Scope
from hubbub.protocol.ids import UserId
from hubbub.protocol.resources import users as wire
from hubbub.server.core.call import Actor
from hubbub.server.identity.users.store import UserRow


def user_view(row: UserRow) -> wire.User:
    """Build the public view of a user."""
    return wire.User(
        id=UserId(row.id),
        username=row.username,
        discriminator=row.discriminator,
        global_name=row.global_name,
        avatar=row.avatar,
        public_flags=row.public_flags,
        flags=row.public_flags,
        bot=True if row.bot else UNSET,
        system=True if row.system else UNSET,
        banner=row.banner,
        accent_color=row.accent_color,
        primary_guild=_primary_guild(row),
    )


def premium_type_scope(now_ms: int | None) -> str:
    """Return the scope that a token needs to read `premium_type`; None selects the newest rule."""
    return Scope.IDENTIFY_PREMIUM if now_ms is None or changes.PREMIUM_TYPE_SCOPE.is_active(now_ms) else Scope.IDENTIFY


def my_user(row: UserRow, actor: Actor, now_ms: int | None = None) -> wire.MyUser:
    """Build the view of a user for one of the user's own tokens.

    `now_ms` (Unix milliseconds) selects the rules of that time; None selects the newest rules."""
    can_see_premium = actor.kind == "user" or premium_type_scope(now_ms) in actor.scopes
    can_see_email = actor.kind != "bearer" or "email" in actor.scopes
    return wire.MyUser(
        id=UserId(row.id),
        username=row.username,
        discriminator=row.discriminator,
        global_name=row.global_name,
        avatar=row.avatar,
        public_flags=row.public_flags,
        flags=row.flags,
        bot=bool(row.bot),
        banner=row.banner,
        accent_color=row.accent_color,
        primary_guild=_primary_guild(row),
        mfa_enabled=bool(row.mfa_enabled),
        locale=row.locale,
        # spec/http.md#3.7: 0 unless the token may read it.
        premium_type=row.premium_type if can_see_premium else PremiumType.NONE,
        verified=bool(row.verified or row.bot),
        email=row.email if can_see_email else UNSET,
        bio=row.bio if actor.kind == "user" else UNSET,
    )


def _primary_guild(row: UserRow) -> wire.PrimaryGuild | None:
    return None if row.primary_guild is None else codec.decode(row.primary_guild, wire.PrimaryGuild)


def deleted_user(user_id: int) -> wire.User:
    """Build the placeholder for a deleted user."""
    return wire.User(id=UserId(user_id), username="Deleted User")
