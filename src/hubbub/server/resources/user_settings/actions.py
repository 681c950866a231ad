"""People decide, and their clients hear of it."""

import msgspec
from msgspec import UNSET

from hubbub.protocol.resources import user_settings as wire
from hubbub.server.core.call import Call
from hubbub.server.core.dispatches import Audience
from hubbub.server.resources import users
from hubbub.server.resources.user_settings import rules, store


def change(call: Call, body: wire.UpdateUserSettings) -> wire.UserSettings:
    """Keep what the caller decided, and tell their clients."""
    before = store.find(call.tx, call.user_id)
    if body.restricted_guilds is not UNSET:
        rules.require_guilds(call, before.restricted_guilds, body.restricted_guilds)
    said = {name: getattr(body, name) for name in body.__struct_fields__ if getattr(body, name) is not UNSET}
    after = msgspec.structs.replace(before, **said)
    if after.friend_source_flags.all:
        after.friend_source_flags = store.EVERYBODY
    after.restricted_guilds = sorted(set(after.restricted_guilds))
    if after != before:
        store.put(call.tx, call.user_id, after)
        call.tx.emit(wire.USER_SETTINGS_UPDATE, after, Audience.of_users(call.user_id))
    return after


def forget(call: Call, fact: users.UserDeleted) -> None:
    """An account is gone, and what it decided."""
    store.delete(call.tx, fact.user_id)


def harvest(call: Call, asked: users.DataAsked) -> None:
    """What a person decided, for their copy of all that is kept of them."""
    asked.records["settings"] = msgspec.to_builtins(store.find(call.tx, asked.user_id), enc_hook=str)
