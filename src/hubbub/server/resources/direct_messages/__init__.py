"""Private channels: direct messages and groups, and their recipients."""

from hubbub.server.core.slices import Slice
from hubbub.server.resources import identities, invites, messages, users
from hubbub.server.resources.direct_messages import actions, merging, routes, rules, views
from hubbub.server.resources.direct_messages.actions import close, open_direct
from hubbub.server.resources.direct_messages.facts import RecipientCame, RecipientGoes
from hubbub.server.resources.direct_messages.rules import can_write_by_a_guild
from hubbub.server.resources.direct_messages.store import find_direct as find_channel
from hubbub.server.resources.direct_messages.views import private_channels

SLICE = Slice(
    name="direct_messages",
    modules=(routes,),
    hears={
        messages.DirectMessageDrafted: rules.require_reachable,
        messages.MessageCreated: actions.reappear,
        invites.GroupInviteAccepted: actions.come_by_invite,
        users.UserDeleted: actions.user_deleted,
        identities.AccountsMerged: merging.merge,
    },
    ready=views.ready,
)

__all__ = [
    "SLICE",
    "RecipientCame",
    "RecipientGoes",
    "can_write_by_a_guild",
    "close",
    "find_channel",
    "open_direct",
    "private_channels",
]
