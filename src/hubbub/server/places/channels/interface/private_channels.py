"""Lookups, views and changes of private channels and their recipients, for other slices."""

from hubbub.server.core.call import Call
from hubbub.server.places.channels import store
from hubbub.server.places.channels.actions import close, private_channel_for
from hubbub.server.places.channels.store import (
    add_recipient,
    delete_group,
    hide_for_all,
    list_recipient_ids,
    remove_recipient,
    replace_recipient,
    unhide_for,
)
from hubbub.server.places.channels.views import private_channel

__all__ = [
    "add_recipient",
    "close",
    "delete_group",
    "hide_for_all",
    "list_partner_ids",
    "list_recipient_ids",
    "private_channel",
    "private_channel_for",
    "remove_recipient",
    "replace_recipient",
    "unhide_for",
]


def list_partner_ids(call: Call, user_id: int) -> set[int]:
    """Return the IDs of users, without bots, who share a recent private channel with a user and have not hidden it."""
    return store.list_partner_ids(call.tx, user_id)
