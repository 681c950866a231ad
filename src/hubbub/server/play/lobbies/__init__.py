"""Lobbies: groups of an application's users who exchange messages, and the channels linked to them."""

from itertools import groupby
from operator import attrgetter
from typing import Any

from hubbub.protocol.enums import Scope
from hubbub.server.core.call import Call
from hubbub.server.core.jobs import Job
from hubbub.server.core.slices import Slice
from hubbub.server.identity.game_sessions import OAuth2SessionEnded, OAuth2SessionStarted
from hubbub.server.identity.identities import AccountsMerged, AccountUnmerged, FamilyJoined, ProfileChanged, profiles
from hubbub.server.identity.users.signals import UserChanged, UserDeleting
from hubbub.server.places.channels.signals import ChannelsDeleting, LinkedChannelRenamed
from hubbub.server.play.lobbies import actions, routes, store, views
from hubbub.server.play.lobbies.actions import member_audience
from hubbub.server.play.lobbies.linked_channels import channel_links, lobby_messages
from hubbub.server.play.lobbies.linked_channels.lobby_messages import (
    check_lobby_authorization,
    delete_by_author,
    export_data,
)
from hubbub.server.play.lobbies.signals import LobbyMembersLeaving
from hubbub.server.play.lobbies.store import (
    LobbyRow,
    find,
    list_member_ids,
    list_user_lobbies,
    list_user_lobbies_in_all_applications,
)
from hubbub.server.play.lobbies.views import voice_state
from hubbub.server.play.lobbies.world_lobbies import ChannelLink, create_world_lobby
from hubbub.server.talk.messages.signals import MessageChanged, MessageCreated, MessagesDeleted


def _ready_fields(call: Call) -> dict[str, Any]:
    """Return the fields of READY: the caller's lobbies of the session's application, and the members' profiles.

    A user's own client receives the lobbies of all applications, without profiles (decisions/0161)."""
    actor = call.actor
    if actor.kind == "user":
        rows_by_application = groupby(
            store.list_user_lobbies_in_all_applications(call.tx, call.user_id), attrgetter("application_id")
        )
        groups = [views.gateway_lobbies(call.tx, list(rows)) for _, rows in rows_by_application]
        return {"lobbies": [lobby for group in groups for lobby in group]}
    if actor.kind != "bearer" or actor.application_id is None or Scope.LOBBIES_WRITE not in actor.scopes:
        return {}
    rows = store.list_user_lobbies(call.tx, actor.application_id, call.user_id)
    lobbies = views.gateway_lobbies(call.tx, rows)
    member_ids = {int(member.user_id) for lobby in lobbies for member in lobby.members}
    family_id = actor.family_id or actor.application_id
    return {"lobbies": lobbies, "user_application_profiles": profiles(call.tx, family_id, member_ids)}


def _delete_idle(call: Call, job: Job) -> None:
    actions.delete_if_idle(call, job.decode(actions.LobbyIdleTimeout))


def _delete_expired_messages(call: Call, job: Job) -> None:
    lobby_messages.delete_expired(call, job.decode(lobby_messages.DeleteExpiredPayload))


SLICE = Slice(
    name="lobbies",
    modules=(routes,),
    jobs={actions.IDLE_TIMEOUT_JOB: _delete_idle, lobby_messages.DELETE_EXPIRED_JOB: _delete_expired_messages},
    listeners={
        OAuth2SessionStarted: actions.on_session_started,
        OAuth2SessionEnded: actions.on_session_ended,
        MessageCreated: lobby_messages.on_message_created,
        MessageChanged: lobby_messages.on_message_changed,
        MessagesDeleted: lobby_messages.on_messages_deleted,
        ChannelsDeleting: channel_links.on_channels_deleting,
        LinkedChannelRenamed: channel_links.on_linked_channel_renamed,
        AccountsMerged: actions.on_accounts_merged,
        AccountUnmerged: actions.on_account_unmerged,
        ProfileChanged: actions.on_profile_changed,
        UserChanged: actions.on_user_changed,
        UserDeleting: actions.on_user_deleting,
        FamilyJoined: actions.on_family_joined,
    },
    ready=_ready_fields,
)

__all__ = [
    "SLICE",
    "ChannelLink",
    "LobbyMembersLeaving",
    "LobbyRow",
    "check_lobby_authorization",
    "delete_by_author",
    "export_data",
    "find",
    "create_world_lobby",
    "list_user_lobbies_in_all_applications",
    "list_user_lobbies",
    "list_member_ids",
    "member_audience",
    "voice_state",
]
