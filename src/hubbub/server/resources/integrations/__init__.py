"""Integrations: the applications that a guild has let in, known by their bots."""

from hubbub.server.core.slices import Slice
from hubbub.server.resources.integrations import actions, routes
from hubbub.server.resources.members import MemberAdded, MemberRemoved
from hubbub.server.resources.users import UserChanged

SLICE = Slice(
    name="integrations",
    modules=(routes,),
    hears={
        MemberAdded: actions.member_added,
        MemberRemoved: actions.member_removed,
        UserChanged: actions.user_changed,
    },
)

__all__ = ["SLICE"]
