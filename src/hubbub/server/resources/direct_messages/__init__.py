"""Direct and group messages: the channels between people, and who is in them."""

from hubbub.server.core.slices import Slice
from hubbub.server.resources import invites, messages, users
from hubbub.server.resources.direct_messages import actions, routes, rules, views
from hubbub.server.resources.direct_messages.actions import close
from hubbub.server.resources.direct_messages.facts import FriendshipAsked

SLICE = Slice(
    name="direct_messages",
    modules=(routes,),
    hears={
        messages.DirectMessageDrafted: rules.require_reachable,
        messages.MessageCreated: actions.reappear,
        invites.GroupInviteAccepted: actions.come_by_invite,
        users.UserDeleted: actions.user_deleted,
    },
    ready=views.ready,
)

__all__ = ["SLICE", "FriendshipAsked", "close"]
