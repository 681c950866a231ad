"""Build the private channels of a user for lists and READY."""

from typing import Any, Final

from hubbub.protocol.resources.channels import PrivateChannel
from hubbub.server.core.call import Call
from hubbub.server.identity import identities, users
from hubbub.server.places import channels
from hubbub.server.talk.direct_messages import store

READ_SCOPES: Final = frozenset({"dm_channels.read", "sdk.social_layer"})
"""Scopes that let an application read a user's private channels. The second includes the first."""


def private_channels(call: Call) -> list[PrivateChannel]:
    """Build the caller's visible private channels, most recent message first. Empty for bots (spec/http.md#5)."""
    if call.actor.is_bot:
        return []
    rows = sorted(
        store.list_visible(call.tx, call.user_id), key=lambda row: row.last_message_id or row.id, reverse=True
    )
    present = store.recipients(call.tx, [row.id for row in rows])
    found = users.find_many(call.tx, {user_id for ids in present.values() for user_id in ids})
    users_by_id = {user_id: users.user(row) for user_id, row in found.items()}
    return [
        channels.private(
            row,
            [
                users_by_id.get(each) or users.deleted_user(each)
                for each in present.get(row.id, [])
                if each != call.user_id
            ],
        )
        for row in rows
    ]


def ready(call: Call) -> dict[str, Any]:
    """Return the keys that private channels add to READY: for users, and for OAuth2 sessions with a read scope."""
    actor = call.actor
    if actor.kind == "bearer" and actor.scopes.isdisjoint(READ_SCOPES):
        return {"private_channels": []}
    listed = private_channels(call)
    parts: dict[str, Any] = {"private_channels": listed}
    if actor.kind == "bearer" and actor.family_id is not None:
        others = {int(each.id) for channel in listed for each in channel.recipients}
        parts["user_application_profiles"] = identities.profiles(call.tx, actor.family_id, others)
    return parts
