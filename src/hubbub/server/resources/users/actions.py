"""Changing a user: write, publish, tell."""

from hubbub.protocol import wire as json
from hubbub.protocol.enums import PremiumType
from hubbub.protocol.ids import UserId
from hubbub.protocol.resources import users as wire
from hubbub.server.core import auth
from hubbub.server.core.call import Actor, Call
from hubbub.server.core.dispatches import Audience
from hubbub.server.resources.users import store, views
from hubbub.server.resources.users.facts import UserChanged, UserDeleted
from hubbub.server.resources.users.store import UserRow


def change(call: Call, row: UserRow) -> wire.MyUser:
    """Keep a user's new look, and let their sessions and guilds hear of it."""
    store.update(call.tx, row)
    announce(call, row)
    call.tell(UserChanged(row))
    return views.my_user(row, call.actor, call.now)


def announce(call: Call, row: UserRow) -> None:
    """Tell a user's sessions how they look now: their own as their own token would see it, games without what needs a scope."""
    own = Actor(user_id=row.id, kind="bot" if row.bot else "user")
    game = Actor(user_id=row.id, kind="bearer")
    to = Audience.of_users(row.id)
    shown, told = (views.my_user(row, viewer, call.now) for viewer in (own, game))
    call.tx.emit(wire.USER_UPDATE, shown, to, games={0: told})


def set_premium(call: Call, row: UserRow, premium_type: PremiumType) -> None:
    """Give a person a level of premium, or none; only they see it."""
    if row.premium_type != premium_type:
        store.set_premium(call.tx, row.id, int(premium_type))
        announce(call, row._replace(premium_type=int(premium_type)))


def wear(call: Call, row: UserRow, shown: wire.PrimaryGuild | None) -> UserRow:
    """Keep the tag a user wears (or that they wear none), and let everybody who sees them hear of it."""
    row = row._replace(primary_guild=None if shown is None else json.encode(shown).decode())
    worn = shown is not None and shown.tag is not None
    store.set_primary_guild(call.tx, row.id, shown.identity_guild_id if shown and worn else None, row.primary_guild)
    announce(call, row)
    call.tell(UserChanged(row, tag_only=True))
    return row


def delete(call: Call, user_id: int) -> None:
    """End a user for good: their tokens, then what upper floors keep of them, then the account itself."""
    auth.revoke(call.tx, user_id)
    call.tell(UserDeleted(UserId(user_id)))
    store.delete(call.tx, user_id)
