"""Private channels: direct messages and groups, and their recipients."""

from hubbub.server.core.slices import Slice
from hubbub.server.identity import identities, users
from hubbub.server.talk import messages
from hubbub.server.talk.direct_messages import account_merge, actions, routes, views
from hubbub.server.talk.direct_messages.actions import (
    add_invited_user,
    close_channel,
    export_data,
    open_direct_channel,
)
from hubbub.server.talk.direct_messages.notices import send_channel_notice, send_notice
from hubbub.server.talk.direct_messages.rules import can_message_through_guild, require_reachable
from hubbub.server.talk.direct_messages.signals import RecipientAdded, RecipientRemoving
from hubbub.server.talk.direct_messages.store import find_direct_channel_id
from hubbub.server.talk.direct_messages.views import private_channels

SLICE = Slice(
    name="direct_messages",
    modules=(routes,),
    listeners={
        messages.signals.MessageCreated: actions.on_message_created,
        users.signals.UserDeleting: actions.on_user_deleting,
        identities.AccountsMerged: account_merge.on_accounts_merged,
    },
    ready=views.ready_fields,
)

__all__ = [
    "SLICE",
    "RecipientAdded",
    "RecipientRemoving",
    "add_invited_user",
    "can_message_through_guild",
    "close_channel",
    "export_data",
    "find_direct_channel_id",
    "open_direct_channel",
    "private_channels",
    "require_reachable",
    "send_channel_notice",
    "send_notice",
]
