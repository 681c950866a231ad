"""Build the private channels of a user for lists and READY."""

from typing import Any, Final

from hubbub.protocol.resources.channels import PrivateChannel
from hubbub.server.core.call import Call
from hubbub.server.identity import identities, users
from hubbub.server.places import channels
from hubbub.server.talk.direct_messages import store

READ_SCOPES: Final = frozenset({"dm_channels.read", "sdk.social_layer"})
"""Scopes that let an application read a user's private channels. `sdk.social_layer` includes `dm_channels.read`."""


def private_channels(call: Call) -> list[PrivateChannel]:
    """Build the caller's visible private channels, most recent message first; bots get an empty list (spec/http.md#5)."""
    if call.actor.is_bot:
        return []
    rows = sorted(
        store.list_visible_channels(call.tx, call.user_id), key=lambda row: row.last_message_id or row.id, reverse=True
    )
    recipient_ids_by_channel = store.find_recipient_ids(call.tx, [row.id for row in rows])
    user_rows = users.find_many(
        call.tx, {user_id for recipient_ids in recipient_ids_by_channel.values() for user_id in recipient_ids}
    )
    users_by_id = {user_id: users.user_view(row) for user_id, row in user_rows.items()}
    return [
        channels.private_channels.private_channel(
            row,
            [
                users_by_id.get(recipient_id) or users.deleted_user(recipient_id)
                for recipient_id in recipient_ids_by_channel.get(row.id, [])
                if recipient_id != call.user_id
            ],
        )
        for row in rows
    ]


def ready_fields(call: Call) -> dict[str, Any]:
    """Return the READY fields of private channels.

    OAuth2 sessions without a read scope get an empty list; OAuth2 sessions of a family also get `user_application_profiles`."""
    actor = call.actor
    if actor.kind == "bearer" and actor.scopes.isdisjoint(READ_SCOPES):
        return {"private_channels": []}
    private_channel_views = private_channels(call)
    fields: dict[str, Any] = {"private_channels": private_channel_views}
    if actor.kind == "bearer" and actor.family_id is not None:
        other_ids = {int(recipient.id) for channel in private_channel_views for recipient in channel.recipients}
        fields["user_application_profiles"] = identities.profiles(call.tx, actor.family_id, other_ids)
    return fields
