"""HTTP handlers for users."""

from msgspec import UNSET

from hubbub.protocol import errors
from hubbub.protocol.enums import LOCALES
from hubbub.protocol.ids import UserId
from hubbub.protocol.resources import users as wire
from hubbub.server.core import quotas
from hubbub.server.core.call import Call
from hubbub.server.core.slices import handles
from hubbub.server.identity.users import actions, names, store, views
from hubbub.server.identity.users.store import UserRow


@handles(wire.GET_MY_USER)
def get_my_user(call: Call) -> wire.MyUser:
    """Get the current user."""
    row = store.find(call.tx, call.user_id)
    if row is None:
        raise errors.UNKNOWN_USER()
    return views.my_user(row, call.actor, call.now_ms)


@handles(wire.GET_USER)
def get_user(call: Call, user_id: UserId) -> wire.User:
    """Get a user."""
    row = store.find(call.tx, user_id)
    if row is None:
        raise errors.UNKNOWN_USER()
    return views.user_view(row)


@handles(wire.GET_USER_PROFILE)
def get_user_profile(call: Call, user_id: UserId) -> wire.UserProfile:
    """Get the profile of a user."""
    row = store.find(call.tx, user_id)
    if row is None:
        raise errors.UNKNOWN_USER()
    return wire.UserProfile(user=views.user_view(row), bio=row.bio)


@handles(wire.UPDATE_MY_USER)
def update_my_user(call: Call, body: wire.UpdateMyUser) -> wire.MyUser:
    """Update the current user.

    Change the username, display name, avatar, banner, color, profile text or locale. The username can be changed twice
    an hour."""
    row = store.find(call.tx, call.user_id)
    if row is None:
        raise errors.UNKNOWN_USER()
    if body.username is not UNSET:
        name = names.require_bot_name(body.username, "username") if row.bot else names.require_username(body.username)
        name_owner = store.find_by_username(call.tx, name)
        if not row.bot and name_owner is not None and name_owner.id != row.id:
            raise errors.invalid("username", "USERNAME_ALREADY_TAKEN", "Username is unavailable.")
        if name != row.username:
            # spec/http.md#1.14: two username changes an hour; images have the operation's own rate limit.
            quotas.consume_quota(call, "username", row.id, wire.USERNAME_LIMIT)
        row = row._replace(username=name)
    if body.global_name is not UNSET:
        row = row._replace(global_name=names.clean_name(body.global_name or "") or None)
    if body.avatar is not UNSET:
        row = row._replace(avatar=body.avatar.hash if body.avatar else None)
    if body.banner is not UNSET:
        row = row._replace(banner=body.banner.hash if body.banner else None)
    return actions.update_profile(call, row if row.bot else _apply_user_only_changes(row, body))


def _apply_user_only_changes(row: UserRow, body: wire.UpdateMyUser) -> UserRow:
    """Return the row with the changed profile fields that only users have."""
    if body.accent_color is not UNSET:
        row = row._replace(accent_color=body.accent_color)
    if body.bio is not UNSET:
        row = row._replace(bio=(body.bio or "").strip())
    if body.locale is not UNSET:
        if body.locale not in LOCALES:
            raise errors.invalid("locale", *errors.choices(sorted(LOCALES)))
        row = row._replace(locale=body.locale)
    return row
