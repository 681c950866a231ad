"""Changing a user: write, publish, tell."""

from hubbub.protocol.resources import users as wire
from hubbub.server.core.call import Call
from hubbub.server.core.dispatches import Audience
from hubbub.server.resources.users import store, views
from hubbub.server.resources.users.facts import UserChanged
from hubbub.server.resources.users.store import UserRow


def change(call: Call, row: UserRow) -> wire.MyUser:
    """Keep a user's new look, and let their sessions and guilds hear of it."""
    store.update(call.tx, row)
    shown = views.my_user(row, call.actor)
    call.tx.emit(wire.USER_UPDATE, shown, Audience.of_users(row.id))
    call.tell(UserChanged(row))
    return shown
