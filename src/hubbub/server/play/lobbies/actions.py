"""Create, change and delete lobbies and memberships, publish the changes to lobby members, and delete idle lobbies."""

from collections.abc import Iterable, Sequence
from typing import Any, Final

import msgspec
from msgspec import UNSET, UnsetType

from hubbub.protocol import errors
from hubbub.protocol.ids import LobbyId
from hubbub.protocol.intents import Capabilities
from hubbub.protocol.operation import Event
from hubbub.protocol.resources import lobbies as wire
from hubbub.server.core import jobs
from hubbub.server.core.call import Call
from hubbub.server.core.event_dispatch import GameFilter, UserAudience
from hubbub.server.identity import applications, game_sessions, identities, users
from hubbub.server.identity.game_sessions import OAuth2SessionEnded, OAuth2SessionStarted
from hubbub.server.places import channels, voice_states
from hubbub.server.play.lobbies import rules, store, views
from hubbub.server.play.lobbies.signals import LobbyMembersLeaving
from hubbub.server.play.lobbies.store import LobbyMemberRow, LobbyRow, encode_metadata

IDLE_TIMEOUT_JOB: Final = "lobbies.expire"
"""Kind of the job that deletes an idle lobby."""


class LobbyIdleTimeout(msgspec.Struct):
    """Payload of the job that deletes an idle lobby."""

    lobby_id: int
    idle_ms: int
    """Unix milliseconds when the lobby became idle; the job does nothing if a member connected later."""


# Lobbies


def create(call: Call, application_id: int, lobby_id: LobbyId | None = None, **fields: Any) -> LobbyRow:
    """Create an empty lobby that is idle from now on.

    `lobby_id` is a fixed ID, for a lobby of a world file; None generates one. `fields` are other fields of LobbyRow."""
    row = LobbyRow(id=lobby_id or call.new_id(LobbyId), application_id=application_id, idle_ms=call.now_ms, **fields)
    store.insert(call.tx, row)
    _schedule_idle_timeout(call, row)
    return row


def update(call: Call, before: LobbyRow, after: LobbyRow) -> LobbyRow:
    """Store a lobby and publish it to its members, if it changed."""
    if after == before:
        return after
    store.update(call.tx, after)
    if after.idle_timeout_seconds != before.idle_timeout_seconds or after.linked_channel_id != before.linked_channel_id:
        _schedule_idle_timeout(call, after)
    publish_update(call, after)
    return after


def publish_update(call: Call, row: LobbyRow) -> None:
    """Publish the current state of a lobby to its members."""
    (payload,) = views.gateway_lobbies(call.tx, (row,))
    publish(call, row, wire.LOBBY_UPDATE, payload, store.list_member_ids(call.tx, row.id))


def delete(call: Call, row: LobbyRow) -> None:
    """Delete a lobby with its members and messages, and publish the deletion to its members."""
    if row.linked_channel_id is not None:
        channels.usage.link_lobby(call, row.linked_channel_id, None)
    member_ids = store.list_member_ids(call.tx, row.id)
    call.notify(LobbyMembersLeaving(lobby=row, user_ids=tuple(member_ids), is_lobby_deleted=True))
    store.delete(call.tx, row.id)
    jobs.cancel_jobs(call.tx, IDLE_TIMEOUT_JOB, _idle_timeout_job_key(row.id))
    publish(call, row, wire.LOBBY_DELETE, wire.LobbyDeleted(id=LobbyId(row.id), reason="deleted"), member_ids)


def publish(call: Call, row: LobbyRow, event: Event[Any], payload: Any, user_ids: Iterable[int]) -> None:
    """Publish an event to users' OAuth2 sessions of the lobby's application, and to their clients that request lobbies."""
    recipient_ids = frozenset(user_ids)
    if recipient_ids:
        call.tx.emit(event, payload, member_audience(row, recipient_ids))


def publish_message(call: Call, row: LobbyRow, event: Event[Any], payload: Any) -> None:
    """Publish an event of a message to the members' OAuth2 sessions of the lobby's application."""
    game_filter = GameFilter(application_id=row.application_id, oauth2_only=True)
    if recipient_ids := frozenset(store.list_member_ids(call.tx, row.id)):
        call.tx.emit(event, payload, UserAudience(recipient_ids, game_filter=game_filter))


def member_audience(row: LobbyRow, user_ids: frozenset[int]) -> UserAudience:
    """Return the sessions of users that receive a lobby's events: those of its application, and their own clients that
    declare AUTO_LOBBY_CONNECT (decisions/0161)."""
    game_filter = GameFilter(application_id=row.application_id, own_client_capability=Capabilities.AUTO_LOBBY_CONNECT)
    return UserAudience(user_ids, game_filter=game_filter)


# Members


def update_members(
    call: Call, row: LobbyRow, upserted_members: Sequence[LobbyMemberRow] = (), removed_ids: Iterable[int] = ()
) -> dict[int, LobbyMemberRow]:
    """Add or update some members of a lobby and remove others; return the resulting members by user ID.

    `upserted_members` are the memberships to insert or update, `removed_ids` the user IDs of the members to remove. Raise
    MAX_LOBBY_MEMBERS if the lobby would have too many members."""
    members_before = {member.user_id: member for member in store.list_members(call.tx, row.id)}
    leaving_members = [members_before[user_id] for user_id in removed_ids if user_id in members_before]
    added_members = [member for member in upserted_members if member.user_id not in members_before]
    changed_members = [
        member
        for member in upserted_members
        if member.user_id in members_before and member != members_before[member.user_id]
    ]
    members_after = {
        user_id: member
        for user_id, member in members_before.items()
        if all(user_id != leaving_member.user_id for leaving_member in leaving_members)
    }
    members_after |= {member.user_id: member for member in (*added_members, *changed_members)}
    if len(members_after) > max(wire.LOBBY_MEMBERS_MAX, len(members_before)):
        raise errors.MAX_LOBBY_MEMBERS()
    if leaving_members:
        call.notify(LobbyMembersLeaving(lobby=row, user_ids=tuple(member.user_id for member in leaving_members)))
    removal_payloads_by_user = views.member_changes_in_lobby(call.tx, row, leaving_members)
    for member in leaving_members:
        store.delete_member(call.tx, row.id, member.user_id)
    for member in (*added_members, *changed_members):
        store.upsert_member(call.tx, member)
    staying_ids = [user_id for user_id in members_before if user_id in members_after]
    for member in leaving_members:
        if member.user_id in removal_payloads_by_user:
            publish(call, row, wire.LOBBY_MEMBER_REMOVE, removal_payloads_by_user[member.user_id], staying_ids)
    removed_payload = wire.LobbyDeleted(id=LobbyId(row.id), reason="removed")
    publish(call, row, wire.LOBBY_DELETE, removed_payload, (member.user_id for member in leaving_members))
    payloads_by_user = views.member_changes_in_lobby(
        call.tx, row, (*added_members, *changed_members), includes_profiles=bool(added_members)
    )
    for member in added_members:
        publish(call, row, wire.LOBBY_MEMBER_ADD, payloads_by_user[member.user_id], staying_ids)
    for member in changed_members:
        publish(call, row, wire.LOBBY_MEMBER_UPDATE, payloads_by_user[member.user_id], members_after)
    if added_members or leaving_members:
        row = _update_idle(call, row)
    if added_members:
        (payload,) = views.gateway_lobbies(call.tx, (row,), includes_profiles=True)
        publish(call, row, wire.LOBBY_CREATE, payload, (member.user_id for member in added_members))
    return members_after


def build_member_row(
    call: Call,
    row: LobbyRow,
    user_id: int,
    existing_member: LobbyMemberRow | None,
    *,
    metadata: dict[str, str] | None | UnsetType = UNSET,
    flags: int | None | UnsetType = UNSET,
    additional_name: str | None | UnsetType = UNSET,
) -> LobbyMemberRow:
    """Build a membership with the changes of a request body; fields that are UNSET are unchanged.

    `existing_member` is the current membership, or None for a new one."""
    member_row = existing_member or LobbyMemberRow(row.id, user_id, row.application_id)
    if metadata is not UNSET:
        member_row = member_row._replace(metadata=encode_metadata(metadata))
    if isinstance(flags, int):
        member_row = member_row._replace(flags=flags)
    if additional_name is not UNSET:
        member_row = member_row._replace(additional_name=additional_name)
    return member_row


def resolve_admissible_users(call: Call, row: LobbyRow, user_ids: Sequence[int]) -> tuple[set[int], set[int]]:
    """Return (IDs of the users who may be added to a lobby, IDs of those among them who are in too many lobbies).

    Raise UNKNOWN_USER if a user does not exist."""
    users_by_id = users.find_many(call.tx, user_ids)
    if len(users_by_id) < len(set(user_ids)):
        raise errors.UNKNOWN_USER()
    authorized_ids = rules.filter_authorized(call.tx, row.application_id, users_by_id.values())
    lobby_counts = store.count_lobbies(call.tx, row.application_id, authorized_ids)
    return authorized_ids, {user_id for user_id, count in lobby_counts.items() if count >= wire.LOBBIES_PER_USER_MAX}


# Idle timeout


def _update_idle(call: Call, row: LobbyRow) -> LobbyRow:
    """Update whether a lobby is idle after members were added or removed; return the current row."""
    connected_ids = game_sessions.filter_connected(call.tx, row.application_id, store.list_member_ids(call.tx, row.id))
    if connected_ids and row.idle_ms is not None:
        return _mark_active(call, (row,))[0]
    if not connected_ids and row.idle_ms is None:
        return _mark_idle(call, (row,))[0]
    return row


def _mark_active(call: Call, rows: Sequence[LobbyRow]) -> list[LobbyRow]:
    store.set_idle(call.tx, [row.id for row in rows], None)
    for row in rows:
        jobs.cancel_jobs(call.tx, IDLE_TIMEOUT_JOB, _idle_timeout_job_key(row.id))
    return [row._replace(idle_ms=None) for row in rows]


def _mark_idle(call: Call, rows: Sequence[LobbyRow]) -> list[LobbyRow]:
    store.set_idle(call.tx, [row.id for row in rows], call.now_ms)
    idle_rows = [row._replace(idle_ms=call.now_ms) for row in rows]
    for row in idle_rows:
        _schedule_idle_timeout(call, row)
    return idle_rows


def _schedule_idle_timeout(call: Call, row: LobbyRow) -> None:
    """Schedule the idle timeout of a lobby; linked lobbies have none (spec/sdk.md#12.4)."""
    jobs.cancel_jobs(call.tx, IDLE_TIMEOUT_JOB, _idle_timeout_job_key(row.id))
    if row.idle_ms is not None and row.linked_channel_id is None:
        due_ms = row.idle_ms + row.idle_timeout_seconds * 1000
        call.tx.enqueue(
            IDLE_TIMEOUT_JOB,
            LobbyIdleTimeout(int(row.id), row.idle_ms),
            due_ms=due_ms,
            key=_idle_timeout_job_key(row.id),
        )


def delete_if_idle(call: Call, idle_timeout: LobbyIdleTimeout) -> None:
    """Delete a lobby after its idle timeout, unless a member connected meanwhile or a channel was linked.

    While the call of the lobby has participants, who may use the chat client instead of the game, the timeout starts again."""
    row = store.find(call.tx, idle_timeout.lobby_id)
    if row is None or row.idle_ms != idle_timeout.idle_ms or row.linked_channel_id is not None:
        return
    if voice_states.calls.find_participants(call.tx, [row.id]):
        _mark_idle(call, (row,))
    else:
        delete(call, row)


def _idle_timeout_job_key(lobby_id: int) -> str:
    return f"{IDLE_TIMEOUT_JOB}:{int(lobby_id)}"


def on_session_started(call: Call, signal: OAuth2SessionStarted) -> None:
    """Mark a user's lobbies as active when a session starts; publish the connection if it is the user's first session."""
    rows = store.list_user_lobbies(call.tx, signal.application_id, signal.user_id)
    if idle_rows := [row for row in rows if row.idle_ms is not None]:
        _mark_active(call, idle_rows)
    if signal.is_first:
        _publish_member_event(call, rows, signal.user_id, wire.LOBBY_MEMBER_CONNECT)


def on_session_ended(call: Call, signal: OAuth2SessionEnded) -> None:
    """Publish that a user disconnected when their last session ends, and mark lobbies without connected members as idle.

    The user remains a member."""
    if not signal.is_last:
        return
    rows = store.list_user_lobbies(call.tx, signal.application_id, signal.user_id)
    if not rows:
        return
    members_by_lobby = _publish_member_event(call, rows, signal.user_id, wire.LOBBY_MEMBER_DISCONNECT)
    connected_ids = game_sessions.filter_connected(
        call.tx, signal.application_id, {member.user_id for members in members_by_lobby.values() for member in members}
    )
    idle_rows = [row for row in rows if not any(member.user_id in connected_ids for member in members_by_lobby[row.id])]
    if idle_rows:
        _mark_idle(call, idle_rows)


def _publish_member_event(
    call: Call, rows: Sequence[LobbyRow], user_id: int, event: Event[Any]
) -> dict[int, list[LobbyMemberRow]]:
    """Publish a member event about a user to the other members of the lobbies; return all members by lobby ID."""
    members_by_lobby = store.list_members_by_lobby(call.tx, [row.id for row in rows])
    own_memberships = [member for row in rows for member in members_by_lobby[row.id] if member.user_id == user_id]
    payloads_by_lobby = {
        int(change.lobby_id): change for change in views.member_changes_of_user(call.tx, own_memberships)
    }
    for row in rows:
        other_ids = [member.user_id for member in members_by_lobby[row.id] if member.user_id != user_id]
        if other_ids and row.id in payloads_by_lobby:
            publish(call, row, event, payloads_by_lobby[row.id], other_ids)
    return members_by_lobby


# Account changes


def on_accounts_merged(call: Call, signal: identities.AccountsMerged) -> None:
    """Move memberships and messages of a merged provisional account to the full account (spec/sdk.md#8.5)."""
    _replace_member(call, signal.family_id, signal.source_id, signal.user_id)
    store.reassign_messages(call.tx, signal.source_id, signal.user_id)


def on_account_unmerged(call: Call, signal: identities.AccountUnmerged) -> None:
    """Move memberships of an unmerged account to its new provisional account (spec/sdk.md#8.6)."""
    _replace_member(call, signal.family_id, signal.user_id, signal.provisional_id)


def _replace_member(call: Call, family_id: int, old_user_id: int, new_user_id: int) -> None:
    """Replace the user `old_user_id` by the user `new_user_id` in the lobbies of a family's applications."""
    for membership in store.list_memberships(
        call.tx, old_user_id, applications.families.list_family_ids(call.tx, family_id)
    ):
        row = store.find(call.tx, membership.lobby_id)
        if row is not None:
            existing_member = store.find_member(call.tx, row.id, new_user_id)
            update_members(call, row, [existing_member or membership._replace(user_id=new_user_id)], [old_user_id])


def on_user_changed(call: Call, signal: users.signals.UserChanged) -> None:
    """Publish a user's changed profile to the members of their lobbies, unless only the guild tag changed.

    Changes of bots are not published."""
    if signal.is_tag_only or signal.row.bot:
        return
    for application_id in sorted(
        {membership.application_id for membership in store.list_memberships(call.tx, signal.row.id)}
    ):
        rows = store.list_user_lobbies(call.tx, application_id, signal.row.id)
        _publish_member_event(call, rows, signal.row.id, wire.LOBBY_MEMBER_UPDATE)


def on_profile_changed(call: Call, signal: identities.ProfileChanged) -> None:
    """Publish a user's changed application profile to the members of their lobbies."""
    user_id, family_id = signal.user_id, signal.family_id
    memberships = store.list_memberships(call.tx, user_id, applications.families.list_family_ids(call.tx, family_id))
    members_by_lobby = store.list_members_by_lobby(call.tx, [membership.lobby_id for membership in memberships])
    other_ids = {member.user_id for members in members_by_lobby.values() for member in members} - {int(user_id)}
    identities.publish_profile(call, family_id, user_id, other_ids)


def on_user_deleting(call: Call, signal: users.signals.UserDeleting) -> None:
    """Remove a deleted account from all lobbies."""
    for membership in store.list_memberships(call.tx, signal.user_id):
        if (row := store.find(call.tx, membership.lobby_id)) is not None:
            update_members(call, row, removed_ids=[signal.user_id])


def on_family_joined(call: Call, signal: identities.FamilyJoined) -> None:
    """Delete the lobbies of an application that joins a publisher's family (spec/sdk.md#8.7)."""
    for row in store.list_application_lobbies(call.tx, signal.application_id):
        delete(call, row)
