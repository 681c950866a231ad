"""Limits on joins: new accounts can join few guilds per hour, and a raid pauses the invites of a guild."""

from hubbub.server.core.call import Call
from hubbub.server.core.slices import Slice
from hubbub.server.identity.users.signals import UserDeleting
from hubbub.server.places.guilds import GuildDeleting
from hubbub.server.places.join_limits import actions, ports, store
from hubbub.server.places.join_limits.actions import require_join_allowed
from hubbub.server.places.members.signals import MemberAdded


def _on_guild_deleting(call: Call, signal: GuildDeleting) -> None:
    store.delete_of_guild(call.tx, signal.guild_id)


def _on_user_deleting(call: Call, signal: UserDeleting) -> None:
    store.delete_of_user(call.tx, signal.user_id)


SLICE = Slice(
    name="join_limits",
    modules=(ports,),
    listeners={
        MemberAdded: actions.on_member_added,
        GuildDeleting: _on_guild_deleting,
        UserDeleting: _on_user_deleting,
    },
)

__all__ = ["SLICE", "ports", "require_join_allowed"]
